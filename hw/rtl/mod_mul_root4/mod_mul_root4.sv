// x times a square root of -1 modulo q = 2^HighBit + 2^LowBit + 1, by shifts and additions alone. Some power of two
// times the root has few signed digits: c = root * 2^(Folds * FoldBits), which `Plus` and `Minus` give as sets of bits.
// The folds of mod_mul_lowham then take the power of two away, and one fold at the top brings the rest near q:
//
//   1: c * x      one for each fold: (z - (z mod 2^FoldBits) * q) / 2^FoldBits
//   then: the part above 2^HighBit times -(2^LowBit + 1), added to the part below; then plus or minus q, or neither
//
//   q                      root * 2^(Folds * FoldBits)     folds
//   2^34 + 2^27 + 1        -(2^26 + 2^17 + 1)              1 of 22 bits
//   2^34 + 2^19 + 1        2^17 + 1                        1 of 9 bits
//   2^38 + 2^23 + 1        13 digits, 2^33 the highest     3 of 21 bits
//
// Found by trying all powers of two; without one, the roots have 4 and 3 signed digits, but products of 64 bits to
// reduce.
//
// One product a cycle, 3 + Folds enabled cycles later.
//
//   range: x < q; the result is below q, if |c| < 2^(HighBit + Folds * FoldBits - LowBit - 2)
module mod_mul_root4 #(
  parameter int unsigned HighBit  = 34,  // Exponent a of the modulus q = 2^a + 2^b + 1.
  parameter int unsigned LowBit   = 27,  // Exponent b of the modulus q = 2^a + 2^b + 1.
  parameter int unsigned Folds    = 1,  // Number of folds after the constant product.
  parameter int unsigned FoldBits = 22,  // Bits that one fold removes.
  parameter int unsigned Plus     = 0,  // Bits 31 to 0 of the set of positive digits of c.
  parameter int unsigned Minus    = 32'h402_0001,  // Bits 31 to 0 of the set of negative digits of c.
  parameter int unsigned PlusHigh  = 0,  // Bits 63 to 32 of the positive digits.
  parameter int unsigned MinusHigh = 0,  // Bits 63 to 32 of the negative digits.
  localparam int unsigned Width   = HighBit + 1  // Bits of a value.
) (
  input  logic             clk_i,  // Clock.
  input  logic             en_i,  // Clock enable: low holds every register.
  input  logic [Width-1:0] x_i,  // Factor, below q.
  output logic [Width-1:0] result_o  // x times the square root of -1 modulo q.
);
  // Enough for any c in the range, its sign, and the bits that a fold adds.
  localparam int unsigned WideWidth = 2 * HighBit + Folds * FoldBits - LowBit + 2;

  typedef logic signed [WideWidth-1:0] wide_t;

  localparam logic [63:0] PlusBits  = {PlusHigh, Plus};
  localparam logic [63:0] MinusBits = {MinusHigh, Minus};
  localparam int unsigned DigitsWidth = $clog2(PlusBits > MinusBits ? PlusBits - MinusBits : MinusBits - PlusBits);
  if (DigitsWidth > HighBit + Folds * FoldBits - LowBit - 2) begin : gen_wrong_digits
    $error("mod_mul_root4: Plus and Minus are too long for these folds");
  end

  if (FoldBits > LowBit || Folds < 1) begin : gen_wrong_folds
    $error("mod_mul_root4: 1 <= Folds and FoldBits <= LowBit must hold");
  end

  wide_t product;
  always_comb begin
    product = '0;
    for (int unsigned bit_of = 0; bit_of < 64; bit_of++) begin
      if (PlusBits[bit_of]) product = product + (wide_t'({1'b0, x_i}) <<< bit_of);
      if (MinusBits[bit_of]) product = product - (wide_t'({1'b0, x_i}) <<< bit_of);
    end
  end

  wide_t [Folds:0] folded_q;
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      folded_q[0] <= product;
      for (int unsigned i = 0; i < Folds; i++) begin
        folded_q[i+1] <= (wide_t'($signed(folded_q[i])) >>> FoldBits)
            - (wide_t'({1'b0, folded_q[i][FoldBits-1:0]}) <<< (HighBit - FoldBits))
            - (wide_t'({1'b0, folded_q[i][FoldBits-1:0]}) <<< (LowBit - FoldBits));
      end
    end
  end

  // The part above 2^HighBit is small by now.
  wide_t                     last, high;
  logic signed [Width+1:0]   near_q;
  assign last = folded_q[Folds];
  assign high = last >>> HighBit;
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      near_q <= (Width + 2)'({1'b0, last[HighBit-1:0]}) - (Width + 2)'(high <<< LowBit) - (Width + 2)'(high);
    end
  end

  localparam logic signed [Width+1:0] Modulus =
      ((Width + 2)'(1) <<< HighBit) + ((Width + 2)'(1) <<< LowBit) + (Width + 2)'(1);
  logic signed [Width+1:0] less, corrected;
  assign less = near_q - Modulus;
  always_comb begin
    if (near_q < 0) corrected = near_q + Modulus;
    else if (less < 0) corrected = near_q;
    else corrected = less;
  end
  logic [1:0] unused_corrected;
  assign unused_corrected = corrected[Width+1:Width];
  always_ff @(posedge clk_i) begin
    if (en_i) result_o <= corrected[Width-1:0];
  end
endmodule
