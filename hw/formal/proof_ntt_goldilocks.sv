// ntt_goldilocks at the sizes of proofs.toml, by induction as proof_ntt_cg, both directions and their changes: the memories' contract in
// left and right banks, the streams, and that nothing stops.
//
// Which step touches a row is compared with a plain definition. `Data` also takes the data of
// the output into account, which makes the system greater.
module proof_ntt_goldilocks #(
  parameter int unsigned LogN           = 14,
  parameter int unsigned LogButterflies = 4,
  parameter bit          Data           = 1'b0,
  localparam int unsigned Lanes = 2 << LogButterflies
) (
  input logic                        clk_i,
  input logic                        in_valid_i,
  input logic                        in_inverse_i,
  input logic [0:0][Lanes-1:0][63:0] in_data_i,
  input logic                        out_ready_i
);
  localparam int unsigned LogRows = LogN - LogButterflies - 1;
  localparam int unsigned Rows    = 1 << LogRows;
  localparam int unsigned Last    = LogN - 1;
  localparam int unsigned Pipe    = 10;
  typedef logic [LogRows-1:0] row_t;
  typedef logic [LogRows+5:0] place_t;
  localparam place_t Frame = place_t'(LogN * Rows);

  logic rst_nq;
  initial rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic                        in_ready, out_valid;
  logic [0:0][Lanes-1:0][63:0] out_data;
  ntt_goldilocks #(.LogN(LogN), .LogButterflies(LogButterflies), .Polynomials(1)) u_dut (
    .clk_i, .rst_ni(rst_nq), .in_valid_i, .in_ready_o(in_ready), .in_inverse_i, .in_data_i, .out_valid_o(out_valid),
    .out_ready_i, .out_data_o(out_data)
  );

  logic [LogRows+1:0] taken, given;
  proof_stream #(.Beats(Rows), .DataWidth(Lanes * 64)) u_stream (
    .clk_i, .rst_ni(rst_nq), .in_valid_i, .in_ready_i(in_ready), .out_valid_i(out_valid), .out_ready_i,
    .out_data_i(Data ? out_data : '0), .taken_o(taken), .given_o(given)
  );

  row_t       word_q;
  logic [1:0] full;
  always_ff @(posedge clk_i) word_q <= word_q;
  proof_memory #(.AddrWidth(LogRows)) u_left (
    .clk_i, .word_i(word_q),
    .read_en_i(u_dut.gen_polynomial[0].gen_bank[0].u_left.read_en_i),
    .read_addr_i(u_dut.gen_polynomial[0].gen_bank[0].u_left.read_addr_i),
    .write_en_i(u_dut.gen_polynomial[0].gen_bank[0].u_left.write_en_i),
    .write_addr_i(u_dut.gen_polynomial[0].gen_bank[0].u_left.write_addr_i),
    .full_o(full[0])
  );
  proof_memory #(.AddrWidth(LogRows)) u_right (
    .clk_i, .word_i(word_q),
    .read_en_i(u_dut.gen_polynomial[0].gen_bank[0].u_right.read_en_i),
    .read_addr_i(u_dut.gen_polynomial[0].gen_bank[0].u_right.read_addr_i),
    .write_en_i(u_dut.gen_polynomial[0].gen_bank[0].u_right.write_en_i),
    .write_addr_i(u_dut.gen_polynomial[0].gen_bank[0].u_right.write_addr_i),
    .full_o(full[1])
  );
  for (genvar p = 1; p < Lanes / 2; p++) begin : gen_alike
    always_comb begin
      left: assert ({
          u_dut.gen_polynomial[0].gen_bank[p].u_left.read_en_i,
          u_dut.gen_polynomial[0].gen_bank[p].u_left.read_addr_i,
          u_dut.gen_polynomial[0].gen_bank[p].u_left.write_en_i,
          u_dut.gen_polynomial[0].gen_bank[p].u_left.write_addr_i
        } == {
          u_dut.gen_polynomial[0].gen_bank[0].u_left.read_en_i,
          u_dut.gen_polynomial[0].gen_bank[0].u_left.read_addr_i,
          u_dut.gen_polynomial[0].gen_bank[0].u_left.write_en_i,
          u_dut.gen_polynomial[0].gen_bank[0].u_left.write_addr_i
        });
      right: assert ({
          u_dut.gen_polynomial[0].gen_bank[p].u_right.read_en_i,
          u_dut.gen_polynomial[0].gen_bank[p].u_right.read_addr_i,
          u_dut.gen_polynomial[0].gen_bank[p].u_right.write_en_i,
          u_dut.gen_polynomial[0].gen_bank[p].u_right.write_addr_i
        } == {
          u_dut.gen_polynomial[0].gen_bank[0].u_right.read_en_i,
          u_dut.gen_polynomial[0].gen_bank[0].u_right.read_addr_i,
          u_dut.gen_polynomial[0].gen_bank[0].u_right.write_en_i,
          u_dut.gen_polynomial[0].gen_bank[0].u_right.write_addr_i
        });
    end
  end

  // The place of reads in a frame, and what the pipeline holds.
  logic            inverse;
  logic [Pipe-1:0] valid, last;
  place_t          reads;
  assign inverse = u_dut.inverse_q;
  assign valid   = u_dut.valid_q;
  assign reads   = place_t'({u_dut.step_stage_q, u_dut.step_q});
  for (genvar i = 0; i < Pipe; i++) begin : gen_last
    assign last[i] = valid[i] && u_dut.u_tag.gen_line.line_q[i][0];
  end
  always_comb begin
    in_range: assert (reads < Frame);
  end

  // Partners of the stage with these twiddles are in rows that differ in one bit: the highest in stage 0.
  function automatic logic [3:0] row_bit(logic [3:0] stage);
    return 4'(LogRows - 1) - (inverse ? 4'(Last) - stage : stage);
  endfunction
  function automatic logic in_rows(logic [3:0] stage);
    return (inverse ? 4'(Last) - stage : stage) < 4'(LogRows);
  endfunction
  // The step that takes this row from the left (bank 0) or the right bank. A row of even parity has its lower half left.
  function automatic row_t step_of(logic [3:0] stage, row_t row, logic bank);
    row_t low;
    low = (row_t'(1) << row_bit(stage)) - row_t'(1);
    if (!in_rows(stage)) return row;
    return ((((row >> 1) & ~low) | (row & low)) << 1) | row_t'((^row) ^ bank);
  endfunction

  // Each stage but the first reads the word and each but the last writes it, when its step comes: so it is either full or on
  // its way to being written, from its step in the first stage to that in the last one. `age_q` counts the enabled
  // cycles since its last step, up to 15: that of the next stage comes when the write is done.
  for (genvar bank = 0; bank < 2; bank++) begin : gen_bank
    localparam int unsigned RowAt = LogRows * (2 - bank) + 3 - LogRows;
    row_t            step;
    place_t          at, last_at, distance;
    logic            issued, is_step, expected_full;
    logic [3:0]      stage_before;
    logic [Pipe-1:0] on_the_way, to_be_written;
    logic [3:0]      age_q;
    assign step     = step_of(u_dut.step_stage_q, word_q, bank[0]);
    assign at       = (reads & ~place_t'(Rows - 1)) | place_t'(step);
    assign issued   = reads > at;
    assign is_step  = (bank == 0 ? u_dut.left_row : u_dut.right_row) == word_q;
    assign stage_before = u_dut.step_stage_q == '0 ? 4'(Last) : u_dut.step_stage_q - 1'b1;
    assign last_at  = issued ? at :
        ((reads & ~place_t'(Rows - 1)) - place_t'(Rows)) | place_t'(step_of(stage_before, word_q, bank[0]));
    assign distance = reads - last_at - 1'b1;

    initial age_q = 4'd15;
    always_ff @(posedge clk_i) begin
      if (u_dut.issue && is_step) age_q <= '0;
      else if (u_dut.en && age_q != 4'd15) age_q <= age_q + 1'b1;
    end
    for (genvar i = 0; i < Pipe; i++) begin : gen_entry
      assign on_the_way[i]    = valid[i] && u_dut.u_tag.gen_line.line_q[i][RowAt+:LogRows] == word_q;
      assign to_be_written[i] = on_the_way[i] && !u_dut.u_tag.gen_line.line_q[i][0];
      always_comb begin
        aged: assert (!on_the_way[i] || age_q == 4'(i));
      end
    end

    always_comb begin
      if (u_dut.step_stage_q == '0) expected_full = issued;
      else if (u_dut.step_stage_q == 4'(Last)) expected_full = !issued;
      else expected_full = 1'b1;
      its_step: assert (is_step == (u_dut.step_q == step));
      // Where the frame before had the other direction, or there was none, nothing is on its way.
      distant:  assert ((u_dut.step_stage_q == '0 && !issued && !(|on_the_way)) ||
                        age_q >= (distance > 15 ? 4'd15 : distance[3:0]));
      one:      assert ((full[bank] ^ |to_be_written) == expected_full && !(full[bank] && |to_be_written));
    end
  end

  // The streams' counters: frames that have gone in, whole or in part, and steps of the last stage that have come out.
  logic [LogRows+1:0] taken_place, last_place;
  assign taken_place = u_dut.step_stage_q == '0 ? (LogRows + 2)'(u_dut.step_q) : (LogRows + 2)'(Rows);
  assign last_place  = u_dut.step_stage_q == 4'(Last) ? (LogRows + 2)'(u_dut.step_q) : '0;
  always_comb begin
    taken_rows: assert (taken[LogRows-1:0] == taken_place[LogRows-1:0]);
    beats:      assert (taken - given == taken_place - last_place + (LogRows + 2)'($countones(last)));
  end

  // Nothing stops: steps are taken in every enabled cycle outside the first stage, and the pipeline moves with them.
  logic [3:0] quiet_q;
  initial quiet_q = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_nq || u_dut.issue) quiet_q <= '0;
    else if (u_dut.en && quiet_q != 4'(Pipe)) quiet_q <= quiet_q + 1'b1;
  end
  always_comb begin
    reads_on: assert (u_dut.step_stage_q == '0 || u_dut.issue == u_dut.en);
    for (int unsigned i = 0; i < Pipe; i++) begin
      assert (quiet_q < 4'(i + 1) || !valid[i]);
    end
  end
endmodule
