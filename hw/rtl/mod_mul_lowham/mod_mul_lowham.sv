// x * y * 2^(-2 Fold) modulo q = 2^HighBit + 2^LowBit + 1, by shifts and additions after the product: a Montgomery
// reduction in two folds. As q is 1 modulo 2^LowBit, the quotient digit that clears the low Fold <= LowBit bits of z is
// those bits themselves:
//
//   (z - (z mod 2^Fold) * q) / 2^Fold = floor(z / 2^Fold) - (z mod 2^Fold) * (2^(HighBit-Fold) + 2^(LowBit-Fold))
//
// A known factor (a twiddle) is stored times 2^(2 Fold), so that no other conversion is needed. Two folds of at least
// (HighBit + 1) / 2 bits leave the result in (-q, q). One product a cycle, 6 enabled cycles later:
// the product (3), each fold (1), the correction of the sign (1).
//
//   range: x, y < q; the result is below q
module mod_mul_lowham #(
  parameter int unsigned HighBit = 34,  // Exponent a of the modulus q = 2^a + 2^b + 1.
  parameter int unsigned LowBit  = 27,  // Exponent b of the modulus q = 2^a + 2^b + 1.
  parameter int unsigned Fold    = (HighBit + 2) / 2,  // Bits that one fold removes.
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA   = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB   = 17,
  localparam int unsigned Width  = HighBit + 1  // Bits of a value.
) (
  input  logic             clk_i,  // Clock.
  input  logic             en_i,  // Clock enable: low holds every register.
  input  logic [Width-1:0] x_i,  // First factor, below q.
  input  logic [Width-1:0] y_i,  // Second factor, below q; a twiddle is stored times 2^(2 Fold).
  output logic [Width-1:0] result_o  // x * y * 2^(-2 Fold) modulo q.
);
  if (Fold > LowBit || 2 * Fold < Width) begin : gen_wrong_fold
    $error("mod_mul_lowham: (HighBit + 1) / 2 <= Fold <= LowBit must hold");
  end

  localparam int unsigned OnceWidth  = 2 * Width - Fold + 1;
  localparam int unsigned TwiceWidth = Width + 1;

  logic [2*Width-1:0] product;
  prim_mul #(.AWidth(Width), .BWidth(Width), .Stages(3), .TileA(TileA), .TileB(TileB)) u_mul (
    .clk_i, .en_i, .a_i(x_i), .b_i(y_i), .product_o(product)
  );

  logic signed [OnceWidth-1:0]  once_q;
  logic signed [TwiceWidth-1:0] twice_q;
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      once_q  <= OnceWidth'(product[2*Width-1:Fold]) - (OnceWidth'(product[Fold-1:0]) << (HighBit - Fold)) -
                 (OnceWidth'(product[Fold-1:0]) << (LowBit - Fold));
      twice_q <= TwiceWidth'(once_q >>> Fold) - (TwiceWidth'(once_q[Fold-1:0]) << (HighBit - Fold)) -
                 (TwiceWidth'(once_q[Fold-1:0]) << (LowBit - Fold));
    end
  end

  localparam logic [Width-1:0] Modulus = (Width'(1) << HighBit) + (Width'(1) << LowBit) + Width'(1);
  always_ff @(posedge clk_i) begin
    if (en_i) result_o <= twice_q[Width-1:0] + (Modulus & {Width{twice_q[TwiceWidth-1]}});
  end
endmodule
