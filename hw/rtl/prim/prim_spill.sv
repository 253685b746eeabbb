// Cuts a valid/ready stream: no path leads through it in either direction. It takes and gives a beat in every cycle;
// a beat needs one cycle. Of its two registers the second holds the beat that arrives while the first cannot leave.
module prim_spill #(
  parameter int unsigned Width = 32  // Bits of a beat.
) (
  input  logic             clk_i,  // Clock.
  input  logic             rst_ni,  // Asynchronous reset, active low.
  input  logic             clear_i,  // Drops all beats; none is taken in this cycle.
  input  logic             in_valid_i,  // A beat is offered.
  output logic             in_ready_o,  // It is taken.
  input  logic [Width-1:0] in_data_i,  // Its data.
  output logic             out_valid_o,  // A beat is given.
  input  logic             out_ready_i,  // It leaves.
  output logic [Width-1:0] out_data_o  // Its data.
);
  logic             full_q, spilled_q;
  logic [Width-1:0] data_q, spill_q;
  logic             take, stuck;

  assign in_ready_o  = !spilled_q;
  assign out_valid_o = full_q;
  assign out_data_o  = data_q;
  assign take        = in_valid_i && in_ready_o;
  assign stuck       = full_q && !out_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q    <= 1'b0;
      spilled_q <= 1'b0;
    end else if (clear_i) begin
      full_q    <= 1'b0;
      spilled_q <= 1'b0;
    end else begin
      full_q    <= stuck || spilled_q || take;
      spilled_q <= stuck && (spilled_q || take);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!stuck) data_q <= spilled_q ? spill_q : in_data_i;
    if (!spilled_q) spill_q <= in_data_i;
  end
endmodule
