// A pipelined multiplier of unsigned numbers, cut by hand into tiles that fit a DSP block: the low `OutWidth` bits of
// a * b, `Stages` enabled cycles later. A new pair is taken every cycle.
//
// The tile is `TileA` x `TileB` bits: 26 x 17 is what a DSP48E2 multiplies without its sign bits, 17 x 17 or less what
// an ECP5's MULT18X18D does. Products of tiles above the bits that are asked for are left out. Where TileB <= TileA
// every second tile of a row lies beside the other, not over it, so that a row is two summands whatever its length.
//
//   Stages 1: everything, then a register      2: the tiles, register, the sum, register
//   Stages 3: the tiles, register, sums of pairs of summands, register, the sum, register
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
  localparam int unsigned TilesA   = (AWidth + TileA - 1) / TileA;
  localparam int unsigned TilesB   = (BWidth + TileB - 1) / TileB;
  localparam int unsigned Summands = 2 * TilesB;
  localparam int unsigned RowWidth = TilesA * TileA + TileB;

  if (TileB > TileA) begin : gen_wrong_tile
    $error("prim_mul: TileB must not be greater than TileA");
  end
  if (Stages < 1 || Stages > 3) begin : gen_wrong_stages
    $error("prim_mul: Stages must be 1, 2 or 3");
  end

  logic [TilesA*TileA-1:0] a;
  logic [TilesB*TileB-1:0] b;
  assign a = (TilesA * TileA)'(a_i);
  assign b = (TilesB * TileB)'(b_i);

  // Row j has its even tiles in summand 2j and its odd ones in summand 2j + 1.
  logic [Summands-1:0][OutWidth-1:0] tiles_d, tiles;

  for (genvar j = 0; j < TilesB; j++) begin : gen_row
    logic [1:0][RowWidth-1:0] row;
    always_comb begin
      row = '0;
      for (int unsigned i = 0; i < TilesA; i++) begin
        row[i%2][i*TileA+:TileA+TileB] =
            (TileA + TileB)'(a[i*TileA+:TileA]) * (TileA + TileB)'(b[j*TileB+:TileB]);
      end
    end
    assign tiles_d[2*j]   = OutWidth'({{(TilesB * TileB) {1'b0}}, row[0]} << (j * TileB));
    assign tiles_d[2*j+1] = OutWidth'({{(TilesB * TileB) {1'b0}}, row[1]} << (j * TileB));
  end

  if (Stages > 1) begin : gen_tile_register
    always_ff @(posedge clk_i) begin
      if (en_i) tiles <= tiles_d;
    end
  end else begin : gen_no_tile_register
    assign tiles = tiles_d;
  end

  localparam int unsigned LastSummands = Stages > 2 ? TilesB : Summands;
  logic [LastSummands-1:0][OutWidth-1:0] last;

  if (Stages > 2) begin : gen_pairs
    always_ff @(posedge clk_i) begin
      if (en_i) begin
        for (int unsigned j = 0; j < TilesB; j++) last[j] <= tiles[2*j] + tiles[2*j+1];
      end
    end
  end else begin : gen_no_pairs
    assign last = tiles;
  end

  logic [OutWidth-1:0] sum;
  always_comb begin
    sum = '0;
    for (int unsigned j = 0; j < LastSummands; j++) sum = sum + last[j];
  end

  always_ff @(posedge clk_i) begin
    if (en_i) product_o <= sum;
  end
endmodule
