// prim_arbiter, for requests that stay until they are served: it chooses a request whenever there is one, its choice
// stays until it is served, and no request waits while more than `Requests` - 1 others are served. Shown for one
// request, which may be any.
module proof_prim_arbiter #(
  parameter int unsigned Requests = 4,
  localparam int unsigned IndexWidth = $clog2(Requests)
) (
  input logic                clk_i,
  input logic [Requests-1:0] request_i,
  input logic                serve_i
);
  logic rst_nq;
  initial rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic                  valid;
  logic [IndexWidth-1:0] index;
  prim_arbiter #(.Requests(Requests)) u_dut (
    .clk_i, .rst_ni(rst_nq), .request_i, .valid_o(valid), .index_o(index), .serve_i
  );

  logic [IndexWidth-1:0] watched_q, index_q;
  logic [Requests-1:0]   waiting_q;
  logic                  held_q;
  logic [IndexWidth:0]   others_q;
  initial begin
    waiting_q = '0;
    held_q    = 1'b0;
    others_q  = '0;
  end
  always_ff @(posedge clk_i) begin
    watched_q <= watched_q;
    index_q   <= index;
    held_q    <= rst_nq && valid && !serve_i;
    waiting_q <= '0;
    others_q  <= '0;
    if (rst_nq) begin
      waiting_q <= request_i;
      if (valid && serve_i) waiting_q[index] <= 1'b0;
      if (request_i[watched_q] && !(valid && serve_i && index == watched_q)) begin
        others_q <= others_q + (IndexWidth + 1)'(valid && serve_i);
      end
    end
  end

  // Requests that are served before the watched one if all are made: those from behind the last one up to it.
  logic [31:0] earlier, chosen_earlier;
  assign earlier = (32'(watched_q) + Requests - 1 - 32'(u_dut.last_q)) % Requests;
  assign chosen_earlier = (32'(u_dut.choice_q) + Requests - 1 - 32'(u_dut.last_q)) % Requests;
  always_comb begin
    assume (32'(watched_q) < Requests);
    assume ((waiting_q & ~request_i) == '0);
    if (rst_nq) begin
      chosen: assert (valid == (request_i != '0) && (!valid || (32'(index) < Requests && request_i[index])));
      stays:  assert (!held_q || (valid && index == index_q));
      turn:   assert (32'(others_q) <= Requests - 1);
      // For the induction.
      range:   assert (32'(u_dut.last_q) < Requests);
      offered: assert (u_dut.offered_q == held_q && (!held_q || u_dut.choice_q == index_q));
      waits:   assert (!held_q || waiting_q[index_q]);
      bound:   assert (others_q == '0
                       || (u_dut.last_q != watched_q && 32'(others_q) + earlier <= Requests - 1));
      early:   assert (others_q == '0 || !held_q || chosen_earlier <= earlier);
    end
  end
endmodule
