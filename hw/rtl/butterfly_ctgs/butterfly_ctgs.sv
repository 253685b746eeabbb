// A butterfly that is Cooley-Tukey's or Gentleman-Sande's, around one multiplier, one adder and one subtractor: the
// integrated butterfly of the nvme-tfhe paper (Fig. 6).
//
//   gs_i 0: (x + w*y, x - w*y)         the product first, then the sums
//   gs_i 1: (x + y, (x - y) * w)       the sums first, then the product; with `HalveSum` (x + y) / 2
//
// Both take `butterfly_ctgs_pkg::Latency` enabled cycles, so that only the order of multiplier and adders is switched.
// As the two share them, `gs_i` must not change while a butterfly is inside. `HalveSum` is for inverse transforms that
// divide by two in each of their log2 N stages; the other output is halved by its twiddle.
//
//   range: x, y, w below the modulus; the results are below it
module butterfly_ctgs
  import butterfly_ctgs_pkg::*;
#(
  parameter field_e      Field    = Goldilocks,  // Multiplier, and with it the family of moduli.
  parameter int unsigned HighBit  = 34,  // Exponent a of the modulus q = 2^a + 2^b + 1.
  parameter int unsigned LowBit   = 27,  // Exponent b of the modulus q = 2^a + 2^b + 1.
  parameter bit          HalveSum = 1'b0,  // Whether the Gentleman-Sande sum is halved.
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA    = 26,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB    = 17,
  localparam int unsigned Width   = Field == Goldilocks ? 64 : HighBit + 1  // Bits of a value.
) (
  input  logic             clk_i,  // Clock.
  input  logic             en_i,  // Clock enable: low holds every register.
  input  logic             gs_i,  // 0: Cooley-Tukey, 1: Gentleman-Sande; constant while a butterfly is inside.
  input  logic [Width-1:0] x_i,  // First operand x.
  input  logic [Width-1:0] y_i,  // Second operand y.
  input  logic [Width-1:0] w_i,  // Twiddle factor w, as the multiplier requires it.
  output logic [Width-1:0] first_o,  // x + w*y, or x + y.
  output logic [Width-1:0] second_o  // x - w*y, or (x - y) * w.
);
  localparam logic [Width-1:0] Modulus = Field == Goldilocks ?
      Width'(64'hffff_ffff_0000_0001) : (Width'(1) << HighBit) + (Width'(1) << LowBit) + Width'(1);

  logic [Width-1:0] w_late, product, sum, difference, waiting_d, waiting;

  prim_delay #(.Width(Width), .Depth(AddLatency)) u_w (
    .clk_i, .rst_ni(1'b1), .en_i, .data_i(w_i), .data_o(w_late)
  );

  logic [Width-1:0] factor, twiddle;
  assign factor  = gs_i ? difference : y_i;
  assign twiddle = gs_i ? w_late : w_i;
  if (Field == Goldilocks) begin : gen_goldilocks
    mod_mul_goldilocks #(.TileA(TileA), .TileB(TileB)) u_mul (
      .clk_i, .en_i, .x_i(twiddle), .y_i(factor), .result_o(product)
    );
  end else begin : gen_lowham
    mod_mul_lowham #(.HighBit(HighBit), .LowBit(LowBit), .TileA(TileA), .TileB(TileB)) u_mul (
      .clk_i, .en_i, .x_i(twiddle), .y_i(factor), .result_o(product)
    );
  end

  logic [Width-1:0] left, right;
  assign left  = gs_i ? x_i : waiting;
  assign right = gs_i ? y_i : product;
  mod_addsub #(.Width(Width), .Stages(AddLatency)) u_add (
    .clk_i, .en_i, .x_i(left), .y_i(right), .modulus_i(Modulus), .sub_i(1'b0), .result_o(sum)
  );
  mod_addsub #(.Width(Width), .Stages(AddLatency)) u_sub (
    .clk_i, .en_i, .x_i(left), .y_i(right), .modulus_i(Modulus), .sub_i(1'b1), .result_o(difference)
  );

  // What waits for the multiplier: x, or the sum that is already done.
  logic [Width-1:0] done;
  if (HalveSum) begin : gen_halve
    // An odd sum is made even by the modulus, which is odd.
    logic [Width:0] even;
    logic           unused_even;
    assign even        = {1'b0, sum} + ({1'b0, Modulus} & {Width + 1{sum[0]}});
    assign done        = even[Width:1];
    assign unused_even = even[0];
  end else begin : gen_whole
    assign done = sum;
  end
  assign waiting_d = gs_i ? done : x_i;
  prim_delay #(.Width(Width), .Depth(MulLatency)) u_waiting (
    .clk_i, .rst_ni(1'b1), .en_i, .data_i(waiting_d), .data_o(waiting)
  );

  assign first_o  = gs_i ? waiting : sum;
  assign second_o = gs_i ? product : difference;
endmodule
