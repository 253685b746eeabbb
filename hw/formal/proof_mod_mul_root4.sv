// mod_mul_root4: result * 2^(Folds * FoldBits) is (Plus - Minus) * x modulo q for every x < q, and below q; at full size.
// Each fold: z less its low bits times q can be divided by 2^FoldBits; the rest is brought into [0, q) by as many times q
// as are above 2^HighBit, and once more or once less.
module proof_mod_mul_root4 #(
  parameter int unsigned HighBit  = 34,
  parameter int unsigned LowBit   = 27,
  parameter int unsigned Folds    = 1,
  parameter int unsigned FoldBits = 22,
  parameter int unsigned Plus     = 0,
  parameter int unsigned Minus    = 32'h402_0001,
  parameter int unsigned PlusHigh = 0,
  localparam int unsigned Width   = HighBit + 1
) (
  input logic             clk_i,
  input logic [Width-1:0] x_i
);
  localparam int unsigned Latency = 3 + Folds;
  localparam logic [63:0] PlusBits  = {PlusHigh, Plus};
  localparam logic [63:0] MinusBits = {32'd0, Minus};
  localparam int unsigned Wide    = 2 * Width + 2;
  typedef logic signed [Wide-1:0] wide_t;
  localparam wide_t Modulus = (wide_t'(1) <<< HighBit) + (wide_t'(1) <<< LowBit) + wide_t'(1);

  logic [Width-1:0] result, x;
  logic             known;
  mod_mul_root4 #(
    .HighBit(HighBit), .LowBit(LowBit), .Folds(Folds), .FoldBits(FoldBits), .Plus(Plus), .Minus(Minus),
    .PlusHigh(PlusHigh)
  ) u_dut (
    .clk_i, .en_i(1'b1), .x_i, .result_o(result)
  );
  proof_delay #(.Width(Width), .Depth(Latency)) u_x (.clk_i, .en_i(1'b1), .data_i(x_i), .data_o(x));
  proof_known #(.Latency(Latency)) u_known (.clk_i, .en_i(1'b1), .known_o(known));

  wide_t z, low, whole, folded, high, near;
  logic  divided;
  always_comb begin
    assume (wide_t'({1'b0, x_i}) < Modulus);

    // In the unit's order, as sums in another are hard to compare.
    z = '0;
    for (int unsigned i = 0; i < 64; i++) begin
      if (PlusBits[i]) z = z + (wide_t'({1'b0, x}) <<< i);
      if (MinusBits[i]) z = z - (wide_t'({1'b0, x}) <<< i);
    end
    folded  = z;
    divided = 1'b1;
    for (int unsigned i = 0; i < Folds; i++) begin
      low     = wide_t'({1'b0, folded[FoldBits-1:0]});
      whole   = folded - (low <<< HighBit) - (low <<< LowBit) - low;
      divided = divided && whole[FoldBits-1:0] == '0;
      folded  = whole >>> FoldBits;
    end
    high   = folded >>> HighBit;
    near   = folded - (high <<< HighBit) - (high <<< LowBit) - high;
    exact: assert (!known || divided);
    below: assert (!known || wide_t'({1'b0, result}) < Modulus);
    right: assert (!known || wide_t'({1'b0, result}) ==
                   (near < 0 ? near + Modulus : near >= Modulus ? near - Modulus : near));
  end
endmodule
