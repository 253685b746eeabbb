// x + y or x - y modulo m: the adder/subtractor of the rvfhe paper (Fig. 4, middle). Without registers (Stages 0), with
// one behind the result (1), or with another between the two additions (2).
//
// Two adders in sequence. To add, the first adds and the second subtracts the modulus; to subtract, the first subtracts
// and the second adds the modulus. The paper compares the sum with "> m"; it must be ">= m", as x + y = m is zero.
//
//   range: x, y < m < 2^Width; the result is below m. Outside it the result is some number.
module mod_addsub #(
  parameter int unsigned Width  = 32,  // Bits of a value.
  parameter int unsigned Stages = 0,  // Registers: 0 none, 1 after the result, 2 also between the adders.
  // Whether the modulus of a difference is selected before the second adder, so that no selection follows it. This
  // saves LUTs if sub_i is constant. The second adder then waits for the sign of the first, unless a register is
  // between them.
  parameter bit ChooseBefore = Stages == 2
) (
  input  logic             clk_i,  // Clock.
  input  logic             en_i,  // Clock enable: low holds every register.
  input  logic [Width-1:0] x_i,  // x, below the modulus.
  input  logic [Width-1:0] y_i,  // y, below the modulus.
  input  logic [Width-1:0] modulus_i,  // Modulus m, below 2^Width.
  input  logic             sub_i,  // 0: x + y, 1: x - y.
  output logic [Width-1:0] result_o  // The sum or difference modulo m.
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
