// x + y and x - y modulo a constant, one enabled cycle later.
module ntt_cg_r4_pair #(
  parameter int unsigned      Width   = 35,  // Bits of a value.
  parameter logic [Width-1:0] Modulus = '1  // The constant modulus.
) (
  input  logic             clk_i,  // Clock.
  input  logic             en_i,  // Clock enable: low holds every register.
  input  logic [Width-1:0] x_i,  // x, below the modulus.
  input  logic [Width-1:0] y_i,  // y, below the modulus.
  output logic [Width-1:0] sum_o,  // x + y modulo the constant.
  output logic [Width-1:0] difference_o  // x - y modulo the constant.
);
  mod_addsub #(.Width(Width), .Stages(1)) u_add (
    .clk_i, .en_i, .x_i, .y_i, .modulus_i(Modulus), .sub_i(1'b0), .result_o(sum_o)
  );
  mod_addsub #(.Width(Width), .Stages(1)) u_sub (
    .clk_i, .en_i, .x_i, .y_i, .modulus_i(Modulus), .sub_i(1'b1), .result_o(difference_o)
  );
endmodule
