// Stands in for the multiplier in proofs of what follows it: after as many cycles the "product" is the two factors side
// by side, so that a harness has any number come out of it.
module prim_mul #(
  parameter int unsigned AWidth   = 32,
  parameter int unsigned BWidth   = 32,
  parameter int unsigned OutWidth = AWidth + BWidth,
  parameter int unsigned Stages   = 2,
  parameter int unsigned TileA    = 26,
  parameter int unsigned TileB    = 17
) (
  input  logic                clk_i,
  input  logic                en_i,
  input  logic [AWidth-1:0]   a_i,
  input  logic [BWidth-1:0]   b_i,
  output logic [OutWidth-1:0] product_o
);
  proof_delay #(.Width(OutWidth), .Depth(Stages)) u_delay (
    .clk_i, .en_i, .data_i(OutWidth'({a_i, b_i})), .data_o(product_o)
  );
endmodule
