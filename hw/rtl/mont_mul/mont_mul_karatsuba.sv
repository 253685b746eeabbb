// operand * digit by two levels of Karatsuba's method, for each part of the operand that is as long as the digit. A
// part needs 9 products of a quarter by a quarter instead of 16, of 12 tiles of 26 x 17 bits each if the digit has 272
// bits. The output, six cycles later, is two numbers whose sum is the product.
//
//   distances of halves; of quarters; products of tiles; products of quarters; of halves; of the digit
//
// All products are added up exactly: a carry-save pair that stands for a difference would not survive a shift.
module mont_mul_karatsuba #(
  parameter int unsigned Width = 1026,  // Bits of the operand.
  parameter int unsigned Rows  = 16,  // Rows of 17 bits in the digit; a multiple of 4.
  localparam int unsigned Digit    = Rows * 17,  // Bits of the digit.
  localparam int unsigned OutWidth = Width + Digit  // Bits of the product.
) (
  input  logic                clk_i,  // Clock.
  input  logic [Width-1:0]    operand_i,  // The long factor.
  input  logic [Digit-1:0]    digit_i,  // The short factor.
  output logic [OutWidth-1:0] summands_o[2]  // Two numbers whose sum is the product, six cycles later.
);
  localparam int unsigned Blocks  = (Width + Digit - 1) / Digit;
  localparam int unsigned Half    = Digit / 2;
  localparam int unsigned Quarter = Digit / 4;

  logic [Quarter-1:0] digit_parts[3][3];
  logic [2:0]                   digit_inner;
  logic                         digit_outer;
  mont_mul_karatsuba_parts #(.Width(Digit)) u_digit (
    .clk_i, .value_i(digit_i), .parts_o(digit_parts), .inner_negative_o(digit_inner), .outer_negative_o(digit_outer)
  );

  logic [Blocks*Digit-1:0] operand;
  assign operand = (Blocks * Digit)'(operand_i);

  logic [2*Digit-1:0] products[Blocks];
  for (genvar k = 0; k < Blocks; k++) begin : gen_block
    logic [Quarter-1:0] parts[3][3];
    logic [2:0]                   inner;
    logic                         outer;
    mont_mul_karatsuba_parts #(.Width(Digit)) u_parts (
      .clk_i, .value_i(operand[k*Digit+:Digit]), .parts_o(parts), .inner_negative_o(inner), .outer_negative_o(outer)
    );

    // The signs wait for the products they belong to.
    logic [2:0] inner_late;
    logic       outer_late;
    prim_delay #(.Width(3), .Depth(2)) u_inner (
      .clk_i, .rst_ni(1'b1), .en_i(1'b1), .data_i(inner ^ digit_inner), .data_o(inner_late)
    );
    prim_delay #(.Width(1), .Depth(3)) u_outer (
      .clk_i, .rst_ni(1'b1), .en_i(1'b1), .data_i(outer ^ digit_outer), .data_o(outer_late)
    );

    logic [2*Half-1:0] halves[3];
    for (genvar h = 0; h < 3; h++) begin : gen_half
      logic [2*Quarter-1:0] quarters[3];
      for (genvar q = 0; q < 3; q++) begin : gen_quarter
        mont_mul_karatsuba_leaf #(.Width(Quarter)) u_leaf (
          .clk_i, .a_i(parts[h][q]), .b_i(digit_parts[h][q]), .product_o(quarters[q])
        );
      end
      mont_mul_karatsuba_join #(.Half(Quarter)) u_join (
        .clk_i, .low_i(quarters[0]), .high_i(quarters[1]), .distance_i(quarters[2]), .negative_i(inner_late[h]),
        .product_o(halves[h])
      );
    end
    mont_mul_karatsuba_join #(.Half(Half)) u_join (
      .clk_i, .low_i(halves[0]), .high_i(halves[1]), .distance_i(halves[2]), .negative_i(outer_late),
      .product_o(products[k])
    );
  end

  // Blocks with even and with odd numbers do not overlap among themselves.
  logic [(Blocks+2)*Digit-1:0] rows[2];
  always_comb begin
    rows[0] = '0;
    rows[1] = '0;
    for (int unsigned k = 0; k < Blocks; k++) rows[k%2][k*Digit+:2*Digit] = products[k];
    summands_o[0] = rows[0][OutWidth-1:0];
    summands_o[1] = rows[1][OutWidth-1:0];
  end
  logic unused;
  assign unused = ^{rows[0], rows[1]};
endmodule
