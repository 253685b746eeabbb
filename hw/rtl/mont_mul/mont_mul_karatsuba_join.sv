// Karatsuba's sum, with a register behind it: low + high*2^(2 Half) + (low + high - difference)*2^Half, where the
// difference is the product of the distances of the halves, negative if `negative_i`.
module mont_mul_karatsuba_join #(
  parameter int unsigned Half = 68  // Bits of a half.
) (
  input  logic              clk_i,  // Clock.
  input  logic [2*Half-1:0] low_i,  // Product of the low halves.
  input  logic [2*Half-1:0] high_i,  // Product of the high halves.
  input  logic [2*Half-1:0] distance_i,  // Product of the distances of the halves.
  input  logic              negative_i,  // The product of the distances is negative.
  output logic [4*Half-1:0] product_o  // The joined product, one cycle later.
);
  /* verilator no_inline_module */
  localparam int unsigned Width = 3 * Half;

  // From bit Half up; the bits below are those of `low`. A subtraction adds the complement and one.
  logic [Width-1:0] numbers[4];
  assign numbers[0] = {high_i, low_i[2*Half-1:Half]};
  assign numbers[1] = {{Half{1'b0}}, low_i};
  assign numbers[2] = {{Half{1'b0}}, high_i};
  assign numbers[3] = {{Half{1'b0}}, distance_i} ^ {Width{~negative_i}};

  logic [Width-1:0]      pair[2];
  logic [Width-1:0]      sum;
  logic                  unused_carry;
  prim_csa #(.Width(Width), .Inputs(4), .Outputs(2)) u_compress (.data_i(numbers), .data_o(pair));
  prim_add_select #(.Width(Width)) u_sum (
    .clk_i, .en_i(1'b1), .x_i(pair[0]), .y_i(pair[1]), .carry_i(~negative_i), .sum_o(sum), .carry_o(unused_carry)
  );
  always_ff @(posedge clk_i) product_o <= {sum, low_i[Half-1:0]};
endmodule
