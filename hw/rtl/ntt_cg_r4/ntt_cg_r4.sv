// The constant-geometry negacyclic NTT with radix-4 butterflies: four general multipliers, the square root of -1 by
// shifts and additions. A radix-4 butterfly does the work of four radix-2 ones with three general products, so that a
// transform takes 3/8 N log4 N products where ntt_cg takes 1/2 N log2 N.
//
//   c[4j], c[4j+1]   = (x0 + w1 x2) +- (w2 x1 + w1 w2 x3)          xk = a[j + k N/4]
//   c[4j+2], c[4j+3] = (x0 - w1 x2) +- I (w2 x1 - w1 w2 x3)        I = psi^(N/2), I^2 = -1
//   w1 = psi^brv(2^(2s) + (j mod 4^s)), w2 = psi^brv(2^(2s+1) + 2 (j mod 4^s)), stages s = 0, 1, ... log4 N - 1
//
// A row has 8 values. The rows b, b + R/4, b + R/2, b + 3R/4 (R = N/8) make eight butterflies; their 24 products keep
// the multipliers busy for six cycles, in which four rows are read and four written. In a period of three cycles the
// four multipliers take the products of four butterflies A B C D in this order:
//
//   A1 A2 A3 B1 | B2 B3 C1 C2 | C3 D1 D2 D3
//
// so that A and B go on after the second cycle, C and D after the third. As in ntt_cg the first stage takes the input
// stream and the last gives the output stream, memories take turns, and frames follow without a gap: log4 N * 3/2 R
// cycles.
//
//   input:  natural order; beat 4b + k has values 8b + kN/4 ... 8b + 7 + kN/4; taken in at most four of six cycles
//   output: bit-reversed order, beat b has places 8b ... 8b+7
//
// Streams as in ntt_cg. Range: values below q. Twiddles as crates/cosim writes them.
module ntt_cg_r4
  import butterfly_ctgs_pkg::MulLatency;
