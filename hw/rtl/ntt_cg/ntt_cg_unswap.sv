// The SWAP of the inverse constant-geometry NTT. Two pairs of half rows enter one after the other. The row of the two
// low halves leaves when the second pair has entered, the row of the two high halves in the next cycle.
module ntt_cg_unswap #(
  parameter int unsigned Width = 35,  // Bits of a value.
  parameter int unsigned Half  = 4  // Values in half a row.
) (
  input  logic                         clk_i,  // Clock.
  input  logic                         rst_ni,  // Asynchronous reset, active low.
  input  logic                         en_i,  // Clock enable: low holds every register.
  input  logic                         valid_i,  // The pair of half rows is valid.
  input  logic [Half-1:0][Width-1:0]   low_i,  // Low half row.
  input  logic [Half-1:0][Width-1:0]   high_i,  // High half row.
  output logic                         valid_o,  // The row is valid.
  output logic [2*Half-1:0][Width-1:0] data_o  // A row of 2*Half values.
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
