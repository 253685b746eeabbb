// Jobs, keys, registers and programs of `tfhe_engine`: a microsequencer that starts the units.
//
// A job or an instruction is a sequence of micro-operations in a ROM (`op_e`). Each one waits for its units, and starts
// one. `abort_o` ends all units and runs after an error; the job then has a status, and the next one begins.
module tfhe_engine_control
  import engine_job_status_pkg::*;
  import tfhe_engine_pkg::*;
#(
  parameter int unsigned LogN      = 14,  // log2 of the number of coefficients N.
  parameter int unsigned Batch     = 1,  // Ciphertexts at a time.
  parameter int unsigned KeyPorts  = 8,  // AXI4 ports of the keys, 4 or 8.
  parameter int unsigned AddrWidth = 40,  // Bits of a byte address.
  parameter int unsigned TagWidth  = 2,  // Bits of a job's tag.
  parameter string       MicroFile = "tfhe_engine.micro.hex",  // The micro-operations.
  localparam int unsigned RegWidth = 12  // Bits of a byte address of the registers.
) (
  input  logic                clk_i,  // Clock.
  input  logic                rst_ni,  // Asynchronous reset, active low.
  input  logic                clear_i,  // Drops the job, forgets keys and registers.
  output logic                clearing_o,  // Ports are still ending runs after `clear_i`.

  input  logic                job_valid_i,  // A job is offered.
  output logic                job_ready_o,  // It is taken.
  input  logic [511:0]        job_i,  // Its descriptor.
  input  logic [TagWidth-1:0] job_tag_i,  // Its tag.
  output logic                done_valid_o,  // The job has ended.
  input  logic                done_ready_i,  // Its status is taken.
  output logic [TagWidth-1:0] done_tag_o,  // Its tag.
  output status_t             done_status_o,  // Its status.

  input  logic                user_access_i,  // An access to a register, for one cycle.
  input  logic                user_write_i,  // It is a write.
  input  logic [RegWidth-1:2] user_addr_i,  // Its word.
  input  logic [31:0]         user_write_data_i,  // The data of a write.
  output logic [31:0]         user_read_data_o,  // The data of the read of the cycle before.
  output logic                user_refused_o,  // The access of the cycle before is refused.

  output logic                abort_o,  // Ends all units and runs.
  input  logic                ports_idle_i,  // No port has a run under way.
  input  logic                read_error_i,  // A read failed.
  input  logic                write_error_i,  // A write failed.

  output key_t                key_o,  // The key of the job.
  output logic                run_valid_o,  // A run of the data port is offered.
  input  logic                run_ready_i,  // It is taken.
  output logic [57:0]         run_addr_o,  // Its first word.
  output logic [DataRunWidth-1:0] run_words_o,  // Its words.
  output to_e                 run_to_o,  // Where they go.
  output logic [1:0]          run_word_op_o,  // What becomes of a word of the sample.
  input  logic                runs_idle_i,  // All words of all runs have come.
  input  logic                word_valid_i,  // A word for the control comes.
  input  word_t               word_i,  // The word.

  output logic                stream_valid_o,  // A run of the key ports is offered.
  input  logic                stream_ready_i,  // It is taken.
  output logic                stream_switch_o,  // It is that of the key switch.

  output logic                write_valid_o,  // A result is offered to the writer.
  input  logic                write_ready_i,  // It is taken.
  output logic [57:0]         write_addr_o,  // Its first word.
  output logic                write_extracts_o,  // It is an extraction.
  input  logic                write_idle_i,  // All results are in memory.

  output logic                scale_valid_o,  // A product with an integer begins.
  output logic [31:0]         scale_value_o,  // The integer.
  output logic                load_start_o,  // A test vector begins to come.
  output logic                rotate_start_o,  // A blind rotation begins.
  input  logic                rotate_busy_i,  // It is in progress.
  output logic                extract_start_o,  // An extraction begins.
  output logic                switch_start_o,  // A key switch begins.
  output logic                switch_memory_o,  // Its ciphertext comes from memory.
  input  logic                switch_busy_i,  // It is in progress.
  input  logic                units_idle_i,  // All units are idle.
  input  logic [15:0]         steps_i  // CMuxes so far in this job.
);
  localparam int unsigned LogBytes = $clog2(WordBytes);
  localparam int unsigned WordAddrWidth = AddrWidth - LogBytes;
  // Words of a polynomial of each ciphertext, and from a place of the stack to the next one.
  localparam logic [DataRunWidth-1:0] PolynomialWords = DataRunWidth'(Batch) << (LogN - $clog2(WordValues));
  localparam int unsigned StackWords = 64 * Batch;
  localparam logic [7:0] VerbRun = 8'd1;
  localparam logic [7:0] VerbBootstrap = 8'd2;
  localparam logic [7:0] VerbKey = 8'd3;

  typedef enum logic [3:0] {
    StIdle, StLook, StHeaderRun, StHeader, StHeaderCheck, StFetchRun, StFetch, StDecode, StFirst, StSecond, StCheck,
    StMicro, StOp, StFinish, StAbort, StEnd
  } state_e;
  state_e state_q;

  // -------------------------------------------------------------------------------------------------------------------
  // The job.
  // -------------------------------------------------------------------------------------------------------------------

  logic [Slots-1:0]    key_valid_q;
  logic [15:0]         stack_q;
  logic [7:0]          verb_q;
  status_t             status_q;
  logic [31:0]         length_q;
  logic [3:0][63:0]    operands_q;
  logic                reserved_q;
  logic [TagWidth-1:0] tag_q;
  assign job_ready_o   = state_q == StIdle;
  assign done_valid_o  = state_q == StEnd;
  assign done_tag_o    = tag_q;
  assign done_status_o = status_q;
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      verb_q     <= job_i[8*engine_job_registers_pkg::Operation+:8];
      length_q   <= job_i[8*engine_job_registers_pkg::Length+:32];
      operands_q <= job_i[8*engine_job_registers_pkg::A+:256];
      reserved_q <= job_i[511:8*engine_job_registers_pkg::E] != '0;
      tag_q      <= job_tag_i;
    end
  end

  function automatic logic wrong_address(logic [63:0] address);
    return address[LogBytes-1:0] != '0 || (address >> AddrWidth) != '0;
  endfunction

  logic is_run, is_bootstrap, is_key, is_big;
  assign is_run       = verb_q == VerbRun;
  assign is_bootstrap = verb_q == VerbBootstrap;
  assign is_key       = verb_q == VerbKey;
  // LENGTH of a bootstrap: the key's slot, and in bit 8 the order of the keys.
  assign is_big       = length_q[8];
  status_t look;
  always_comb begin
    look = Done;
    if (!(is_run || is_bootstrap || is_key)) look = Unsupported;
    else if (reserved_q || (!is_run && operands_q[3] != '0) ||
             (is_key && (operands_q[1] != '0 || operands_q[2] != '0))) look = Malformed;
    else if (is_run && (length_q == '0 || length_q >= 32'd65536 || operands_q[3] >= 64'd65536)) look = WrongLength;
    else if (is_key && length_q >= 32'(Slots)) look = WrongLength;
    else if (is_bootstrap && ((length_q & ~32'h100) >= 32'(Slots))) look = WrongLength;
    else if (wrong_address(operands_q[0]) || wrong_address(operands_q[1]) || wrong_address(operands_q[2])) begin
      look = WrongAddress;
    end else if (is_bootstrap && !key_valid_q[slot_t'(length_q)]) look = NoKey;
  end

  // -------------------------------------------------------------------------------------------------------------------
  // Keys: a header in memory names parameters and addresses.
  // -------------------------------------------------------------------------------------------------------------------

  key_t [Slots-1:0] key_q;
  key_t             header_key, job_key_q;
  word_t            buffer_q;
  slot_t            slot_q;
  logic [31:0]      magic, dimension, log_n, rotation_shape, switch_shape, reserved;
  logic [63:0]      rotation_base, rotation_stride, switch_base, switch_stride;
  assign {switch_stride, switch_base, rotation_stride, rotation_base, reserved, switch_shape, rotation_shape, log_n,
          dimension, magic} = buffer_q[447:0];
  assign key_o = job_key_q;

  logic [7:0] rotation_bits, switch_bits;
  status_t    header_status;
  logic       wrong_shape, beyond;
  // The last words of the last port's streams.
  logic [58:0] rotation_end, switch_end;
  assign rotation_end = 59'(header_key.rotation_base) + 59'(header_key.rotation_stride) * 59'(KeyPorts - 1) +
                        59'(header_key.rotation_words) - 59'd1;
  assign switch_end   = 59'(header_key.switch_base) + 59'(header_key.switch_stride) * 59'(KeyPorts - 1) +
                        59'(header_key.switch_words) - 59'd1;
  assign rotation_bits = 8'(rotation_shape[4:0]) * 8'(rotation_shape[11:8]);
  assign switch_bits   = 8'(switch_shape[4:0]) * 8'(switch_shape[11:8]);
  // Shapes: log2 of the base in bits 7:0, digits in bits 15:8.
  assign wrong_shape   = rotation_shape[7:0] == '0 || rotation_shape[7:0] > 8'd16 || rotation_shape[31:12] != '0 ||
                         rotation_shape[11:8] == '0 || rotation_bits > 8'd63 || switch_shape[7:0] == '0 ||
                         switch_shape[7:0] > 8'd4 || switch_shape[31:12] != '0 || switch_shape[11:8] == '0 ||
                         switch_bits > 8'd63;
  assign beyond        = wrong_address(rotation_base) || wrong_address(rotation_stride) || wrong_address(switch_base) ||
                         wrong_address(switch_stride) || (rotation_end >> WordAddrWidth) != '0 ||
                        (switch_end >> WordAddrWidth) != '0;
  always_comb begin
    header_status = Done;
    if (magic != KeyMagic || reserved != '0 || buffer_q[511:448] != '0) header_status = Malformed;
    else if (dimension == '0 || dimension > 32'd1023 || log_n != 32'(LogN) || wrong_shape) header_status = WrongKey;
    else if (beyond) header_status = WrongAddress;
  end
  always_comb begin
    header_key                            = '0;
    header_key.dimension                  = dimension[9:0];
    header_key.rotation_gadget.base_log   = rotation_shape[4:0];
    header_key.rotation_gadget.levels     = rotation_shape[11:8];
    header_key.switch_gadget.base_log     = switch_shape[4:0];
    header_key.switch_gadget.levels       = switch_shape[11:8];
    // Two words of a port are a beat; a component's frames follow one another with one circuit. A beat of the key
    // switch has half as many words of each port as a beat of the rotation with two circuits, and as many with one.
    header_key.rotation_words =
        KeyRunWidth'(dimension[9:0]) * KeyRunWidth'(rotation_shape[11:8]) << (LogN - 2 - KeyPorts / 4);
    header_key.switch_words   =
        KeyRunWidth'(switch_shape[11:8]) * (KeyRunWidth'(dimension[9:7]) + 1'b1) << (LogN + 2 - KeyPorts / 4);
    header_key.rotation_base   = rotation_base[63:LogBytes];
    header_key.rotation_stride = rotation_stride[63:LogBytes];
    header_key.switch_base     = switch_base[63:LogBytes];
    header_key.switch_stride   = switch_stride[63:LogBytes];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      key_valid_q <= '0;
    end else if (clear_i) begin
      key_valid_q <= '0;
    end else if (state_q == StHeaderCheck) begin
      // A key whose header is refused removes the earlier one.
      key_valid_q[slot_t'(length_q)] <= header_status == Done;
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StHeaderCheck) key_q[slot_t'(length_q)] <= header_key;
    if (state_q == StHeader || state_q == StFetch) begin
      if (word_valid_i) buffer_q <= word_i;
    end
  end

  // -------------------------------------------------------------------------------------------------------------------
  // The registers of programs. Accesses of the host have the memory when no job is in progress.
  // -------------------------------------------------------------------------------------------------------------------

  localparam logic [RegWidth-1:2] WordSteps = (RegWidth - 2)'(tfhe_engine_registers_pkg::Steps >> 2);
  localparam int unsigned ObjectWidth = $bits(object_t);
  logic [Registers-1:0] object_valid_q;
  logic [31:0]          high_q;
  object_t              object, written;
  register_t            object_index;
  logic                 is_object, is_object_low, idle, access_write, refuses, object_ok, wrong_object;
  logic                 low_q, valid_read_q, steps_q;
  logic [63:0]          written_address;
  assign idle            = state_q == StIdle && !job_valid_i;
  assign is_object       = user_addr_i[RegWidth-1];
  assign is_object_low   = !user_addr_i[2];
  assign written_address = {high_q, user_write_data_i[31:LogBytes], 6'd0};
  assign wrong_object    = (written_address >> AddrWidth) != '0 || user_write_data_i[5:4] != '0;
  assign access_write    = user_access_i && user_write_i && is_object && is_object_low && idle && !wrong_object;
  assign written         = '{address: written_address[63:LogBytes], slot: user_write_data_i[3:2],
                             test_vector: user_write_data_i[1]};
  register_t first_operand, second_operand;
  assign object_index = state_q == StIdle ? user_addr_i[RegWidth-2:3]
                      : state_q == StFirst ? second_operand : first_operand;
  prim_ram_1r1w #(.Width(ObjectWidth), .Depth(Registers)) u_objects (
    .clk_i, .read_en_i(1'b1), .read_addr_i(object_index), .read_data_o(object), .write_en_i(access_write),
    .write_addr_i(user_addr_i[RegWidth-2:3]), .write_data_i(written)
  );
  assign refuses = user_write_i ? !is_object || !idle || (is_object_low && wrong_object)
                 : !(is_object ? idle : user_addr_i == WordSteps);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      object_valid_q <= '0;
      user_refused_o <= 1'b0;
    end else begin
      user_refused_o <= refuses;
      if (clear_i) object_valid_q <= '0;
      else if (access_write) object_valid_q[user_addr_i[RegWidth-2:3]] <= user_write_data_i[0];
    end
  end
  always_ff @(posedge clk_i) begin
    if (user_access_i && user_write_i && is_object && !is_object_low) high_q <= user_write_data_i;
    low_q        <= is_object_low;
    steps_q      <= !is_object;
    valid_read_q <= object_valid_q[object_index];
  end
  logic [63:0] object_address;
  assign object_address   = {object.address, 6'd0};
  assign user_read_data_o = steps_q ? 32'(steps_i)
                          : low_q ? {object_address[31:LogBytes], 2'd0, object.slot, object.test_vector, valid_read_q}
                          : object_address[63:32];

  // -------------------------------------------------------------------------------------------------------------------
  // Instructions.
  // -------------------------------------------------------------------------------------------------------------------

  localparam int unsigned WordInstructions = WordWidth / 64;
  logic [15:0] counter_q;
  logic [63:0] instruction;
  logic [7:0]  opcode;
  logic [31:0] integer_operand;
  logic        takes_second, takes_integer, wrong_instruction;
  assign instruction     = buffer_q[64*32'(counter_q[$clog2(WordInstructions)-1:0])+:64];
  assign opcode          = instruction[7:0];
  assign first_operand   = instruction[15:8];
  assign second_operand  = instruction[23:16];
  assign integer_operand = instruction[63:32];
  assign takes_second    = opcode == Move || opcode == Bootstrap || opcode == HomAdd || opcode == HomSub;
  assign takes_integer   = opcode == HomIntMult;
  assign wrong_instruction = opcode > HomIntMult || instruction[31:24] != '0 ||
                             (!takes_second && second_operand != '0) || (!takes_integer && integer_operand != '0);

  // The operands' objects: the first one is at hand in StFirst, the second one in StSecond.
  object_t first_q, second_q;
  logic    first_valid_q, second_valid_q, program_started_q;
  status_t check;
  always_ff @(posedge clk_i) begin
    if (state_q == StFirst) begin
      first_q       <= object;
      first_valid_q <= valid_read_q;
    end
    if (state_q == StSecond) begin
      second_q       <= object;
      second_valid_q <= valid_read_q;
    end
  end
  assign object_ok = first_valid_q && (!takes_second || second_valid_q);
  always_comb begin
    check = Done;
    if (!object_ok || first_q.test_vector != (opcode == Bootstrap) || (takes_second && second_q.test_vector)) begin
      check = WrongRegister;
    end else if (!key_valid_q[first_q.slot]) check = NoKey;
    else if ((takes_second && second_q.slot != first_q.slot) || (program_started_q && first_q.slot != slot_q)) begin
      check = WrongKey;
    end else if (opcode == Push && stack_q == operands_q[3][15:0]) check = StackLimit;
    else if (opcode == Pop && stack_q == '0) check = StackLimit;
  end

  // -------------------------------------------------------------------------------------------------------------------
  // Micro-operations.
  // -------------------------------------------------------------------------------------------------------------------

  micro_addr_t micro_q;
  logic [15:0] micro_word;
  micro_t      micro;
  prim_rom #(.Width(16), .Depth(MicroDepth), .File(MicroFile)) u_micro (
    .clk_i, .read_en_i(1'b1), .read_addr_i(micro_q), .read_data_o(micro_word)
  );
  assign micro = micro_word;

  logic [57:0] stack_address, from;
  logic        returned_q, op_done, in_op, started_q;
  logic [1:0]  part_q;
  assign in_op         = state_q == StOp;
  assign stack_address = operands_q[2][63:LogBytes] + 58'(stack_q) * 58'(StackWords);
  always_comb begin
    unique case (micro.from)
      FromA:     from = is_run ? first_q.address : operands_q[0][63:LogBytes];
      FromB:     from = is_run ? second_q.address : operands_q[1][63:LogBytes];
      FromC:     from = is_run ? operands_q[1][63:LogBytes] : operands_q[2][63:LogBytes];
      default:   from = stack_address;
    endcase
  end

  logic [7:0] sample_words;
  assign sample_words = 8'(Batch) * (8'(job_key_q.dimension[9:4]) + 1'b1);

  // Of a key switch from memory, the body is asked for first.
  logic op_reads, switch_reads;
  assign switch_reads = micro.op == OpSwitch && micro.second && !part_q[1];
  assign op_reads     = (micro.op == OpRead && write_idle_i) || micro.op == OpTest || switch_reads;
  always_comb begin
    run_valid_o = (in_op && op_reads) || state_q == StHeaderRun || (state_q == StFetchRun && write_idle_i);
    run_addr_o  = from;
    run_words_o = DataRunWidth'(sample_words);
    run_to_o    = ToSample;
    if (state_q == StHeaderRun) begin
      run_addr_o  = operands_q[0][63:LogBytes];
      run_words_o = DataRunWidth'(1);
      run_to_o    = ToHeader;
    end else if (state_q == StFetchRun) begin
      run_addr_o  = operands_q[0][63:LogBytes] + 58'(counter_q[15:$clog2(WordInstructions)]);
      run_words_o = DataRunWidth'(1);
      run_to_o    = ToProgram;
    end else if (micro.op == OpTest) begin
      run_words_o = DataRunWidth'(2) * PolynomialWords;
      run_to_o    = ToAccumulator;
    end else if (micro.op == OpSwitch) begin
      run_addr_o  = part_q[0] ? from : from + 58'(PolynomialWords);
      run_words_o = part_q[0] ? PolynomialWords : DataRunWidth'(Batch);
      run_to_o    = part_q[0] ? ToSwitch : ToBody;
    end
  end
  assign run_word_op_o    = micro.word_op;
  assign stream_valid_o   = in_op && micro.op == OpStream;
  assign stream_switch_o  = micro.second;
  assign write_valid_o    = in_op && (micro.op == OpWrite || micro.op == OpExtract);
  assign write_addr_o     = from;
  assign write_extracts_o = micro.op == OpExtract;
  assign scale_valid_o    = in_op && micro.op == OpScale;
  assign scale_value_o    = integer_operand;
  assign load_start_o     = in_op && micro.op == OpTest && run_ready_i;
  assign rotate_start_o   = in_op && micro.op == OpRotate && !started_q;
  assign switch_memory_o  = micro.second;
  assign switch_start_o   = in_op && micro.op == OpSwitch && !started_q && (part_q[1] || !micro.second);
  assign extract_start_o  = (switch_start_o && !micro.second) ||
                            (in_op && micro.op == OpExtract && write_ready_i);
  always_comb begin
    unique case (micro.op)
      OpRead:    op_done = run_ready_i && write_idle_i;
      OpTest:    op_done = run_ready_i;
      OpJoin:    op_done = runs_idle_i && units_idle_i;
      OpWrite, OpExtract: op_done = write_ready_i;
      OpStream:  op_done = stream_ready_i;
      OpRotate:  op_done = started_q && !rotate_busy_i;
      OpSwitch:  op_done = started_q && !switch_busy_i;
      default:   op_done = 1'b1;
    endcase
  end

  // A run or a result that ends beyond the engine's addresses. An extraction has one word more than a polynomial.
  logic [58:0] run_end, write_end;
  logic        outside, fails;
  status_t     failure;
  assign run_end   = 59'(run_addr_o) + 59'(run_words_o) - 59'd1;
  assign write_end = 59'(from) + (write_extracts_o ? 59'(PolynomialWords) + 59'(Batch) : 59'(sample_words)) - 59'd1;
  assign outside   = (run_valid_o && (run_end >> WordAddrWidth) != '0) ||
                     (write_valid_o && (write_end >> WordAddrWidth) != '0);
  assign fails     = (read_error_i || write_error_i || outside) && state_q != StIdle && state_q != StAbort &&
                     state_q != StEnd;
  assign failure   = read_error_i ? ReadFailed : write_error_i ? WriteFailed : WrongAddress;

  logic abort_q, clearing_q;
  assign abort_o    = clear_i || (state_q == StAbort && !abort_q);
  assign clearing_o = clearing_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      clearing_q <= 1'b0;
      abort_q    <= 1'b0;
    end else begin
      clearing_q <= clear_i || (clearing_q && !ports_idle_i);
      abort_q    <= state_q == StAbort;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q           <= StIdle;
      status_q          <= '0;
      counter_q         <= '0;
      stack_q           <= '0;
      micro_q           <= '0;
      returned_q        <= 1'b0;
      started_q         <= 1'b0;
      part_q            <= '0;
      program_started_q <= 1'b0;
    end else if (clear_i || clearing_q) begin
      state_q <= StIdle;
    end else if (fails) begin
      state_q  <= StAbort;
      status_q <= failure;
    end else begin
      unique case (state_q)
        StIdle: begin
          counter_q         <= '0;
          stack_q           <= '0;
          returned_q        <= 1'b0;
          started_q         <= 1'b0;
          part_q            <= '0;
          program_started_q <= 1'b0;
          if (job_valid_i) state_q <= StLook;
        end
        StLook: begin
          status_q <= look;
          micro_q  <= {is_big ? EntryBig : EntrySmall, 4'd0};
          state_q  <= look != Done ? StEnd : is_key ? StHeaderRun : is_run ? StFetchRun : StMicro;
        end
        StHeaderRun: if (run_ready_i) state_q <= StHeader;
        StHeader:    if (word_valid_i) state_q <= StHeaderCheck;
        StHeaderCheck: begin
          status_q <= header_status;
          state_q  <= StFinish;
        end
        StFetchRun: if (run_ready_i && write_idle_i) state_q <= StFetch;
        StFetch:    if (word_valid_i) state_q <= StDecode;
        StDecode: begin
          status_q <= WrongInstruction;
          state_q  <= wrong_instruction ? StFinish : StFirst;
        end
        StFirst:  state_q <= StSecond;
        StSecond: state_q <= StCheck;
        StCheck: begin
          status_q          <= check;
          program_started_q <= 1'b1;
          micro_q           <= {opcode[3:0], 4'd0};
          state_q           <= check != Done ? StFinish : StMicro;
        end
        StMicro: state_q <= StOp;
        StOp: begin
          if (switch_reads && run_ready_i) part_q <= part_q + 1'b1;
          if (rotate_start_o || switch_start_o) started_q <= 1'b1;
          if (op_done) begin
            started_q <= 1'b0;
            part_q    <= '0;
            micro_q   <= micro_q + 1'b1;
            state_q   <= StMicro;
            if (micro.op == OpPush) stack_q <= stack_q + 1'b1;
            if (micro.op == OpPop) stack_q <= stack_q - 1'b1;
            if (micro.op == OpReturn) returned_q <= 1'b1;
            if (micro.op == OpEnd) begin
              counter_q <= counter_q + 1'b1;
              if (!is_run || returned_q) begin
                state_q <= StFinish;
              end else if (32'(counter_q) + 1 == length_q) begin
                status_q <= NoReturn;
                state_q  <= StFinish;
              end else begin
                state_q <= counter_q[$clog2(WordInstructions)-1:0] == '1 ? StFetchRun : StDecode;
              end
            end
          end
        end
        // An error in the last words of a job is still the job's.
        StFinish: if (runs_idle_i && write_idle_i && units_idle_i) state_q <= StEnd;
        StAbort:  if (abort_q && ports_idle_i) state_q <= StEnd;
        default:  if (done_ready_i) state_q <= StIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StLook) begin
      slot_q    <= slot_t'(length_q);
      job_key_q <= key_q[slot_t'(length_q)];
    end else if (state_q == StCheck) begin
      slot_q    <= first_q.slot;
      job_key_q <= key_q[first_q.slot];
    end
  end

  logic unused;
  assign unused = ^{micro.reserved, opcode[7:4], job_i, object_address};
endmodule
