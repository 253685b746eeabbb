// Counts free slots. A stream that may not stall takes one before it starts a beat. The reader of the beat gives the
// slot back. A slot that comes back can be taken in the next cycle.
module prim_credit #(
  parameter int unsigned Credits = 4,  // Slots that are free after reset.
  localparam int unsigned CountWidth = $clog2(Credits + 1)  // Bits of their count.
) (
  input  logic                  clk_i,  // Clock.
  input  logic                  rst_ni,  // Asynchronous reset, active low.
  input  logic                  clear_i,  // All slots are free again.
  input  logic                  take_i,  // Takes a slot; only while one is available.
  input  logic                  give_i,  // Gives a slot back; only one that was taken.
  output logic                  available_o,  // A slot is free.
  output logic [CountWidth-1:0] count_o  // Free slots.
);
  logic [CountWidth-1:0] count_q;

  assign available_o = count_q != '0;
  assign count_o     = count_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= CountWidth'(Credits);
    end else if (clear_i) begin
      count_q <= CountWidth'(Credits);
    end else begin
      count_q <= count_q - CountWidth'(take_i) + CountWidth'(give_i);
    end
  end
endmodule
