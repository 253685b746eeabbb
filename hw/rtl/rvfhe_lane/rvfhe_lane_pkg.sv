// Instructions, targets, events and errors of `rvfhe_lane`. docs/hw/rvfhe_lane.md has the rules.
package rvfhe_lane_pkg;

  // Registers of values.
  parameter int unsigned Registers = 32;
  // Twiddle registers.
  parameter int unsigned Twiddles  = 16;
  // Modulus registers.
  parameter int unsigned Moduli    = 8;

  // Cycles from the operands of a product to the product.
  parameter int unsigned MulLatency = 6;

  typedef logic [4:0] register_t;
  typedef logic [3:0] twiddle_t;
  typedef logic [2:0] modulus_t;

  typedef enum logic [2:0] {
    OpMadd  = 0,  // rd = rs1 + rs2
    OpMsub  = 1,  // rd = rs1 - rs2
    OpMmul  = 2,  // rd = rs1 * twiddle rs2
    OpMbfly = 3,  // (rd, rs1) = (rd + rs1 * twiddle rs2, rd - rs1 * twiddle rs2)
    OpCopy  = 4   // rs1 to register rd of core rs2
  } op_e;

  typedef struct packed {
    op_e       op;
    modulus_t  modulus;
    // The operand is empty once it has been read, so that the next value may arrive; without effect if the instruction
    // also writes it.
    logic      free_rs2;
    logic      free_rs1;
    register_t rs2;
    register_t rs1;
    register_t rd;
  } instruction_t;

  // The target of an arrival: a register, or half of a twiddle register.
  typedef struct packed {
    logic      is_twiddle;
    // A register; or a twiddle register and whether this is Shoup's companion.
    register_t index;
  } target_t;

  // The outcome of a cycle: exactly one of these.
  typedef enum logic [3:0] {
    EventMadd        = 0,
    EventMsub        = 1,
    EventMmul        = 2,
    EventMbfly       = 3,
    EventCopy        = 4,
    EventRefused     = 5,
    EventEmpty       = 6,   // there was no instruction
    EventOperand     = 7,   // an operand was not full
    EventDestination = 8,   // a result for the same register was in progress
    EventAdder       = 9,   // a butterfly had the adder, or would have it
    EventPort        = 10,  // another result would be written by the same port in the same cycle
    EventNetwork     = 11   // the last copy had not been taken
  } event_e;
  // The number of outcomes.
  parameter int unsigned Events = 12;

  typedef enum logic [1:0] {
    ErrorNone     = 0,
    ErrorModulus  = 1,  // the modulus register is not set
    ErrorEncoding = 2   // no such operation or twiddle register, or a butterfly of one register
  } error_e;

endpackage
