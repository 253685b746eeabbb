// The nine parts of a number that two levels of Karatsuba's method multiply: halves of the low half, of the high half
// and of the distance between the two, each as low, high and distance. Two cycles later, with the signs: high where the
// high half was the smaller one.
module mont_mul_karatsuba_parts #(
  parameter int unsigned Width = 272,  // Bits of the number; a multiple of 4.
  localparam int unsigned Half    = Width / 2,  // Bits of a half.
  localparam int unsigned Quarter = Width / 4  // Bits of a quarter.
) (
  input  logic               clk_i,  // Clock.
  input  logic [Width-1:0]   value_i,  // The number to cut.
  // Low, high and distance of the low half, the high half and their distance.
  output logic [Quarter-1:0] parts_o[3][3],
  output logic [2:0]         inner_negative_o,  // Signs of the three inner distances.
  output logic               outer_negative_o  // Sign of the outer distance.
);
  /* verilator no_inline_module */
  if (Width % 4 != 0) begin : gen_wrong_width
    $error("mont_mul_karatsuba_parts: Width must be a multiple of 4");
  end

  // Distances by both differences side by side: a choice is shorter than a second carry.
  logic [Half:0]          outer_forth, outer_back;
  logic [Half-1:0]        halves_q[3];
  logic                   outer_q;
  assign outer_forth = {1'b0, value_i[Width-1:Half]} - {1'b0, value_i[Half-1:0]};
  assign outer_back  = {1'b0, value_i[Half-1:0]} - {1'b0, value_i[Width-1:Half]};
  always_ff @(posedge clk_i) begin
    halves_q[0] <= value_i[Half-1:0];
    halves_q[1] <= value_i[Width-1:Half];
    halves_q[2] <= outer_forth[Half] ? outer_back[Half-1:0] : outer_forth[Half-1:0];
    outer_q     <= outer_forth[Half];
  end

  for (genvar k = 0; k < 3; k++) begin : gen_half
    logic [Quarter:0] forth, back;
    assign forth = {1'b0, halves_q[k][Half-1:Quarter]} - {1'b0, halves_q[k][Quarter-1:0]};
    assign back  = {1'b0, halves_q[k][Quarter-1:0]} - {1'b0, halves_q[k][Half-1:Quarter]};
    always_ff @(posedge clk_i) begin
      parts_o[k][0]       <= halves_q[k][Quarter-1:0];
      parts_o[k][1]       <= halves_q[k][Half-1:Quarter];
      parts_o[k][2]       <= forth[Quarter] ? back[Quarter-1:0] : forth[Quarter-1:0];
      inner_negative_o[k] <= forth[Quarter];
    end
    logic unused_back;
    assign unused_back = back[Quarter];
  end
  always_ff @(posedge clk_i) outer_negative_o <= outer_q;

  logic unused_outer;
  assign unused_outer = outer_back[Half];
endmodule
