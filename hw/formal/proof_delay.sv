// A delay line for the proofs' own use, so that a fault in prim_delay does not deceive them.
module proof_delay #(
  parameter int unsigned Width = 1,
  parameter int unsigned Depth = 1
) (
  input  logic             clk_i,
  input  logic             en_i,
  input  logic [Width-1:0] data_i,
  output logic [Width-1:0] data_o
);
  logic [Width-1:0] stages[Depth+1];
  assign stages[0] = data_i;
  for (genvar i = 0; i < Depth; i++) begin : gen_stage
    always_ff @(posedge clk_i) begin
      if (en_i) stages[i+1] <= stages[i];
    end
  end
  assign data_o = stages[Depth];
endmodule
