// ntt_goldilocks_shift: where its rows lie and when they are touched. `step_of` is a plain definition of the step of a
// pass in which a word of a bank is touched, and for every bank, every word and both directions
//
//   - the unit addresses a word in that step of the pass and in no other: each word once in every pass;
//   - where a row is read, it is written `Pipe` cycles later, in the same words, unless the pass is the last;
//   - from a word's step to its step in the next pass there are more than `Pipe` steps.
//
// So nothing is read before it is written, nor in the cycle of that, nor overwritten before it is read: docs/hw/proofs.md.
module proof_ntt_goldilocks_shift
  import dft_goldilocks_pkg::*;
#(
  parameter int unsigned LogN = 14
) (
  input logic                    clk_i,
  input logic                    in_valid_i,
  input logic                    in_inverse_i,
  input logic [Points-1:0][63:0] in_data_i,
  input logic                    out_room_i,
  input logic [Points-1:0][63:0] factors_i
);
  localparam int unsigned LogRows   = LogN - LogPoints;
  localparam int unsigned LogMiddle = LogRows - LogPoints;
  localparam int unsigned Pipe      = 22;
  typedef logic [LogRows-1:0]   row_t;
  typedef logic [LogRows+1:0]   place_t;
  typedef logic [LogMiddle-1:0] middle_t;
  typedef enum logic [1:0] {Outer, Middle, Inner} pass_e;

  logic in_ready, out_soon, out_valid, products, factors_take, waits;
  logic [Points-1:0][63:0] out_data, spectrum;
  ntt_goldilocks_shift #(.LogN(LogN)) u_dut (
    .clk_i, .rst_ni(1'b1), .clear_i(1'b0), .in_valid_i, .in_ready_o(in_ready), .in_inverse_i, .in_data_i, .out_room_i,
    .out_waits_o(waits), .out_soon_o(out_soon), .out_valid_o(out_valid), .out_data_o(out_data),
    .factors_take_o(factors_take), .factors_i, .spectrum_o(spectrum), .products_o(products)
  );

  // Any word of any bank.
  row_t  word_q;
  lane_t bank_q;
  always_ff @(posedge clk_i) begin
    word_q <= word_q;
    bank_q <= bank_q;
  end

  function automatic pass_e pass_of(logic [1:0] number, logic inverse);
    if (number == 2'd1) return Middle;
    return (number == 2'd0) == !inverse ? Outer : Inner;
  endfunction

  function automatic middle_t middle_reversed(middle_t digit);
    middle_t result;
    for (int unsigned i = 0; i < LogMiddle; i++) result[i] = digit[LogMiddle-1-i];
    return result;
  endfunction

  // Word (d2, d3) of a bank belongs to the digit d1 = bank ^ d3 ^ 32/R * d2.
  function automatic row_t step_of(pass_e pass, logic inverse, lane_t bank, row_t word);
    lane_t   d1, d3;
    middle_t d2;
    {d2, d3} = word;
    d1 = bank ^ d3 ^ (lane_t'(d2) << (LogPoints - LogMiddle));
    unique case (pass)
      Middle:  return {d3[LogPoints-1-:LogMiddle], reversed(inverse ? ~d1 : d1)};
      Inner:   return {reversed(inverse ? ~d1 : d1), middle_reversed(inverse ? ~d2 : d2)};
      default: return word;
    endcase
  endfunction

  // What the unit does in the first cycle is seen again `Pipe` cycles later.
  logic [7:0]        cycle_q;
  logic              written_q;
  logic [Points-1:0] is_read, is_written, was_read_q;
  initial cycle_q = '0;
  always_ff @(posedge clk_i) begin
    if (cycle_q <= 8'(Pipe)) cycle_q <= cycle_q + 1'b1;
    if (cycle_q == '0) begin
      written_q  <= u_dut.issue && !u_dut.last_pass;
      was_read_q <= is_read;
    end
  end

  // The state of the first cycle is any that registers can have: what is looked at there holds in all.
  logic any_state, steady;
  assign any_state = cycle_q == '0;
  assign steady    = cycle_q == 8'(Pipe);
  for (genvar bank = 0; bank < Points; bank++) begin : gen_bank
    row_t step;
    assign step             = step_of(pass_e'(u_dut.pass), u_dut.inverse_q, lane_t'(bank), word_q);
    assign is_read[bank]    = u_dut.gen_bank[bank].u_ram.read_addr_i == word_q;
    assign is_written[bank] = u_dut.gen_bank[bank].u_ram.write_addr_i == word_q;
    always_comb begin
      once:    assert (!any_state || u_dut.pass_number_q == 2'd3 || is_read[bank] == (u_dut.step_q == step));
      written: assert (!steady || !written_q || is_written[bank] == was_read_q[bank]);
      enabled: assert (!steady || u_dut.gen_bank[bank].u_ram.write_en_i == written_q);
    end
  end

  always_comb begin
    order: assert (!any_state || u_dut.pass_number_q == 2'd3 ||
                   pass_e'(u_dut.pass) == pass_of(u_dut.pass_number_q, u_dut.inverse_q));
  end

  // The number of the steps between two passes over a word, for both directions and both pairs of passes.
  for (genvar number = 0; number < 2; number++) begin : gen_number
    for (genvar inverse = 0; inverse < 2; inverse++) begin : gen_inverse
      place_t earlier, later;
      assign earlier = place_t'(step_of(pass_of(2'(number), inverse[0]), inverse[0], bank_q, word_q));
      assign later   = place_t'(1 << LogRows) +
                      place_t'(step_of(pass_of(2'(number + 1), inverse[0]), inverse[0], bank_q, word_q));
      always_comb begin
        in_time: assert (!any_state || later - earlier > place_t'(Pipe));
      end
    end
  end
endmodule
