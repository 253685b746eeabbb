// prim_axi_write in front of a memory that takes addresses and words at any time and answers a burst, in order, once it
// has all of it: the rules of both channels (proof_axi_address; words that are not taken stay), the last word of each
// burst marked and no other, the words of each run in number, and the end: after `clear_i` all bursts that were begun
// are answered, and then the port is idle.
//
// The lengths of bursts are watched for one burst, which may be any.
module proof_prim_axi_write #(
  parameter int unsigned AddrWidth   = 16,
  parameter int unsigned DataWidth   = 32,
  parameter int unsigned RunWidth    = 5,
  parameter int unsigned Burst       = 4,
  parameter int unsigned Outstanding = 3,
  localparam int unsigned Bytes = DataWidth / 8,
  localparam int unsigned LogBytes = $clog2(Bytes)
) (
  input logic                 clk_i,
  input logic                 clear_i,
  input logic                 run_valid_i,
  input logic [AddrWidth-1:0] run_addr_i,
  input logic [RunWidth-1:0]  run_words_i,
  input logic                 in_valid_i,
  input logic [DataWidth-1:0] in_data_i,
  input logic [Bytes-1:0]     in_strobe_i,
  input logic                 aw_ready_i,
  input logic                 w_ready_i,
  input logic                 b_valid_i,
  input logic [1:0]           b_resp_i
);
  logic rst_nq;
  initial rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic                 idle, error, run_ready, in_ready, aw_valid, w_valid, w_last, b_ready;
  logic [AddrWidth-1:0] aw_addr;
  logic [7:0]           aw_len;
  logic [2:0]           aw_size;
  logic [1:0]           aw_burst;
  logic [DataWidth-1:0] w_data;
  logic [Bytes-1:0]     w_strb;
  prim_axi_write #(
    .AddrWidth(AddrWidth), .DataWidth(DataWidth), .RunWidth(RunWidth), .Burst(Burst), .Outstanding(Outstanding)
  ) u_dut (
    .clk_i, .rst_ni(rst_nq), .clear_i, .idle_o(idle), .error_o(error), .run_valid_i, .run_ready_o(run_ready),
    .run_addr_i, .run_words_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i, .in_strobe_i, .aw_valid_o(aw_valid),
    .aw_ready_i, .aw_addr_o(aw_addr), .aw_len_o(aw_len), .aw_size_o(aw_size), .aw_burst_o(aw_burst),
    .w_valid_o(w_valid), .w_ready_i, .w_data_o(w_data), .w_strb_o(w_strb), .w_last_o(w_last), .b_valid_i,
    .b_ready_o(b_ready), .b_resp_i
  );
  proof_axi_address #(.AddrWidth(AddrWidth), .LogBytes(LogBytes), .Burst(Burst)) u_address (
    .clk_i, .rst_ni(rst_nq), .valid_i(aw_valid), .ready_i(aw_ready_i), .addr_i(aw_addr), .len_i(aw_len)
  );

  // Bursts begun, and those whose address, last word and answer the memory has seen.
  logic [31:0] begun_q, addressed_q, ended_q, answered_q;
  // Words of the present burst that the memory has.
  logic [31:0] words_q;
  logic        held_q, last_q;
  logic [DataWidth-1:0] data_q;
  logic [Bytes-1:0]     strb_q;
  initial begin
    begun_q     = 0;
    addressed_q = 0;
    ended_q     = 0;
    answered_q  = 0;
    words_q     = 0;
    held_q      = 1'b0;
  end
  logic word;
  assign word = w_valid && w_ready_i;
  always_ff @(posedge clk_i) begin
    held_q <= rst_nq && w_valid && !w_ready_i;
    last_q <= w_last;
    data_q <= w_data;
    strb_q <= w_strb;
    if (!rst_nq) begin
      begun_q     <= 0;
      addressed_q <= 0;
      ended_q     <= 0;
      answered_q  <= 0;
      words_q     <= 0;
    end else begin
      begun_q     <= begun_q + 32'(u_dut.begin_burst);
      addressed_q <= addressed_q + 32'(aw_valid && aw_ready_i);
      ended_q     <= ended_q + 32'(word && w_last);
      answered_q  <= answered_q + 32'(b_valid_i);
      if (word) words_q <= w_last ? 0 : words_q + 1;
    end
  end

  // The lengths of bursts as the address channel gave them: the burst `ended_q` is the one whose words come now.
  logic [7:0] lengths[Outstanding + 1];
  always_ff @(posedge clk_i) begin
    if (u_dut.begin_burst) lengths[begun_q % (Outstanding + 1)] <= 8'(u_dut.burst) - 1'b1;
  end

  // Words that run through the port: of runs, left to begin; of bursts, not yet passed; in the last register.
  logic [31:0] spilled, lasts, queue;
  assign spilled = 32'(u_dut.u_out.full_q) + 32'(u_dut.u_out.spilled_q);
  assign lasts   = 32'(u_dut.u_out.full_q && u_dut.u_out.data_q[DataWidth+Bytes])
                 + 32'(u_dut.u_out.spilled_q && u_dut.u_out.spill_q[DataWidth+Bytes]);
  assign queue   = 32'(u_dut.u_lengths.count_q);
  always_comb begin
    assume (!run_valid_i || run_words_i != '0);
    assume (!b_valid_i || (rst_nq && answered_q < addressed_q && answered_q < ended_q));
    assume (begun_q < 32'hffff_0000);
    if (rst_nq) begin
      takes:  assert (b_ready);
      stays:  assert (!held_q || (w_valid && w_last == last_q && w_data == data_q && w_strb == strb_q));
      marked: assert (!w_valid || (w_last == (words_q == 32'(lengths[ended_q % (Outstanding + 1)]))));
      most:   assert (begun_q - answered_q <= Outstanding);
      counts: assert (32'(u_dut.bursts_q) == begun_q - answered_q);
      ends:   assert (!u_dut.draining_q || u_dut.bursts_q != '0);
      idles:  assert (!idle || (begun_q == answered_q && u_dut.u_burst.left_q == '0));
      // For the induction.
      address: assert (begun_q == addressed_q + 32'(aw_valid));
      ordered: assert (answered_q <= addressed_q && answered_q <= ended_q && ended_q <= begun_q);
      passing: assert (begun_q == ended_q + lasts + queue);
      emptied: assert (!u_dut.draining_q || u_dut.u_burst.left_q == '0);
      order:   assert (32'(u_dut.u_lengths.count_q) <= Outstanding && 32'(u_dut.u_lengths.read_q) < Outstanding
                       && 32'(u_dut.u_lengths.write_q)
                       == (32'(u_dut.u_lengths.read_q) + 32'(u_dut.u_lengths.count_q)) % Outstanding);
      short:   assert (queue == 0 || 32'(u_dut.words_q) < 32'(u_dut.length));
      none:    assert (queue != 0 || u_dut.words_q == '0);
      first:   assert (!u_dut.u_out.spilled_q || u_dut.u_out.full_q);
    end
  end
  for (genvar i = 0; i < Outstanding; i++) begin : gen_place
    logic [$clog2(Outstanding)-1:0] place;
    logic [31:0]                    length;
    assign place  = ($clog2(Outstanding))'((32'(u_dut.u_lengths.read_q) + i) % Outstanding);
    assign length = 32'(u_dut.u_lengths.memory[place]);
    always_comb begin
      if (rst_nq && i < queue) begin
        same: assert (length == 32'(lengths[(ended_q + lasts + i) % (Outstanding + 1)]) + 1);
        some: assert (length != 0);
      end
    end
  end

  // The words that the memory has and those in the last registers are those that passed: of the same burst, or of the
  // one before if its last word waits.
  logic [31:0] length_now, length_next;
  assign length_now  = 32'(lengths[ended_q % (Outstanding + 1)]) + 1;
  assign length_next = 32'(lengths[(ended_q + 1) % (Outstanding + 1)]) + 1;
  always_comb begin
    if (rst_nq) begin
      case (lasts)
        0: in_burst: assert (words_q + spilled == 32'(u_dut.words_q));
        1: in_next: assert (words_q + spilled == length_now + 32'(u_dut.words_q));
        default: in_both: assert (words_q + 1 == length_now && length_next == 1 && u_dut.words_q == '0);
      endcase
      newest: assert (!u_dut.u_out.full_q || u_dut.words_q == '0
                      || !(u_dut.u_out.spilled_q ? u_dut.u_out.spill_q[DataWidth+Bytes]
                           : u_dut.u_out.data_q[DataWidth+Bytes]));
      head: assert (!(u_dut.u_out.full_q && u_dut.u_out.data_q[DataWidth+Bytes]) || words_q + 1 == length_now);
    end
  end
  logic unused;
  assign unused = ^{error, run_ready, in_ready, aw_size, aw_burst};
endmodule
