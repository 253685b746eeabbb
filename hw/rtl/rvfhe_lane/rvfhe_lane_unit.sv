// The arithmetic of one lane: a multiplier and one or two adders.
//
//   a + b or a - b          by sub_i, in result_o[0] after 1 cycle
//   a * w                   in product_o after 6 cycles
//   b + a * w, b - a * w    in result_o[0] and result_o[1] after 7 cycles if `sum_i` is given after 6; with one adder
//                           the difference comes in result_o[0] after 8, if `difference_i` is given after 7
//
//   range: that of mod_addsub and mod_mul_shoup
module rvfhe_lane_unit
  import rvfhe_lane_pkg::*;
#(
  parameter int unsigned Width  = 32,  // Bits of a value.
  parameter int unsigned Adders = 2,  // 1 or 2 adders.
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA  = 17,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB  = 17
) (
  input  logic                         clk_i,  // Clock.
  input  logic [Width-1:0]             a_i,  // Operand a.
  input  logic [Width-1:0]             b_i,  // Operand b.
  input  logic [Width-1:0]             w_i,  // Twiddle factor w.
  input  logic [Width-1:0]             w_shoup_i,  // floor(w * 2^Width / m).
  input  logic [Width-1:0]             modulus_i,  // Modulus m.
  input  logic                         sub_i,  // 0: a + b, 1: a - b.
  input  logic                         sum_i,  // The sum of a butterfly is due, 6 cycles after its operands.
  // With one adder: the difference is due, 7 cycles after its operands.
  input  logic                         difference_i,
  output logic [Width-1:0]             product_o,  // a * w, after 6 cycles.
  output logic [Adders-1:0][Width-1:0] result_o  // Sums and differences.
);
  typedef struct packed {
    logic [Width-1:0] x;
    logic [Width-1:0] y;
    logic [Width-1:0] modulus;
  } operands_t;

  // The operands of a butterfly's adders.
  operands_t wing;
  mod_mul_shoup #(.Width(Width), .Stages(MulLatency), .TileA(TileA), .TileB(TileB)) u_mul (
    .clk_i, .en_i(1'b1), .x_i(w_i), .x_shoup_i(w_shoup_i), .y_i(a_i), .modulus_i, .result_o(wing.y),
    .modulus_o(wing.modulus)
  );
  prim_delay #(.Width(Width), .Depth(MulLatency)) u_b (
    .clk_i, .rst_ni(1'b1), .en_i(1'b1), .data_i(b_i), .data_o(wing.x)
  );
  assign product_o = wing.y;

  operands_t first;
  logic      first_sub;
  mod_addsub #(.Width(Width), .Stages(1), .ChooseBefore(1)) u_first (
    .clk_i, .en_i(1'b1), .x_i(first.x), .y_i(first.y), .modulus_i(first.modulus), .sub_i(first_sub),
    .result_o(result_o[0])
  );

  if (Adders == 2) begin : gen_two_adders
    assign first     = sum_i ? wing : {a_i, b_i, modulus_i};
    assign first_sub = ~sum_i & sub_i;
    mod_addsub #(.Width(Width), .Stages(1), .ChooseBefore(1)) u_second (
      .clk_i, .en_i(1'b1), .x_i(wing.x), .y_i(wing.y), .modulus_i(wing.modulus), .sub_i(1'b1), .result_o(result_o[1])
    );
    logic unused;
    assign unused = difference_i;
  end else begin : gen_one_adder
    operands_t wing_q;
    always_ff @(posedge clk_i) wing_q <= wing;
    assign first     = difference_i ? wing_q : sum_i ? wing : {a_i, b_i, modulus_i};
    assign first_sub = difference_i | (~sum_i & sub_i);
  end
endmodule
