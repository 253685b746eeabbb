// x + y or x - y modulo m: the adder/subtractor of the rvfhe paper (Fig. 4, middle). Without registers (Stages 0), with
// one behind the result (1), or with another between the two additions (2).
//
// Two adders take turns: to add, the first adds and the second takes the modulus away; to subtract, the first subtracts
// and the second gives the modulus back. Where the paper compares the sum with "> m" it must be ">= m": x + y = m is
// zero.
//
//   range: x, y < m < 2^Width; the result is below m. Outside it the result is some number.
module mod_addsub #(
  parameter int unsigned Width  = 32,
  parameter int unsigned Stages = 0,
  // Whether a difference's modulus, or nothing, is chosen before the second adder, so that no choice is needed behind
  // it: fewer LUTs where sub_i is constant, but the second adder waits for the sign of the first, unless a register is
  // between them.
  parameter bit ChooseBefore = Stages == 2
) (
  input  logic             clk_i,
  input  logic             en_i,
  input  logic [Width-1:0] x_i,
  input  logic [Width-1:0] y_i,
  input  logic [Width-1:0] modulus_i,
  input  logic             sub_i,
  output logic [Width-1:0] result_o
);
  if (Stages > 2) begin : gen_wrong_stages
    $error("mod_addsub: Stages must be 0, 1 or 2");
  end

  // The top bit of `first` is the sign of x - y, and part of x + y.
  logic [Width:0] first_d, first;
  assign first_d = {1'b0, x_i} + ({1'b0, y_i} ^ {Width + 1{sub_i}}) + {{Width{1'b0}}, sub_i};

  logic [Width-1:0] modulus;
  logic             sub;
  prim_delay #(.Width(2 * Width + 2), .Depth(Stages == 2 ? 1 : 0)) u_between (
    .clk_i, .rst_ni(1'b1), .en_i, .data_i({first_d, modulus_i, sub_i}), .data_o({first, modulus, sub})
  );

  logic           add;
  logic [Width:0] correction, second;
  assign add    = ~sub;
  assign second = first + correction + {{Width{1'b0}}, add};

  // The top bit of `second` is the sign of x + y - m.
  logic keep_first;
  if (ChooseBefore) begin : gen_before
    assign correction = sub ? {1'b0, modulus} & {Width + 1{first[Width]}} : ~{1'b0, modulus};
    assign keep_first = add & second[Width];
  end else begin : gen_behind
    assign correction = {1'b0, modulus} ^ {Width + 1{add}};
    assign keep_first = sub ? ~first[Width] : second[Width];
  end
  prim_delay #(.Width(Width), .Depth(Stages > 0 ? 1 : 0)) u_result (
    .clk_i, .rst_ni(1'b1), .en_i, .data_i(keep_first ? first[Width-1:0] : second[Width-1:0]), .data_o(result_o)
  );
endmodule
