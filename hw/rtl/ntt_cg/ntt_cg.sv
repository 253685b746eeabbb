// The constant-geometry negacyclic NTT, or its inverse, of the cham paper (section 3.2): `Butterflies` butterflies, 2 *
// Butterflies memory banks twice (ping-pong), a SWAP, one twiddle ROM for each butterfly.
//
// Every stage s of log2 N reads the same places and writes the same places; only the twiddles differ:
//
//   forward:  b[2j] = a[j] + w*a[j+N/2],  b[2j+1] = a[j] - w*a[j+N/2],   w = psi^brv(2^s + (j mod 2^s)), s = 0, 1, ...
//   inverse:  a[j] = (b[2j] + b[2j+1])/2, a[j+N/2] = (b[2j] - b[2j+1])*w, w = psi^-brv(2^s + (j mod 2^s))/2, s = ..., 1, 0
//
// A row is 2*Butterflies consecutive values, one in each bank. The forward transform reads rows b and b + R/2 in turn (R =
// N / (2 Butterflies)); the SWAP pairs the lower and then the upper halves of the two, so that Butterflies butterflies start in
// every cycle; their results are whole rows in order. The inverse has the SWAP behind the butterflies. Stage 0 takes its
// rows from the input stream and the last stage gives its rows to the output stream, in the orders in which a stage reads
// and writes. So frames follow one another without a gap: log2 N * (R + Gap) cycles a transform, where Gap = 0 unless half
// a stage is shorter than the pipeline (a row must be written before the next stage reads it).
//
//   input, forward:  natural order; beat 2b has 2P*b ... 2P*b + 2P-1 (P butterflies), beat 2b+1 the same + N/2
//   output, forward: bit-reversed order, beat b has places 2P*b ... 2P*b + 2P-1
//   inverse: the other way round, input in the order of the forward's output and output in that of its input
//
// Streams are valid/ready: data are taken in cycles in which both are up. While the output is valid and not taken everything
// stands still, so that in_ready_o depends on out_ready_i without a register. What lacks input makes bubbles, which do not
// keep back what is already inside.
//
//   range: values below q; the files of twiddles are those that crates/cosim writes (times 2^(2 Fold), see mod_mul_lowham)
module ntt_cg #(
  parameter int unsigned LogN           = 12,
  parameter int unsigned LogButterflies = 2,
  parameter bit          Inverse        = 1'b0,
  parameter int unsigned HighBit        = 34,
  parameter int unsigned LowBit         = 27,
  // Twiddle files <TwiddleFiles>.<butterfly>.hex; and the one twiddle of stage 0, the same for all.
  parameter              TwiddleFiles   = "ntt_cg",
  parameter bit [63:0]   StageZero      = 64'd0,
  localparam int unsigned Width = HighBit + 1,
  localparam int unsigned Lanes = 2 << LogButterflies
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        in_valid_i,
  output logic                        in_ready_o,
  input  logic [Lanes-1:0][Width-1:0] in_data_i,
  output logic                        out_valid_o,
  input  logic                        out_ready_i,
  output logic [Lanes-1:0][Width-1:0] out_data_o
);
endmodule
