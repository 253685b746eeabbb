// The SWAP of the forward constant-geometry NTT. Two rows of 2*Half values enter one after the other. Their lower
// halves leave together when the second row has entered, their upper halves in the next cycle. Rows may enter in every
// cycle or with pauses; the output does not wait for the next input.
module ntt_cg_swap #(
  parameter int unsigned Width = 35,  // Bits of a value.
  parameter int unsigned Half  = 4  // Values in half a row.
) (
  input  logic                         clk_i,  // Clock.
  input  logic                         rst_ni,  // Asynchronous reset, active low.
  input  logic                         en_i,  // Clock enable: low holds every register.
  input  logic                         valid_i,  // The row is valid.
  input  logic [2*Half-1:0][Width-1:0] data_i,  // A row of 2*Half values.
  output logic                         valid_o,  // A pair of half rows is valid.
  output logic [Half-1:0][Width-1:0]   low_o,  // Half row of the first row.
  output logic [Half-1:0][Width-1:0]   high_o  // Half row of the second row.
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
