// One digit of a residue modulo p = 2^64 - 2^32 + 1, in [-B/2, B/2 - 1]: the digit that
// `ciphermill_lattice::gadget::ModularDecomposer` defines. It switches x to the torus, floor(x * 2^64 / p), which is
// x + floor((x - 1) / 2^32), and takes a field of the balanced digits. With `offset_i`, B/2 at the place of every digit
// and half of the last digit's unit, the carries of balancing are those of one addition.
//
// One value a cycle, `DigitLatency` cycles later: 1: the switch      2: the offset      3: the field
//
//   range: x below p; shift_i 1 to 63, the place of the digit's lowest bit
module tfhe_cmux_digit
  import tfhe_cmux_pkg::*;
(
  input  logic        clk_i,  // Clock.
  input  logic [63:0] data_i,  // The residue x.
  input  logic [63:0] offset_i,  // B/2 at the place of every digit, and half of the last digit's unit.
  input  logic [5:0]  shift_i,  // The place of the digit. It belongs to the value that enters.
  input  logic [4:0]  base_log_i,  // log2 B, 1 to 16.
  output digit_t      digit_o  // The digit, signed.
);
  logic [63:0]     switched_q, balanced_q;
  logic [1:0][5:0] shift_q;
  digit_t          field, mask, half;
  assign field = digit_t'(balanced_q >> shift_q[1]);
  assign mask  = digit_t'((32'd1 << base_log_i) - 32'd1);
  assign half  = digit_t'(32'd1 << (base_log_i - 5'd1));

  always_ff @(posedge clk_i) begin
    switched_q <= data_i + 64'((data_i - 64'(data_i != '0)) >> 32);
    balanced_q <= switched_q + offset_i;
    shift_q    <= {shift_q[0], shift_i};
    digit_o    <= (field & mask) - half;
  end
endmodule
