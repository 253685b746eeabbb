// prim_fifo: a queue of `Depth` beats (proof_queue) that takes a beat whenever it has room and gives whenever it has one.
module proof_prim_fifo #(
  parameter int unsigned Width = 4,
  parameter int unsigned Depth = 4,
  localparam int unsigned CountWidth = $clog2(Depth + 1),
  localparam int unsigned AddrWidth = Depth > 1 ? $clog2(Depth) : 1
) (
  input logic             clk_i,
  input logic             clear_i,
  input logic             watch_i,
  input logic             in_valid_i,
  input logic [Width-1:0] in_data_i,
  input logic             out_ready_i
);
  logic rst_nq;
  initial rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic                  in_ready, out_valid, watched;
  logic [Width-1:0]      out_data, data;
  logic [CountWidth-1:0] count, ahead, stated;
  prim_fifo #(.Width(Width), .Depth(Depth)) u_dut (
    .clk_i, .rst_ni(rst_nq), .clear_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i, .out_valid_o(out_valid),
    .out_ready_i, .out_data_o(out_data), .count_o(stated)
  );
  proof_queue #(.Width(Width), .Capacity(Depth)) u_queue (
    .clk_i, .rst_ni(rst_nq), .clear_i, .watch_i, .in_valid_i, .in_ready_i(in_ready), .in_data_i,
    .out_valid_i(out_valid), .out_ready_i, .out_data_i(out_data), .count_o(count), .watched_o(watched),
    .ahead_o(ahead), .data_o(data)
  );

  // Where the watched beat and the next one are.
  logic [31:0] place, free;
  assign place = (32'(u_dut.read_q) + 32'(ahead)) % Depth;
  assign free  = (32'(u_dut.read_q) + 32'(count)) % Depth;
  always_comb begin
    if (rst_nq) begin
      counts: assert (stated == count);
      takes:  assert (in_ready == (32'(count) != Depth));
      gives:  assert (out_valid == (count != '0));
      reads:  assert (32'(u_dut.read_q) < Depth);
      writes: assert (32'(u_dut.write_q) == free);
      holds:  assert (!watched || u_dut.memory[place[AddrWidth-1:0]] == data);
    end
  end
endmodule
