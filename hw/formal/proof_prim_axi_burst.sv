// prim_axi_burst: the rules of the address channel (proof_axi_address); and the bursts of a run follow one another without
// a gap from its first word, together have its words, and each but the last ends at a multiple of `Burst` words. A run is
// taken only when no words of an earlier one are left, and no burst begins that is not allowed.
module proof_prim_axi_burst #(
  parameter int unsigned AddrWidth = 16,
  parameter int unsigned DataWidth = 64,
  parameter int unsigned RunWidth  = 5,
  parameter int unsigned Burst     = 4,
  localparam int unsigned LogBytes = $clog2(DataWidth / 8),
  localparam int unsigned BurstWidth = $clog2(Burst) + 1
) (
  input logic                 clk_i,
  input logic                 clear_i,
  input logic                 hold_i,
  input logic                 run_valid_i,
  input logic [AddrWidth-1:0] run_addr_i,
  input logic [RunWidth-1:0]  run_words_i,
  input logic                 allow_i,
  input logic                 ready_i
);
  logic rst_nq;
  initial rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic                  run_ready, begins, ends_run, busy, valid;
  logic [BurstWidth-1:0] words;
  logic [AddrWidth-1:0]  addr;
  logic [7:0]            len;
  logic [2:0]            size;
  logic [1:0]            burst;
  prim_axi_burst #(.AddrWidth(AddrWidth), .DataWidth(DataWidth), .RunWidth(RunWidth), .Burst(Burst)) u_dut (
    .clk_i, .rst_ni(rst_nq), .clear_i, .hold_i, .run_valid_i, .run_ready_o(run_ready), .run_addr_i, .run_words_i,
    .allow_i, .begin_o(begins), .words_o(words), .ends_run_o(ends_run), .busy_o(busy), .valid_o(valid), .ready_i,
    .addr_o(addr), .len_o(len), .size_o(size), .burst_o(burst)
  );
  proof_axi_address #(.AddrWidth(AddrWidth), .LogBytes(LogBytes), .Burst(Burst)) u_address (
    .clk_i, .rst_ni(rst_nq), .valid_i(valid), .ready_i, .addr_i(addr), .len_i(len)
  );

  // The words of the run that no burst has, and the first of them, by what the address channel said.
  logic [31:0]          left_q;
  logic [AddrWidth-1:0] next_q;
  // A burst began in the cycle before; whether it was said to be the last one, and its words.
  logic                  began_q, ended_q;
  logic [BurstWidth-1:0] words_q;
  initial begin
    left_q  = 0;
    began_q = 1'b0;
  end
  // The address channel shows a burst in the cycle after it began.
  logic [31:0]          left;
  logic [AddrWidth-1:0] next;
  assign left = began_q ? left_q - 32'(len) - 1 : left_q;
  assign next = began_q ? next_q + AddrWidth'((32'(len) + 1) << LogBytes) : next_q;
  always_ff @(posedge clk_i) begin
    if (!rst_nq) begin
      left_q  <= 0;
      began_q <= 1'b0;
    end else begin
      began_q <= begins;
      ended_q <= ends_run;
      words_q <= words;
      left_q  <= clear_i ? 0 : left;
      next_q  <= next;
      if (run_valid_i && run_ready && !clear_i) begin
        left_q <= 32'(run_words_i);
        next_q <= {run_addr_i[AddrWidth-1:LogBytes], LogBytes'(0)};
      end
    end
  end

  always_comb begin
    assume (!run_valid_i || run_words_i != '0);
    if (rst_nq) begin
      allowed:  assert (!begins || (allow_i && !hold_i && !clear_i));
      constant: assert (32'(size) == LogBytes && burst == 2'b01);
      ready:    assert (run_ready == (left == 0 && !hold_i));
      works:    assert (busy == (left != 0));
      goes_on:  assert (begins == (busy && allow_i && !hold_i && !clear_i && (!valid || ready_i)));
      if (began_q) begin
        shown:   assert (valid && 32'(len) + 1 == 32'(words_q));
        no_gap:  assert (addr == next_q);
        some:    assert (32'(len) + 1 <= left_q);
        marked:  assert (ended_q == (left == 0));
        aligned: assert (left == 0 || next[LogBytes+BurstWidth-2:0] == '0);
      end
      // For the induction.
      rest:  assert (left == 32'(u_dut.left_q));
      place: assert (left == 0 || next == {u_dut.addr_q, LogBytes'(0)});
      range: assert (left_q < 2 ** RunWidth);
    end
  end
endmodule
