// Constants and types that the parts of `paillier_engine` share.
package paillier_engine_pkg;
  // Verbs of a job.
  localparam logic [7:0] VerbKey = 8'd1;
  localparam logic [7:0] VerbEncrypt = 8'd2;
  localparam logic [7:0] VerbPower = 8'd3;
  localparam logic [7:0] VerbMultiply = 8'd4;

  // Bits of a window of an exponent.
  localparam int unsigned Window = 5;

  // Bits of an entry in the memory of an exponentiation, and the entries behind the 32 powers.
  localparam int unsigned EntryWidth = 6;
  typedef logic [EntryWidth-1:0] entry_t;
  localparam entry_t EntryFirst = 6'd32;  // The base or the first factor.
  localparam entry_t EntrySecond = 6'd33;  // The message or the second factor.
  localparam entry_t EntryResult = 6'd34;

  // Exponentiations have a place in a core, and the memory of exponents has one more for n.
  localparam int unsigned PlaceWidth = 3;
  typedef logic [PlaceWidth-1:0] place_t;
  localparam place_t PlaceKey = 3'd7;

  // The programs of a core.
  typedef enum logic [1:0] { ProgramEncrypt, ProgramPower, ProgramMultiply } program_e;

  // From a product's start to its result in `mont_mul` with schoolbook rows, a product every `period` cycles, `passes`
  // passes of the small multiplier, and a reduced result.
  function automatic int unsigned product_latency(int unsigned bits, int unsigned digit, int unsigned period,
                                                  int unsigned passes);
    // As in mont_mul: the array has two cycles; from a summand to the digit read off the sum there are five.
    return mont_mul_pkg::last_slot((bits + 4 + digit - 1) / digit, 5, passes == 1 ? 4 : passes + 3, period) + 10;
  endfunction
endpackage
