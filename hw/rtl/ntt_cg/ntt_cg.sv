// The constant-geometry negacyclic NTT, or its inverse, of the cham paper (section 3.2): `Butterflies` butterflies, 2 *
// Butterflies memory banks twice (ping-pong), a SWAP, one twiddle ROM for each butterfly.
//
// Every stage s of log2 N reads the same places and writes the same places; only the twiddles differ:
//
//   forward:  b[2j] = a[j] + w*a[j+N/2],  b[2j+1] = a[j] - w*a[j+N/2],   w = psi^brv(2^s + (j mod 2^s)), s = 0, 1, ...
//   inverse:  a[j] = (b[2j] + b[2j+1])/2, a[j+N/2] = (b[2j] - b[2j+1])*w, w = psi^-brv(2^s + (j mod 2^s))/2, s = ..., 0
//
// A row is 2*Butterflies consecutive values, one in each bank. The forward transform reads rows b and b + R/2 in turn
// (R = N / (2 Butterflies)). The SWAP pairs the lower and then the upper halves of the two, so that Butterflies
// butterflies start in every cycle. Their results are whole rows in order. The inverse has the SWAP behind the
// butterflies. Stage 0 takes its rows from the input stream and the last stage gives its rows to the output stream, in
// the orders in which a stage reads and writes. So frames follow one another without a gap: log2 N * (R + Gap) cycles a
// transform, where Gap = 0 unless half a stage is shorter than the pipeline (a row must be written before the next
// stage reads it).
//
//   input, forward:  natural order; beat 2b has 2P*b ... 2P*b + 2P-1 (P butterflies), beat 2b+1 the same + N/2
//   output, forward: bit-reversed order, beat b has places 2P*b ... 2P*b + 2P-1
//   inverse: the other way round, input in the order of the forward's output and output in that of its input
//
// Streams are valid/ready: a beat is transferred in a cycle in which both are high. While the output is valid and not
// accepted, the whole unit stalls, so in_ready_o depends on out_ready_i without a register. A missing input makes a
// bubble, which does not delay the values inside.
//
//   range: values below q. crates/cosim writes the twiddle files, with factors times 2^(2 Fold), see mod_mul_lowham.
module ntt_cg #(
  parameter int unsigned LogN           = 12,  // log2 of the number of points N.
  parameter int unsigned LogButterflies = 2,  // log2 of the number of butterflies.
  parameter bit          Inverse        = 1'b0,  // 0: forward transform, 1: inverse.
  parameter int unsigned HighBit        = 34,  // Exponent a of the modulus q = 2^a + 2^b + 1.
  parameter int unsigned LowBit         = 27,  // Exponent b of the modulus q = 2^a + 2^b + 1.
  // Twiddles of the stages up to log2 of the butterflies, one word per stage.
  parameter string       FirstFile      = "ntt_cg.first.hex",
  parameter string       LaterFile      = "ntt_cg.later.hex",  // Twiddles of all later stages.
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA          = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB          = 17,
  localparam int unsigned Width = HighBit + 1,  // Bits of a value.
  localparam int unsigned Lanes = 2 << LogButterflies  // Values in a beat.
) (
  input  logic                        clk_i,  // Clock.
  input  logic                        rst_ni,  // Asynchronous reset, active low.
  input  logic                        in_valid_i,  // Input stream: the beat is valid.
  output logic                        in_ready_o,  // Input stream: the beat is accepted in this cycle.
  input  logic [Lanes-1:0][Width-1:0] in_data_i,  // Input stream: values below q, lane 0 in the lowest bits.
  output logic                        out_valid_o,  // Output stream: the beat is valid.
  input  logic                        out_ready_i,  // Output stream: the receiver accepts the beat.
  output logic [Lanes-1:0][Width-1:0] out_data_o  // Output stream: values below q, lane 0 in the lowest bits.
);
  localparam int unsigned Butterflies = 1 << LogButterflies;
  localparam int unsigned LogRows     = LogN - LogButterflies - 1;
  localparam int unsigned Rows        = 1 << LogRows;
  localparam int unsigned Half        = Rows / 2;
  // From the issue of a row's partner to the row's write: the memory, the register before the butterfly, the butterfly.
  localparam int unsigned PipeLatency = 2 + butterfly_ctgs_pkg::Latency;
  // A row must be written before the next stage reads it. Closest is row R/2 of the forward transform: written in cycle
  // R/2 + 1 + PipeLatency of its stage, read in cycle R + Gap + 1; and row R/2 - 1 of the inverse, as close.
  localparam int unsigned Gap         = PipeLatency + 1 > Half ? PipeLatency + 1 - Half : 0;
  localparam int unsigned StageWidth  = $clog2(LogN);
  // One address bit more than the greatest number of twiddles that a butterfly has in a stage.
  localparam int unsigned LaterAddr   = LogN - LogButterflies;
  localparam int unsigned FirstAddr   = $clog2(LogButterflies + 2);

  if (LogN < LogButterflies + 3 || LogN > 14 || LogButterflies > 4) begin : gen_wrong_size
    $error("ntt_cg: 3 <= LogN - LogButterflies, LogN <= 14, LogButterflies <= 4 must hold");
  end

  typedef logic [Lanes-1:0][Width-1:0] row_t;
  typedef logic [Butterflies-1:0][Width-1:0] wings_t;

  logic en;
  assign en = ~out_valid_o | out_ready_i;

  // -------------------------------------------------------------------------------------------------------------------
  // Read side: which row is read in this cycle, of which stage.
  // -------------------------------------------------------------------------------------------------------------------

  logic [StageWidth-1:0]        stage_q;
  logic [LogRows-1:0]           beat_q, read_row;
  logic [$clog2(Gap + 2)-1:0]   gap_q;
  logic                         first_stage, waiting, issue;

  assign first_stage = stage_q == '0;
  assign waiting     = gap_q != '0;
  assign in_ready_o  = en & first_stage & ~waiting;
  assign issue       = first_stage ? in_ready_o & in_valid_i : en & ~waiting;

  // The forward transform reads rows b and b + R/2 in turn, the inverse all in order.
  if (Inverse) begin : gen_read_in_order
    assign read_row = beat_q;
  end else begin : gen_read_in_turn
    assign read_row = {beat_q[0], beat_q[LogRows-1:1]};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      stage_q <= '0;
      beat_q  <= '0;
      gap_q   <= '0;
    end else if (en) begin
      if (waiting) gap_q <= gap_q - 1'b1;
      if (issue) begin
        beat_q <= beat_q + 1'b1;
        if (beat_q == '1) begin
          stage_q <= stage_q == StageWidth'(LogN - 1) ? '0 : stage_q + 1'b1;
          gap_q   <= ($clog2(Gap + 2))'(Gap);
        end
      end
    end
  end

  // -------------------------------------------------------------------------------------------------------------------
  // Memories: even stages write memory 0 and odd ones memory 1, each reads the other; stage 0 reads the stream. Only
  // needed words are read, which keeps the memories' contract: no word is read in the cycle in which it is written.
  // -------------------------------------------------------------------------------------------------------------------

  logic               write_en;
  logic [LogRows-1:0] write_row;
  logic               write_bank;
  row_t               write_data;
  row_t [1:0]         read_data;

  for (genvar m = 0; m < 2; m++) begin : gen_memory
    for (genvar lane = 0; lane < Lanes; lane++) begin : gen_bank
      prim_ram_1r1w #(.Width(Width), .Depth(Rows)) u_ram (
        .clk_i,
        .read_en_i   (issue & ~first_stage & (stage_q[0] != m[0])),
        .read_addr_i (read_row),
        .read_data_o (read_data[m][lane]),
        .write_en_i  (en & write_en & (write_bank == m[0])),
        .write_addr_i(write_row),
        .write_data_i(write_data[lane])
      );
    end
  end

  logic read_valid_q, from_stream_q, from_bank_q;
  row_t stream_q, row;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_valid_q <= 1'b0;
    end else if (en) begin
      read_valid_q <= issue;
    end
  end
  always_ff @(posedge clk_i) begin
    if (en) begin
      stream_q      <= in_data_i;
      from_stream_q <= first_stage;
      from_bank_q   <= ~stage_q[0];
    end
  end
  assign row = from_stream_q ? stream_q : read_data[from_bank_q];

  // -------------------------------------------------------------------------------------------------------------------
  // Wings: the two values of each butterfly of a cycle. Forward: the SWAP makes them of two rows; inverse: neighbours.
  // -------------------------------------------------------------------------------------------------------------------

  logic   wings_valid;
  wings_t wings_x, wings_y;

  if (Inverse) begin : gen_neighbours
    assign wings_valid = read_valid_q;
    always_comb begin
      for (int unsigned p = 0; p < Butterflies; p++) begin
        wings_x[p] = row[2*p];
        wings_y[p] = row[2*p+1];
      end
    end
  end else begin : gen_swap
    ntt_cg_swap #(.Width(Width), .Half(Butterflies)) u_swap (
      .clk_i, .rst_ni, .en_i(en), .valid_i(read_valid_q), .data_i(row),
      .valid_o(wings_valid), .low_o(wings_x), .high_o(wings_y)
    );
  end

  // -------------------------------------------------------------------------------------------------------------------
  // Twiddles. Butterfly p of cycle c of stage s has index j = c * Butterflies + p, of which the low s bits count. Up to
  // stage log2 Butterflies each butterfly has one twiddle; in stage log2 Butterflies + k it has 2^k, at the addresses
  // from 2^k.
  // -------------------------------------------------------------------------------------------------------------------

  localparam logic [StageWidth-1:0] FirstStage = Inverse ? StageWidth'(LogN - 1) : '0;
  localparam logic [StageWidth-1:0] LastStage  = Inverse ? '0 : StageWidth'(LogN - 1);

  // They are fetched one operand pair ahead and registered with it, so that a register and not a multiplier follows the
  // memory's long output path. The first are fetched before any operand pair.
  logic fetch, fetched_q;
  assign fetch = en & (wings_valid | ~fetched_q);

  // The stage by the number that its twiddles have: the inverse counts down.
  logic [StageWidth-1:0] fetch_stage_q;
  logic [LogRows-1:0]    fetch_cycle_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fetched_q     <= 1'b0;
      fetch_stage_q <= FirstStage;
      fetch_cycle_q <= '0;
    end else if (fetch) begin
      fetched_q     <= 1'b1;
      fetch_cycle_q <= fetch_cycle_q + 1'b1;
      if (fetch_cycle_q == '1) begin
        if (fetch_stage_q == LastStage) fetch_stage_q <= FirstStage;
        else if (Inverse) fetch_stage_q <= fetch_stage_q - 1'b1;
        else fetch_stage_q <= fetch_stage_q + 1'b1;
      end
    end
  end

  logic [LaterAddr-1:0] later_base, later_addr;
  logic                 is_first, is_first_q;
  assign is_first   = fetch_stage_q <= StageWidth'(LogButterflies);
  assign later_base = LaterAddr'(1) << (fetch_stage_q - StageWidth'(LogButterflies));
  assign later_addr = later_base | (LaterAddr'(fetch_cycle_q) & (later_base - 1'b1));

  wings_t first_twiddle, later_twiddle;
  prim_rom #(.Width(Butterflies * Width), .Depth(LogButterflies + 2), .File(FirstFile)) u_first_twiddles (
    .clk_i, .read_en_i(fetch), .read_addr_i(fetch_stage_q[FirstAddr-1:0]), .read_data_o(first_twiddle)
  );
  prim_rom #(.Width(Butterflies * Width), .Depth(1 << LaterAddr), .File(LaterFile)) u_later_twiddles (
    .clk_i, .read_en_i(fetch), .read_addr_i(later_addr), .read_data_o(later_twiddle)
  );

  wings_t wings_x_q, wings_y_q, twiddle_q;
  always_ff @(posedge clk_i) begin
    if (fetch) is_first_q <= is_first;
    if (en) begin
      wings_x_q <= wings_x;
      wings_y_q <= wings_y;
      twiddle_q <= is_first_q ? first_twiddle : later_twiddle;
    end
  end

  // -------------------------------------------------------------------------------------------------------------------
  // Butterflies.
  // -------------------------------------------------------------------------------------------------------------------

  wings_t results_first, results_second;
  logic   results_valid;
  for (genvar p = 0; p < Butterflies; p++) begin : gen_butterfly
    butterfly_ctgs #(
      .Field(butterfly_ctgs_pkg::LowHam), .HighBit(HighBit), .LowBit(LowBit), .HalveSum(Inverse),
      .TileA(TileA), .TileB(TileB)
    ) u_butterfly (
      .clk_i, .en_i(en), .gs_i(Inverse), .x_i(wings_x_q[p]), .y_i(wings_y_q[p]), .w_i(twiddle_q[p]),
      .first_o(results_first[p]), .second_o(results_second[p])
    );
  end
  prim_delay #(.Width(1), .Depth(1 + butterfly_ctgs_pkg::Latency), .Reset(1'b1)) u_results_valid (
    .clk_i, .rst_ni, .en_i(en), .data_i(wings_valid), .data_o(results_valid)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // Write side: results are rows in the order in which they come.
  // -------------------------------------------------------------------------------------------------------------------

  logic row_valid;
  if (Inverse) begin : gen_unswap
    ntt_cg_unswap #(.Width(Width), .Half(Butterflies)) u_unswap (
      .clk_i, .rst_ni, .en_i(en), .valid_i(results_valid), .low_i(results_first), .high_i(results_second),
      .valid_o(row_valid), .data_o(write_data)
    );
  end else begin : gen_interleave
    assign row_valid = results_valid;
    always_comb begin
      for (int unsigned p = 0; p < Butterflies; p++) begin
        write_data[2*p]   = results_first[p];
        write_data[2*p+1] = results_second[p];
      end
    end
  end

  logic [StageWidth-1:0] write_stage_q;
  logic [LogRows-1:0]    write_beat_q;
  logic                  last_stage;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_stage_q <= '0;
      write_beat_q  <= '0;
    end else if (en & row_valid) begin
      write_beat_q <= write_beat_q + 1'b1;
      if (write_beat_q == '1) write_stage_q <= last_stage ? '0 : write_stage_q + 1'b1;
    end
  end
  if (Inverse) begin : gen_write_in_turn
    assign write_row = {write_beat_q[0], write_beat_q[LogRows-1:1]};
  end else begin : gen_write_in_order
    assign write_row = write_beat_q;
  end
  assign last_stage  = write_stage_q == StageWidth'(LogN - 1);
  assign write_en    = row_valid & ~last_stage;
  assign write_bank  = write_stage_q[0];
  assign out_valid_o = row_valid & last_stage;
  assign out_data_o  = write_data;
endmodule
