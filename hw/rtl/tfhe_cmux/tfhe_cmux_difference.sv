// (X^a - 1) times a polynomial, row by row, modulo X^N + 1 and p = 2^64 - 2^32 + 1. A rotation is another row, a turn of
// its lanes, and signs: `tfhe_cmux_rotation` says which row and turn. That row enters as `rotated_i`, the row from its
// own place as `plain_i`. With zeros there the result is X^a times the polynomial. One row a cycle, `DifferenceLatency`
// cycles later.
//
//   1: the turn      2, 3: u = plain - rotated, or plain + rotated where the sign changes      4: -u
//
//   range: values below p; turn_i up to 64; the result is below p
module tfhe_cmux_difference
  import tfhe_cmux_pkg::*;
(
  input  logic                   clk_i,  // Clock.
  input  logic [Lanes-1:0][63:0] rotated_i,  // The row from which the rotation takes its values.
  input  turn_t                  turn_i,  // The number of lanes by which it is turned.
  input  logic [Lanes-1:0][63:0] plain_i,  // The row from the same place, which is subtracted.
  output logic [Lanes-1:0][63:0] difference_o  // The row of the difference.
);
  // Lane x takes the value of lane x - turn.
  logic [Lanes-1:0][63:0] turned;
  logic [Lanes-1:0] negative;
  always_comb begin
    turned = rotated_i;
    for (int unsigned layer = 0; layer < LogLanes; layer++) begin
      // The lowest lanes come from the highest ones.
      if (turn_i[layer]) turned = (turned << (64 << layer)) | (turned >> (64 * Lanes - (64 << layer)));
    end
    // From x down to x - turn one multiple of N is crossed, or two if x - turn < -32.
    for (int unsigned x = 0; x < Lanes; x++) begin
      negative[x] = turn_t'(x) < turn_i && turn_i <= turn_t'(x + Lanes);
    end
  end

  logic [Lanes-1:0][63:0] turned_q, plain_q;
  logic [Lanes-1:0] negative_q;
  always_ff @(posedge clk_i) begin
    turned_q   <= turned;
    negative_q <= negative;
    plain_q    <= plain_i;
  end

  for (genvar x = 0; x < Lanes; x++) begin : gen_lane
    logic [63:0] u;
    mod_addsub #(.Width(64), .Stages(2)) u_sum (
      .clk_i, .en_i(1'b1), .x_i(plain_q[x]), .y_i(turned_q[x]), .modulus_i(Modulus), .sub_i(~negative_q[x]),
      .result_o(u)
    );
    always_ff @(posedge clk_i) difference_o[x] <= u == '0 ? '0 : Modulus - u;
  end
endmodule
