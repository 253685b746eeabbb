// ntt_cg_r4 at full size, by induction as proof_ntt_cg: the memories' contract, the streams, and that nothing stops: `Drain`
// enabled cycles after a block of four rows was complete all its rows are written or given.
//
// Places are counted in rows for writes, and in blocks of four rows and slots for reads.
module proof_ntt_cg_r4 #(
  parameter int unsigned LogN = 12,
  localparam int unsigned Width = 35
) (
  input logic                  clk_i,
  input logic                  in_valid_i,
  input logic [7:0][Width-1:0] in_data_i,
  input logic                  out_ready_i
);
  localparam int unsigned LogRows = LogN - 3;
  localparam int unsigned Rows    = 1 << LogRows;
  localparam int unsigned Blocks  = Rows / 4;
  localparam int unsigned Last    = LogN / 2 - 1;
  localparam int unsigned Drain   = 20;
  typedef logic [LogRows-1:0] row_t;
  typedef logic [LogRows+5:0] place_t;
  localparam place_t Frame = place_t'((Last + 1) * Rows);

  logic rst_nq;
  initial rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic                  in_ready, out_valid;
  logic [7:0][Width-1:0] out_data;
  ntt_cg_r4 #(.LogN(LogN)) u_dut (
    .clk_i, .rst_ni(rst_nq), .in_valid_i, .in_ready_o(in_ready), .in_data_i, .out_valid_o(out_valid), .out_ready_i,
    .out_data_o(out_data)
  );

  logic [LogRows+1:0] taken, given;
  proof_stream #(.Beats(Rows), .DataWidth(8 * Width)) u_stream (
    .clk_i, .rst_ni(rst_nq), .in_valid_i, .in_ready_i(in_ready), .out_valid_i(out_valid), .out_ready_i,
    .out_data_i(out_data), .taken_o(taken), .given_o(given)
  );

  row_t       word_q;
  logic [1:0] full;
  always_ff @(posedge clk_i) word_q <= word_q;
  for (genvar m = 0; m < 2; m++) begin : gen_memory
    proof_memory #(.AddrWidth(LogRows)) u_memory (
      .clk_i, .word_i(word_q),
      .read_en_i(u_dut.gen_memory[m].gen_bank[0].u_ram.read_en_i),
      .read_addr_i(u_dut.gen_memory[m].gen_bank[0].u_ram.read_addr_i),
      .write_en_i(u_dut.gen_memory[m].gen_bank[0].u_ram.write_en_i),
      .write_addr_i(u_dut.gen_memory[m].gen_bank[0].u_ram.write_addr_i),
      .full_o(full[m])
    );
    for (genvar lane = 1; lane < 8; lane++) begin : gen_alike
      always_comb begin
        alike: assert ({
            u_dut.gen_memory[m].gen_bank[lane].u_ram.read_en_i, u_dut.gen_memory[m].gen_bank[lane].u_ram.read_addr_i,
            u_dut.gen_memory[m].gen_bank[lane].u_ram.write_en_i, u_dut.gen_memory[m].gen_bank[lane].u_ram.write_addr_i
          } == {
            u_dut.gen_memory[m].gen_bank[0].u_ram.read_en_i, u_dut.gen_memory[m].gen_bank[0].u_ram.read_addr_i,
            u_dut.gen_memory[m].gen_bank[0].u_ram.write_en_i, u_dut.gen_memory[m].gen_bank[0].u_ram.write_addr_i
          });
      end
    end
  end

  // The slots of a block, and the work on the block before.
  logic [2:0] slot, cycle;
  logic [1:0] which;
  logic       active, read_valid, first_stage;
  assign slot        = u_dut.slot_q;
  assign which       = u_dut.which_q;
  assign read_valid  = u_dut.read_valid_q;
  assign active      = u_dut.active_q;
  assign cycle       = u_dut.cycle_q;
  assign first_stage = u_dut.stage_q == '0;
  always_comb begin
    slots:        assert (slot <= 3'd5);
    row_of_slot:  assert (!read_valid || (slot == 3'd1 && which == 2'd0) || (slot == 3'd2 && which == 2'd1) ||
                          (slot == 3'd4 && which == 2'd2) || (slot == 3'd5 && which == 2'd3));
    row_has_come: assert ((slot != 3'd2 && slot != 3'd5) || read_valid);
    starts:       assert (u_dut.start == (slot == 3'd5));
    in_time:      assert (!active || (cycle <= 3'd5 && cycle >= slot));
  end

  // Places.
  place_t      block, writes;
  logic [13:0] line;
  logic [2:0]  to_come, issued;
  assign block  = place_t'({u_dut.stage_q, u_dut.block_q});
  assign writes = place_t'({u_dut.write_stage_q, u_dut.write_beat_q});
  assign line   = u_dut.u_valid.gen_line.line_q;

  function automatic place_t from_to(place_t from, place_t to);
    return to >= from ? to - from : to + Frame - from;
  endfunction

  always_comb begin
    // Rows of the active block that have not entered the line, rows of the next block that have been read.
    if (!active) to_come = 3'd0;
    else if (cycle <= 3'd1) to_come = 3'd4;
    else if (cycle == 3'd2) to_come = 3'd3;
    else if (cycle <= 3'd4) to_come = 3'd2;
    else to_come = 3'd1;
    issued = slot >= 3'd3 ? slot - 3'd1 : slot;

    in_range:       assert (block < place_t'((Last + 1) * Blocks) && writes < Frame);
    block_to_write: assert (from_to(writes, block << 2) == place_t'(to_come) + place_t'($countones(line)));
  end

  // A word is full where it was written once more than read.
  logic        wrapped;
  logic [2:0]  read_slot;
  place_t      word_block;
  assign wrapped    = (block << 2) < writes;
  assign word_block = place_t'(word_q[LogRows-3:0]);
  assign read_slot  = word_q[LogRows-1] ? 3'd3 + 3'(word_q[LogRows-2]) : 3'(word_q[LogRows-2]);
  always_comb begin
    for (int unsigned m = 0; m < 2; m++) begin
      logic [3:0] written, read;
      written = '0;
      read    = '0;
      for (int unsigned s = m; s < Last; s += 2) begin
        if (writes > place_t'(s * Rows) + place_t'(word_q)) written = written + 1'b1;
        if (wrapped || block > place_t'((s + 1) * Blocks) + word_block ||
            (block == place_t'((s + 1) * Blocks) + word_block && slot > read_slot)) read = read + 1'b1;
      end
      assert (full[m] == (written != read) && (written == read || written == read + 1'b1));
    end
  end

  // The streams' counters.
  logic [LogRows+1:0] taken_place, given_place;
  assign taken_place = first_stage ?
      (LogRows + 2)'({u_dut.block_q, 2'b0}) + (LogRows + 2)'(issued) : (LogRows + 2)'(Rows);
  assign given_place = u_dut.write_stage_q == ($clog2(Last + 1))'(Last) ? (LogRows + 2)'(u_dut.write_beat_q) : '0;
  always_comb begin
    taken_rows: assert (taken[LogRows-1:0] == taken_place[LogRows-1:0]);
    given_rows: assert (given[LogRows-1:0] == given_place[LogRows-1:0]);
    beats:      assert (taken - given == (wrapped ? (LogRows + 2)'(Rows) : '0) + taken_place - given_place);
  end

  // Nothing stops.
  logic [4:0] quiet_q;
  initial quiet_q = 5'(Drain);
  always_ff @(posedge clk_i) begin
    if (!rst_nq) quiet_q <= 5'(Drain);
    else if (u_dut.en && u_dut.start) quiet_q <= '0;
    else if (u_dut.en && quiet_q != 5'(Drain)) quiet_q <= quiet_q + 1'b1;
  end
  always_comb begin
    reads_on:     assert (first_stage || u_dut.issue == (u_dut.en && slot != 3'd2 && slot != 3'd5));
    counted:      assert (quiet_q <= 5'(Drain));
    drained:      assert (quiet_q != 5'(Drain) || writes == (block << 2));
    quiet_active: assert (active == (quiet_q <= 5'd5) && (!active || 5'(cycle) == quiet_q));
    for (int unsigned i = 0; i < 14; i++) begin
      assert (quiet_q < 5'(i + 7) || !line[i]);
    end
  end
endmodule
