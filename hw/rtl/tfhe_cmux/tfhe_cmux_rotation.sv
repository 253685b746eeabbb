// From where a row of X^a times a polynomial takes its values. Row t has the coefficients t, t + R, t + 2R ... in its
// lanes, with R rows in all. With a = a0 + R*a1 they lie in row t - a0 modulo R, in lanes that are a1 lower, or a1 + 1
// if t < a0. Logic without registers. What `tfhe_cmux_difference` does with the turn is proved together with it
// (docs/hw/proofs.md).
module tfhe_cmux_rotation
  import tfhe_cmux_pkg::*;
#(
  parameter int unsigned LogRows = 9  // log2 of the number of rows R.
) (
  input  logic [LogRows+LogLanes:0] exponent_i,  // The exponent a, below 2N.
  input  logic [LogRows-1:0]        row_i,  // The row t of the product.
  output logic [LogRows-1:0]        source_o,  // The row of the polynomial.
  output turn_t                     turn_o  // The number of lanes by which it is turned.
);
  typedef logic [LogRows-1:0] row_t;
  assign source_o = row_i - row_t'(exponent_i);
  assign turn_o   = turn_t'(exponent_i >> LogRows) + turn_t'(row_i < row_t'(exponent_i));
endmodule
