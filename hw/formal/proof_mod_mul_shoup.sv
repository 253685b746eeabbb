// mod_mul_shoup, whole, at a width at which a solver knows all products: x*y mod m for every x < m <= 2^(Width-1), any y.
module proof_mod_mul_shoup #(
  parameter int unsigned Width  = 6,
  parameter int unsigned Stages = 6,
  parameter int unsigned TileA  = 4,
  parameter int unsigned TileB  = 3
) (
  input logic             clk_i,
  input logic [Width-1:0] x_i,
  input logic [Width-1:0] y_i,
  input logic [Width-1:0] modulus_i
);
  logic [Width-1:0]   result, modulus_out;
  logic [2*Width-1:0] x, y, modulus, x_shoup, product;
  assign x       = (2 * Width)'(x_i);
  assign y       = (2 * Width)'(y_i);
  assign modulus = (2 * Width)'(modulus_i);
  assign x_shoup = (x << Width) / modulus;
  assign product = (x * y) % modulus;
  always_comb begin
    assume (x_i < modulus_i && modulus_i <= {1'b1, {Width - 1{1'b0}}});
  end

  mod_mul_shoup #(.Width(Width), .Stages(Stages), .TileA(TileA), .TileB(TileB)) u_dut (
    .clk_i, .en_i(1'b1), .x_i, .x_shoup_i(x_shoup[Width-1:0]), .y_i, .modulus_i, .result_o(result),
    .modulus_o(modulus_out)
  );
  proof_result #(.Width(Width), .Latency(Stages)) u_result (
    .clk_i, .en_i(1'b1), .expected_i(product[Width-1:0]), .result_i(result)
  );
  // The modulus leaves beside the product that it belongs to.
  proof_result #(.Width(Width), .Latency(Stages)) u_modulus (
    .clk_i, .en_i(1'b1), .expected_i(modulus_i), .result_i(modulus_out)
  );
endmodule
