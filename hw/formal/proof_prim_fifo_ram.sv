// prim_fifo_ram: a queue (proof_queue) that takes a beat whenever its memory has room, whose landing place is never
// full when a beat comes out of the memory, and that reads no word in the cycle in which it is written.
module proof_prim_fifo_ram #(
  parameter int unsigned Width = 4,
  parameter int unsigned Depth = 4,
  localparam int unsigned Landing = 4,
  localparam int unsigned CountWidth = $clog2(Depth + Landing + 1)
) (
  input logic             clk_i,
  input logic             clear_i,
  input logic             watch_i,
  input logic             in_valid_i,
  input logic [Width-1:0] in_data_i,
  input logic             out_ready_i
);
  logic rst_nq;
  initial rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic                  in_ready, out_valid, watched;
  logic [Width-1:0]      out_data, data;
  logic [CountWidth-1:0] count, ahead, stated;
  prim_fifo_ram #(.Width(Width), .Depth(Depth)) u_dut (
    .clk_i, .rst_ni(rst_nq), .clear_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i, .out_valid_o(out_valid),
    .out_ready_i, .out_data_o(out_data), .count_o(stated)
  );
  proof_queue #(.Width(Width), .Capacity(Depth + Landing)) u_queue (
    .clk_i, .rst_ni(rst_nq), .clear_i, .watch_i, .in_valid_i, .in_ready_i(in_ready), .in_data_i,
    .out_valid_i(out_valid), .out_ready_i, .out_data_i(out_data), .count_o(count), .watched_o(watched),
    .ahead_o(ahead), .data_o(data)
  );

  // Beats stand in the landing place, then in the output register, in the memory's register, and in the memory.
  logic [31:0] landed, on_way, stored, place;
  assign landed = 32'(u_dut.u_landing.count_q);
  assign on_way = 32'(u_dut.read_q2[0]) + 32'(u_dut.read_q2[1]);
  assign stored = 32'(u_dut.stored_q);
  logic [Width-1:0] found;
  always_comb begin
    place = 32'(ahead);
    if (place < landed) begin
      found = u_dut.u_landing.memory[2'(32'(u_dut.u_landing.read_q) + place)];
    end else if (u_dut.read_q2[1] && place == landed) begin
      found = u_dut.read_both[1];
    end else if (u_dut.read_q2[0] && place == landed + 32'(u_dut.read_q2[1])) begin
      found = u_dut.read_both[0];
    end else begin
      place = 32'(u_dut.read_q) + place - landed - on_way;
      found = u_dut.u_ram.memory[place[$clog2(Depth)-1:0]];
    end
    if (rst_nq) begin
      counts:   assert (stated == count && 32'(count) == stored + on_way + landed);
      room:     assert (stored <= Depth && in_ready == (stored != Depth));
      credits:  assert (32'(u_dut.u_credit.count_q) + on_way + landed == Landing);
      lands:    assert (!u_dut.read_q2[1] || u_dut.landing_ready);
      turn:     assert (u_dut.u_landing.write_q == 2'(32'(u_dut.u_landing.read_q) + landed));
      in_order: assert (u_dut.write_q == ($clog2(Depth))'(32'(u_dut.read_q) + stored));
      not_both: assert (!(u_dut.read && u_dut.take && u_dut.read_q == u_dut.write_q));
      gives:    assert (out_valid == (landed != 0));
      holds:    assert (!watched || found == data);
    end
  end
endmodule
