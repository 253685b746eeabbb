// What a queue of at most `Capacity` beats must show: it takes a beat only if it has room, gives one only if it has
// one, and each beat leaves once, with its data, behind all that came before. Shown for one beat, which may be any.
//
// For the induction, `count_o` and the watched beat's place are given to the proof of the queue, which says where its
// registers hold them.
module proof_queue #(
  parameter int unsigned Width    = 4,
  parameter int unsigned Capacity = 4,
  localparam int unsigned CountWidth = $clog2(Capacity + 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  clear_i,
  input  logic                  watch_i,
  input  logic                  in_valid_i,
  input  logic                  in_ready_i,
  input  logic [Width-1:0]      in_data_i,
  input  logic                  out_valid_i,
  input  logic                  out_ready_i,
  input  logic [Width-1:0]      out_data_i,
  // Beats inside.
  output logic [CountWidth-1:0] count_o,
  // A beat is watched, `ahead_o` beats are before it, and it has this data.
  output logic                  watched_o,
  output logic [CountWidth-1:0] ahead_o,
  output logic [Width-1:0]      data_o
);
  logic [CountWidth-1:0] count_q, ahead_q;
  logic                  watched_q, held_q;
  logic [Width-1:0]      data_q, held_data_q;
  initial begin
    count_q   = '0;
    watched_q = 1'b0;
    held_q    = 1'b0;
  end

  logic take, give;
  assign take = in_valid_i && in_ready_i && !clear_i;
  assign give = out_valid_i && out_ready_i;
  always_ff @(posedge clk_i) begin
    held_q      <= rst_ni && !clear_i && out_valid_i && !out_ready_i;
    held_data_q <= out_data_i;
    if (!rst_ni || clear_i) begin
      count_q   <= '0;
      watched_q <= 1'b0;
    end else begin
      count_q <= count_q + CountWidth'(take) - CountWidth'(give);
      if (watched_q) begin
        if (give && ahead_q == '0) watched_q <= 1'b0;
        if (give) ahead_q <= ahead_q - 1'b1;
      end else if (take && watch_i) begin
        watched_q <= 1'b1;
        ahead_q   <= count_q - CountWidth'(give);
        data_q    <= in_data_i;
      end
    end
  end

  always_comb begin
    room:    assert (32'(count_q) <= Capacity);
    one:     assert (!out_valid_i || count_q != '0);
    stays:   assert (!held_q || (out_valid_i && out_data_i == held_data_q));
    in_turn: assert (!(watched_q && ahead_q == '0 && out_valid_i) || out_data_i == data_q);
    placed:  assert (!watched_q || ahead_q < count_q);
  end
  assign count_o   = count_q;
  assign watched_o = watched_q;
  assign ahead_o   = ahead_q;
  assign data_o    = data_q;
endmodule
