// mod_mul_lowham: result * 2^(2 Fold) is x*y modulo q, and below q. Whole for a small q; at full size with the multiplier
// cut (`Cut`), for any product that two numbers below q can have.
//
// The definition is the Montgomery reduction in plain: z less its low Fold bits times q can be divided by 2^Fold; twice;
// then q more where that is negative. As q has three bits, the solver sees additions alone.
module proof_mod_mul_lowham #(
  parameter int unsigned HighBit = 34,
  parameter int unsigned LowBit  = 27,
  parameter int unsigned TileA   = 26,
  parameter int unsigned TileB   = 17,
  parameter bit          Cut     = 1'b1,
  localparam int unsigned Width  = HighBit + 1
) (
  input logic             clk_i,
  input logic [Width-1:0] x_i,
  input logic [Width-1:0] y_i
);
  localparam int unsigned Fold    = (HighBit + 2) / 2;
  localparam int unsigned Latency = 6;
  // The product, its sign, and what a fold takes away.
  localparam int unsigned Wide    = 2 * Width + 2;

  logic [Width-1:0]   result;
  logic [2*Width-1:0] product, product_late;
  logic               known;
  mod_mul_lowham #(.HighBit(HighBit), .LowBit(LowBit), .TileA(TileA), .TileB(TileB)) u_dut (
    .clk_i, .en_i(1'b1), .x_i, .y_i, .result_o(result)
  );
  // The cut multiplier puts its factors side by side.
  assign product = Cut ? {x_i, y_i} : {{Width{1'b0}}, x_i} * {{Width{1'b0}}, y_i};
  proof_delay #(.Width(2 * Width), .Depth(Latency)) u_product (
    .clk_i, .en_i(1'b1), .data_i(product), .data_o(product_late)
  );
  proof_known #(.Latency(Latency)) u_known (.clk_i, .en_i(1'b1), .known_o(known));

  // What z is after one fold: it is asserted that the division leaves nothing.
  typedef logic signed [Wide-1:0] wide_t;
  localparam wide_t Modulus = (wide_t'(1) <<< HighBit) + (wide_t'(1) <<< LowBit) + wide_t'(1);
  wide_t z, low, once_whole, once, low_once, twice_whole, twice;
  always_comb begin
    if (Cut) assume (wide_t'({1'b0, product}) <= (Modulus - 1) * (Modulus - 1));
    else assume (wide_t'({1'b0, x_i}) < Modulus && wide_t'({1'b0, y_i}) < Modulus);

    z           = wide_t'({1'b0, product_late});
    low         = wide_t'({1'b0, z[Fold-1:0]});
    once_whole  = z - (low <<< HighBit) - (low <<< LowBit) - low;
    once        = once_whole >>> Fold;
    low_once    = wide_t'({1'b0, once[Fold-1:0]});
    twice_whole = once - (low_once <<< HighBit) - (low_once <<< LowBit) - low_once;
    twice       = twice_whole >>> Fold;
    exact: assert (!known || (once_whole[Fold-1:0] == '0 && twice_whole[Fold-1:0] == '0));
    below: assert (!known || wide_t'({1'b0, result}) < Modulus);
    right: assert (!known || wide_t'({1'b0, result}) == (twice < 0 ? twice + Modulus : twice));
  end
endmodule
