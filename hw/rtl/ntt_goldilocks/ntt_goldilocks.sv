// The merged negacyclic NTT and its inverse over p = 2^64 - 2^32 + 1, in one circuit: the transform of the nvme-tfhe
// paper (section 4.5, Fig. 7) with `Polynomials` polynomials side by side, 2^LogButterflies butterflies for each.
//
// The paper exchanges the two butterflies; the right order is Cooley-Tukey forward with psi^brv(2^s + j) and
// Gentleman-Sande back. The inverse does not divide by N: the factor 1/N belongs to the constant operand of the
// product.
//
// Data stay in place, in one memory of R = N / 2B rows of 2B lanes (B butterflies), all rows read once and written once
// in each of the log2 N stages. In the first log2 R stages of the forward transform partners are in two rows, in the
// last ones in two lanes of a row:
//
//   rows:   a row has its lower half in the left bank if its number has even parity, else in the right one. Partners
//           are rows that differ in one bit, so that a half of one and the same half of the other are read at once.
//   lanes:  butterfly p takes lanes p and p + B and puts its results into lanes 2p and 2p + 1 (the inverse the other
//           way round). That turns the bits of the lane numbers by one, so that the next stage finds its partners at
//           the same places; after all lane stages every value is in its place again.
//
// The inverse needs no separate twiddles: that of block j is minus the forward one of the block with all bits
// inverted, and the sign goes into the order of the difference, (v - u)*w. Stages follow one another without a gap, as
// every value is written in time for its next stage (R >= 32), and frames too, unless the direction changes: then the
// pipeline empties.
//
//   input, forward:  natural order; beat b has values B*b ... B*b + B-1 in lanes 0 ... B-1, the same + N/2 in the
//                    others
//   output, forward: bit-reversed order, beat b has places 2B*b ... 2B*b + 2B-1
//   inverse: the other way round. `in_inverse_i` counts in the first beat of a frame.
//
// Streams are valid/ready, as those of ntt_cg. `in_ready_o` depends on out_ready_i and in_inverse_i without a register.
//
//   range: values below p
module ntt_goldilocks #(
  parameter int unsigned LogN           = 14,  // log2 of the number of points N.
  parameter int unsigned LogButterflies = 4,  // log2 of the butterflies of one polynomial.
  parameter int unsigned Polynomials    = 2,  // Polynomials side by side.
  parameter string       RowFile        = "ntt_goldilocks.row.hex",  // Twiddles of the row stages, one word each.
  // Twiddles of the lane stages: per row the 2B - 1 of all lane stages.
  parameter string       LaneFile       = "ntt_goldilocks.lane.hex",
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA          = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB          = 17,
  localparam int unsigned Butterflies = 1 << LogButterflies,  // Butterflies of one polynomial.
  localparam int unsigned Lanes       = 2 * Butterflies  // Values of one polynomial in a beat.
) (
  input  logic                                   clk_i,  // Clock.
  input  logic                                   rst_ni,  // Asynchronous reset, active low.
  input  logic                                   in_valid_i,  // Input stream: the beat is valid.
  output logic                                   in_ready_o,  // Input stream: the beat is accepted in this cycle.
  // Direction of the frame, in its first beat: 0 forward, 1 inverse.
  input  logic                                   in_inverse_i,
  // Input stream: any 64-bit values, lane 0 in the lowest bits.
  input  logic [Polynomials-1:0][Lanes-1:0][63:0] in_data_i,
  output logic                                   out_valid_o,  // Output stream: the beat is valid.
  input  logic                                   out_ready_i,  // Output stream: the receiver accepts the beat.
  // Output stream: values below p, lane 0 in the lowest bits.
  output logic [Polynomials-1:0][Lanes-1:0][63:0] out_data_o
);
  localparam int unsigned LogLanes   = LogButterflies + 1;
  localparam int unsigned LogRows    = LogN - LogLanes;
  localparam int unsigned Rows       = 1 << LogRows;
  localparam int unsigned StageWidth = $clog2(LogN);
  // From the issue of a read to the write of its results: memory, halves, wings, butterfly.
  localparam int unsigned PipeLatency = 3 + butterfly_ctgs_pkg::Latency;

  if (LogN > 14 || LogRows < 5) begin : gen_wrong_size
    $error("ntt_goldilocks: LogN <= 14 and LogN - LogButterflies >= 6 must hold");
  end

  typedef logic [LogRows-1:0]           row_t;
  typedef logic [Butterflies-1:0][63:0] half_t;

  logic en;
  assign en = ~out_valid_o | out_ready_i;

  // -------------------------------------------------------------------------------------------------------------------
  // Read side: which stage, which step of it.
  // -------------------------------------------------------------------------------------------------------------------

  logic                  inverse_q, idle, turned, issue, first_step, last_step;
  logic [StageWidth-1:0] step_stage_q, stage;
  row_t                  step_q;

  assign first_step = step_stage_q == '0;
  assign last_step  = step_stage_q == StageWidth'(LogN - 1);
  // A frame of the other direction waits until the butterflies, which share their adders, are empty.
  assign turned     = (step_stage_q == '0) && (step_q == '0) && (in_inverse_i != inverse_q);
  assign in_ready_o = en & first_step & ~turned;
  assign issue      = first_step ? in_ready_o & in_valid_i : en;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      inverse_q    <= 1'b0;
      step_stage_q <= '0;
      step_q       <= '0;
    end else if (en) begin
      if (turned & in_valid_i & idle) inverse_q <= in_inverse_i;
      if (issue) begin
        step_q <= step_q + 1'b1;
        if (step_q == '1) step_stage_q <= last_step ? '0 : step_stage_q + 1'b1;
      end
    end
  end

  // Stages by the number that their twiddles have: the inverse counts down.
  assign stage = inverse_q ? StageWidth'(LogN - 1) - step_stage_q : step_stage_q;

  logic                  in_lanes;
  logic [StageWidth-1:0] row_bit, lane_stage;
  row_t                  bit_mask, low_mask, row_a, row_b, left_row, right_row;
  logic                  right_first;
  assign in_lanes   = stage >= StageWidth'(LogRows);
  assign row_bit    = StageWidth'(LogRows - 1) - stage;
  assign lane_stage = stage - StageWidth'(LogRows);
  always_comb begin
    bit_mask = row_t'(1) << row_bit;
    low_mask = bit_mask - 1'b1;
    // Step 2q + h of a stage in rows is half h of the q-th pair: q with a zero put in at the bit in which partners
    // differ.
    row_a    = ((step_q & ~((low_mask << 1) | row_t'(1)))) | ((step_q >> 1) & low_mask);
    row_b    = row_a | bit_mask;
    if (in_lanes) begin
      left_row    = step_q;
      right_row   = step_q;
      right_first = ^step_q;
    end else begin
      // The half of row a is in the right bank if it is the upper half or the parity is odd, but not both.
      right_first = step_q[0] ^ (^row_a);
      left_row    = right_first ? row_b : row_a;
      right_row   = right_first ? row_a : row_b;
    end
  end

  // The first stage reads the stream. Only needed words are read, which keeps the memories' contract: no word is read
  // in the cycle in which it is written.
  logic read_en;
  assign read_en = issue & ~first_step;

  // The control bits that travel from a read to its write.
  typedef struct packed {
    row_t left_row;
    row_t right_row;
    logic right_first;
    logic interleave;
    logic last;
  } tag_t;
  tag_t tag, written;
  logic write_valid;
  assign tag = '{
      left_row: left_row,
      right_row: right_row,
      right_first: right_first,
      interleave: in_lanes & ~inverse_q,
      last: last_step
  };
  logic [PipeLatency-1:0] valid_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else if (en) begin
      valid_q <= {valid_q[PipeLatency-2:0], issue};
    end
  end
  assign write_valid = valid_q[PipeLatency-1];
  assign idle        = ~|valid_q;
  prim_delay #(.Width($bits(tag_t)), .Depth(PipeLatency)) u_tag (
    .clk_i, .rst_ni, .en_i(en), .data_i(tag), .data_o(written)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // Twiddles, the same for all polynomials.
  // -------------------------------------------------------------------------------------------------------------------

  row_t                    row_address, lane_address, block, stage_base;
  logic [63:0]             row_twiddle;
  logic [Lanes-2:0][63:0]  lane_twiddles;
  always_comb begin
    stage_base   = row_t'(1) << stage;
    block        = (step_q >> 1) >> row_bit;
    row_address  = stage_base | ((inverse_q ? ~block : block) & (stage_base - 1'b1));
    lane_address = inverse_q ? ~step_q : step_q;
  end
  prim_rom #(.Width(64), .Depth(Rows), .File(RowFile)) u_row_twiddles (
    .clk_i, .read_en_i(en), .read_addr_i(row_address), .read_data_o(row_twiddle)
  );
  prim_rom #(.Width((Lanes - 1) * 64), .Depth(Rows), .File(LaneFile)) u_lane_twiddles (
    .clk_i, .read_en_i(en), .read_addr_i(lane_address), .read_data_o(lane_twiddles)
  );

  logic                  in_lanes_q;
  logic [StageWidth-1:0] lane_stage_q;
  half_t                 twiddles_d, twiddles_q, twiddles_qq;
  always_comb begin
    for (int unsigned p = 0; p < Butterflies; p++) begin
      twiddles_d[p] = row_twiddle;
      for (int unsigned t = 0; t < LogLanes; t++) begin
        // 2^t twiddles for lane stage t: butterfly p has that of the low t bits of p, in the inverse of the inverted
        // ones.
        if (in_lanes_q && lane_stage_q == StageWidth'(t)) begin
          twiddles_d[p] = lane_twiddles[(1<<t)-1+(inverse_q?(Butterflies-1-p)%(1<<t) : p%(1<<t))];
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (en) begin
      in_lanes_q   <= in_lanes;
      lane_stage_q <= lane_stage;
      twiddles_q   <= twiddles_d;
      twiddles_qq  <= twiddles_q;
    end
  end

  // -------------------------------------------------------------------------------------------------------------------
  // Data path of a polynomial.
  // -------------------------------------------------------------------------------------------------------------------

  logic from_stream_q, right_first_q, deinterleave_q, deinterleave_qq;
  always_ff @(posedge clk_i) begin
    if (en) begin
      from_stream_q   <= first_step;
      right_first_q   <= right_first;
      deinterleave_q  <= in_lanes & inverse_q;
      deinterleave_qq <= deinterleave_q;
    end
  end

  for (genvar i = 0; i < Polynomials; i++) begin : gen_polynomial
    half_t left, right, write_left, write_right, lower_q, upper_q, stream_lower_q, stream_upper_q;
    half_t wings_x, wings_y, wings_x_q, wings_y_q, first, second, write_lower, write_upper;

    for (genvar p = 0; p < Butterflies; p++) begin : gen_bank
      prim_ram_1r1w #(.Width(64), .Depth(Rows)) u_left (
        .clk_i, .read_en_i(read_en), .read_addr_i(left_row), .read_data_o(left[p]),
        .write_en_i(en & write_valid & ~written.last), .write_addr_i(written.left_row), .write_data_i(write_left[p])
      );
      prim_ram_1r1w #(.Width(64), .Depth(Rows)) u_right (
        .clk_i, .read_en_i(read_en), .read_addr_i(right_row), .read_data_o(right[p]),
        .write_en_i(en & write_valid & ~written.last), .write_addr_i(written.right_row), .write_data_i(write_right[p])
      );
    end

    // Halves: of row a and row b, or the lower and the upper one of a row.
    always_ff @(posedge clk_i) begin
      if (en) begin
        {stream_upper_q, stream_lower_q} <= in_data_i[i];
        lower_q <= from_stream_q ? stream_lower_q : right_first_q ? right : left;
        upper_q <= from_stream_q ? stream_upper_q : right_first_q ? left : right;
      end
    end

    // Wings: the inverse subtracts the other way round.
    logic [Lanes-1:0][63:0] row;
    assign row = {upper_q, lower_q};
    always_comb begin
      for (int unsigned p = 0; p < Butterflies; p++) begin
        wings_x[p] = deinterleave_qq ? row[2*p+1] : inverse_q ? upper_q[p] : lower_q[p];
        wings_y[p] = deinterleave_qq ? row[2*p] : inverse_q ? lower_q[p] : upper_q[p];
      end
    end
    always_ff @(posedge clk_i) begin
      if (en) begin
        wings_x_q <= wings_x;
        wings_y_q <= wings_y;
      end
    end

    for (genvar p = 0; p < Butterflies; p++) begin : gen_butterfly
      butterfly_ctgs #(.Field(butterfly_ctgs_pkg::Goldilocks), .TileA(TileA), .TileB(TileB)) u_butterfly (
        .clk_i, .en_i(en), .gs_i(inverse_q), .x_i(wings_x_q[p]), .y_i(wings_y_q[p]), .w_i(twiddles_qq[p]),
        .first_o(first[p]), .second_o(second[p])
      );
    end

    logic [Lanes-1:0][63:0] interleaved;
    always_comb begin
      for (int unsigned p = 0; p < Butterflies; p++) begin
        interleaved[2*p]   = first[p];
        interleaved[2*p+1] = second[p];
      end
    end
    assign {write_upper, write_lower} = written.interleave ? interleaved : {second, first};
    assign write_left    = written.right_first ? write_upper : write_lower;
    assign write_right   = written.right_first ? write_lower : write_upper;
    assign out_data_o[i] = {write_upper, write_lower};
  end

  assign out_valid_o = write_valid & written.last;
endmodule
