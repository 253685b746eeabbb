// One Montgomery multiplier, shared by `Places` exponentiations in turn. A product begins every 8 cycles, and each
// place has its turn every 8 * Places cycles; by then the result of its last product is in its memory. Nothing stalls.
//
// A place runs one of three programs. With n the key's exponent, Rsq = R^2 mod N and nR = n*R mod N:
//
//   encrypt    second := second * nR / R + 1; the power first^n; result := power * second / R
//   power      the power first^exponent; result := power * 1 / R
//   multiply   result := (first * Rsq / R) * second / R
//
// A power is computed in Montgomery form with fixed windows of 5 bits: powers 0 and 1, powers 2 to 31, then for each
// window after the highest one five squares and a product. The programs do not branch on data, so the cycles depend on
// the exponent's length alone.
//
//   cycle of a turn that prepares a product; the product begins in cycle 0 of the next turn
//   0  the place's program is looked up
//   1  the low word of the exponent is read; another user may read the memory
//   2  the word above it is read
//   3  the window's bits; the result of the place's last product comes
//   4  the result is written, and incremented
//   5  the incremented result is written; a power is read
//   6  the power is at the memory's output
//   7  the operands are chosen
module paillier_engine_core
  import paillier_engine_pkg::*;
#(
  parameter int unsigned Bits           = 1024,  // Bits of the longest modulus.
  parameter int unsigned Rows           = 16,  // Rows of 17 bits in a digit of the Montgomery product.
  parameter int unsigned QuotientPasses = 8,  // Passes of the multiplier for the last quotient digit.
  parameter int unsigned Places         = 6,  // Exponentiations at a time, 2 to 7.
  parameter int unsigned DataWidth      = 128,  // Bits of a word of an exponent.
  localparam int unsigned Digit = Rows * 17,  // Bits of a digit.
  localparam int unsigned Words = Bits / DataWidth,  // Words of an exponent.
  localparam int unsigned WordWidth = Words == 1 ? 1 : $clog2(Words),  // Bits of a word's index.
  localparam int unsigned LengthWidth = $clog2(Bits + 1)  // Bits of an exponent's length.
) (
  input  logic                    clk_i,  // Clock.
  input  logic                    rst_ni,  // Asynchronous reset, active low.
  input  logic                    clear_i,  // Ends all programs and overwrites all numbers; high for one cycle.
  output logic                    clearing_o,  // That is in progress.

  input  logic [Bits-1:0]         modulus_i,  // Odd modulus N; constant while a program runs, as are the next four.
  input  logic [Bits-1:0]         nhat_i,  // (N*u + 1)/2^Digit, as in mont_mul.
  input  logic [Digit-1:0]        u_i,  // -1/N modulo 2^Digit.
  input  logic [Bits-1:0]         rsquared_i,  // R^2 modulo N.
  input  logic [Bits-1:0]         nr_i,  // n*R modulo N.

  input  logic                    load_valid_i,  // A number is offered for an entry of an idle place.
  output logic                    load_ready_o,  // It is taken.
  input  place_t                  load_place_i,  // The place.
  input  entry_t                  load_entry_i,  // The entry.
  input  logic [Bits-1:0]         load_data_i,  // The number, below N.

  input  logic                    exponent_write_i,  // Writes a word of an exponent.
  input  place_t                  exponent_place_i,  // The place of an idle program, or `PlaceKey`.
  input  logic [WordWidth-1:0]    exponent_word_i,  // The word's index.
  input  logic [DataWidth-1:0]    exponent_data_i,  // The word.

  input  logic                    start_i,  // Starts a program at an idle place.
  input  place_t                  start_place_i,  // The place.
  input  program_e                start_program_i,  // The program.
  input  logic [LengthWidth-1:0]  start_length_i,  // Bits of the exponent, at least 1; ignored by a multiplication.

  output logic [Places-1:0]       idle_o,  // The place has no program.
  output logic [Places-1:0]       done_o,  // The place has a result.
  input  logic [Places-1:0]       release_i,  // A place that has a result becomes idle.

  input  logic                    read_i,  // Reads the result of a place; held until `read_valid_o`.
  input  place_t                  read_place_i,  // The place.
  output logic                    read_valid_o,  // The result is there in this cycle.
  output logic [Bits-1:0]         read_data_o  // The result, below N.
);
  localparam int unsigned Period = 8;
  localparam int unsigned Latency = product_latency(Bits, Digit, Period, QuotientPasses);
  localparam int unsigned Slack = Places * Period - 5 - Latency;
  localparam int unsigned LogData = $clog2(DataWidth);
