// A long number times a short one, cut into tiles that fit a DSP block, with a register behind the tiles: two numbers
// whose sum is the product, as every second tile lies beside the other, not over it. A module of its own so that a
// simulator compiles it once.
module prim_mul_row #(
  parameter int unsigned Width = 64,
  parameter int unsigned TileA = 26,
  parameter int unsigned TileB = 17,
  localparam int unsigned Tiles    = (Width + TileA - 1) / TileA,
  localparam int unsigned OutWidth = Tiles * TileA + TileB
) (
  input  logic                clk_i,
  input  logic [Width-1:0]    a_i,
  input  logic [TileB-1:0]    b_i,
  output logic [OutWidth-1:0] tiles_o[2]
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
