// operand * digit by the schoolbook: a tile of 26 x 17 bits, as a DSP48E2 multiplies without its sign bits, for every
// 26 bits of the operand and every 17 of the digit. Two cycles later a few numbers whose sum is the product.
//
//   first the products, register, then four levels of compression at most, register
module mont_mul_rows #(
  parameter int unsigned Width     = 1026,  // Bits of the operand.
  parameter int unsigned Rows      = 16,  // Rows of 17 bits in the digit.
  parameter int unsigned Summands  = 7,  // Numbers that represent the product.
  localparam int unsigned TileA    = 26,  // Bits of the first factor of a tile.
  localparam int unsigned TileB    = 17,  // Bits of the second factor of a tile.
  localparam int unsigned Digit    = Rows * TileB,  // Bits of the digit.
  localparam int unsigned OutWidth = Width + Digit  // Bits of the product.
) (
  input  logic                clk_i,  // Clock.
  input  logic [Width-1:0]    operand_i,  // The long factor.
  input  logic [Digit-1:0]    digit_i,  // The short factor.
  output logic [OutWidth-1:0] summands_o[Summands]  // Numbers whose sum is the product, two cycles later.
);
  localparam int unsigned Tiles    = (Width + TileA - 1) / TileA;
  localparam int unsigned RowWidth = Tiles * TileA + TileB;

  logic [OutWidth-1:0] tiles[2*Rows];
  for (genvar j = 0; j < Rows; j++) begin : gen_row
    logic [RowWidth-1:0] row[2];
    prim_mul_row #(.Width(Width), .TileA(TileA), .TileB(TileB)) u_row (
      .clk_i, .a_i(operand_i), .b_i(digit_i[j*TileB+:TileB]), .tiles_o(row)
    );
    assign tiles[2*j]   = OutWidth'({{Digit{1'b0}}, row[0]} << (j * TileB));
    assign tiles[2*j+1] = OutWidth'({{Digit{1'b0}}, row[1]} << (j * TileB));
  end

  logic [OutWidth-1:0] summands_d[Summands];
  prim_csa #(.Width(OutWidth), .Inputs(2 * Rows), .Outputs(Summands)) u_compress (
    .data_i(tiles), .data_o(summands_d)
  );
  always_ff @(posedge clk_i) summands_o <= summands_d;
endmodule
