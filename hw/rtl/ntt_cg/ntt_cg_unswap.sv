// The SWAP of the inverse constant-geometry NTT, the other way round: of two pairs of half rows that come one after the
// other, the row of the two low halves leaves when the second pair has come, the row of the two high halves in the
// cycle after.
module ntt_cg_unswap #(
  parameter int unsigned Width = 35,
  parameter int unsigned Half  = 4
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         en_i,
  input  logic                         valid_i,
  input  logic [Half-1:0][Width-1:0]   low_i,
  input  logic [Half-1:0][Width-1:0]   high_i,
  output logic                         valid_o,
  output logic [2*Half-1:0][Width-1:0] data_o
);
  // `second_q`: the first pair has come. `high_q`: the row of the high halves leaves in this cycle.
  logic                       second_q, high_q;
  logic [Half-1:0][Width-1:0] first_low_q, first_high_q, second_high_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      second_q <= 1'b0;
      high_q   <= 1'b0;
    end else if (en_i) begin
      second_q <= second_q ^ valid_i;
      high_q   <= second_q & valid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i & valid_i) begin
      if (second_q) begin
        second_high_q <= high_i;
      end else begin
        first_low_q  <= low_i;
        first_high_q <= high_i;
      end
    end
  end

  assign valid_o = high_q | (second_q & valid_i);
  assign data_o  = high_q ? {second_high_q, first_high_q} : {low_i, first_low_q};
endmodule
