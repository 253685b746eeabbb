// An LWE sample of 32-bit elements, with the operations of secure computing programs on it: additions, products with an
// integer, and the key switch from a sample of 64-bit elements (nvme-tfhe paper, Table 1: ADD32, SUB32, INT_MULT32,
// KEY SWITCH). Element n, the body, follows the mask.
//
//   words of memory ──► sample (eight banks) ──► words of memory, elements for the modulus switch
//                         ▲ -
//   multiplicand ──┐      │
//   key beats ─────┴──► x digit
//
// 128 lanes multiply a beat by a digit of four bits with a sign, and subtract the product from the sample. So a key
// switch takes one beat of the key in each cycle,
//
//   sample <- (0 ... 0, b) - sum of digit_j(a_i) * row_(i,j)
//
// as `ciphermill_tfhe::keyswitch` computes it, and a product with an integer v is that of its digits in base 8, from the
// lowest one on, where the multiplicand moves up by three bits after each round.
//
//   word      the next word of memory; word 0 after `word_first_i`
//   scale     the sample becomes `scale_value_i` times the multiplicand: ScaleRounds * Beats + 4 cycles
//   switch    coefficients a_0, a_1 ... and the beats of their rows, digit by digit. `coefficient_last_i` ends it
//
// One operation at a time: an operation is given only while `busy_o` is low.
//
//   range: switch_gadget_i.base_log 1 to 4, base_log * levels <= 63; body_i up to 1023
module tfhe_vector
  import tfhe_vector_pkg::*;
