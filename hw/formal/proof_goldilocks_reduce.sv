// goldilocks_reduce: for every 128-bit d the result r is below p = 2^64 - 2^32 + 1 and congruent to d.
//
// With d = a*2^96 + b*2^64 + c, d is v = c - a + b*(2^32 - 1) modulo p, because d - v = (a*(2^32 + 1) + b) * p; and v is in
// (-p, 2p), so that its remainder is v plus or minus p, or v itself.
module proof_goldilocks_reduce (
  input logic         clk_i,
  input logic [127:0] data_i
);
  localparam int unsigned Latency = 3;
  localparam logic [63:0] Prime   = 64'hffff_ffff_0000_0001;

  logic [63:0]  result;
  logic [127:0] data;
  logic         known;
  goldilocks_reduce u_dut (.clk_i, .en_i(1'b1), .data_i, .result_o(result));
  proof_delay #(.Width(128), .Depth(Latency)) u_data (.clk_i, .en_i(1'b1), .data_i, .data_o(data));
  proof_known #(.Latency(Latency)) u_known (.clk_i, .en_i(1'b1), .known_o(known));

  // Signed, and wide enough for v plus or minus p.
  typedef logic signed [66:0] wide_t;
  wide_t value, remainder;
  always_comb begin
    value = wide_t'({3'b0, data[63:0]}) - wide_t'({35'b0, data[127:96]}) + wide_t'({3'b0, data[95:64], 32'b0}) -
            wide_t'({35'b0, data[95:64]});
    if (value < 0) remainder = value + wide_t'({3'b0, Prime});
    else if (value >= wide_t'({3'b0, Prime})) remainder = value - wide_t'({3'b0, Prime});
    else remainder = value;
    right:        assert (!known || wide_t'({3'b0, result}) == remainder);
    // So that the remainder is one.
    in_reach: assert (!known || (remainder >= 0 && remainder < wide_t'({3'b0, Prime})));
  end
endmodule
