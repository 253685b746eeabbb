// A long number times a short one, cut into tiles that fit a DSP block, with a register behind the tiles: two numbers
// whose sum is the product, because neighbouring tiles are in different summands. A separate module, so that a
// simulator compiles it once.
module prim_mul_row #(
  parameter int unsigned Width = 64,  // Bits of the long factor.
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB = 17,
  localparam int unsigned Tiles    = (Width + TileA - 1) / TileA,  // Number of tiles.
  localparam int unsigned OutWidth = Tiles * TileA + TileB  // Bits of a summand.
) (
  input  logic                clk_i,  // Clock.
  input  logic [Width-1:0]    a_i,  // Long factor.
  input  logic [TileB-1:0]    b_i,  // Short factor.
  output logic [OutWidth-1:0] tiles_o[2]  // Two numbers whose sum is the product, one cycle later.
);
  /* verilator no_inline_module */
  if (TileB > TileA) begin : gen_wrong_tile
    $error("prim_mul_row: TileB must not be greater than TileA");
  end

  logic [Tiles*TileA-1:0] a;
  assign a = (Tiles * TileA)'(a_i);

  logic [TileA+TileB-1:0] tile_q[Tiles];
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Tiles; i++) begin
      tile_q[i] <= (TileA + TileB)'(a[i*TileA+:TileA]) * (TileA + TileB)'(b_i);
    end
  end
  always_comb begin
    tiles_o[0] = '0;
    tiles_o[1] = '0;
    for (int unsigned i = 0; i < Tiles; i++) tiles_o[i%2][i*TileA+:TileA+TileB] = tile_q[i];
  end
endmodule
