// The SWAP of the forward constant-geometry NTT: of two rows of 2*Half values that come one after the other, the lower
// halves leave side by side when the second has come, the upper halves in the cycle after. Rows may come in every cycle
// or with pauses; what leaves does not wait for what comes next.
module ntt_cg_swap #(
  parameter int unsigned Width = 35,
  parameter int unsigned Half  = 4
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         en_i,
  input  logic                         valid_i,
  input  logic [2*Half-1:0][Width-1:0] data_i,
  output logic                         valid_o,
  output logic [Half-1:0][Width-1:0]   low_o,
  output logic [Half-1:0][Width-1:0]   high_o
);
  // `second_q`: the first row of a pair has come. `upper_q`: the upper halves leave in this cycle.
  logic                         second_q, upper_q;
  logic [2*Half-1:0][Width-1:0] row_q;
  logic [Half-1:0][Width-1:0]   upper_half_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      second_q <= 1'b0;
      upper_q  <= 1'b0;
    end else if (en_i) begin
      second_q <= second_q ^ valid_i;
      upper_q  <= second_q & valid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i & valid_i) begin
      if (second_q) upper_half_q <= data_i[2*Half-1:Half];
      else row_q <= data_i;
    end
  end

  assign valid_o = upper_q | (second_q & valid_i);
  assign low_o   = upper_q ? row_q[2*Half-1:Half] : row_q[Half-1:0];
  assign high_o  = upper_q ? upper_half_q : data_i[Half-1:0];
endmodule
