// Constants and types that the parts of `tfhe_engine` share.
package tfhe_engine_pkg;
  import tfhe_cmux_pkg::gadget_t;

  // Bytes and bits of a word of memory.
  localparam int unsigned WordBytes = 64;
  localparam int unsigned WordWidth = 8 * WordBytes;
  typedef logic [WordWidth-1:0] word_t;

  // Values of 64 bits in a word of memory.
  localparam int unsigned WordValues = WordWidth / 64;

  // Ciphertexts at a time of an engine with 1, 2 or 4 transform circuits, the circuits of each, and the ports of the keys.
  function automatic int unsigned batch(int unsigned circuits);
    return circuits == 4 ? 2 : 1;
  endfunction
  function automatic int unsigned lane_circuits(int unsigned circuits);
    return circuits / batch(circuits);
  endfunction
  function automatic int unsigned key_ports(int unsigned circuits);
    return 4 * lane_circuits(circuits);
  endfunction

  // Bits of the number of words of a run: those of a key, and those of other objects.
  localparam int unsigned KeyRunWidth = 26;
  localparam int unsigned DataRunWidth = 15;

  // Keys that the engine knows at a time, and registers of a program.
  localparam int unsigned Slots = 4;
  localparam int unsigned Registers = 256;
  typedef logic [$clog2(Slots)-1:0] slot_t;
  typedef logic [$clog2(Registers)-1:0] register_t;

  // A word that begins a key in memory: "TKEY".
  localparam logic [31:0] KeyMagic = 32'h5945_4b54;

  // The parameters of a key, and the words of its streams.
  typedef struct packed {
    logic [9:0]  dimension;  // n, the dimension of small ciphertexts, 1 to 1023.
    gadget_t     rotation_gadget;
    gadget_t     switch_gadget;
    logic [KeyRunWidth-1:0] rotation_words;  // Words of a port's stream.
    logic [KeyRunWidth-1:0] switch_words;
    logic [57:0] rotation_base;  // Addresses and distances of the ports' streams, in words.
    logic [57:0] rotation_stride;
    logic [57:0] switch_base;
    logic [57:0] switch_stride;
  } key_t;

  // The object of a register of a program.
  typedef struct packed {
    logic [57:0] address;  // In words.
    slot_t       slot;  // The key of the object.
    logic        test_vector;  // A test vector, or else a ciphertext.
  } object_t;

  // A micro-operation: 16 bits of the ROM that crates/arch/src/tfhe_engine writes.
  typedef enum logic [3:0] {
    OpEnd,  // The instruction has ended.
    OpRead,  // Words of a ciphertext go to the vector unit.
    OpJoin,  // All words that were asked for have come, and the units are idle.
    OpWrite,  // The sample goes to memory.
    OpScale,  // The sample becomes the instruction's integer times the multiplicand.
    OpStream,  // The ports begin to read a key: that of the rotation, or that of the key switch.
    OpTest,  // A test vector, times X^-b, becomes the accumulator.
    OpRotate,  // n CMuxes.
    OpSwitch,  // A key switch, from the accumulator or from a ciphertext in memory.
    OpExtract,  // The accumulator's sample goes to memory.
    OpPush,  // The stack grows by a ciphertext.
    OpPop,  // It shrinks.
    OpReturn  // The program has ended.
  } op_e;

  // The address that a micro-operation uses.
  typedef enum logic [1:0] {FromA, FromB, FromC, FromStack} from_e;

  typedef struct packed {
    logic [6:0] reserved;
    logic       second;  // Of OpStream and OpSwitch: the key of the key switch; from memory.
    logic [1:0] word_op;  // Of OpRead: `tfhe_vector_pkg::word_op_e`.
    from_e      from;
    op_e        op;
  } micro_t;

  // Micro-operations of an entry, and the entries: instructions 0 to 7, then a bootstrap of each order of keys.
  localparam int unsigned EntryOps = 16;
  localparam int unsigned Entries = 10;
  localparam int unsigned MicroDepth = 256;
  typedef logic [$clog2(MicroDepth)-1:0] micro_addr_t;
  localparam logic [3:0] EntrySmall = 4'd8;
  localparam logic [3:0] EntryBig = 4'd9;

  // Instructions of Table 4: the opcode in bits 7:0, operands in 15:8 and 23:16, an integer in 63:32.
  localparam logic [7:0] Return = 8'd0;
  localparam logic [7:0] Move = 8'd1;
  localparam logic [7:0] Push = 8'd2;
  localparam logic [7:0] Pop = 8'd3;
  localparam logic [7:0] Bootstrap = 8'd4;
  localparam logic [7:0] HomAdd = 8'd5;
  localparam logic [7:0] HomSub = 8'd6;
  localparam logic [7:0] HomIntMult = 8'd7;

  // Where the words of a run of the data port go.
  typedef enum logic [2:0] {ToHeader, ToProgram, ToSample, ToAccumulator, ToBody, ToSwitch} to_e;
endpackage
