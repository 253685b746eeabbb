// The accumulator of a blind rotation (nvme-tfhe paper, 4.5) and its CMux
//
//   acc <- acc + key * (X^a - 1) acc
//
// for a GLWE ciphertext of two components modulo p = 2^64 - 2^32 + 1, where the key is a transformed GGSW ciphertext that
// comes as a stream. Bit for bit it is `Backend::Ntt` of `ciphermill-tfhe` on a torus of 64 bits.
//
//   acc ──► (X^a - 1) ──► digit ──► NTT ──► x key ──► sums ──► inverse NTT ──► + acc
//   2 reads  rotation     queue     last pass         RAM                      1 write
//
// The digits of a component are its l frames. With two circuits each has its own component, and both inverse
// transforms run side by side; one circuit takes one frame after the other. No difference is stored: its rows are
// computed again for each digit, at the rate of the transform.
//
// In its last pass a transform multiplies by column 0 of the key with its own multipliers; as many others take column 1.
// Both products go to the sums of their columns, whose last values the inverse reads. The key has 1/N as a factor.
//
// Order of the key: digit (with one circuit component, digit), row, and in a beat circuit, column, lane. A pass begins
// when `key_round_i` says that a whole frame's beats wait. It then takes one in each cycle.
//
// Cycles: 6 (12 with one circuit) frames of 3 * Rows cycles for l = 5, and 56 cycles in which the transform's pipeline
// empties before and after the inverse. They depend on nothing but l and `key_round_i`: not on the exponent.
//
// While `idle_o` is high, rows may be written and read. Rows of component c are written in natural order, from row 0 on,
// after `load_first_i`; they are multiplied by X^load_exponent_i on their way.
//
//   range: loaded rows and the key are below p
module tfhe_cmux
  import tfhe_cmux_pkg::*;
