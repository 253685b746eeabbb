// The combined modular operator of the rvfhe paper (Fig. 4, top): (x + w*y, x - w*y) modulo m, one pair a cycle,
// `Latency` enabled cycles later: a Cooley-Tukey butterfly with a Shoup multiplier, an adder and a subtractor.
//
//   range: x, w < m <= 2^(Width-1), w_shoup = floor(w * 2^Width / m), any y; both results are below m
module butterfly #(
  parameter int unsigned Width     = 32,  // Bits of a word.
  parameter int unsigned MulStages = 6,  // Pipeline stages of the multiplier: 6 or 9.
  parameter int unsigned AddStages = 1,  // Pipeline stages of the adders: 0, 1 or 2.
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA     = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB     = 17,
  parameter bit          ChooseBefore = AddStages == 2,  // As in mod_addsub: fewer LUTs, a longer path.
  localparam int unsigned Latency = MulStages + AddStages  // Enabled cycles from operands to results.
) (
  input  logic             clk_i,  // Clock.
  input  logic             rst_ni,  // Asynchronous reset, active low.
  input  logic             en_i,  // Clock enable: low holds every register.
  input  logic             valid_i,  // The operands are valid.
  input  logic [Width-1:0] x_i,  // x, below the modulus.
  input  logic [Width-1:0] y_i,  // y, any value.
  input  logic [Width-1:0] w_i,  // Twiddle factor w, below the modulus.
  input  logic [Width-1:0] w_shoup_i,  // floor(w * 2^Width / m).
  input  logic [Width-1:0] modulus_i,  // Modulus m, at most 2^(Width-1).
  output logic             valid_o,  // `valid_i`, `Latency` enabled cycles later.
  output logic [Width-1:0] sum_o,  // x + w*y modulo m.
  output logic [Width-1:0] difference_o  // x - w*y modulo m.
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
