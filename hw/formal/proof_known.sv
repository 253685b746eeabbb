// High from the cycle on in which a unit of that latency shows results of what went in after the proof began.
module proof_known #(
  parameter int unsigned Latency = 1
) (
  input  logic clk_i,
  input  logic en_i,
  output logic known_o
);
  logic [7:0] enabled_q;
  initial enabled_q = '0;
  always_ff @(posedge clk_i) begin
    if (en_i && !known_o) enabled_q <= enabled_q + 1'b1;
  end
  assign known_o = enabled_q == 8'(Latency);
endmodule
