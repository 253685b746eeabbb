// Multipliers and latencies of the unified butterfly.
package butterfly_ctgs_pkg;

  // The multiplier, and with it the modulus.
  typedef enum int unsigned {
    Goldilocks = 0,  // p = 2^64 - 2^32 + 1
    LowHam     = 1   // q = 2^HighBit + 2^LowBit + 1; twiddles are stored times 2^(2 Fold)
  } field_e;

  // Cycles of a product; both multipliers have the same latency.
  parameter int unsigned MulLatency = 6;
  // Cycles of a sum or difference.
  parameter int unsigned AddLatency = 1;
  // Cycles of a butterfly.
  parameter int unsigned Latency    = MulLatency + AddLatency;

endpackage
