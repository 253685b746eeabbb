// prim_reset_sync: its reset is low while the one it follows is low, at once; it rises with edge number `Stages` of the
// clock after that one rose, and at no other time. Steps of this proof are instants: clock and reset change in any of them.
module proof_prim_reset_sync #(
  parameter int unsigned Stages = 2
) (
  input logic clk_i,
  input logic rst_ni,
  input logic tick_i
);
  // Everything begins with a reset, until an instant that may be any.
  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge tick_i) started_q <= 1'b1;

  logic rst_n;
  prim_reset_sync #(.Stages(Stages)) u_dut (.clk_i, .rst_ni, .rst_no(rst_n));

  // Edges of the clock since the reset ended, up to `Stages`.
  logic [$clog2(Stages+1)-1:0] edges_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) edges_q <= '0;
    else if (32'(edges_q) != Stages) edges_q <= edges_q + 1'b1;
  end

  always_comb begin
    assume (started_q || !rst_ni);
    at_once: assert (rst_ni || !rst_n);
    in_step: assert (rst_n == (32'(edges_q) == Stages));
    // For the induction.
    chain:   assert (32'(edges_q) <= Stages && u_dut.chain_q == Stages'((64'd1 << edges_q) - 1'b1));
  end
endmodule
