// Writes runs of whole words through an AXI4 port. A run is an address and a number of words; as many words come in, in
// order, each with a strobe for each of its bytes.
//
// Bursts are those of `prim_axi_burst`, with one ID; up to `Outstanding` of them wait for their response. No output depends on an input of the same cycle.
//
// `clear_i` ends all runs. The port begins no further burst and ends the earlier ones with words without a byte.
// `idle_o` is low until the last response has come.
module prim_axi_write #(
  parameter int unsigned AddrWidth   = 40,  // Bits of a byte address.
  parameter int unsigned DataWidth   = 512,  // Bits of a word, a power of two from 32 to 1024.
  parameter int unsigned RunWidth    = 24,  // Bits of the number of words of a run.
  parameter int unsigned Burst       = 64,  // Words of a burst at most, a power of two from 2 to 256 and 4096 bytes.
  parameter int unsigned Outstanding = 32,  // Bursts that wait for a response at most.
  localparam int unsigned Bytes = DataWidth / 8  // Bytes of a word.
) (
  input  logic                 clk_i,  // Clock.
  input  logic                 rst_ni,  // Asynchronous reset, active low.
  input  logic                 clear_i,  // Ends all runs.
  output logic                 idle_o,  // No run is under way; all responses have come.
  output logic                 error_o,  // A response since reset or the last `clear_i` was an error.

  input  logic                 run_valid_i,  // A run is offered.
  output logic                 run_ready_o,  // It is taken.
  input  logic [AddrWidth-1:0] run_addr_i,  // Its first byte; the bits within a word are ignored.
  input  logic [RunWidth-1:0]  run_words_i,  // Its words, at least 1.

  input  logic                 in_valid_i,  // A word is offered.
  output logic                 in_ready_o,  // It is taken.
  input  logic [DataWidth-1:0] in_data_i,  // The word.
  input  logic [Bytes-1:0]     in_strobe_i,  // Its bytes that are written.

  output logic                 aw_valid_o,  // AXI: write address.
  input  logic                 aw_ready_i,  // AXI.
  output logic [AddrWidth-1:0] aw_addr_o,  // AXI.
  output logic [7:0]           aw_len_o,  // AXI: words of the burst less one.
  output logic [2:0]           aw_size_o,  // AXI: constant, whole words.
  output logic [1:0]           aw_burst_o,  // AXI: constant, INCR.
  output logic                 w_valid_o,  // AXI: write data.
  input  logic                 w_ready_i,  // AXI.
  output logic [DataWidth-1:0] w_data_o,  // AXI.
  output logic [Bytes-1:0]     w_strb_o,  // AXI.
  output logic                 w_last_o,  // AXI: the last word of the burst.
  input  logic                 b_valid_i,  // AXI: response.
  output logic                 b_ready_o,  // AXI: always 1.
  input  logic [1:0]           b_resp_i  // AXI: an error if bit 1 is set.
);
  localparam int unsigned BurstWidth = $clog2(Burst) + 1;
  localparam int unsigned CountWidth = $clog2(Outstanding + 1);
  typedef logic [BurstWidth-1:0] burst_t;
  typedef logic [CountWidth-1:0] count_t;

  // Bursts without a response.
  count_t bursts_q;
  logic   draining_q, error_q;

  burst_t burst;
  logic   begin_burst, lengths_ready, beginning, ends_run, response;
  prim_axi_burst #(.AddrWidth(AddrWidth), .DataWidth(DataWidth), .RunWidth(RunWidth), .Burst(Burst)) u_burst (
    .clk_i, .rst_ni, .clear_i, .hold_i(draining_q), .run_valid_i, .run_ready_o, .run_addr_i, .run_words_i,
    .allow_i(lengths_ready && bursts_q != count_t'(Outstanding)), .begin_o(begin_burst), .words_o(burst),
    .ends_run_o(ends_run), .busy_o(beginning), .valid_o(aw_valid_o), .ready_i(aw_ready_i), .addr_o(aw_addr_o),
    .len_o(aw_len_o), .size_o(aw_size_o), .burst_o(aw_burst_o)
  );
  assign b_ready_o = 1'b1;
  assign response  = b_valid_i && bursts_q != '0;

  // The words of the bursts whose data has not passed yet. While the port drains, words without a byte pass.
  burst_t length, words_q;
  logic   length_valid, word, last_word, out_ready;
  count_t lengths;
  prim_fifo #(.Width(BurstWidth), .Depth(Outstanding)) u_lengths (
    .clk_i, .rst_ni, .clear_i(1'b0), .in_valid_i(begin_burst), .in_ready_o(lengths_ready), .in_data_i(burst),
    .out_valid_o(length_valid), .out_ready_i(word && last_word), .out_data_o(length), .count_o(lengths)
  );
  assign in_ready_o = length_valid && out_ready && !draining_q && !clear_i;
  assign word       = length_valid && out_ready && (in_valid_i || draining_q) && !clear_i;
  assign last_word  = words_q == length - 1'b1;
  prim_spill #(.Width(DataWidth + Bytes + 1)) u_out (
    .clk_i, .rst_ni, .clear_i(1'b0), .in_valid_i(word), .in_ready_o(out_ready),
    .in_data_i({last_word, draining_q ? '0 : in_strobe_i, in_data_i}), .out_valid_o(w_valid_o), .out_ready_i(w_ready_i),
    .out_data_o({w_last_o, w_strb_o, w_data_o})
  );

  logic unused;
  assign error_o = error_q;
  assign idle_o  = !beginning && bursts_q == '0 && !draining_q;
  assign unused  = ^{lengths, ends_run, b_resp_i[0]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      words_q    <= '0;
      bursts_q   <= '0;
      draining_q <= 1'b0;
      error_q    <= 1'b0;
    end else begin
      if (word) words_q <= last_word ? '0 : words_q + 1'b1;

      // `aw_valid_o` counts: its burst has no response before its data, which passes meanwhile.
      bursts_q   <= bursts_q + count_t'(begin_burst) - count_t'(response);
      draining_q <= (draining_q || clear_i) && bursts_q != '0 && !(response && bursts_q == 1);

      if (clear_i) error_q <= 1'b0;
      else if (b_valid_i && !draining_q && (b_resp_i[1] || bursts_q == '0)) error_q <= 1'b1;
    end
  end
endmodule
