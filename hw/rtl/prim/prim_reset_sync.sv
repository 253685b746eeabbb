// A reset that begins at once and ends in step with the clock: `rst_no` rises with the clock edge number `Stages` after
// `rst_ni` rose. All registers behind it so leave the reset in the same cycle. A first register that becomes metastable,
// because `rst_ni` rises close to an edge, has the other stages' cycles to settle; the end is then one edge later at most.
module prim_reset_sync #(
  parameter int unsigned Stages = 2  // Registers in the chain, at least 2.
) (
  input  logic clk_i,  // Clock.
  input  logic rst_ni,  // Asynchronous reset, active low.
  output logic rst_no  // The reset of this clock's registers, active low.
);
  if (Stages < 2) begin : gen_wrong_stages
    $error("prim_reset_sync: one register does not settle; Stages must be at least 2");
  end

  (* ASYNC_REG = "TRUE" *) logic [Stages-1:0] chain_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) chain_q <= '0;
    else chain_q <= Stages'({chain_q, 1'b1});
  end

  assign rst_no = chain_q[Stages-1];
endmodule
