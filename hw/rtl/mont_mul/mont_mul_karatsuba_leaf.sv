// A product of numbers short enough for the schoolbook: tiles of 26 x 17 bits, register, their sum, register.
module mont_mul_karatsuba_leaf #(
  parameter int unsigned Width = 68,  // Bits of a factor.
  localparam int unsigned TileA = 26,  // Bits of the first factor of a tile.
  localparam int unsigned TileB = 17  // Bits of the second factor of a tile.
) (
  input  logic               clk_i,  // Clock.
  input  logic [Width-1:0]   a_i,  // First factor.
  input  logic [Width-1:0]   b_i,  // Second factor.
  output logic [2*Width-1:0] product_o  // The product, two cycles later.
);
  /* verilator no_inline_module */
  localparam int unsigned TilesA   = (Width + TileA - 1) / TileA;
  localparam int unsigned TilesB   = (Width + TileB - 1) / TileB;
  localparam int unsigned RowWidth = TilesA * TileA + TileB;

  logic [TilesB*TileB-1:0] b;
  assign b = (TilesB * TileB)'(b_i);

  logic [2*Width-1:0] tiles[2*TilesB];
  for (genvar j = 0; j < TilesB; j++) begin : gen_row
    logic [RowWidth-1:0] row[2];
    prim_mul_row #(.Width(Width), .TileA(TileA), .TileB(TileB)) u_row (
      .clk_i, .a_i, .b_i(b[j*TileB+:TileB]), .tiles_o(row)
    );
    assign tiles[2*j]   = (2 * Width)'({{Width{1'b0}}, row[0]} << (j * TileB));
    assign tiles[2*j+1] = (2 * Width)'({{Width{1'b0}}, row[1]} << (j * TileB));
  end

  logic [2*Width-1:0]      pair[2];
  logic [2*Width-1:0]      product_d;
  logic                    unused_carry;
  prim_csa #(.Width(2 * Width), .Inputs(2 * TilesB), .Outputs(2)) u_compress (.data_i(tiles), .data_o(pair));
  prim_add_select #(.Width(2 * Width)) u_sum (
    .clk_i, .en_i(1'b1), .x_i(pair[0]), .y_i(pair[1]), .carry_i(1'b0), .sum_o(product_d), .carry_o(unused_carry)
  );
  always_ff @(posedge clk_i) product_o <= product_d;
endmodule
