// tfhe_cmux_rotation and the turn in tfhe_cmux_difference: coefficient i of X^a times a polynomial is coefficient i - a
// modulo 2N of it, with a minus sign from N on, where coefficient t + R*x lies in row t, lane x.
module proof_tfhe_cmux_rotation
  import tfhe_cmux_pkg::*;
#(
  parameter int unsigned LogRows = 9
) (
  input logic                       clk_i,
  input logic [LogRows+LogLanes:0]  exponent_i,
  input logic [LogRows-1:0]         row_i,
  input lane_t                      lane_i,
  input logic [Lanes-1:0][63:0]     data_i
);
  logic [LogRows-1:0] source;
  turn_t turn;
  tfhe_cmux_rotation #(.LogRows(LogRows)) u_dut (.exponent_i, .row_i, .source_o(source), .turn_o(turn));

  logic [Lanes-1:0][63:0] difference;
  tfhe_cmux_difference u_difference (
    .clk_i, .rotated_i(data_i), .turn_i(turn), .plain_i('0), .difference_o(difference)
  );

  // The place from which the coefficient comes, modulo 2N: sign, lane, row.
  logic negative;
  lane_t lane;
  logic [LogRows-1:0] row;
  assign {negative, lane, row} = {1'b0, lane_i, row_i} - exponent_i;
  always_comb begin
    right_row:  assert (source == row);
    // The turn moves whole values, so one bit stands for the others.
    right_lane: assert (u_difference.turned[lane_i][0] == data_i[lane][0]);
    right_sign: assert (u_difference.negative[lane_i] == negative);
  end
endmodule
