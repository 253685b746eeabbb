// prim_credit: while slots are taken only if one is available and given back only if one was taken, free and taken slots
// together are always all slots.
module proof_prim_credit #(
  parameter int unsigned Credits = 5,
  localparam int unsigned CountWidth = $clog2(Credits + 1)
) (
  input logic clk_i,
  input logic clear_i,
  input logic take_i,
  input logic give_i
);
  logic rst_nq;
  initial rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic                  available;
  logic [CountWidth-1:0] count, taken_q;
  prim_credit #(.Credits(Credits)) u_dut (
    .clk_i, .rst_ni(rst_nq), .clear_i, .take_i, .give_i, .available_o(available), .count_o(count)
  );
  initial taken_q = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_nq || clear_i) taken_q <= '0;
    else taken_q <= taken_q + CountWidth'(take_i) - CountWidth'(give_i);
  end
  always_comb begin
    assume (!take_i || (rst_nq && available));
    assume (!give_i || (rst_nq && taken_q != '0));
    if (rst_nq) begin
      all:  assert (32'(count) + 32'(taken_q) == Credits);
      free: assert (available == (32'(taken_q) != Credits));
    end
  end
endmodule
