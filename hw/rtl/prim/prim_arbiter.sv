// Chooses one of `Requests` in turn: after a request was served, all others go before it. A choice that was offered and
// not yet served stays, as a valid/ready stream must.
module prim_arbiter #(
  parameter int unsigned Requests = 4,  // Number of requests, at least 2.
  localparam int unsigned IndexWidth = $clog2(Requests)  // Bits of an index.
) (
  input  logic                  clk_i,  // Clock.
  input  logic                  rst_ni,  // Asynchronous reset, active low.
  input  logic [Requests-1:0]   request_i,  // Requests; one that is made stays until it is served.
  output logic                  valid_o,  // There is a choice.
  output logic [IndexWidth-1:0] index_o,  // The request that is chosen.
  input  logic                  serve_i  // It is served.
);
  typedef logic [IndexWidth-1:0] index_t;

  // The request that was served last, and the choice that was offered.
  index_t last_q, choice_q;
  logic   offered_q;
  index_t choice;

  // The first request after the last served one, in turn.
  always_comb begin
    choice = last_q;
    for (int unsigned distance = Requests; distance > 0; distance--) begin
      for (int unsigned i = 0; i < Requests; i++) begin
        if (request_i[i] && last_q == index_t'((i + Requests - distance) % Requests)) choice = index_t'(i);
      end
    end
    if (offered_q) choice = choice_q;
  end

  assign valid_o = |request_i;
  assign index_o = choice;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      last_q    <= index_t'(Requests - 1);
      choice_q  <= '0;
      offered_q <= 1'b0;
    end else begin
      choice_q  <= choice;
      offered_q <= valid_o && !serve_i;
      if (valid_o && serve_i) last_q <= choice;
    end
  end
endmodule
