// A row of full adders: two numbers with the sum of three, modulo 2^Width.
module prim_csa_cell #(
  parameter int unsigned Width = 32  // Bits of a number.
) (
  input  logic [Width-1:0] x_i,  // First number.
  input  logic [Width-1:0] y_i,  // Second number.
  input  logic [Width-1:0] z_i,  // Third number.
  output logic [Width-1:0] sum_o,  // Sum bits.
  output logic [Width-1:0] carry_o  // Carry bits, shifted left by one.
);
  // A shift, not a part with a zero below: simulators do it in one call.
  assign sum_o   = x_i ^ y_i ^ z_i;
  assign carry_o = ((x_i & y_i) | (z_i & (x_i ^ y_i))) << 1;
endmodule
