// prim_fifo_async behind two `prim_reset_sync` of one reset, for any two clocks and any reset. Steps of this proof are
// instants: both clocks and the reset change in any of them, together or not.
//
//   - each beat leaves once, with its data, behind all that came before; never are more than `Depth` inside;
//   - an offer that is not taken stays, and so does readiness;
//   - each side sees the other's count of two of its own edges ago: it takes a beat if by that there is room and gives
//     one if by that there is one;
//   - the counts that cross change in one bit at most.
//
// Shown for one beat, which may be any.
module proof_prim_fifo_async #(
  parameter int unsigned Width = 4,
  parameter int unsigned Depth = 4,
  localparam int unsigned AddrWidth = $clog2(Depth)
) (
  input logic             tick_i,
  input logic             rst_ni,
  input logic             watch_i,
  input logic             in_clk_i,
  input logic             in_valid_i,
  input logic [Width-1:0] in_data_i,
  input logic             out_clk_i,
  input logic             out_ready_i
);
  // Two bits more than an address: four times the beats that may be inside.
  typedef logic [AddrWidth+1:0] number_t;
  typedef logic [AddrWidth:0] count_t;

  // Everything begins with a reset, until an instant that may be any.
  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge tick_i) started_q <= 1'b1;

  logic in_rst_n, out_rst_n;
  prim_reset_sync #(.Stages(2)) u_in_reset (.clk_i(in_clk_i), .rst_ni, .rst_no(in_rst_n));
  prim_reset_sync #(.Stages(2)) u_out_reset (.clk_i(out_clk_i), .rst_ni, .rst_no(out_rst_n));

  logic             in_ready, out_valid;
  logic [Width-1:0] out_data;
  prim_fifo_async #(.Width(Width), .Depth(Depth)) u_dut (
    .in_clk_i, .in_rst_ni(in_rst_n), .in_valid_i, .in_ready_o(in_ready), .in_data_i, .out_clk_i,
    .out_rst_ni(out_rst_n), .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data)
  );
  logic take, give;
  assign take = in_valid_i && in_ready;
  assign give = out_valid && out_ready_i;

  // Beats taken and given, in plain binary; and what each side knows of the other.
  number_t taken_q, given_q, given_meta_q, given_seen_q, taken_meta_q, taken_seen_q;
  // The watched beat is inside while the two sides disagree.
  logic             set_q, cleared_q, watched;
  number_t          place_q;
  logic [Width-1:0] data_q;
  // What was at the ports before the last edge.
  logic             in_held_q, out_held_q;
  logic [Width-1:0] out_data_q;
  count_t           write_gray_q, read_gray_q;
  assign watched = set_q != cleared_q;
  always_ff @(posedge in_clk_i or negedge in_rst_n) begin
    if (!in_rst_n) begin
      {taken_q, given_meta_q, given_seen_q} <= '0;
      {set_q, in_held_q}                    <= '0;
      write_gray_q                          <= '0;
    end else begin
      taken_q      <= taken_q + number_t'(take);
      given_meta_q <= given_q;
      given_seen_q <= given_meta_q;
      if (take && watch_i && !watched) begin
        set_q <= !set_q;
      end
      in_held_q    <= in_ready && !in_valid_i;
      write_gray_q <= u_dut.write_gray_q;
    end
  end
  always_ff @(posedge in_clk_i) begin
    if (in_rst_n && take && watch_i && !watched) begin
      place_q <= taken_q;
      data_q  <= in_data_i;
    end
  end
  always_ff @(posedge out_clk_i or negedge out_rst_n) begin
    if (!out_rst_n) begin
      {given_q, taken_meta_q, taken_seen_q} <= '0;
      {cleared_q, out_held_q}               <= '0;
      read_gray_q                           <= '0;
    end else begin
      given_q      <= given_q + number_t'(give);
      taken_meta_q <= taken_q;
      taken_seen_q <= taken_meta_q;
      if (give && watched && given_q == place_q) cleared_q <= !cleared_q;
      out_held_q  <= out_valid && !out_ready_i;
      read_gray_q <= u_dut.read_gray_q;
    end
  end
  always_ff @(posedge out_clk_i) out_data_q <= out_data;

  function automatic count_t gray(number_t number);
    return count_t'(number) ^ (count_t'(number) >> 1);
  endfunction

  // Beats between two counts.
  function automatic logic [31:0] between(number_t later, number_t earlier);
    return 32'(number_t'(later - earlier));
  endfunction

  always_comb begin
    assume (started_q || !rst_ni);
    room:     assert (between(taken_q, given_q) <= Depth);
    one:      assert (!out_valid || taken_q != given_q);
    in_turn:  assert (!(watched && out_valid && given_q == place_q) || out_data == data_q);
    takes:    assert (in_ready == (between(taken_q, given_seen_q) != Depth));
    gives:    assert (out_valid == (taken_seen_q != given_q));
    in_stays: assert (!in_held_q || in_ready);
    stays:    assert (!out_held_q || (out_valid && out_data == out_data_q));
    in_bit:   assert ($onehot0(u_dut.write_gray_q ^ write_gray_q));
    out_bit:  assert ($onehot0(u_dut.read_gray_q ^ read_gray_q));
    // For the induction: what the registers hold, and in which order the counts follow one another.
    counts:   assert (u_dut.write_q == count_t'(taken_q) && u_dut.read_q == count_t'(given_q));
    grays:    assert (u_dut.write_gray_q == gray(taken_q) && u_dut.read_gray_q == gray(given_q));
    in_sees:  assert (u_dut.read_meta_q == gray(given_meta_q) && u_dut.read_seen_q == gray(given_seen_q));
    out_sees: assert (u_dut.write_meta_q == gray(taken_meta_q) && u_dut.write_seen_q == gray(taken_seen_q));
    in_late:  assert (between(taken_q, given_q) + between(given_q, given_meta_q)
                      + between(given_meta_q, given_seen_q) <= Depth);
    out_late: assert (between(taken_q, taken_meta_q) + between(taken_meta_q, taken_seen_q)
                      + between(taken_seen_q, given_q) <= Depth);
    placed:   assert (!watched || between(place_q, given_q) < between(taken_q, given_q));
    chains:   assert ((!u_in_reset.chain_q[1] || u_in_reset.chain_q[0])
                      && (!u_out_reset.chain_q[1] || u_out_reset.chain_q[0]));
    in_none:  assert (in_rst_n || {given_q, taken_meta_q, taken_seen_q} == '0);
    out_none: assert (out_rst_n || {given_meta_q, given_seen_q} == '0);
    holds:    assert (!watched || u_dut.memory[place_q[AddrWidth-1:0]] == data_q);
  end
endmodule
