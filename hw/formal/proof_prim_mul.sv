// prim_mul: products of two numbers of full width, and at any width those of two powers of two (docs/hw/proofs.md says why
// these are enough).
module proof_prim_mul #(
  parameter int unsigned AWidth   = 6,
  parameter int unsigned BWidth   = 6,
  parameter int unsigned OutWidth = AWidth + BWidth,
  parameter int unsigned Stages   = 2,
  parameter int unsigned TileA    = 2,
  parameter int unsigned TileB    = 2,
  parameter bit          Powers   = 1'b0
) (
  input logic              clk_i,
  input logic [AWidth-1:0] a_i,
  input logic [BWidth-1:0] b_i
);
  logic [OutWidth-1:0] result, expected;
  prim_mul #(
    .AWidth(AWidth), .BWidth(BWidth), .OutWidth(OutWidth), .Stages(Stages), .TileA(TileA), .TileB(TileB)
  ) u_dut (
    .clk_i, .en_i(1'b1), .a_i, .b_i, .product_o(result)
  );

  if (Powers) begin : gen_powers
    // The product is one where the places of the bits add up.
    always_comb begin
      assume ((a_i & (a_i - 1'b1)) == '0 && (b_i & (b_i - 1'b1)) == '0);
      expected = '0;
      for (int unsigned j = 0; j < BWidth; j++) begin
        if (b_i[j]) expected = OutWidth'({{BWidth{1'b0}}, a_i} << j);
      end
    end
  end else begin : gen_all
    assign expected = OutWidth'({{BWidth{1'b0}}, a_i} * {{AWidth{1'b0}}, b_i});
  end
  proof_result #(.Width(OutWidth), .Latency(Stages)) u_result (
    .clk_i, .en_i(1'b1), .expected_i(expected), .result_i(result)
  );
endmodule