#(
  parameter int unsigned LogN     = 12,  // log2 of the number of points N.
  parameter int unsigned HighBit  = 34,  // Exponent a of the modulus q = 2^a + 2^b + 1.
  parameter int unsigned LowBit   = 27,  // Exponent b of the modulus q = 2^a + 2^b + 1.
  parameter int unsigned RootFolds    = 1,  // Folds of the product by the root, see mod_mul_root4.
  parameter int unsigned RootFoldBits = 22,  // Bits that one fold removes.
  parameter int unsigned RootPlus     = 0,  // Positive digits of the root, bits 31 to 0.
  parameter int unsigned RootMinus    = 32'h402_0001,  // Negative digits of the root, bits 31 to 0.
  parameter int unsigned RootPlusHigh  = 0,  // Positive digits, bits 63 to 32.
  parameter int unsigned RootMinusHigh = 0,  // Negative digits, bits 63 to 32.
  // Twiddles: a word has the twelve of a period, A1 in the lowest bits.
  parameter string       TwiddleFile  = "ntt_cg_r4.hex",
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA        = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB        = 17,
  localparam int unsigned Width = HighBit + 1  // Bits of a value.
) (
  input  logic                  clk_i,  // Clock.
  input  logic                  rst_ni,  // Asynchronous reset, active low.
  input  logic                  in_valid_i,  // Input stream: the beat is valid.
  output logic                  in_ready_o,  // Input stream: the beat is accepted in this cycle.
  input  logic [7:0][Width-1:0] in_data_i,  // Input stream: eight values below q, lane 0 in the lowest bits.
  output logic                  out_valid_o,  // Output stream: the beat is valid.
  input  logic                  out_ready_i,  // Output stream: the receiver accepts the beat.
  output logic [7:0][Width-1:0] out_data_o  // Output stream: eight values below q, lane 0 in the lowest bits.
);
  localparam int unsigned LogRows     = LogN - 3;
  localparam int unsigned Rows        = 1 << LogRows;
  localparam int unsigned Stages      = LogN / 2;
  localparam int unsigned StageWidth  = $clog2(Stages);
  localparam int unsigned RootLatency = 3 + RootFolds;
  // From operands to results: a register, the multiplier, products side by side, sums, the root, sums.
  localparam int unsigned PipeLatency = 1 + MulLatency + 1 + 1 + RootLatency + 1;

  if (LogN % 2 != 0 || LogN < 10 || LogN > 14) begin : gen_wrong_size
    $error("ntt_cg_r4: LogN must be 10, 12 or 14");
  end

  typedef logic [Width-1:0]      value_t;
  typedef logic [7:0][Width-1:0] row_t;
  localparam value_t Modulus = (value_t'(1) << HighBit) + (value_t'(1) << LowBit) + value_t'(1);

  logic en;
  assign en = ~out_valid_o | out_ready_i;

  // -------------------------------------------------------------------------------------------------------------------
  // Read side: four rows in six slots.
  // -------------------------------------------------------------------------------------------------------------------

  logic [StageWidth-1:0] stage_q;
  logic [LogRows-3:0]    block_q;
  logic [2:0]            slot_q;
  logic [1:0]            which;
  logic                  first_stage, pause, issue;

  // Slots 2 and 5 read nothing.
  assign pause       = (slot_q == 3'd2) || (slot_q == 3'd5);
  assign which       = slot_q[2:1] == 2'd0 ? slot_q[1:0] : slot_q[1:0] - 2'd1;
  assign first_stage = stage_q == '0;
  assign in_ready_o  = en & first_stage & ~pause;
  assign issue       = first_stage ? in_ready_o & in_valid_i : en & ~pause;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      stage_q <= '0;
      block_q <= '0;
      slot_q  <= '0;
    end else if (en & (pause | issue)) begin
      slot_q <= slot_q == 3'd5 ? '0 : slot_q + 1'b1;
      if (slot_q == 3'd5) begin
        block_q <= block_q + 1'b1;
        if (block_q == '1) stage_q <= stage_q == StageWidth'(Stages - 1) ? '0 : stage_q + 1'b1;
      end
    end
  end

  // As in ntt_cg, nothing is read that is not wanted.
  logic               write_en, write_bank;
  logic [LogRows-1:0] write_row;
  row_t               write_data;
  row_t [1:0]         read_data;
  for (genvar m = 0; m < 2; m++) begin : gen_memory
    for (genvar lane = 0; lane < 8; lane++) begin : gen_bank
      prim_ram_1r1w #(.Width(Width), .Depth(Rows)) u_ram (
        .clk_i,
        .read_en_i   (issue & ~first_stage & (stage_q[0] != m[0])),
        .read_addr_i ({which, block_q}),
        .read_data_o (read_data[m][lane]),
        .write_en_i  (en & write_en & (write_bank == m[0])),
        .write_addr_i(write_row),
        .write_data_i(write_data[lane])
      );
    end
  end

  logic       read_valid_q, from_stream_q, from_bank_q;
  logic [1:0] which_q;
  row_t       stream_q, row;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) read_valid_q <= 1'b0;
    else if (en) read_valid_q <= issue;
  end
  always_ff @(posedge clk_i) begin
    if (en) begin
      stream_q      <= in_data_i;
      from_stream_q <= first_stage;
      from_bank_q   <= ~stage_q[0];
      which_q       <= which;
    end
  end
  assign row = from_stream_q ? stream_q : read_data[from_bank_q];

  // -------------------------------------------------------------------------------------------------------------------
  // Work: when the fourth row has come, six cycles for the eight butterflies of the lanes, lanes 0 to 3 first.
  // -------------------------------------------------------------------------------------------------------------------

  row_t [2:0] loaded_q;
  row_t [3:0] work_q;
  logic       start, active_q;
  logic [2:0] cycle_q;
  assign start = read_valid_q && (which_q == 2'd3);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      cycle_q  <= '0;
    end else if (en) begin
      if (start) begin
        active_q <= 1'b1;
        cycle_q  <= '0;
      end else if (active_q) begin
        active_q <= cycle_q != 3'd5;
        cycle_q  <= cycle_q + 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (en) begin
      for (int unsigned k = 0; k < 3; k++) begin
        if (read_valid_q && which_q == 2'(k)) loaded_q[k] <= row;
      end
      if (start) begin
        work_q <= {row, loaded_q};
      end else if (cycle_q == 3'd2) begin
        for (int unsigned k = 0; k < 4; k++) work_q[k] <= row_t'(work_q[k][7:4]);
      end
    end
  end

  // Twiddles of the period that begins in the next cycle.
  logic [StageWidth-1:0] twiddle_stage_q;
  logic [LogRows-2:0]    period_q;
  logic [LogN-4:0]       base, address;
  logic                  next_period;
  logic [11:0][Width-1:0] twiddles;
  assign next_period = start | (active_q && cycle_q == 3'd2);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      twiddle_stage_q <= '0;
      period_q        <= '0;
    end else if (en & next_period) begin
      period_q <= period_q + 1'b1;
      if (period_q == '1) begin
        twiddle_stage_q <= twiddle_stage_q == StageWidth'(Stages - 1) ? '0 : twiddle_stage_q + 1'b1;
      end
    end
  end
  // One word for stage 0 at address 0, 4^(s-1) words for stage s from that address on.
  always_comb begin
    base = '0;
    for (int unsigned s = 1; s < Stages; s++) begin
      if (twiddle_stage_q == StageWidth'(s)) base = (LogN - 3)'(1) << (2 * (s - 1));
    end
    address = base | ((LogN - 3)'(period_q) & (base - (LogN - 3)'(base != '0)));
  end
  prim_rom #(.Width(12 * Width), .Depth(1 << (LogN - 3)), .File(TwiddleFile)) u_twiddles (
    .clk_i, .read_en_i(en & next_period), .read_addr_i(address), .read_data_o(twiddles)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // Products.
  // -------------------------------------------------------------------------------------------------------------------

  logic [1:0]               phase;
  value_t [11:0]            factors;
  value_t [3:0]             factors_q, twiddles_q, products, products_q;
  value_t [1:0]             x0_q, x0;
  assign phase = cycle_q >= 3'd3 ? 2'(cycle_q - 3'd3) : cycle_q[1:0];
  always_comb begin
    for (int unsigned i = 0; i < 4; i++) begin
      for (int unsigned k = 0; k < 3; k++) factors[3*i+k] = work_q[k+1][i];
    end
  end
  always_ff @(posedge clk_i) begin
    if (en) begin
      for (int unsigned m = 0; m < 4; m++) begin
        factors_q[m]  <= phase == 2'd0 ? factors[m] : phase == 2'd1 ? factors[4+m] : factors[8+m];
        twiddles_q[m] <= phase == 2'd0 ? twiddles[m] : phase == 2'd1 ? twiddles[4+m] : twiddles[8+m];
      end
      // A and B go on with the products of phase 1, C and D with those of phase 2.
      x0_q <= phase == 2'd1 ? {work_q[0][1], work_q[0][0]} : {work_q[0][3], work_q[0][2]};
      products_q <= products;
    end
  end
  for (genvar m = 0; m < 4; m++) begin : gen_multiplier
    mod_mul_lowham #(.HighBit(HighBit), .LowBit(LowBit), .TileA(TileA), .TileB(TileB)) u_mul (
      .clk_i, .en_i(en), .x_i(twiddles_q[m]), .y_i(factors_q[m]), .result_o(products[m])
    );
  end
  prim_delay #(.Width(2 * Width), .Depth(MulLatency)) u_x0 (
    .clk_i, .rst_ni, .en_i(en), .data_i(x0_q), .data_o(x0)
  );

  logic second, second_products;
  assign second = phase == 2'd2;
  prim_delay #(.Width(1), .Depth(1 + MulLatency)) u_second (
    .clk_i, .rst_ni, .en_i(en), .data_i(second), .data_o(second_products)
  );

  // Side by side for two butterflies: w2 x1, w1 x2, w1 w2 x3.
  value_t [5:0] sides_q;
  value_t [1:0] x0_sides_q;
  always_ff @(posedge clk_i) begin
    if (en) begin
      sides_q <= second_products ?
          {products, products_q[3:2]} : {products[1:0], products_q};
      x0_sides_q <= x0;
    end
  end

  // -------------------------------------------------------------------------------------------------------------------
  // Two butterflies.
  // -------------------------------------------------------------------------------------------------------------------

  for (genvar i = 0; i < 2; i++) begin : gen_butterfly
    value_t sum_even, sum_odd, difference_even, difference_odd, rooted;
    value_t [2:0] late;
    // Even: x0 and x2; odd: x1 and x3.
    ntt_cg_r4_pair #(.Width(Width), .Modulus(Modulus)) u_even (
      .clk_i, .en_i(en), .x_i(x0_sides_q[i]), .y_i(sides_q[3*i+1]), .sum_o(sum_even), .difference_o(difference_even)
    );
    ntt_cg_r4_pair #(.Width(Width), .Modulus(Modulus)) u_odd (
      .clk_i, .en_i(en), .x_i(sides_q[3*i]), .y_i(sides_q[3*i+2]), .sum_o(sum_odd), .difference_o(difference_odd)
    );
    mod_mul_root4 #(
      .HighBit(HighBit), .LowBit(LowBit), .Folds(RootFolds), .FoldBits(RootFoldBits), .Plus(RootPlus),
      .Minus(RootMinus), .PlusHigh(RootPlusHigh), .MinusHigh(RootMinusHigh)
    ) u_root (
      .clk_i, .en_i(en), .x_i(difference_odd), .result_o(rooted)
    );
    prim_delay #(.Width(3 * Width), .Depth(RootLatency)) u_late (
      .clk_i, .rst_ni, .en_i(en), .data_i({difference_even, sum_odd, sum_even}), .data_o(late)
    );
    ntt_cg_r4_pair #(.Width(Width), .Modulus(Modulus)) u_lower (
      .clk_i, .en_i(en), .x_i(late[0]), .y_i(late[1]), .sum_o(write_data[4*i]), .difference_o(write_data[4*i+1])
    );
    ntt_cg_r4_pair #(.Width(Width), .Modulus(Modulus)) u_upper (
      .clk_i, .en_i(en), .x_i(late[2]), .y_i(rooted), .sum_o(write_data[4*i+2]), .difference_o(write_data[4*i+3])
    );
  end

  // -------------------------------------------------------------------------------------------------------------------
  // Write side.
  // -------------------------------------------------------------------------------------------------------------------

  logic                  row_valid, last_stage;
  logic [StageWidth-1:0] write_stage_q;
  logic [LogRows-1:0]    write_beat_q;
  prim_delay #(.Width(1), .Depth(PipeLatency), .Reset(1'b1)) u_valid (
    .clk_i, .rst_ni, .en_i(en), .data_i(active_q & (phase != 2'd0)), .data_o(row_valid)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_stage_q <= '0;
      write_beat_q  <= '0;
    end else if (en & row_valid) begin
      write_beat_q <= write_beat_q + 1'b1;
      if (write_beat_q == '1) write_stage_q <= last_stage ? '0 : write_stage_q + 1'b1;
    end
  end
  assign last_stage  = write_stage_q == StageWidth'(Stages - 1);
  assign write_en    = row_valid & ~last_stage;
  assign write_bank  = write_stage_q[0];
  assign write_row   = write_beat_q;
  assign out_valid_o = row_valid & last_stage;
  assign out_data_o  = write_data;
endmodule
