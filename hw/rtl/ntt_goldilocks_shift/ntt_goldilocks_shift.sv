// The negacyclic NTT and its inverse over p = 2^64 - 2^32 + 1, as ntt_goldilocks computes them, with two general
// products per value instead of log2 N / 2. As 8 is a root of unity of order 64, transforms of 32 points are shifts;
// general twiddles stand only between them.
//
// Let N = 32*R*32, j = 32*R*j1 + 32*j2 + j3 the place of a coefficient and K = k1 + 32*k2 + 32*R*k3 that of a value in
// natural order: K belongs to the root psi^(2K + 1). Then
//
//   psi^(j*(2K + 1)) = 8^j1 * 64^(j1*k1) * psi^((32*j2 + j3)*(2*k1 + 1))
//                    * (64^(32/R))^(j2*k2) * psi^(64*j3*k2) * 64^(j3*k3)
//
// which is three passes of N / 32 rows each through one dft_goldilocks, and a general product behind the first two:
//
//   outer:   lanes j1, then k1; row (j2, j3). Times 8^j1, 32 points, times psi^((32*j2 + j3)*(2*k1 + 1))
//   middle:  lanes (j2, h), then (k2, h), where j3 = 32/R*g + h; row (g, k1). R points, 32/R transforms side by side,
//            times psi^(64*j3*k2)
//   inner:   lanes j3, then k3; row (k1, k2). 32 points
//
// The inverse is the same matrix read the other way, as psi^-(2K + 1) = psi^(2*(N - 1 - K) + 1). The value of K enters
// in the place of N - 1 - K, all its bits inverted. It then goes through inner, middle and outer pass, with the product
// before the transform and 8^j1 last. So transform and multipliers change their order with the direction, and both
// directions have the same twiddles in the same lanes. It does not divide by N.
//
//   in ---> read ---> [ transform ---> product  forward ] ---> result ---> out (third pass)
//   RAM ->            [ product ---> transform  inverse ]           \----> RAM (first and second)
//
// Data stay in place, in 32 banks of N / 32 words: (1, 2, 3), a digit with either index, is word (2, 3) of bank
// 1 ^ 3 ^ 32/R*2. In each pass a row then lies in 32 banks, and its lane x in bank x ^ turn with a number `turn` that
// belongs to the row. Rows are taken in an order in which all that a row needs is written in time, so that passes and
// frames follow one another without a gap (unless the direction changes: then the pipeline empties).
//
//   input, forward:  natural order, strided; beat t has the values t, t + N/32, t + 2N/32 ... in its lanes
//   output, forward: bit-reversed order; beat t has the places 32*t ... 32*t + 31
//   inverse: the other way round. `in_inverse_i` counts in the first beat of a frame.
//
// In the third pass of a forward frame the multipliers have no twiddles. They take `factors_i` there, so that a product
// of spectra needs no further multiplier. A plain transform has the factors 1.
//
// `products_o` says that 32 general products by twiddles begin in this cycle.
//
// The input is valid/ready. `in_ready_o` depends on in_inverse_i without a register. The output never waits: before the
// third pass the unit waits for `out_room_i`, room for the whole frame. So no register has an enable.
//
//   range: values below p
module ntt_goldilocks_shift
  import dft_goldilocks_pkg::*;
