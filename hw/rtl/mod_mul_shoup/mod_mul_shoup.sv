// x * y modulo m for a multiplicand x that is known in advance: Shoup's method, as in the rvfhe paper (Fig. 4, bottom).
//
//   p = floor(x * 2^Width / m), k = floor(y * p / 2^Width), r = x*y - k*m in [0, 2m), less m if not below it.
//
// Only low halves of x*y and k*m matter, as r is below 2^Width. One product a cycle, `Stages` enabled cycles later.
//
//   Stages 6: y*p (2), k*m (2), difference, correction
//   Stages 9: y*p (3), k*m (3), difference, difference less m, choice
//
// x*y is not wanted before the difference, so that it always takes 3.
//   range: x < m <= 2^(Width-1), p as above, any y; the result is below m
module mod_mul_shoup #(
  parameter int unsigned Width  = 32,  // Bits of a value.
  parameter int unsigned Stages = 6,  // Pipeline stages: 6 or 9.
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA  = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB  = 17
) (
  input  logic             clk_i,  // Clock.
  input  logic             en_i,  // Clock enable: low holds every register.
  input  logic [Width-1:0] x_i,  // Factor x that is known in advance, below the modulus.
  input  logic [Width-1:0] x_shoup_i,  // floor(x * 2^Width / m).
  input  logic [Width-1:0] y_i,  // Factor y, any value.
  input  logic [Width-1:0] modulus_i,  // Modulus m, at most 2^(Width-1).
  output logic [Width-1:0] result_o,  // x * y modulo m.
  // The modulus of the result, delayed with it for the next unit.
  output logic [Width-1:0] modulus_o
);
  if (Stages != 6 && Stages != 9) begin : gen_wrong_stages
    $error("mod_mul_shoup: Stages must be 6 or 9");
  end
  localparam int unsigned MulStages = Stages == 6 ? 2 : 3;
  localparam int unsigned LowStages = 3;

  logic [Width-1:0] low;
  prim_mul #(
    .AWidth(Width), .BWidth(Width), .OutWidth(Width), .Stages(LowStages), .TileA(TileA), .TileB(TileB)
  ) u_low (
    .clk_i, .en_i, .a_i(x_i), .b_i(y_i), .product_o(low)
  );

  logic [2*Width-1:0] high;
  prim_mul #(
    .AWidth(Width), .BWidth(Width), .Stages(MulStages), .TileA(TileA), .TileB(TileB)
  ) u_high (
    .clk_i, .en_i, .a_i(x_shoup_i), .b_i(y_i), .product_o(high)
  );
  logic unused_high;
  assign unused_high = ^high[Width-1:0];

  logic [Width-1:0] modulus_k, modulus_r, low_r, product;
  prim_delay #(.Width(Width), .Depth(MulStages)) u_modulus_k (
    .clk_i, .rst_ni(1'b1), .en_i, .data_i(modulus_i), .data_o(modulus_k)
  );
  prim_delay #(.Width(Width), .Depth(MulStages + 1)) u_modulus_r (
    .clk_i, .rst_ni(1'b1), .en_i, .data_i(modulus_k), .data_o(modulus_r)
  );
  prim_delay #(.Width(Width), .Depth(2 * MulStages - LowStages)) u_low_r (
    .clk_i, .rst_ni(1'b1), .en_i, .data_i(low), .data_o(low_r)
  );
  prim_mul #(
    .AWidth(Width), .BWidth(Width), .OutWidth(Width), .Stages(MulStages), .TileA(TileA), .TileB(TileB)
  ) u_quotient (
    .clk_i, .en_i, .a_i(modulus_k), .b_i(high[2*Width-1:Width]), .product_o(product)
  );

  logic [Width-1:0] difference_q;
  always_ff @(posedge clk_i) begin
    if (en_i) difference_q <= low_r - product;
  end

  prim_delay #(.Width(Width), .Depth(Stages - 2 * MulStages - 1)) u_modulus_o (
    .clk_i, .rst_ni(1'b1), .en_i, .data_i(modulus_r), .data_o(modulus_o)
  );

  logic [Width:0] corrected;
  assign corrected = {1'b0, difference_q} - {1'b0, modulus_r};

  if (Stages == 6) begin : gen_one_correction
    always_ff @(posedge clk_i) begin
      if (en_i) result_o <= corrected[Width] ? difference_q : corrected[Width-1:0];
    end
  end else begin : gen_two_corrections
    logic [Width-1:0] kept_q;
    logic [Width:0]   corrected_q;
    always_ff @(posedge clk_i) begin
      if (en_i) begin
        kept_q      <= difference_q;
        corrected_q <= corrected;
        result_o    <= corrected_q[Width] ? kept_q : corrected_q[Width-1:0];
      end
    end
  end
endmodule
