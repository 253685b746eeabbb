// A row of full adders: two numbers with the sum of three, modulo 2^Width.
module prim_csa_cell #(
  parameter int unsigned Width = 32
) (
  input  logic [Width-1:0] x_i,
  input  logic [Width-1:0] y_i,
  input  logic [Width-1:0] z_i,
  output logic [Width-1:0] sum_o,
  output logic [Width-1:0] carry_o
);
  // A shift, not a part with a zero below: simulators do it in one call.
  assign sum_o   = x_i ^ y_i ^ z_i;
  assign carry_o = ((x_i & y_i) | (z_i & (x_i ^ y_i))) << 1;
endmodule