#(
  parameter int unsigned LogN       = 14,  // log2 of the number of points N.
  // Twiddles after the outer pass, one word per row.
  parameter string       OuterFile  = "ntt_goldilocks_shift.outer.hex",
  // Twiddles after the middle pass, one word per g.
  parameter string       MiddleFile = "ntt_goldilocks_shift.middle.hex",
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA      = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB      = 17
) (
  input  logic                    clk_i,  // Clock.
  input  logic                    rst_ni,  // Asynchronous reset, active low.
  input  logic                    clear_i,  // Drops all frames; no beat is taken in this cycle.
  input  logic                    in_valid_i,  // Input stream: the beat is valid.
  output logic                    in_ready_o,  // Input stream: the beat is accepted in this cycle.
  input  logic                    in_inverse_i,  // Direction from the first beat or before: 0 forward, 1 inverse.
  input  logic [Points-1:0][63:0] in_data_i,  // Input stream: 32 values, lane 0 in the lowest bits.
  input  logic                    out_room_i,  // The receiver takes a whole frame; counts where a third pass can begin.
  output logic                    out_waits_o,  // A third pass waits for it in this cycle.
  output logic                    out_soon_o,  // Output: a beat comes in the cycle after the next one.
  output logic                    out_valid_o,  // Output: the beat is valid. It stands for one cycle.
  output logic [Points-1:0][63:0] out_data_o,  // Output: 32 values below p, lane 0 in the lowest bits.
  output logic                    factors_take_o,  // The factors of a beat of a forward frame are taken in this cycle.
  input  logic [Points-1:0][63:0] factors_i,  // Factors of the beat's values, in the output's order.
  output logic [Points-1:0][63:0] spectrum_o,  // The beat before its factors, in the cycle after they are taken.
  output logic                    products_o  // High while the general multipliers work: for utilization counts.
);
  localparam int unsigned LogRows   = LogN - LogPoints;
  localparam int unsigned LogMiddle = LogRows - LogPoints;
  // Bits of a lane's number in the middle pass: h, and the digit 2.
  localparam lane_t WhichMask = lane_t'((1 << (LogPoints - LogMiddle)) - 1);
  localparam lane_t DigitMask = ~WhichMask;

  // From the issue of a read: to the row that was read; to the result; to the write.
  localparam int unsigned ReadLatency   = 2;
  localparam int unsigned MulLatency    = butterfly_ctgs_pkg::MulLatency;
  localparam int unsigned ResultLatency = ReadLatency + Latency + MulLatency;
  localparam int unsigned PipeLatency   = ResultLatency + 1;

  // The shortest distance from a row to a row that needs its results is 33 - 32/R cycles. The first row of the middle
  // pass needs the first 32/R of the last 32 rows of the outer pass. In the inverse, row 32 - 32/R of the outer pass
  // needs the last row of the middle pass.
  if (LogN < 12 || LogN > 15 || 33 - (1 << (LogPoints - LogMiddle)) <= PipeLatency) begin : gen_wrong_size
    $error("ntt_goldilocks_shift: LogN must be 12 to 15");
  end

  typedef logic [LogRows-1:0] row_t;
  typedef enum logic [1:0] {Outer, Middle, Inner} pass_e;

  // -------------------------------------------------------------------------------------------------------------------
  // Read side: which pass, which step of it.
  // -------------------------------------------------------------------------------------------------------------------

  logic       inverse_q, idle, turned, wait_room, issue, first_pass, last_pass;
  logic [1:0] pass_number_q;
  row_t       step_q;
  pass_e      pass;

  assign first_pass = pass_number_q == 2'd0;
  assign last_pass  = pass_number_q == 2'd2;
  // A frame of the other direction waits until nothing is inside that goes from transform to multipliers or back. The
  // direction may be given before the frame, and then no cycle is lost.
  assign turned     = first_pass && (step_q == '0) && (in_inverse_i != inverse_q);
  assign in_ready_o = first_pass & ~turned & ~clear_i;
  assign wait_room   = last_pass && (step_q == '0) && !out_room_i;
  assign issue       = first_pass ? in_ready_o & in_valid_i : ~wait_room;
  assign out_waits_o = wait_room;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      inverse_q     <= 1'b0;
      pass_number_q <= '0;
      step_q        <= '0;
    end else if (clear_i) begin
      pass_number_q <= '0;
      step_q        <= '0;
    end else begin
      if (turned & idle) inverse_q <= in_inverse_i;
      if (issue) begin
        step_q <= step_q + 1'b1;
        if (step_q == '1) pass_number_q <= last_pass ? '0 : pass_number_q + 1'b1;
      end
    end
  end

  always_comb begin
    if (pass_number_q == 2'd1) pass = Middle;
    else pass = last_pass ^ inverse_q ? Inner : Outer;
  end

  // Where a row lies: lane x in bank x ^ turn; `base` is the common part of its word addresses.
  typedef struct packed {
    pass_e pass;
    lane_t turn;
    row_t  base;
  } place_t;

  function automatic row_t address(place_t row, lane_t bank);
    lane_t lane, digit, which;
    row_t  word;
    lane  = bank ^ row.turn;
    digit = lane & DigitMask;
    which = lane & WhichMask;
    unique case (row.pass)
      Middle:  word = (row_t'(digit) << LogMiddle) | row_t'(which);
      Inner:   word = row_t'(lane);
      default: word = '0;
    endcase
    return row.base | word;
  endfunction

  // Digits of the row; digits 2 times 32/R, so that they stand in the upper bits of a lane's number.
  lane_t  digit_1, digit_2, group;
  place_t place;
  always_comb begin
    digit_1 = '0;
    digit_2 = '0;
    group   = '0;
    place   = '{pass: pass, turn: '0, base: '0};
    unique case (pass)
      Middle: begin
        group      = lane_t'(step_q >> LogPoints) << (LogPoints - LogMiddle);
        digit_1    = reversed(lane_t'(step_q)) ^ {LogPoints{inverse_q}};
        place.turn = digit_1 ^ group;
        place.base = row_t'(group);
      end
      Inner: begin
        // Rows in bit-reversed order; the inverse takes the values of K for N - 1 - K.
        digit_1    = reversed(lane_t'(step_q >> LogMiddle)) ^ {LogPoints{inverse_q}};
        digit_2    = (reversed(lane_t'(step_q)) ^ {LogPoints{inverse_q}}) & DigitMask;
        place.turn = digit_1 ^ digit_2;
        place.base = row_t'(digit_2) << LogMiddle;
      end
      default: begin
        digit_2    = lane_t'(step_q >> LogPoints) << (LogPoints - LogMiddle);
        place.turn = lane_t'(step_q) ^ digit_2;
        place.base = step_q;
      end
    endcase
  end

  // `valid_q[i]`: a row was issued i + 1 cycles ago.
  logic [PipeLatency-1:0] valid_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else if (clear_i) begin
      valid_q <= '0;
    end else begin
      valid_q <= {valid_q[PipeLatency-2:0], issue};
    end
  end
  assign idle = ~|valid_q;

  // The control bits that travel with a row to its write.
  place_t place_of_result, place_of_write_q;
  logic   result_is_last, write_is_last_q;
  prim_delay #(.Width($bits(place_t) + 1), .Depth(ResultLatency)) u_place (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i({place, last_pass}), .data_o({place_of_result, result_is_last})
  );
  always_ff @(posedge clk_i) begin
    place_of_write_q <= place_of_result;
    write_is_last_q  <= result_is_last;
  end

  // -------------------------------------------------------------------------------------------------------------------
  // Memory, and from banks to lanes.
  // -------------------------------------------------------------------------------------------------------------------

  logic                    write_en;
  logic [Points-1:0][63:0] read_banks, write_banks_q, read_row, stream_row_q, row_q;
  logic                    from_stream_q;
  lane_t                   read_turn_q;
  assign write_en = valid_q[PipeLatency-1] & ~write_is_last_q;

  for (genvar bank = 0; bank < Points; bank++) begin : gen_bank
    prim_ram_1r1w #(.Width(64), .Depth(1 << LogRows)) u_ram (
      .clk_i, .read_en_i(1'b1), .read_addr_i(address(place, lane_t'(bank))), .read_data_o(read_banks[bank]),
      .write_en_i(write_en), .write_addr_i(address(place_of_write_q, lane_t'(bank))),
      .write_data_i(write_banks_q[bank])
    );
  end

  ntt_goldilocks_shift_turn #(.LogLanes(LogPoints)) u_read_turn (
    .turn_i(read_turn_q), .data_i(read_banks), .data_o(read_row)
  );

  always_ff @(posedge clk_i) begin
    from_stream_q <= first_pass;
    read_turn_q   <= place.turn;
    for (int unsigned lane = 0; lane < Points; lane++) begin
      stream_row_q[lane] <= inverse_q ? in_data_i[reversed(~lane_t'(lane))] : in_data_i[lane];
    end
    row_q <= from_stream_q ? stream_row_q : read_row;
  end

  // -------------------------------------------------------------------------------------------------------------------
  // The transform and the multipliers, in either order.
  // -------------------------------------------------------------------------------------------------------------------

  logic [Points-1:0][63:0] transform, transformed, factors, products, result;
  assign transform = inverse_q ? products : row_q;
  assign factors   = inverse_q ? row_q : transformed;
  assign result    = inverse_q ? transformed : products;

  pass_e pass_of_row, pass_of_product, pass_of_transform;
  prim_delay #(.Width($bits(pass_e)), .Depth(ReadLatency)) u_pass_of_row (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(pass), .data_o({pass_of_row})
  );
  prim_delay #(.Width($bits(pass_e)), .Depth(MulLatency)) u_pass_of_product (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(pass_of_row), .data_o({pass_of_product})
  );
  assign pass_of_transform = inverse_q ? pass_of_product : pass_of_row;
  dft_goldilocks #(.LogMiddle(LogMiddle)) u_transform (
    .clk_i, .en_i(1'b1), .pre_i(pass_of_transform == Outer && !inverse_q), .middle_i(pass_of_transform == Middle),
    .post_i(pass_of_transform == Outer && inverse_q), .data_i(transform), .data_o(transformed)
  );

  // Twiddles are read `ReadLatency` cycles before the factors are valid.
  typedef struct packed {
    pass_e pass;
    row_t  step;
  } twiddle_t;
  twiddle_t now, late, asked;
  assign now   = '{pass: pass, step: step_q};
  assign asked = inverse_q ? now : late;
  prim_delay #(.Width($bits(twiddle_t)), .Depth(Latency)) u_late (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(now), .data_o(late)
  );

  logic [Points-1:0][63:0] outer_twiddles, middle_twiddles, twiddles_q;
  prim_rom #(.Width(Points * 64), .Depth(1 << LogRows), .File(OuterFile)) u_outer_twiddles (
    .clk_i, .read_en_i(1'b1), .read_addr_i(asked.step), .read_data_o(outer_twiddles)
  );
  prim_rom #(.Width(Points * 64), .Depth(1 << LogMiddle), .File(MiddleFile)) u_middle_twiddles (
    .clk_i, .read_en_i(1'b1), .read_addr_i(asked.step[LogRows-1:LogPoints]), .read_data_o(middle_twiddles)
  );

  // The inner pass of the inverse has no factors.
  logic [Points-1:0][63:0] factors_of_beat;
  always_comb begin
    for (int unsigned lane = 0; lane < Points; lane++) begin
      factors_of_beat[lane] = inverse_q ? 64'd1 : factors_i[reversed(lane_t'(lane))];
      spectrum_o[lane]      = transformed[reversed(lane_t'(lane))];
    end
  end

  pass_e asked_pass_q;
  logic  general_q;
  always_ff @(posedge clk_i) begin
    asked_pass_q <= asked.pass;
    general_q    <= asked_pass_q != Inner;
    unique case (asked_pass_q)
      Outer:   twiddles_q <= outer_twiddles;
      Middle:  twiddles_q <= middle_twiddles;
      default: twiddles_q <= factors_of_beat;
    endcase
  end
  assign factors_take_o = ~inverse_q & (asked_pass_q == Inner) & valid_q[ReadLatency+Latency-2];
  assign products_o = general_q & (inverse_q ? valid_q[ReadLatency-1] : valid_q[ReadLatency+Latency-1]);

  for (genvar lane = 0; lane < Points; lane++) begin : gen_multiplier
    mod_mul_goldilocks #(.TileA(TileA), .TileB(TileB)) u_mul (
      .clk_i, .en_i(1'b1), .x_i(twiddles_q[lane]), .y_i(factors[lane]), .result_o(products[lane])
    );
  end

  // -------------------------------------------------------------------------------------------------------------------
  // From lanes to banks, and out.
  // -------------------------------------------------------------------------------------------------------------------

  logic [Points-1:0][63:0] result_banks;
  ntt_goldilocks_shift_turn #(.LogLanes(LogPoints)) u_write_turn (
    .turn_i(place_of_result.turn), .data_i(result), .data_o(result_banks)
  );

  always_ff @(posedge clk_i) begin
    write_banks_q <= result_banks;
    for (int unsigned lane = 0; lane < Points; lane++) begin
      out_data_o[lane] <= inverse_q ? result[lane] : result[reversed(lane_t'(lane))];
    end
  end

  logic is_last_soon;
  prim_delay #(.Width(1), .Depth(PipeLatency - 2)) u_last (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(last_pass), .data_o({is_last_soon})
  );
  assign out_soon_o  = valid_q[PipeLatency-3] & is_last_soon;
  assign out_valid_o = valid_q[PipeLatency-1] & write_is_last_q;
endmodule
