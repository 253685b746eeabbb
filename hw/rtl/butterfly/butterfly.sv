// The combined modular operator of the rvfhe paper (Fig. 4, top): (x + w*y, x - w*y) modulo m, one pair a cycle,
// `Latency` enabled cycles later: a Cooley-Tukey butterfly with a Shoup multiplier and an adder beside a subtractor.
//
//   range: x, w < m <= 2^(Width-1), w_shoup = floor(w * 2^Width / m), any y; both results are below m
module butterfly #(
  parameter int unsigned Width     = 32,
  parameter int unsigned MulStages = 6,
  parameter int unsigned AddStages = 1,
  parameter int unsigned TileA     = 26,
  parameter int unsigned TileB     = 17,
  // See mod_addsub: fewer LUTs, a longer path.
  parameter bit          ChooseBefore = AddStages == 2,
  localparam int unsigned Latency = MulStages + AddStages
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             en_i,
  input  logic             valid_i,
  input  logic [Width-1:0] x_i,
  input  logic [Width-1:0] y_i,
  input  logic [Width-1:0] w_i,
  input  logic [Width-1:0] w_shoup_i,
  input  logic [Width-1:0] modulus_i,
  output logic             valid_o,
  output logic [Width-1:0] sum_o,
  output logic [Width-1:0] difference_o
);
  logic [Width-1:0] x, modulus, product;

  mod_mul_shoup #(.Width(Width), .Stages(MulStages), .TileA(TileA), .TileB(TileB)) u_mul (
    .clk_i, .en_i, .x_i(w_i), .x_shoup_i(w_shoup_i), .y_i, .modulus_i, .result_o(product), .modulus_o(modulus)
  );
  prim_delay #(.Width(Width), .Depth(MulStages)) u_x (.clk_i, .rst_ni, .en_i, .data_i(x_i), .data_o(x));
  prim_delay #(.Width(1), .Depth(Latency), .Reset(1'b1)) u_valid (
    .clk_i, .rst_ni, .en_i, .data_i(valid_i), .data_o(valid_o)
  );

  mod_addsub #(.Width(Width), .Stages(AddStages), .ChooseBefore(ChooseBefore)) u_add (
    .clk_i, .en_i, .x_i(x), .y_i(product), .modulus_i(modulus), .sub_i(1'b0), .result_o(sum_o)
  );
  mod_addsub #(.Width(Width), .Stages(AddStages), .ChooseBefore(ChooseBefore)) u_sub (
    .clk_i, .en_i, .x_i(x), .y_i(product), .modulus_i(modulus), .sub_i(1'b1), .result_o(difference_o)
  );
endmodule
