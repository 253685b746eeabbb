// x + y and x - y modulo a constant, one enabled cycle later.
module ntt_cg_r4_pair #(
  parameter int unsigned      Width   = 35,
  parameter logic [Width-1:0] Modulus = '1
) (
  input  logic             clk_i,
  input  logic             en_i,
  input  logic [Width-1:0] x_i,
  input  logic [Width-1:0] y_i,
  output logic [Width-1:0] sum_o,
  output logic [Width-1:0] difference_o
);
  mod_addsub #(.Width(Width), .Stages(1)) u_add (
    .clk_i, .en_i, .x_i, .y_i, .modulus_i(Modulus), .sub_i(1'b0), .result_o(sum_o)
  );
  mod_addsub #(.Width(Width), .Stages(1)) u_sub (
    .clk_i, .en_i, .x_i, .y_i, .modulus_i(Modulus), .sub_i(1'b1), .result_o(difference_o)
  );
endmodule
