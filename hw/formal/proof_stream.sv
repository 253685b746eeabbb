// What a unit must show at its streams, of `Beats` beats a frame:
//
//   - an output that is not taken stays;
//   - a frame comes out only after it has gone in, and no more comes out than went in.
module proof_stream #(
  parameter int unsigned Beats     = 512,
  parameter int unsigned DataWidth = 1,
  localparam int unsigned CountWidth = $clog2(Beats) + 2
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  in_valid_i,
  input  logic                  in_ready_i,
  input  logic                  out_valid_i,
  input  logic                  out_ready_i,
  input  logic [DataWidth-1:0]  out_data_i,
  // Beats taken and given so far, modulo four frames.
  output logic [CountWidth-1:0] taken_o,
  output logic [CountWidth-1:0] given_o
);
  logic [CountWidth-1:0] taken_q, given_q;
  logic                  held_q;
  logic [DataWidth-1:0]  data_q;
  initial begin
    taken_q = '0;
    given_q = '0;
    held_q  = 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (in_valid_i && in_ready_i) taken_q <= taken_q + 1'b1;
      if (out_valid_i && out_ready_i) given_q <= given_q + 1'b1;
    end
    held_q <= rst_ni && out_valid_i && !out_ready_i;
    data_q <= out_data_i;
  end

  // Whole frames inside: at most two, so that modulo four tells.
  logic [1:0] frames_in;
  assign frames_in = taken_q[CountWidth-1-:2] - given_q[CountWidth-1-:2];
  always_comb begin
    stays:         assert (!held_q || (out_valid_i && out_data_i == data_q));
    at_most_two:   assert (frames_in != 2'd3);
    only_whole:    assert (!out_valid_i || frames_in != 2'd0);
  end
  assign taken_o = taken_q;
  assign given_o = given_q;
endmodule