#(
  parameter int unsigned LogN       = 14,  // log2 of the number of coefficients N.
  parameter int unsigned Circuits   = 2,  // Transform circuits, 1 or 2.
  // Twiddles of `ntt_goldilocks_shift` after its outer pass.
  parameter string       OuterFile  = "ntt_goldilocks_shift.outer.hex",
  // Twiddles of `ntt_goldilocks_shift` after its middle pass.
  parameter string       MiddleFile = "ntt_goldilocks_shift.middle.hex",
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA      = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB      = 17,
  localparam int unsigned LogRows = LogN - LogLanes  // log2 of the rows of a polynomial.
) (
  input  logic                   clk_i,  // Clock.
  input  logic                   rst_ni,  // Asynchronous reset, active low.
  input  logic                   clear_i,  // Ends a CMux in progress; the accumulator's rows are then undefined.
  input  gadget_t                gadget_i,  // The decomposition; constant while not idle.
  output logic                   idle_o,  // Nothing is inside: rows may be written and read.

  input  logic                   load_valid_i,  // A row of the accumulator is given; only while idle.
  input  logic                   load_first_i,  // It is row 0.
  input  logic                   load_component_i,  // Its component.
  input  logic [LogN:0]          load_exponent_i,  // The exponent of the rotation; constant while rows are written.
  input  logic [Lanes-1:0][63:0] load_data_i,  // The row.

  input  logic                   read_en_i,  // A row is read; only while idle.
  input  logic                   read_component_i,  // Its component.
  input  logic [LogRows-1:0]     read_row_i,  // Its number.
  output logic [Lanes-1:0][63:0] read_data_o,  // The row, two cycles later.

  input  logic                   step_valid_i,  // A CMux is asked for.
  output logic                   step_ready_o,  // It begins.
  input  logic [LogN:0]          step_exponent_i,  // Its exponent a, below 2N.

  input  logic                   key_round_i,  // A whole frame's beats of the key wait.
  output logic                   key_waits_o,  // The transform waits for them in this cycle.
  output logic                   key_take_o,  // A beat is taken in this cycle.
  input  logic [Circuits-1:0][1:0][Lanes-1:0][63:0] key_data_i  // The beat: of each circuit both columns.
);
  localparam int unsigned Rows = 1 << LogRows;
  // A component's frames follow one another on one circuit.
  localparam int unsigned Turns = 2 / Circuits;
  // From the issue of a read to the difference, and to the digit.
  localparam int unsigned ReadLatency = 2;
  localparam int unsigned FeedLatency = ReadLatency + DifferenceLatency + DigitLatency;
  localparam int unsigned DigitQueue  = 16;
  localparam int unsigned SumQueue    = 4;

  if (Circuits != 1 && Circuits != 2) begin : gen_wrong_circuits
    $error("tfhe_cmux: Circuits must be 1 or 2");
  end

  typedef logic [LogRows-1:0] row_t;
  typedef logic [Lanes-1:0][63:0] beat_t;
  // The place of a frame among those of a CMux: forward frames first, by component and digit, then inverse ones.
  typedef struct packed {
    logic       inverse;
    logic       turn;  // The component or column, with one circuit.
    logic [3:0] digit;
    row_t       row;
  } place_t;

  function automatic place_t next(place_t place, logic [3:0] levels);
    place_t result;
    result     = place;
    result.row = place.row + 1'b1;
    if (place.row == '1) begin
      result.digit = place.digit + 1'b1;
      if (place.inverse || result.digit == levels) begin
        result.digit = '0;
        result.turn  = Turns == 2 ? ~place.turn : 1'b0;
        if (Turns == 1 || place.turn) result.inverse = ~place.inverse;
      end
    end
    return result;
  endfunction

  // Whether it is the last beat of a CMux.
  function automatic logic is_end(logic inverse, logic turn, row_t row);
    return inverse && row == '1 && (Turns == 1 || turn);
  endfunction

  // -------------------------------------------------------------------------------------------------------------------
  // The steps: rows of differences are read, frame after frame. Then the accumulator waits for its last new row.
  // -------------------------------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {Idle, Forward, Settle} state_e;
  state_e        state_q;
  place_t        feed_q;
  logic [LogN:0] exponent_q;
  logic [5:0]    shift_q;
  logic          feed, feed_credit, settled_q;

  assign feed         = state_q == Forward && feed_credit;
  assign step_ready_o = (state_q == Idle || (state_q == Settle && settled_q)) && !clear_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      feed_q  <= '0;
    end else if (clear_i) begin
      state_q <= Idle;
      feed_q  <= '0;
    end else begin
      if (step_ready_o) begin
        state_q <= step_valid_i ? Forward : Idle;
        feed_q  <= '0;
      end else if (feed) begin
        feed_q <= next(feed_q, gadget_i.levels);
        if (next(feed_q, gadget_i.levels).inverse) state_q <= Settle;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (step_ready_o) exponent_q <= step_exponent_i;
    if (step_ready_o) shift_q <= 6'(7'd64 - 7'(gadget_i.base_log));
    else if (feed && feed_q.row == '1) begin
      shift_q <= next(feed_q, gadget_i.levels).digit == '0 ? 6'(7'd64 - 7'(gadget_i.base_log))
               : shift_q - 6'(gadget_i.base_log);
    end
  end

  // Constant while a step is in progress.
  logic [63:0] offset_q;
  always_ff @(posedge clk_i) offset_q <= balance(gadget_i);

  // Rows that are loaded go through the rotation alone, to the row that they have after it.
  row_t load_row_q, load_row;
  logic load_valid_out, load_component_out;
  row_t load_row_out;
  assign load_row = load_first_i ? '0 : load_row_q;
  always_ff @(posedge clk_i) begin
    if (load_valid_i) load_row_q <= load_row + 1'b1;
  end
  row_t load_place, load_source;
  assign load_place = load_row + row_t'(load_exponent_i);
  prim_delay #(.Width(1), .Depth(DifferenceLatency), .Reset(1'b1)) u_load_valid (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(load_valid_i), .data_o({load_valid_out})
  );
  prim_delay #(.Width(LogRows + 1), .Depth(DifferenceLatency)) u_load_place (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i({load_place, load_component_i}), .data_o({load_row_out, load_component_out})
  );

  row_t  rotated_row;
  turn_t feed_turn, load_turn;
  tfhe_cmux_rotation #(.LogRows(LogRows)) u_feed_rotation (
    .exponent_i(exponent_q), .row_i(feed_q.row), .source_o(rotated_row), .turn_o(feed_turn)
  );
  tfhe_cmux_rotation #(.LogRows(LogRows)) u_load_rotation (
    .exponent_i(load_exponent_i), .row_i(load_place), .source_o(load_source), .turn_o(load_turn)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // The accumulator: two components, rotated and plain read port, one write port.
  // -------------------------------------------------------------------------------------------------------------------

  // The place of the beat that comes from the transforms, two cycles before it and with it.
  place_t soon_q, out_place;
  logic   soon, out_valid;
  logic [Circuits-1:0] soon_each, valid_each, ready_each, take_each, waits_each;
  assign soon      = soon_each[0];
  assign out_valid = valid_each[0];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      soon_q <= '0;
    end else if (clear_i) begin
      soon_q <= '0;
    end else if (soon) begin
      soon_q <= is_end(soon_q.inverse, soon_q.turn, soon_q.row) ? '0 : next(soon_q, gadget_i.levels);
    end
  end
  prim_delay #(.Width($bits(place_t)), .Depth(2)) u_out_place (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(soon_q), .data_o({out_place})
  );

  beat_t [1:0] plain, rotated;
  beat_t [Circuits-1:0] out_beat, difference;
  // The component of a circuit's frame.
  function automatic logic component_of(logic circuit, logic turn);
    return Turns == 2 ? turn : circuit;
  endfunction

  logic update_q, update_turn_q;
  row_t update_row_q;
  beat_t [Circuits-1:0] updated;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      update_q  <= 1'b0;
      settled_q <= 1'b0;
    end else begin
      update_q  <= out_valid && out_place.inverse && !clear_i;
      settled_q <= out_valid && is_end(out_place.inverse, out_place.turn, out_place.row) && !clear_i;
    end
  end
  always_ff @(posedge clk_i) begin
    update_row_q  <= out_place.row;
    update_turn_q <= out_place.turn;
  end
  // After `clear_i` rows of an earlier load may still be on their way.
  logic [2:0] loading_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) loading_q <= '0;
    else if (load_valid_i) loading_q <= 3'(DifferenceLatency + 1);
    else if (loading_q != '0) loading_q <= loading_q - 1'b1;
  end
  assign idle_o = state_q == Idle && loading_q == '0;

  row_t plain_row;
  assign plain_row   = soon && soon_q.inverse ? soon_q.row : state_q == Forward ? feed_q.row : read_row_i;
  logic [1:0] read_component_q;
  always_ff @(posedge clk_i) read_component_q <= {read_component_q[0], read_component_i};
  assign read_data_o = read_component_q[1] ? plain[1] : plain[0];

  for (genvar c = 0; c < 2; c++) begin : gen_component
    localparam int unsigned Circuit = Turns == 2 ? 0 : c;
    logic  updates, loads;
    beat_t written;
    assign updates = update_q && (Turns == 1 || update_turn_q == 1'(c));
    assign loads   = load_valid_out && load_component_out == 1'(c);
    assign written = updates ? updated[Circuit] : difference[Circuit];
    prim_ram_2r1w #(.Width(64 * Lanes), .Depth(Rows), .OutputRegister(1'b1)) u_accumulator (
      .clk_i, .read_en_i({feed, feed | soon | read_en_i}), .read_addr_i({rotated_row, plain_row}),
      .read_data_o({rotated[c], plain[c]}), .write_en_i(updates | loads),
      .write_addr_i(updates ? update_row_q : load_row_out), .write_data_i(written)
    );
  end

  // -------------------------------------------------------------------------------------------------------------------
  // Differences and digits of each circuit, and the queue before its transform.
  // -------------------------------------------------------------------------------------------------------------------

  typedef struct packed {
    turn_t      turn;
    logic       component;
    logic [5:0] shift;
  } feed_t;
  feed_t now, at_row;
  logic [5:0] shift_at_digit;
  assign now = '{turn: feed_turn, component: feed_q.turn, shift: shift_q};
  prim_delay #(.Width($bits(feed_t)), .Depth(ReadLatency)) u_at_row (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(now), .data_o({at_row})
  );
  prim_delay #(.Width(6), .Depth(DifferenceLatency)) u_shift (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(at_row.shift), .data_o(shift_at_digit)
  );

  // A digit is issued only if the queue has a place for it.
  logic [FeedLatency-1:0] fed_q;
  logic digit_take;
  logic [$clog2(DigitQueue+1)-1:0] feed_credits;
  prim_credit #(.Credits(DigitQueue)) u_feed_credit (
    .clk_i, .rst_ni, .clear_i, .take_i(feed), .give_i(digit_take), .available_o(feed_credit), .count_o(feed_credits)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fed_q <= '0;
    else if (clear_i) fed_q <= '0;
    else fed_q <= {fed_q[FeedLatency-2:0], feed};
  end

  logic [Circuits-1:0] digit_valid_each, digit_ready_each;
  beat_t [Circuits-1:0] digit_beat;
  for (genvar e = 0; e < Circuits; e++) begin : gen_feed
    beat_t turned, subtracted;
    turn_t turn;
    logic  component;
    assign component  = component_of(1'(e), at_row.component);
    assign turned     = load_valid_i ? load_data_i : rotated[component];
    assign subtracted = load_valid_i ? '0 : plain[component];
    assign turn       = load_valid_i ? load_turn : at_row.turn;
    tfhe_cmux_difference u_difference (
      .clk_i, .rotated_i(turned), .turn_i(turn), .plain_i(subtracted), .difference_o(difference[e])
    );

    digit_t [Lanes-1:0] digits, queued;
    for (genvar x = 0; x < Lanes; x++) begin : gen_lane
      tfhe_cmux_digit u_digit (
        .clk_i, .data_i(difference[e][x]), .offset_i(offset_q), .shift_i(shift_at_digit),
        .base_log_i(gadget_i.base_log), .digit_o(digits[x])
      );
      // The residue of a digit: p is added to a negative one.
      assign digit_beat[e][x] = {{64 - DigitWidth{queued[x][DigitWidth-1]}}, queued[x]} +
                                (Modulus & {64{queued[x][DigitWidth-1]}});
    end
    logic [$clog2(DigitQueue+1)-1:0] unused_count;
    prim_fifo #(.Width(DigitWidth * Lanes), .Depth(DigitQueue)) u_queue (
      .clk_i, .rst_ni, .clear_i, .in_valid_i(fed_q[FeedLatency-1]), .in_ready_o(digit_ready_each[e]),
      .in_data_i(digits), .out_valid_o(digit_valid_each[e]), .out_ready_i(digit_take), .out_data_o(queued),
      .count_o(unused_count)
    );
  end

  // -------------------------------------------------------------------------------------------------------------------
  // The transforms. All circuits do the same in each cycle.
  // -------------------------------------------------------------------------------------------------------------------

  place_t in_q;
  logic   in_valid, in_ready, in_take, sum_valid, sum_take;
  beat_t [Circuits-1:0] sum_beat, spectrum;
  assign in_valid   = in_q.inverse ? sum_valid : digit_valid_each[0];
  assign in_ready   = ready_each[0];
  assign in_take    = in_valid && in_ready;
  assign digit_take = in_take && !in_q.inverse;
  assign sum_take   = in_take && in_q.inverse;
  assign key_take_o  = take_each[0];
  assign key_waits_o = waits_each[0];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_q <= '0;
    end else if (clear_i) begin
      in_q <= '0;
    end else if (in_take) begin
      in_q <= is_end(in_q.inverse, in_q.turn, in_q.row) ? '0 : next(in_q, gadget_i.levels);
    end
  end

  // Products with both columns of the key; those of column 1 are two cycles of registers and the multiplier away.
  beat_t [Circuits-1:0] second_products;
  for (genvar e = 0; e < Circuits; e++) begin : gen_circuit
    logic products;
    ntt_goldilocks_shift #(
      .LogN(LogN), .OuterFile(OuterFile), .MiddleFile(MiddleFile), .TileA(TileA), .TileB(TileB)
    ) u_ntt (
      .clk_i, .rst_ni, .clear_i, .in_valid_i(in_valid), .in_ready_o(ready_each[e]), .in_inverse_i(in_q.inverse),
      .in_data_i(in_q.inverse ? sum_beat[e] : digit_beat[e]), .out_room_i(soon_q.inverse | key_round_i),
      .out_waits_o(waits_each[e]), .out_soon_o(soon_each[e]), .out_valid_o(valid_each[e]), .out_data_o(out_beat[e]),
      .factors_take_o(take_each[e]), .factors_i(key_data_i[e][0]), .spectrum_o(spectrum[e]), .products_o(products)
    );

    beat_t second_factors_q, second_result;
    always_ff @(posedge clk_i) begin
      second_factors_q   <= key_data_i[e][1];
      second_products[e] <= second_result;
    end
    for (genvar x = 0; x < Lanes; x++) begin : gen_lane
      mod_mul_goldilocks #(.TileA(TileA), .TileB(TileB)) u_mul (
        .clk_i, .en_i(1'b1), .x_i(second_factors_q[x]), .y_i(spectrum[e][x]), .result_o(second_result[x])
      );
      mod_addsub #(.Width(64), .Stages(1)) u_update (
        .clk_i, .en_i(1'b1), .x_i(out_beat[e][x]), .y_i(plain[component_of(1'(e), out_place.turn)][x]),
        .modulus_i(Modulus), .sub_i(1'b0), .result_o(updated[e][x])
      );
    end
    logic unused_products;
    assign unused_products = products;
  end

  // -------------------------------------------------------------------------------------------------------------------
  // The sums of both columns. They are read for each product, and by the inverse.
  // -------------------------------------------------------------------------------------------------------------------

  localparam int unsigned SumLatency = Circuits;
  logic   sum_write, fetch, fetch_credit;
  logic [1:0] fetched_q;
  row_t   sum_row;
  // The next row of sums for the inverse.
  place_t fetch_q;
  logic [$clog2(SumQueue+1)-1:0] fetch_credits;
  beat_t [1:0] sum_read, sum_written;

  prim_delay #(.Width(LogRows), .Depth(SumLatency)) u_sum_row (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(out_place.row), .data_o(sum_row)
  );
  prim_delay #(.Width(1), .Depth(SumLatency), .Reset(1'b1)) u_sum_write (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(out_valid & ~out_place.inverse), .data_o({sum_write})
  );

  // All forward frames' sums are read before the inverse reads the first one: `soon_q` is beyond them.
  assign fetch = soon_q.inverse && fetch_q.inverse && fetch_credit;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fetch_q   <= '{inverse: 1'b1, default: '0};
      fetched_q <= '0;
    end else if (clear_i) begin
      fetch_q   <= '{inverse: 1'b1, default: '0};
      fetched_q <= '0;
    end else begin
      // After the last row it waits for the end of the CMux.
      if (fetch) fetch_q <= next(fetch_q, gadget_i.levels);
      else if (!soon_q.inverse) fetch_q <= '{inverse: 1'b1, default: '0};
      fetched_q <= {fetched_q[0], fetch};
    end
  end
  prim_credit #(.Credits(SumQueue)) u_fetch_credit (
    .clk_i, .rst_ni, .clear_i, .take_i(fetch), .give_i(sum_take), .available_o(fetch_credit), .count_o(fetch_credits)
  );

  logic [1:0] fetch_turn_q;
  always_ff @(posedge clk_i) fetch_turn_q <= {fetch_turn_q[0], fetch_q.turn};

  logic first_sum;
  assign first_sum = out_place.digit == '0 && !out_place.turn;
  for (genvar c = 0; c < 2; c++) begin : gen_column
    beat_t read;
    prim_ram_1r1w #(.Width(64 * Lanes), .Depth(Rows)) u_sums (
      .clk_i, .read_en_i(1'b1), .read_addr_i(soon_q.inverse ? fetch_q.row : soon_q.row), .read_data_o(read),
      .write_en_i(sum_write), .write_addr_i(sum_row), .write_data_i(sum_written[c])
    );
    always_ff @(posedge clk_i) sum_read[c] <= read;

    for (genvar x = 0; x < Lanes; x++) begin : gen_lane
      logic [SumLatency:0][63:0] sums;
      assign sums[0] = first_sum ? '0 : sum_read[c][x];
      for (genvar e = 0; e < Circuits; e++) begin : gen_term
        logic [63:0] product, term;
        assign product = c == 0 ? out_beat[e][x] : second_products[e][x];
        prim_delay #(.Width(64), .Depth(e)) u_term (
          .clk_i, .rst_ni, .en_i(1'b1), .data_i(product), .data_o(term)
        );
        mod_addsub #(.Width(64), .Stages(1)) u_add (
          .clk_i, .en_i(1'b1), .x_i(sums[e]), .y_i(term), .modulus_i(Modulus), .sub_i(1'b0), .result_o(sums[e+1])
        );
      end
      assign sum_written[c][x] = sums[SumLatency];
    end
  end

  beat_t [Circuits-1:0] fetched;
  always_comb begin
    for (int unsigned e = 0; e < Circuits; e++) fetched[e] = sum_read[component_of(1'(e), fetch_turn_q[1])];
  end
  logic sum_ready;
  logic [$clog2(SumQueue+1)-1:0] unused_sums;
  prim_fifo #(.Width(64 * Lanes * Circuits), .Depth(SumQueue)) u_sum_queue (
    .clk_i, .rst_ni, .clear_i, .in_valid_i(fetched_q[1]), .in_ready_o(sum_ready), .in_data_i(fetched),
    .out_valid_o(sum_valid), .out_ready_i(sum_take), .out_data_o(sum_beat), .count_o(unused_sums)
  );

  logic unused;
  assign unused = ^{load_source, feed_credits, fetch_credits, sum_ready, digit_ready_each, digit_valid_each, soon_each,
                    valid_each, ready_each, take_each, waits_each};
endmodule
