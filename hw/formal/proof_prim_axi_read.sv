// prim_axi_read in front of a memory that answers each burst it was asked for, in order, at any time: the rules of the
// address channel (proof_axi_address), words that always find room, the words of each run in number, and the end: what
// was asked for after `clear_i` comes, and then the port is idle.
module proof_prim_axi_read #(
  parameter int unsigned AddrWidth   = 16,
  parameter int unsigned DataWidth   = 64,
  parameter int unsigned RunWidth    = 5,
  parameter int unsigned Burst       = 4,
  parameter int unsigned Outstanding = 3,
  parameter int unsigned Buffer      = 8,
  localparam int unsigned LogBytes = $clog2(DataWidth / 8)
) (
  input logic                 clk_i,
  input logic                 clear_i,
  input logic                 run_valid_i,
  input logic [AddrWidth-1:0] run_addr_i,
  input logic [RunWidth-1:0]  run_words_i,
  input logic                 out_ready_i,
  input logic                 ar_ready_i,
  input logic                 r_valid_i,
  input logic [DataWidth-1:0] r_data_i,
  input logic [1:0]           r_resp_i,
  input logic                 r_last_i
);
  logic rst_nq;
  initial rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic                 idle, error, run_ready, out_valid, out_last, ar_valid, r_ready;
  logic [AddrWidth-1:0] ar_addr;
  logic [7:0]           ar_len;
  logic [2:0]           ar_size;
  logic [1:0]           ar_burst;
  logic [DataWidth-1:0] out_data;
  prim_axi_read #(
    .AddrWidth(AddrWidth), .DataWidth(DataWidth), .RunWidth(RunWidth), .Burst(Burst), .Outstanding(Outstanding),
    .Buffer(Buffer)
  ) u_dut (
    .clk_i, .rst_ni(rst_nq), .clear_i, .idle_o(idle), .error_o(error), .run_valid_i, .run_ready_o(run_ready),
    .run_addr_i, .run_words_i, .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data), .out_last_o(out_last),
    .ar_valid_o(ar_valid), .ar_ready_i, .ar_addr_o(ar_addr), .ar_len_o(ar_len), .ar_size_o(ar_size),
    .ar_burst_o(ar_burst), .r_valid_i, .r_ready_o(r_ready), .r_data_i, .r_resp_i, .r_last_i
  );
  proof_axi_address #(.AddrWidth(AddrWidth), .LogBytes(LogBytes), .Burst(Burst)) u_address (
    .clk_i, .rst_ni(rst_nq), .valid_i(ar_valid), .ready_i(ar_ready_i), .addr_i(ar_addr), .len_i(ar_len)
  );

  // Words of the bursts that the memory has taken and not answered, as the memory counts them.
  logic [31:0] owed_q;
  initial owed_q = 0;
  always_ff @(posedge clk_i) begin
    if (!rst_nq) owed_q <= 0;
    else owed_q <= owed_q + (ar_valid && ar_ready_i ? 32'(ar_len) + 1 : 0) - 32'(r_valid_i);
  end

  // The same, as the port counts them, and those of the burst whose address waits.
  logic [31:0] pending, offered;
  always_comb begin
    pending = 0;
    for (int unsigned i = 0; i < Outstanding; i++) begin
      if (i < 32'(u_dut.u_bursts.count_q)) begin
        pending += 32'(u_dut.u_bursts.memory[($clog2(Outstanding))'((32'(u_dut.u_bursts.read_q) + i) % Outstanding)]
                       >> 1);
      end
    end
    pending -= 32'(u_dut.words_q);
    offered = ar_valid ? 32'(ar_len) + 1 : 0;
  end

  // Words of runs: taken, less those dropped, are asked for and then given.
  logic [31:0] inside_q;
  initial inside_q = 0;
  always_ff @(posedge clk_i) begin
    if (!rst_nq || clear_i) inside_q <= 0;
    else begin
      inside_q <= inside_q + (run_valid_i && run_ready ? 32'(run_words_i) : 0) - 32'(out_valid && out_ready_i);
    end
  end

  logic [31:0] queued;
  assign queued = 32'(u_dut.queued);
  always_comb begin
    assume (!run_valid_i || run_words_i != '0);
    assume (!r_valid_i || (rst_nq && owed_q != 0));
    if (rst_nq) begin
      takes:   assert (r_ready);
      same:    assert (pending == owed_q + offered);
      fits:    assert (!u_dut.word || u_dut.drop || u_dut.queue_ready);
      answers: assert (!r_valid_i || u_dut.waiting_valid);
      number:  assert (u_dut.draining_q || inside_q == 32'(u_dut.u_burst.left_q) + pending + queued);
      ends:    assert (!u_dut.draining_q || pending != 0);
      // For the induction.
      bounded: assert (owed_q <= Outstanding * Burst);
      room:    assert (u_dut.draining_q || 32'(u_dut.room_q) + pending + queued == Buffer);
      emptied: assert (!u_dut.draining_q || (queued == 0 && inside_q == 0 && u_dut.u_burst.left_q == '0
                       && 32'(u_dut.room_q) == Buffer));
      stored:  assert (32'(u_dut.u_queue.count_q) == 32'(u_dut.u_queue.stored_q) + 32'(u_dut.u_queue.read_q2[0])
                       + 32'(u_dut.u_queue.read_q2[1]) + 32'(u_dut.u_queue.u_landing.count_q));
      credits: assert (32'(u_dut.u_queue.u_credit.count_q) + 32'(u_dut.u_queue.read_q2[0])
                       + 32'(u_dut.u_queue.read_q2[1]) + 32'(u_dut.u_queue.u_landing.count_q) == 4);
      bursts:  assert (32'(u_dut.u_bursts.count_q) <= Outstanding && 32'(u_dut.u_bursts.read_q) < Outstanding
                       && 32'(u_dut.u_bursts.write_q)
                       == (32'(u_dut.u_bursts.read_q) + 32'(u_dut.u_bursts.count_q)) % Outstanding);
      first:   assert (!u_dut.waiting_valid || 32'(u_dut.words_q) < 32'(u_dut.waiting.words));
      none:    assert (u_dut.waiting_valid || u_dut.words_q == '0);
    end
  end
  for (genvar i = 0; i < Outstanding; i++) begin : gen_place
    logic [$clog2(Outstanding)-1:0] place;
    logic [31:0]                    length;
    assign place  = ($clog2(Outstanding))'((32'(u_dut.u_bursts.read_q) + i) % Outstanding);
    assign length = 32'(u_dut.u_bursts.memory[place] >> 1);
    always_comb begin
      words: assert (!rst_nq || i >= 32'(u_dut.u_bursts.count_q)
                     || (length >= 1 && length <= Burst));
    end
  end
  logic unused;
  assign unused = ^{idle, error, out_last, out_data, ar_size, ar_burst};
endmodule