`ifndef SYNTHESIS
  // Products whose operands the multiplier holds.
  localparam int unsigned InFlight = (Latency - 6 + Period - 1) / Period;
`endif
  typedef logic [LengthWidth-1:0] length_t;

  if (Places < 2 || Places > 7 || Places * Period < Latency + 5) begin : gen_wrong_places
    $error("paillier_engine_core: there must be 2 to 7 places, and a product must end before the next turn");
  end
  if (Bits % DataWidth != 0 || Bits < 64 || Bits > 16384) begin : gen_wrong_bits
    $error("paillier_engine_core: Bits must be a multiple of DataWidth, 64 to 16384");
  end

  // The next product of a place. `OpWait` waits for the last one.
  typedef enum logic [3:0] {
    OpIdle, OpBlind, OpOne, OpBase, OpTable, OpFirstSquare, OpSquare, OpMultiply, OpOut, OpWait, OpDone
  } op_e;
  // The destination of the last product's result.
  typedef enum logic [1:0] { ToNone, ToEntry, ToIncrement } to_e;
  typedef struct packed {
    op_e              op;
    program_e         job;
    logic [Window-1:0] entry;  // The power that is computed.
    logic [2:0]       square;  // The square within the window, from 1 on.
    length_t          position;  // The lowest bit of the window.
    length_t          length;
    to_e              to;
    entry_t           to_entry;
    logic             alone;  // The operand of OpOut is a power: the exponent has one window.
  } state_t;

  state_t states[Places];
  for (genvar p = 0; p < Places; p++) begin : gen_state
    assign idle_o[p] = states[p].op == OpIdle;
    assign done_o[p] = states[p].op == OpDone;
  end

  // A clearing waits for the products inside, then overwrites memories, then passes zeros through the multiplier.
  localparam int unsigned ClearMemory = 128;
  localparam int unsigned ClearFlush = ClearMemory + (1 << (PlaceWidth + EntryWidth));
  localparam int unsigned ClearRest = ClearFlush + 16 * Period;
  localparam int unsigned ClearEnd = ClearRest + 128;
  localparam int unsigned ClearWidth = $clog2(ClearEnd + 1);
  logic                  clearing_q;
  logic [ClearWidth-1:0] clear_q;
  logic                  clears_memory, flushes;
  assign clears_memory = clearing_q && clear_q >= ClearWidth'(ClearMemory) && clear_q < ClearWidth'(ClearFlush);
  assign flushes       = clearing_q && clear_q >= ClearWidth'(ClearFlush) && clear_q < ClearWidth'(ClearRest);
  assign clearing_o    = clearing_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      clearing_q <= 1'b0;
      clear_q    <= '0;
    end else if (clear_i) begin
      clearing_q <= 1'b1;
      clear_q    <= '0;
    end else if (clearing_q) begin
      clear_q    <= clear_q + 1'b1;
      clearing_q <= clear_q != ClearWidth'(ClearEnd);
    end
  end

  // Turns: the place whose product is prepared, and that before it, whose product began in cycle 0.
  logic [2:0] cycle_q;
  place_t     turn_q, begun_q;
  state_t     state_q;
  place_t     turn_next;
  assign turn_next = turn_q == place_t'(Places - 1) ? '0 : turn_q + 1'b1;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cycle_q <= '0;
      turn_q  <= '0;
      begun_q <= '0;
    end else begin
      cycle_q <= cycle_q + 1'b1;
      if (cycle_q == 3'd7) begin
        turn_q  <= turn_next;
        begun_q <= turn_q;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (cycle_q == 3'd0) state_q <= states[turn_q];
  end

  // The bits of a window. Which window is public; its bits are an address, and take the same way whatever they are.
  logic [DataWidth-1:0] exponent_data, low_q;
  logic [Window-1:0]    digit_q, digit_d;
  place_t               exponent_source;
  logic [WordWidth-1:0] exponent_word;
  logic [DataWidth+Window-2:0] window_words;
  assign exponent_source = state_q.job == ProgramEncrypt ? PlaceKey : turn_q;
  assign exponent_word   = WordWidth'(state_q.position >> LogData) + WordWidth'(cycle_q == 3'd2);
  prim_ram_1r1w #(.Width(DataWidth), .Depth(1 << (PlaceWidth + WordWidth))) u_exponents (
    .clk_i, .read_en_i(cycle_q == 3'd1 || cycle_q == 3'd2), .read_addr_i({exponent_source, exponent_word}),
    .read_data_o(exponent_data), .write_en_i(exponent_write_i || clears_memory),
    .write_addr_i(clears_memory ? (PlaceWidth + WordWidth)'(clear_q - ClearWidth'(ClearMemory))
                                : {exponent_place_i, exponent_word_i}),
    .write_data_i(clears_memory ? '0 : exponent_data_i)
  );
  assign window_words = {exponent_data[Window-2:0], low_q};
  always_comb begin
    digit_d = Window'(window_words >> state_q.position[LogData-1:0]);
    for (int unsigned i = 0; i < Window; i++) begin
      if (state_q.position + length_t'(i) >= state_q.length) digit_d[i] = 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (cycle_q == 3'd2) low_q <= exponent_data;
    if (cycle_q == 3'd3) digit_q <= clearing_q ? '0 : digit_d;
  end

  // The multiplier. With fewer cycles than the turns give, its results wait.
  logic                begins, product_ready, product_valid;
  logic [Bits+1:0]     product;
  logic [Bits-1:0]     a_q, b_q;
  mont_mul #(
    .Bits(Bits), .Rows(Rows), .Period(Period), .QuotientPasses(QuotientPasses), .Karatsuba(1'b0), .Reduce(1'b1)
  ) u_mul (
    .clk_i, .rst_ni, .modulus_i, .nhat_i, .u_i, .valid_i(begins), .ready_o(product_ready), .a_i({2'b00, a_q}),
    .b_i({2'b00, b_q}), .valid_o(product_valid), .result_o(product)
  );
  logic            result_valid, result_valid_q, result_valid_q2;
  logic [Bits-1:0] result, result_q, incremented;
  prim_delay #(.Width(1), .Depth(Slack), .Reset(1'b1)) u_slack_valid (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(product_valid), .data_o(result_valid)
  );
  prim_delay #(.Width(Bits), .Depth(Slack)) u_slack (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(product[Bits-1:0]), .data_o(result)
  );
  logic unused_carry;
  prim_add_select #(.Width(Bits), .Stages(1)) u_increment (
    .clk_i, .en_i(1'b1), .x_i(result_q), .y_i('0), .carry_i(1'b1), .sum_o(incremented), .carry_o(unused_carry)
  );
  always_ff @(posedge clk_i) begin
    if (cycle_q == 3'd3) result_q <= result;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      result_valid_q  <= 1'b0;
      result_valid_q2 <= 1'b0;
    end else begin
      result_valid_q  <= result_valid && cycle_q == 3'd3;
      result_valid_q2 <= result_valid_q;
    end
  end

  // The memory of the places.
  logic            writes_result, writes_incremented, loads, reads_other_q, reads_other;
  logic            write_en;
  place_t          write_place, read_place;
  entry_t          write_entry, read_entry, source;
  logic [Bits-1:0] write_data, read_data, power_q;
  assign writes_result      = result_valid_q && state_q.to == ToEntry && !clearing_q;
  assign writes_incremented = result_valid_q2 && state_q.to == ToIncrement && !clearing_q;
  assign load_ready_o       = cycle_q != 3'd4 && cycle_q != 3'd5 && !clearing_q;
  assign loads              = load_valid_i && load_ready_o;
  always_comb begin
    write_en    = writes_result || writes_incremented || loads;
    write_place = loads ? load_place_i : turn_q;
    write_entry = loads ? load_entry_i : state_q.to_entry;
    write_data  = loads ? load_data_i : writes_incremented ? incremented : result_q;
    if (clears_memory) begin
      write_en                   = 1'b1;
      {write_place, write_entry} = (PlaceWidth + EntryWidth)'(clear_q - ClearWidth'(ClearMemory));
      write_data                 = '0;
    end
  end
  assign reads_other = cycle_q == 3'd1 && read_i;
  assign read_place  = reads_other ? read_place_i : turn_q;
  assign read_entry  = reads_other ? EntryResult : source;
  prim_ram_1r1w #(.Width(Bits), .Depth(1 << (PlaceWidth + EntryWidth))) u_numbers (
    .clk_i, .read_en_i(reads_other || cycle_q == 3'd5 || clearing_q), .read_addr_i({read_place, read_entry}),
    .read_data_o(read_data), .write_en_i(write_en), .write_addr_i({write_place, write_entry}), .write_data_i(write_data)
  );
  always_ff @(posedge clk_i) power_q <= read_data;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) reads_other_q <= 1'b0;
    else reads_other_q <= reads_other && !clearing_q;
  end
  assign read_valid_o = reads_other_q;
  assign read_data_o  = read_data;

  // The entry that the next product reads.
  always_comb begin
    unique case (state_q.op)
      OpBlind: source = EntrySecond;
      OpBase:  source = EntryFirst;
      OpTable: source = entry_t'(1);
      OpOut:   source = state_q.job != ProgramPower ? EntrySecond : entry_t'(digit_q);
      default: source = entry_t'(digit_q);
    endcase
  end

  // The operands of the next product.
  logic [Bits-1:0] a_d, b_d;
  always_comb begin
    a_d = result_q;
    b_d = result_q;
    unique case (state_q.op)
      OpBlind: begin
        a_d = power_q;
        b_d = nr_i;
      end
      OpOne: begin
        a_d = Bits'(1);
        b_d = rsquared_i;
      end
      OpBase: begin
        a_d = power_q;
        b_d = rsquared_i;
      end
      OpTable, OpMultiply: b_d = power_q;
      OpFirstSquare: begin
        a_d = power_q;
        b_d = power_q;
      end
      OpOut: begin
        if (state_q.job == ProgramPower) begin
          a_d = state_q.alone ? power_q : result_q;
          b_d = Bits'(1);
        end else begin
          b_d = power_q;
        end
      end
      default: b_d = result_q;
    endcase
    if (clearing_q) begin
      a_d = '0;
      b_d = '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (cycle_q == 3'd7) begin
      a_q <= a_d;
      b_q <= b_d;
    end
  end
  logic begins_place;
  assign begins_place = state_q.op inside {OpBlind, OpOne, OpBase, OpTable, OpFirstSquare, OpSquare, OpMultiply, OpOut};
  assign begins       = cycle_q == 3'd0 && (clearing_q ? flushes : begins_place);

  // The state after a product.
  state_t next;
  logic   last_window;
  assign last_window = state_q.position == '0;
  always_comb begin
    next    = state_q;
    next.to = ToNone;
    unique case (state_q.op)
      OpBlind: begin
        next.op       = OpOne;
        next.to       = ToIncrement;
        next.to_entry = EntrySecond;
      end
      OpOne: begin
        next.op       = OpBase;
        next.to       = ToEntry;
        next.to_entry = entry_t'(0);
      end
      OpBase: begin
        next.op       = state_q.job == ProgramMultiply ? OpOut : OpTable;
        next.to       = ToEntry;
        next.to_entry = entry_t'(1);
        next.entry    = Window'(2);
      end
      OpTable: begin
        next.to       = ToEntry;
        next.to_entry = entry_t'(state_q.entry);
        next.entry    = state_q.entry + 1'b1;
        if (state_q.entry == '1) next.op = last_window ? OpOut : OpFirstSquare;
        next.alone    = last_window;
      end
      OpFirstSquare: begin
        next.op       = OpSquare;
        next.square   = 3'd2;
        next.position = state_q.position - length_t'(Window);
      end
      OpSquare: begin
        next.square = state_q.square + 1'b1;
        if (state_q.square == 3'(Window)) next.op = OpMultiply;
      end
      OpMultiply: begin
        next.op     = last_window ? OpOut : OpSquare;
        next.square = 3'd1;
        // The window of the next product; the first square of a window does not need its bits.
        if (!last_window) next.position = state_q.position - length_t'(Window);
      end
      OpOut: begin
        next.op       = OpWait;
        next.to       = ToEntry;
        next.to_entry = EntryResult;
      end
      OpWait:  next.op = OpDone;
      default: next.op = state_q.op;
    endcase
  end

  // The place of the exponent's highest window: the bits below it are a multiple of 5. 16 is 1 modulo 5, so that the
  // remainder follows from the sum of digits.
  function automatic length_t top_position(length_t length);
    logic [15:0] last;
    logic [5:0]  digits;
    last   = 16'(length) - 16'd1;
    digits = 6'(last[3:0]) + 6'(last[7:4]) + 6'(last[11:8]) + 6'(last[15:12]);
    return length_t'(last - 16'(digits % 6'd5));
  endfunction

  for (genvar p = 0; p < Places; p++) begin : gen_place
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        states[p] <= '0;
      end else if (clear_i || clearing_q) begin
        states[p] <= '0;
      end else if (start_i && start_place_i == place_t'(p)) begin
        states[p]          <= '0;
        states[p].job      <= start_program_i;
        states[p].length   <= start_length_i;
        states[p].position <= start_program_i == ProgramMultiply ? '0 : top_position(start_length_i);
        unique case (start_program_i)
          ProgramEncrypt: states[p].op <= OpBlind;
          ProgramPower:   states[p].op <= OpOne;
          default:        states[p].op <= OpBase;
        endcase
      end else if (release_i[p]) begin
        states[p].op <= OpIdle;
      end else if (cycle_q == 3'd0 && begun_q == place_t'(p) && state_q.op != OpIdle && state_q.op != OpDone) begin
        states[p] <= next;
      end
    end
  end

  logic unused;
  assign unused = ^{product_ready, product[Bits+1:Bits]};

`ifndef SYNTHESIS
  // The turns fit the multiplier, and the guarantee of a clearing.
  logic cleared_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cleared_q <= 1'b0;
    end else begin
      assert (!begins || product_ready) else $error("a product meets a multiplier that is not ready");
      assert (!result_valid || cycle_q == 3'd3) else $error("a result comes in a cycle that does not expect it");
      cleared_q <= clearing_q && clear_q == ClearWidth'(ClearEnd);
      if (cleared_q) begin
        for (int unsigned i = 0; i < (1 << (PlaceWidth + EntryWidth)); i++) begin
          assert (u_numbers.memory[i] == '0) else $error("a number is left");
        end
        for (int unsigned i = 0; i < (1 << (PlaceWidth + WordWidth)); i++) begin
          assert (u_exponents.memory[i] == '0) else $error("an exponent is left");
        end
        assert (digit_q == '0 && low_q == '0 && exponent_data == '0) else $error("a window is left");
        assert (read_data == '0 && power_q == '0 && result_q == '0) else $error("a power is left");
        assert (a_q == '0 && b_q == '0) else $error("an operand is left");
        assert (u_mul.operand_q == '0 && u_mul.digit_q == '0) else $error("an operand of the array is left");
        assert (u_mul.end_q[0] == '0 && u_mul.end_q[1] == '0 && u_mul.result_q == '0) else $error("a result is left");
        for (int unsigned i = 0; i < InFlight; i++) begin
          assert (u_mul.a_file[i] == '0 && u_mul.b_file[i] == '0) else $error("an operand of the multiplier is left");
          assert (u_mul.gen_number[0].file[i] == '0 && u_mul.gen_number[1].file[i] == '0)
            else $error("a sum is left");
        end
      end
    end
  end
`endif
endmodule
