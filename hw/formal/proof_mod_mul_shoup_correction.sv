// mod_mul_shoup at full width with its multipliers cut: what is left is the difference of two products and its correction.
// The stand-in for the multiplier gives y_i for x*y and x_shoup_i for k*m, so that both can be anything: whenever their
// difference is in [0, 2m), the result is its remainder.
module proof_mod_mul_shoup_correction #(
  parameter int unsigned Width  = 32,
  parameter int unsigned Stages = 6
) (
  input logic             clk_i,
  input logic             en_i,
  input logic [Width-1:0] low_i,
  input logic [Width-1:0] multiple_i,
  input logic [Width-1:0] modulus_i
);
  logic [Width-1:0] result, modulus_out, difference, expected;
  logic [Width:0]   twice;
  assign difference = low_i - multiple_i;
  assign twice      = {modulus_i, 1'b0};
  assign expected   = difference < modulus_i ? difference : difference - modulus_i;
  always_comb begin
    assume (modulus_i <= {1'b1, {Width - 1{1'b0}}} && {1'b0, difference} < twice);
  end

  mod_mul_shoup #(.Width(Width), .Stages(Stages)) u_dut (
    .clk_i, .en_i, .x_i('0), .x_shoup_i(multiple_i), .y_i(low_i), .modulus_i, .result_o(result), .modulus_o(modulus_out)
  );
  proof_result #(.Width(Width), .Latency(Stages)) u_result (.clk_i, .en_i, .expected_i(expected), .result_i(result));
  proof_result #(.Width(Width), .Latency(Stages)) u_modulus (
    .clk_i, .en_i, .expected_i(modulus_i), .result_i(modulus_out)
  );
endmodule
