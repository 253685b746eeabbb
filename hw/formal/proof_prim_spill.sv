// prim_spill: a queue of two beats (proof_queue) that takes a beat whenever it has room and gives whenever it has one.
module proof_prim_spill #(
  parameter int unsigned Width = 4
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

  logic             in_ready, out_valid, watched;
  logic [Width-1:0] out_data, data;
  logic [1:0]       count, ahead;
  prim_spill #(.Width(Width)) u_dut (
    .clk_i, .rst_ni(rst_nq), .clear_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i, .out_valid_o(out_valid),
    .out_ready_i, .out_data_o(out_data)
  );
  proof_queue #(.Width(Width), .Capacity(2)) u_queue (
    .clk_i, .rst_ni(rst_nq), .clear_i, .watch_i, .in_valid_i, .in_ready_i(in_ready), .in_data_i,
    .out_valid_i(out_valid), .out_ready_i, .out_data_i(out_data), .count_o(count), .watched_o(watched),
    .ahead_o(ahead), .data_o(data)
  );
  always_comb begin
    if (rst_nq) begin
      takes: assert (in_ready == (count != 2'd2));
      gives: assert (out_valid == (count != 2'd0));
      holds: assert (!watched || data == (ahead == '0 ? u_dut.data_q : u_dut.spill_q));
    end
  end
endmodule
