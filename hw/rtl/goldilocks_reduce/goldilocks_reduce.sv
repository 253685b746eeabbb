// Any 128-bit number modulo p = 2^64 - 2^32 + 1, by additions alone (nvme-tfhe paper, section 4.6): 2^64 = 2^32 - 1 and
// 2^96 = -1 modulo p, so that a*2^96 + b*2^64 + c is c - a + b*(2^32 - 1). One number a cycle, `Latency` enabled cycles
// later.
//
//   1: c - a and b*2^32 - b      2: c - a plus p where it was negative, now in [0, 2^64)
//   3: the sum, in [0, 2p), less p where it is not below it: s >= p exactly where s + 2^32 - 1 >= 2^64
module goldilocks_reduce (
  input  logic         clk_i,  // Clock.
  input  logic         en_i,  // Clock enable: low holds every register.
  input  logic [127:0] data_i,  // The number to reduce, any 128 bits.
  output logic [63:0]  result_o  // The number modulo p, below p.
);
  logic [64:0] difference_q;
  logic [63:0] product_q, product_qq, positive_q;

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      difference_q <= {1'b0, data_i[63:0]} - {33'b0, data_i[127:96]};
      product_q    <= {data_i[95:64], 32'b0} - {32'b0, data_i[95:64]};
      // Adding p to a negative difference is subtracting 2^32 - 1 from its low 64 bits.
      positive_q   <= difference_q[63:0] - {32'b0, {32{difference_q[64]}}};
      product_qq   <= product_q;
    end
  end

  logic [64:0] sum, less_p;
  assign sum    = {1'b0, positive_q} + {1'b0, product_qq};
  // Two bits more than 64 would never differ: the sum is below 2p < 2^65 - 2^32.
  assign less_p = {1'b0, positive_q} + {1'b0, product_qq} + 65'h0_ffff_ffff;

  always_ff @(posedge clk_i) begin
    if (en_i) result_o <= less_p[64] ? less_p[63:0] : sum[63:0];
  end

  logic unused_sum;
  assign unused_sum = sum[64];
endmodule
