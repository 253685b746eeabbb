// Sizes and types that the parts of `tfhe_cmux` share.
package tfhe_cmux_pkg;

  // log2 of the lanes of a row.
  parameter int unsigned LogLanes = 5;
  // Values of a row.
  parameter int unsigned Lanes    = 1 << LogLanes;

  // Cycles through `tfhe_cmux_difference` and `tfhe_cmux_digit`.
  parameter int unsigned DifferenceLatency = 4;
  parameter int unsigned DigitLatency      = 3;

  // p = 2^64 - 2^32 + 1.
  parameter logic [63:0] Modulus = 64'hffff_ffff_0000_0001;

  // Bits of a digit, its sign included: bases up to 2^16.
  parameter int unsigned DigitWidth = 17;

  typedef logic [LogLanes-1:0] lane_t;
  // Lanes by which a row is turned, up to 2 * Lanes.
  typedef logic [LogLanes+1:0] turn_t;
  typedef logic [DigitWidth-1:0] digit_t;

  // The decomposition: digits of `base_log` bits, from the most significant one on.
  typedef struct packed {
    logic [4:0]  base_log;  // log2 of the base, 1 to 16.
    logic [3:0]  levels;  // Number of digits, 1 to 15, with base_log * levels <= 63.
  } gadget_t;

  // B/2 at the place of every digit, and half of the last one's unit. With it, the carries of balanced digits are those of
  // one addition.
  function automatic logic [63:0] balance(gadget_t gadget);
    logic [63:0] offset;
    logic [7:0]  place;
    offset = '0;
    place  = 8'd63;
    for (int unsigned level = 0; level < 15; level++) begin
      if (level < 32'(gadget.levels)) begin
        offset = offset + (64'd1 << place[5:0]);
        place  = place - 8'(gadget.base_log);
      end
    end
    return offset + (64'd1 << place[5:0]);
  endfunction

endpackage
