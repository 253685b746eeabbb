// Numbers modulo p = 2^64 - 2^32 + 1 as two signed digits in base B = 2^32, as p = B^2 - B + 1: products by powers of
// two are wires and short additions, and sums have no carry from one digit to the other.
package dft_goldilocks_pkg;

  // log2 of the number of points.
  parameter int unsigned LogPoints = 5;
  // Points of a transform; one lane each.
  parameter int unsigned Points    = 1 << LogPoints;
  // Cycles from the points to their transform.
  parameter int unsigned Latency   = 13;

  typedef logic [LogPoints-1:0] lane_t;

  // Wide enough for all that `dft_goldilocks` computes; the bounds stand there.
  typedef logic signed [39:0] digit_t;

  // x * 2^k for k < 96, its low and its high digit. With s = k mod 32 both digits of x are cut at bit 32 - s into a
  // lower and an upper part, (a0 + b0*B) + (a1 + b1*B)*B = x * 2^s. As B^2 = B - 1, that is u0 + u1*B, and times B and
  // B^2 it is -u1 + u2*B and -u2 + u0*B, with
  //
  //   u0 = a0 - b1      u1 = a1 + b0 + b1      u2 = u0 + u1 = a0 + a1 + b0
  //
  // If the digits of x are within +-M, M >= 2^33, those of the result are within +-(M + 2^32).
  function automatic digit_t scaled_low(digit_t low, digit_t high, int unsigned k);
    logic [31:0] a0, a1;
    digit_t      b0, b1;
    a0 = low[31:0] << (k % 32);
    a1 = high[31:0] << (k % 32);
    b0 = low >>> (32 - k % 32);
    b1 = high >>> (32 - k % 32);
    return k < 32 ? $signed({8'b0, a0}) - b1
        : k < 64 ? -($signed({8'b0, a1}) + b0 + b1)
        : -($signed({8'b0, a0}) + $signed({8'b0, a1}) + b0);
  endfunction

  function automatic digit_t scaled_high(digit_t low, digit_t high, int unsigned k);
    logic [31:0] a0, a1;
    digit_t      b0, b1;
    a0 = low[31:0] << (k % 32);
    a1 = high[31:0] << (k % 32);
    b0 = low >>> (32 - k % 32);
    b1 = high >>> (32 - k % 32);
    return k < 32 ? $signed({8'b0, a1}) + b0 + b1
        : k < 64 ? $signed({8'b0, a0}) + $signed({8'b0, a1}) + b0
        : $signed({8'b0, a0}) - b1;
  endfunction

  function automatic lane_t reversed(lane_t lane);
    lane_t result;
    for (int unsigned i = 0; i < LogPoints; i++) result[i] = lane[LogPoints-1-i];
    return result;
  endfunction

endpackage
