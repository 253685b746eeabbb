// A pipelined multiplier of unsigned numbers, cut by hand into tiles that fit a DSP block: the low `OutWidth` bits of
// a * b, `Stages` enabled cycles later. A new pair is taken every cycle.
//
// The tile is `TileA` x `TileB` bits: 26 x 17 for a DSP48E2 (without its sign bits), 18 x 18 for an ECP5's MULT18X18D.
// Products of tiles above `OutWidth` are left out. Products that do not overlap form one summand, which keeps the
// number of summands small:
//
//   of one diagonal (tile i + 1 of a and j + 1 of b begin where i and j end): TilesA + TilesB - 1 summands
//   every second of a row (where TileB <= TileA): two for each row, which are fewer where a is much longer than b
//
//   Stages 1: everything, then a register      2: the tiles, register, the sum, register
//   Stages 3: the tiles, register, sums of pairs of summands, register, the sum, register
module prim_mul #(
  parameter int unsigned AWidth   = 32,  // Bits of a.
  parameter int unsigned BWidth   = 32,  // Bits of b.
  parameter int unsigned OutWidth = AWidth + BWidth,  // Low bits of the product that are computed.
  parameter int unsigned Stages   = 2,  // Pipeline stages: 1, 2 or 3.
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA    = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB    = 17
) (
  input  logic                clk_i,  // Clock.
  input  logic                en_i,  // Clock enable: low holds every register.
  input  logic [AWidth-1:0]   a_i,  // First factor.
  input  logic [BWidth-1:0]   b_i,  // Second factor.
  output logic [OutWidth-1:0] product_o  // Low `OutWidth` bits of a * b.
);
  localparam int unsigned TilesA   = (AWidth + TileA - 1) / TileA;
  localparam int unsigned TilesB   = (BWidth + TileB - 1) / TileB;
  localparam bit          Diagonal = TilesA <= TilesB + 1;
  localparam int unsigned Summands = Diagonal ? TilesA + TilesB - 1 : 2 * TilesB;
  localparam int unsigned SumWidth = TilesA * TileA + TilesB * TileB;

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

  // Where the product of tiles i and j goes: summands k and Summands - 1 - k cover about the same bits.
  function automatic int unsigned summand(int unsigned i, int unsigned j);
    if (Diagonal) return TilesB - 1 + i - j;
    return i % 2 == 0 ? j : Summands - 1 - j;
  endfunction

  logic [Summands-1:0][SumWidth-1:0] placed;
  logic [Summands-1:0][OutWidth-1:0] tiles_d, tiles;
  always_comb begin
    placed = '0;
    for (int unsigned i = 0; i < TilesA; i++) begin
      for (int unsigned j = 0; j < TilesB; j++) begin
        placed[summand(i, j)][i*TileA+j*TileB+:TileA+TileB] =
            (TileA + TileB)'(a[i*TileA+:TileA]) * (TileA + TileB)'(b[j*TileB+:TileB]);
      end
    end
    for (int unsigned k = 0; k < Summands; k++) tiles_d[k] = OutWidth'(placed[k]);
  end

  if (Stages > 1) begin : gen_tile_register
    always_ff @(posedge clk_i) begin
      if (en_i) tiles <= tiles_d;
    end
  end else begin : gen_no_tile_register
    assign tiles = tiles_d;
  end

  localparam int unsigned LastSummands = Stages > 2 ? (Summands + 1) / 2 : Summands;
  logic [LastSummands-1:0][OutWidth-1:0] last;

  if (Stages > 2) begin : gen_pairs
    always_ff @(posedge clk_i) begin
      if (en_i) begin
        for (int unsigned k = 0; k < LastSummands; k++) begin
          last[k] <= k == Summands - 1 - k ? tiles[k] : tiles[k] + tiles[Summands-1-k];
        end
      end
    end
  end else begin : gen_no_pairs
    assign last = tiles;
  end

  logic [OutWidth-1:0] sum;
  always_comb begin
    sum = '0;
    for (int unsigned k = 0; k < LastSummands; k++) sum = sum + last[k];
  end

  always_ff @(posedge clk_i) begin
    if (en_i) product_o <= sum;
  end
endmodule
