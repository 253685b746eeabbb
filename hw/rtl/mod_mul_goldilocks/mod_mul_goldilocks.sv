// x * y modulo p = 2^64 - 2^32 + 1: a 64 x 64 multiplier and `goldilocks_reduce`. One product a cycle, 6 enabled cycles
// later.
//
//   range: any x and y below 2^64; the result is below p
module mod_mul_goldilocks #(
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB = 17
) (
  input  logic        clk_i,  // Clock.
  input  logic        en_i,  // Clock enable: low holds every register.
  input  logic [63:0] x_i,  // First factor, any 64-bit number.
  input  logic [63:0] y_i,  // Second factor, any 64-bit number.
  output logic [63:0] result_o  // x * y modulo p, below p.
);
  logic [127:0] product;

  prim_mul #(.AWidth(64), .BWidth(64), .Stages(3), .TileA(TileA), .TileB(TileB)) u_mul (
    .clk_i, .en_i, .a_i(x_i), .b_i(y_i), .product_o(product)
  );
  goldilocks_reduce u_reduce (.clk_i, .en_i, .data_i(product), .result_o);
endmodule
