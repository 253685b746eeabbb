// Sizes and operations of `tfhe_vector`.
package tfhe_vector_pkg;

  // Elements of a beat.
  parameter int unsigned Lanes     = 128;
  // Elements of a word of memory, 64 bytes.
  parameter int unsigned WordLanes = 16;
  // Words of a beat.
  parameter int unsigned Words     = Lanes / WordLanes;
  // Beats of a sample: n + 1 <= 1024.
  parameter int unsigned Beats     = 8;

  typedef logic [Lanes-1:0][31:0] beat_t;
  typedef logic [WordLanes-1:0][31:0] word_t;
  // The number of a beat, and of a word.
  typedef logic [$clog2(Beats)-1:0] beat_index_t;
  typedef logic [$clog2(Beats*Words)-1:0] word_index_t;
  // The number of an element.
  typedef logic [$clog2(Beats*Lanes)-1:0] element_index_t;

  // What becomes of a word: it replaces that of the sample, is added to it, subtracted from it, or becomes the multiplicand.
  typedef enum logic [1:0] {Load, Add, Subtract, Multiplicand} word_op_e;

  // A number from 0 to 8 as 4 * high + low, where `low` is 0, 1, 2, or 3 for -1, and `high` is 0, 1 or 2.
  typedef struct packed {
    logic [1:0] high;
    logic [1:0] low;
  } magnitude_t;

  // A digit from -8 to 7.
  typedef struct packed {
    logic       negative;
    magnitude_t magnitude;
  } digit_t;

  // The digit of a number from -8 to 7.
  function automatic digit_t recode(logic signed [3:0] value);
    digit_t     digit;
    logic [3:0] magnitude;
    magnitude            = value[3] ? -value : value;
    digit.negative       = value[3];
    digit.magnitude.low  = magnitude[1:0];
    digit.magnitude.high = magnitude[3:2] + 2'(magnitude[1:0] == 2'd3);
    return digit;
  endfunction

  // x + y + carry, in one adder.
  function automatic logic [31:0] sum(logic [31:0] x, logic [31:0] y, logic carry);
    return 32'(({x, 1'b1} + {y, carry}) >> 1);
  endfunction

  // The magnitude times x.
  function automatic logic [31:0] multiple(logic [31:0] x, magnitude_t magnitude);
    logic [31:0] low, high;
    unique case (magnitude.low)
      2'd0:    low = '0;
      2'd1:    low = x;
      2'd2:    low = x << 1;
      default: low = ~x;
    endcase
    high = magnitude.high == 2'd0 ? '0 : magnitude.high == 2'd1 ? x << 2 : x << 3;
    return sum(low, high, magnitude.low == 2'd3);
  endfunction

  // Bits of the scalar that one round of a multiplication takes, and rounds for 32 bits.
  parameter int unsigned ScaleBits   = 3;
  parameter int unsigned ScaleRounds = (32 + ScaleBits - 1) / ScaleBits;

endpackage