(
  input  logic           clk_i,  // Clock.
  input  logic           rst_ni,  // Asynchronous reset, active low.
  input  logic           clear_i,  // Ends an operation in progress and sets the sample to zero.
  input  element_index_t body_i,  // n, the number of the body's element; constant while busy.
  input  tfhe_cmux_pkg::gadget_t gadget_i,  // The decomposition of the key switch; constant while busy.
  output logic           busy_o,  // An operation is in progress.

  input  logic           word_valid_i,  // A word of memory is given.
  input  logic           word_first_i,  // It is word 0 of a sample.
  input  word_op_e       word_op_i,  // What becomes of it.
  input  word_t          word_i,  // The word, element 0 lowest.

  input  element_index_t read_index_i,  // The number of an element of the sample.
  output word_t          read_word_o,  // The word that it is in, one cycle later.
  output logic [31:0]    element_o,  // The element, one cycle later.

  input  logic           scale_valid_i,  // A product with an integer is asked for.
  input  logic [31:0]    scale_value_i,  // The integer, modulo 2^32.

  input  logic           switch_valid_i,  // A key switch is asked for.
  input  logic [31:0]    switch_body_i,  // Its body b.
  input  logic           coefficient_valid_i,  // A coefficient of its mask is given.
  output logic           coefficient_ready_o,  // It is taken.
  input  logic [63:0]    coefficient_i,  // The coefficient, on the torus of 64 bits.
  input  logic           coefficient_last_i,  // It is the last one.
  input  logic           key_valid_i,  // A beat of the key is given.
  output logic           key_ready_o,  // It is taken.
  input  beat_t          key_i  // The beat.
);
  typedef enum logic [1:0] {Idle, Scale, Switch, Drain} state_e;
  state_e state_q;
  // The beat in progress, and the round or level.
  beat_index_t beat_q, last_beat;
  logic [3:0]  round_q;
  assign last_beat = body_i[$high(body_i)-:$bits(beat_index_t)];

  // -------------------------------------------------------------------------------------------------------------------
  // Digits of a coefficient. The most significant one comes first, so the register moves up.
  // -------------------------------------------------------------------------------------------------------------------

  logic [63:0] offset_q;
  always_ff @(posedge clk_i) offset_q <= tfhe_cmux_pkg::balance(gadget_i);

  logic        coefficient_valid_q, last_q, take_key, ends_row, ends_coefficient, take_coefficient;
  logic [63:0] balanced_q;
  logic [3:0]  field, half, switch_digit;
  assign take_key            = coefficient_valid_q && key_valid_i;
  assign key_ready_o         = coefficient_valid_q;
  assign ends_row            = beat_q == last_beat;
  assign ends_coefficient    = take_key && ends_row && round_q == gadget_i.levels - 1'b1;
  assign coefficient_ready_o = state_q == Switch && !last_q && (!coefficient_valid_q || ends_coefficient);
  assign take_coefficient    = coefficient_valid_i && coefficient_ready_o;
  assign field               = balanced_q[63:60] >> (3'd4 - 3'(gadget_i.base_log));
  assign half                = 4'd1 << (2'(gadget_i.base_log) - 2'd1);
  assign switch_digit        = field - half;

  // -------------------------------------------------------------------------------------------------------------------
  // Control.
  // -------------------------------------------------------------------------------------------------------------------

  logic [ScaleBits*ScaleRounds-1:0] scale_q;
  logic [1:0] busy_stages;
  logic scale_reads;
  assign scale_reads = state_q == Scale;
  assign busy_o      = state_q != Idle || busy_stages != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q             <= Idle;
      beat_q              <= '0;
      round_q             <= '0;
      coefficient_valid_q <= 1'b0;
      last_q              <= 1'b0;
    end else if (clear_i) begin
      state_q             <= Idle;
      beat_q              <= '0;
      round_q             <= '0;
      coefficient_valid_q <= 1'b0;
      last_q              <= 1'b0;
    end else begin
      unique case (state_q)
        Scale: begin
          beat_q <= beat_q + 1'b1;
          if (beat_q == '1) begin
            round_q <= round_q + 1'b1;
            if (round_q == 4'(ScaleRounds - 1)) begin
              round_q <= '0;
              state_q <= Drain;
            end
          end
        end
        Switch: begin
          if (take_coefficient) last_q <= coefficient_last_i;
          coefficient_valid_q <= take_coefficient || (coefficient_valid_q && !ends_coefficient);
          if (take_key) begin
            beat_q <= ends_row ? '0 : beat_q + 1'b1;
            if (ends_row) round_q <= ends_coefficient ? '0 : round_q + 1'b1;
          end
          if (ends_coefficient && last_q) begin
            last_q  <= 1'b0;
            state_q <= Drain;
          end
        end
        // The stages of the multiplier follow.
        Drain: state_q <= Idle;
        default: begin
          if (scale_valid_i) state_q <= Scale;
          else if (switch_valid_i) state_q <= Switch;
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_coefficient) balanced_q <= coefficient_i + offset_q;
    else if (take_key && ends_row) balanced_q <= balanced_q << gadget_i.base_log;
    if (state_q == Idle) scale_q <= (ScaleBits * ScaleRounds)'(scale_value_i);
    else if (scale_reads && beat_q == '1) scale_q <= scale_q >> ScaleBits;
  end

  // -------------------------------------------------------------------------------------------------------------------
  // The multiplicand: words are written, beats read and written back three bits further up.
  // -------------------------------------------------------------------------------------------------------------------

  word_index_t word_q, word_index;
  assign word_index = word_first_i ? '0 : word_q;
  always_ff @(posedge clk_i) begin
    if (word_valid_i) word_q <= word_index + 1'b1;
  end

  // The stages of a product: read or taken, at the multiplier, product.
  logic        scale_read_q;
  beat_index_t scale_beat_q;
  beat_t       multiplicand, moved;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) scale_read_q <= 1'b0;
    else scale_read_q <= scale_reads && !clear_i;
  end
  always_ff @(posedge clk_i) scale_beat_q <= beat_q;

  for (genvar w = 0; w < Words; w++) begin : gen_multiplicand
    logic given;
    assign given = word_valid_i && word_op_i == Multiplicand && word_index[$clog2(Words)-1:0] == ($clog2(Words))'(w);
    prim_ram_1r1w #(.Width(32 * WordLanes), .Depth(Beats)) u_ram (
      .clk_i, .read_en_i(scale_reads), .read_addr_i(beat_q), .read_data_o(multiplicand[w*WordLanes+:WordLanes]),
      .write_en_i(given | scale_read_q),
      .write_addr_i(scale_read_q ? scale_beat_q : beat_index_t'(word_index >> $clog2(Words))),
      .write_data_i(scale_read_q ? moved[w*WordLanes+:WordLanes] : word_i)
    );
  end
  always_comb begin
    for (int unsigned x = 0; x < Lanes; x++) moved[x] = multiplicand[x] << ScaleBits;
  end

  // The sample loses digit * beat. So the product with an integer takes the negative digits.
  digit_t scale_digit_q;
  always_ff @(posedge clk_i) scale_digit_q <= recode(-4'(scale_q[ScaleBits-1:0]));

  logic        factor_valid_q, product_valid_q, product_negative_q;
  beat_index_t factor_beat_q, product_beat_q;
  digit_t      digit_q;
  beat_t       factor_q, product_q;
  assign busy_stages = {factor_valid_q | scale_read_q, product_valid_q};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      factor_valid_q  <= 1'b0;
      product_valid_q <= 1'b0;
    end else begin
      factor_valid_q  <= (take_key || scale_read_q) && !clear_i;
      product_valid_q <= factor_valid_q && !clear_i;
    end
  end
  always_ff @(posedge clk_i) begin
    factor_beat_q      <= scale_read_q ? scale_beat_q : beat_q;
    digit_q            <= scale_read_q ? scale_digit_q : recode(switch_digit);
    factor_q           <= scale_read_q ? multiplicand : key_i;
    product_beat_q     <= factor_beat_q;
    product_negative_q <= digit_q.negative;
    for (int unsigned x = 0; x < Lanes; x++) product_q[x] <= multiple(factor_q[x], digit_q.magnitude);
  end

  // -------------------------------------------------------------------------------------------------------------------
  // The sample.
  // -------------------------------------------------------------------------------------------------------------------

  logic starts;
  assign starts = state_q == Idle && (scale_valid_i || switch_valid_i);

  // A word that changes: one of memory, or the one with the body, when a key switch begins.
  logic                  body_comes, word_changes;
  word_index_t           at;
  word_t                 body_word, word;
  logic [Words-1:0]      word_filled;
  word_t [Words-1:0]     read_words;
  word_index_t           read_at;
  word_t                 read_word;
  logic [$clog2(WordLanes)-1:0] read_lane;
  assign body_comes   = starts && !scale_valid_i;
  assign word_changes = body_comes || (word_valid_i && word_op_i != Multiplicand && !starts);
  assign at           = body_comes ? body_i[$high(body_i)-:$bits(word_index_t)] : word_index;
  always_comb begin
    body_word = '0;
    body_word[body_i[$clog2(WordLanes)-1:0]] = switch_body_i;
  end
  assign word                 = body_comes ? body_word : word_i;
  assign {read_at, read_lane} = read_index_i;

  for (genvar w = 0; w < Words; w++) begin : gen_bank
    logic given;
    assign given = word_changes && at[$clog2(Words)-1:0] == ($clog2(Words))'(w);
    tfhe_vector_bank u_bank (
      .clk_i, .rst_ni, .clear_i, .empty_i(starts), .change_i(product_valid_q || given),
      .keep_i(product_valid_q || (!body_comes && word_op_i != Load)),
      .subtract_i(product_valid_q ? !product_negative_q : !body_comes && word_op_i == Subtract),
      .beat_i(product_valid_q ? product_beat_q : beat_index_t'(at >> $clog2(Words))),
      .operand_i(product_valid_q ? product_q[w*WordLanes+:WordLanes] : word),
      .read_beat_i(beat_index_t'(read_at >> $clog2(Words))), .read_filled_o(word_filled[w]),
      .read_word_o(read_words[w])
    );
  end
  assign read_word = word_filled[read_at[$clog2(Words)-1:0]] ? read_words[read_at[$clog2(Words)-1:0]] : '0;
  always_ff @(posedge clk_i) begin
    read_word_o <= read_word;
    element_o   <= read_word[read_lane];
  end

`ifndef SYNTHESIS
  // A product takes the banks for itself.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (rst_ni && !clear_i && product_valid_q) begin
      assert (!starts && !word_changes) else $error("an operation begins while a product is subtracted");
    end
  end
`endif
endmodule
