// ntt_cg at full size, by induction over every sequence of inputs, pauses and stalls: the memories' contract (proof_memory),
// the streams (proof_stream), and that nothing stops: outside the first stage a row is read in every enabled cycle, and
// `Drain` enabled cycles after the last row that was read all are written or given.
//
// The induction stands on where everything is. Rows are counted through a frame: stage * Rows + row. What is between two
// counters is what the registers between them hold. For sizes at which stages follow one another without a gap.
module proof_ntt_cg #(
  parameter int unsigned LogN           = 12,
  parameter int unsigned LogButterflies = 2,
  parameter bit          Inverse        = 1'b0,
  localparam int unsigned Width = 35,
  localparam int unsigned Lanes = 2 << LogButterflies
) (
  input logic                        clk_i,
  input logic                        in_valid_i,
  input logic [Lanes-1:0][Width-1:0] in_data_i,
  input logic                        out_ready_i
);
  localparam int unsigned LogRows = LogN - LogButterflies - 1;
  localparam int unsigned Rows    = 1 << LogRows;
  localparam int unsigned Last    = LogN - 1;
  localparam int unsigned Drain   = 12;
  typedef logic [LogRows-1:0] row_t;
  // Rows of two frames.
  typedef logic [LogRows+5:0] place_t;
  localparam place_t Frame = place_t'(LogN * Rows);

  logic rst_nq;
  initial rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic                        in_ready, out_valid;
  logic [Lanes-1:0][Width-1:0] out_data;
  ntt_cg #(
    .LogN(LogN), .LogButterflies(LogButterflies), .Inverse(Inverse), .HighBit(34), .LowBit(27)
  ) u_dut (
    .clk_i, .rst_ni(rst_nq), .in_valid_i, .in_ready_o(in_ready), .in_data_i, .out_valid_o(out_valid), .out_ready_i,
    .out_data_o(out_data)
  );

  logic [LogRows+1:0] taken, given;
  proof_stream #(.Beats(Rows), .DataWidth(Lanes * Width)) u_stream (
    .clk_i, .rst_ni(rst_nq), .in_valid_i, .in_ready_i(in_ready), .out_valid_i(out_valid), .out_ready_i,
    .out_data_i(out_data), .taken_o(taken), .given_o(given)
  );

  // One word of each memory, whichever; all banks of a memory are addressed alike.
  row_t       word_q;
  logic [1:0] full;
  always_ff @(posedge clk_i) word_q <= word_q;
  for (genvar m = 0; m < 2; m++) begin : gen_memory
    proof_memory #(.AddrWidth(LogRows)) u_memory (
      .clk_i, .word_i(word_q),
      .read_en_i(u_dut.gen_memory[m].gen_bank[0].u_ram.read_en_i),
      .read_addr_i(u_dut.gen_memory[m].gen_bank[0].u_ram.read_addr_i),
      .write_en_i(u_dut.gen_memory[m].gen_bank[0].u_ram.write_en_i),
      .write_addr_i(u_dut.gen_memory[m].gen_bank[0].u_ram.write_addr_i),
      .full_o(full[m])
    );
    for (genvar lane = 1; lane < Lanes; lane++) begin : gen_alike
      always_comb begin
        alike: assert ({
            u_dut.gen_memory[m].gen_bank[lane].u_ram.read_en_i, u_dut.gen_memory[m].gen_bank[lane].u_ram.read_addr_i,
            u_dut.gen_memory[m].gen_bank[lane].u_ram.write_en_i, u_dut.gen_memory[m].gen_bank[lane].u_ram.write_addr_i
          } == {
            u_dut.gen_memory[m].gen_bank[0].u_ram.read_en_i, u_dut.gen_memory[m].gen_bank[0].u_ram.read_addr_i,
            u_dut.gen_memory[m].gen_bank[0].u_ram.write_en_i, u_dut.gen_memory[m].gen_bank[0].u_ram.write_addr_i
          });
      end
    end
  end

  // The counters of the unit as places in a frame.
  // Twiddles are fetched one pair of wings ahead.
  place_t reads, fetches, wings, writes;
  logic [$clog2(LogN)-1:0] fetch_stage;
  assign fetch_stage = Inverse ? ($clog2(LogN))'(Last) - u_dut.fetch_stage_q : u_dut.fetch_stage_q;
  assign reads       = place_t'({u_dut.stage_q, u_dut.beat_q});
  assign fetches     = place_t'({fetch_stage, u_dut.fetch_cycle_q});
  assign wings       = !u_dut.fetched_q ? fetches : fetches == '0 ? Frame - 1'b1 : fetches - 1'b1;
  assign writes      = place_t'({u_dut.write_stage_q, u_dut.write_beat_q});

  function automatic place_t from_to(place_t from, place_t to);
    return to >= from ? to - from : to + Frame - from;
  endfunction

  // What the registers between them hold.
  logic [7:0] line;
  logic [3:0] in_line;
  logic       read_valid, waiting, second, held;
  assign read_valid = u_dut.read_valid_q;
  assign line       = u_dut.u_results_valid.gen_line.line_q;
  assign in_line    = 4'($countones(line));
  if (Inverse) begin : gen_inverse
    assign second = u_dut.gen_unswap.u_unswap.second_q;
    assign held   = u_dut.gen_unswap.u_unswap.high_q;
    always_comb begin
      read_to_wing:  assert (from_to(wings, reads) == place_t'(read_valid));
      wing_to_write: assert (from_to(writes, wings) == place_t'(in_line) + place_t'(second) + place_t'(held));
      odd_rows:      assert (second == (wings[0] ^ in_line[0]));
    end
  end else begin : gen_forward
    assign second = u_dut.gen_swap.u_swap.second_q;
    assign held   = u_dut.gen_swap.u_swap.upper_q;
    always_comb begin
      read_to_wing:  assert (from_to(wings, reads) == place_t'(read_valid) + place_t'(second) + place_t'(held));
      wing_to_write: assert (from_to(writes, wings) == place_t'(in_line));
      odd_rows:      assert (second == (reads[0] ^ read_valid));
    end
  end
  assign waiting = u_dut.waiting;
  always_comb begin
    in_range:   assert (reads < Frame && fetches < Frame && writes < Frame);
    fetched:    assert (u_dut.fetched_q || (fetches == '0 && !read_valid && !second && !held));
    no_gap:     assert (!waiting);
    one_of_two: assert (!(second && held));
  end

  // A word is full where it was written once more than read: in stages of the memory's parity, and in those after them.
  logic wrapped;
  row_t write_place, read_place;
  assign wrapped     = reads < writes;
  assign write_place = Inverse ? {word_q[LogRows-2:0], word_q[LogRows-1]} : word_q;
  assign read_place  = Inverse ? word_q : {word_q[LogRows-2:0], word_q[LogRows-1]};
  always_comb begin
    for (int unsigned m = 0; m < 2; m++) begin
      logic [3:0] written, read;
      written = '0;
      read    = '0;
      for (int unsigned s = m; s < Last; s += 2) begin
        if (writes > place_t'(s * Rows) + place_t'(write_place)) written = written + 1'b1;
        if (wrapped || reads > place_t'((s + 1) * Rows) + place_t'(read_place)) read = read + 1'b1;
      end
      assert (full[m] == (written != read) && (written == read || written == read + 1'b1));
    end
  end

  // The streams' counters are those of the first and the last stage.
  logic [1:0] frames_in;
  assign frames_in = taken[LogRows+:2] - given[LogRows+:2];
  always_comb begin
    taken_rows: assert (taken[LogRows-1:0] == (u_dut.stage_q == '0 ? u_dut.beat_q : '0));
    given_rows: assert (given[LogRows-1:0] == (u_dut.write_stage_q == ($clog2(LogN))'(Last) ? u_dut.write_beat_q : '0));
    frames:     assert (frames_in == 2'(wrapped) + 2'(u_dut.stage_q != '0));
  end

  // Nothing stops.
  logic [3:0] quiet_q;
  initial quiet_q = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_nq || u_dut.issue) quiet_q <= '0;
    else if (u_dut.en && quiet_q != 4'(Drain)) quiet_q <= quiet_q + 1'b1;
  end
  always_comb begin
    reads_on: assert (u_dut.stage_q == '0 || u_dut.issue == u_dut.en);
    drained:  assert (quiet_q != 4'(Drain) || from_to(writes, reads) == place_t'(second));
    quiet_0:  assert (quiet_q < 4'd1 || !read_valid);
    for (int unsigned i = 0; i < 8; i++) begin
      assert (quiet_q < 4'(i + (Inverse ? 2 : 3)) || !line[i]);
    end
    quiet_held: assert (quiet_q < (Inverse ? 4'd11 : 4'd2) || !held);
  end
endmodule
