// What every unit without a protocol must show: the result that is due, `Latency` enabled cycles after its factors. Counts
// from any state of the unit's registers, so that what is asserted holds at any time.
module proof_result #(
  parameter int unsigned Width   = 32,
  parameter int unsigned Latency = 1
) (
  input logic             clk_i,
  input logic             en_i,
  input logic [Width-1:0] expected_i,
  input logic [Width-1:0] result_i
);
  logic [Width-1:0] due;
  logic             known;
  proof_delay #(.Width(Width), .Depth(Latency)) u_due (
    .clk_i, .en_i, .data_i(expected_i), .data_o(due)
  );
  proof_known #(.Latency(Latency)) u_known (.clk_i, .en_i, .known_o(known));

  always_comb begin
    right: assert (!known || result_i == due);
  end
endmodule
