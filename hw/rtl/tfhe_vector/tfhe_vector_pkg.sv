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

  // Bits of the scalar that one round of a multiplication takes, and rounds for 32 bits.
  parameter int unsigned ScaleBits   = 3;
  parameter int unsigned ScaleRounds = (32 + ScaleBits - 1) / ScaleBits;

endpackage
