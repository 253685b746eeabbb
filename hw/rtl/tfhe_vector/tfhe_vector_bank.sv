// A bank of the sample of `tfhe_vector`: one word of each beat, in LUT memory, which is read in the same cycle. So the
// same word can change in each cycle.
//
//   word <- word + operand, word - operand, or operand
//
// A memory cannot become zero at once. Each word has a bit instead, which says whether it was written since the last
// `empty_i` or `clear_i`.
module tfhe_vector_bank
  import tfhe_vector_pkg::*;
(
  input  logic        clk_i,  // Clock.
  input  logic        rst_ni,  // Asynchronous reset, active low.
  input  logic        clear_i,  // All words become zero, and none changes.
  input  logic        empty_i,  // All words become zero, except a word that changes.
  input  logic        change_i,  // A word changes.
  input  logic        keep_i,  // The earlier word counts; otherwise the operand replaces it.
  input  logic        subtract_i,  // The operand is subtracted.
  input  beat_index_t beat_i,  // The beat of the word.
  input  word_t       operand_i,  // The operand.
  input  beat_index_t read_beat_i,  // The beat of a word that is read.
  output logic        read_filled_o,  // It was written. If low, the word is zero and `read_word_o` has no meaning.
  output word_t       read_word_o  // The word, in the same cycle.
);
  word_t            memory[Beats];
  logic [Beats-1:0] filled_q;
  word_t            old, changed;
  logic             keeps;
  assign keeps = keep_i && filled_q[beat_i];
  assign old   = memory[beat_i];
  always_comb begin
    for (int unsigned x = 0; x < WordLanes; x++) begin
      changed[x] = sum(old[x] & {32{keeps}}, operand_i[x] ^ {32{subtract_i}}, subtract_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (change_i) memory[beat_i] <= changed;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      filled_q <= '0;
    end else if (clear_i) begin
      filled_q <= '0;
    end else begin
      if (empty_i) filled_q <= '0;
      if (change_i) filled_q[beat_i] <= 1'b1;
    end
  end
  assign read_filled_o = filled_q[read_beat_i];
  assign read_word_o   = memory[read_beat_i];
endmodule
