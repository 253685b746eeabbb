// mod_addsub: x + y and x - y modulo every m < 2^Width.
module proof_mod_addsub #(
  parameter int unsigned Width        = 32,
  parameter int unsigned Stages       = 0,
  parameter bit          ChooseBefore = Stages == 2
) (
  input logic             clk_i,
  input logic             en_i,
  input logic [Width-1:0] x_i,
  input logic [Width-1:0] y_i,
  input logic [Width-1:0] modulus_i,
  input logic             sub_i
);
  logic [Width-1:0] result;
  mod_addsub #(.Width(Width), .Stages(Stages), .ChooseBefore(ChooseBefore)) u_dut (
    .clk_i, .en_i, .x_i, .y_i, .modulus_i, .sub_i, .result_o(result)
  );

  // Wide enough for both, so that nothing is lost.
  logic [Width:0] x, y, modulus, whole;
  assign x       = {1'b0, x_i};
  assign y       = {1'b0, y_i};
  assign modulus = {1'b0, modulus_i};
  always_comb begin
    assume (x_i < modulus_i && y_i < modulus_i);
    if (!sub_i) whole = x + y < modulus ? x + y : x + y - modulus;
    else whole = x >= y ? x - y : x + modulus - y;
  end
  proof_result #(.Width(Width), .Latency(Stages)) u_result (
    .clk_i, .en_i, .expected_i(whole[Width-1:0]), .result_i(result)
  );
endmodule
