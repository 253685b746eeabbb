// One ciphertext in `tfhe_engine`: its accumulator with the CMux, its sample in the vector unit, and the ways between them.
//
//   words of the data port ─┬─► load ──► tfhe_cmux ──► extract ─┬─► write ──► words of results
//                           └─► tfhe_vector ◄───────────────────┘     ▲
//                                    └────────────────────────────────┘
//
// An engine with several ciphertexts at a time has one for each. All of them take the same beats of the keys in the same
// cycles: `key_take_o` is alike in all, and a beat of the key switch is given when all are ready for it.
module tfhe_engine_lane
  import tfhe_engine_pkg::*;
#(
  parameter int unsigned LogN       = 14,  // log2 of the number of coefficients N.
  parameter int unsigned Circuits   = 2,  // Transform circuits of the lane, 1 or 2.
  parameter string       OuterFile  = "ntt_goldilocks_shift.outer.hex",  // Twiddles after the outer pass.
  parameter string       MiddleFile = "ntt_goldilocks_shift.middle.hex",  // Twiddles after the middle pass.
  parameter int unsigned TileA      = 26,  // Bits of the first factor of a multiplier tile.
  parameter int unsigned TileB      = 17  // Bits of the second factor of a multiplier tile.
) (
  input  logic                 clk_i,  // Clock.
  input  logic                 rst_ni,  // Asynchronous reset, active low.
  input  logic                 clear_i,  // Ends all units.
  input  tfhe_vector_pkg::element_index_t dimension_i,  // n, the dimension of small ciphertexts.
  input  tfhe_cmux_pkg::gadget_t rotation_gadget_i,  // The decomposition of the rotation.
  input  tfhe_cmux_pkg::gadget_t switch_gadget_i,  // That of the key switch.
  output logic                 idle_o,  // All units are idle.

  input  logic                 word_valid_i,  // A word of the data port is offered.
  output logic                 word_ready_o,  // It is taken.
  input  word_t                word_i,  // The word.
  input  to_e                  word_to_i,  // Where it goes.
  input  logic                 word_first_i,  // It is word 0 of a sample.
  input  tfhe_vector_pkg::word_op_e word_op_i,  // What becomes of a word of the sample.

  input  logic                 scale_valid_i,  // A product with an integer begins.
  input  logic [31:0]          scale_value_i,  // The integer.
  input  logic                 load_start_i,  // A test vector begins to come.
  input  logic                 rotate_start_i,  // A blind rotation begins.
  output logic                 rotate_busy_o,  // It is in progress.
  output logic                 step_o,  // A CMux begins.
  input  logic                 switch_start_i,  // A key switch begins.
  input  logic                 switch_memory_i,  // Its ciphertext comes from memory.
  output logic                 switch_busy_o,  // It is in progress.
  input  logic                 extract_start_i,  // An extraction begins.
  input  logic                 extract_writes_i,  // It goes to memory; otherwise it is that of a key switch.

  input  logic                 key_round_i,  // A whole frame's beats of the rotation's key wait.
  output logic                 key_waits_o,  // The CMux waits for them in this cycle.
  output logic                 key_take_o,  // It takes a beat.
  input  logic [Circuits-1:0][1:0][tfhe_cmux_pkg::Lanes-1:0][63:0] key_data_i,  // The beat.
  input  logic                 switch_key_valid_i,  // A beat of the key switch is given.
  output logic                 switch_key_ready_o,  // It can be taken.
  input  tfhe_vector_pkg::beat_t switch_key_i,  // The beat.
  output logic                 switch_masks_o,  // The key switch is in its mask.

  input  logic                 write_start_i,  // A result begins; only while `write_busy_o` is low.
  input  tfhe_vector_pkg::word_index_t write_last_i,  // The number of the sample's last word.
  output logic                 write_busy_o,  // Words of it are still to be given.
  output logic                 out_valid_o,  // A word of the result is given.
  input  logic                 out_ready_i,  // It leaves.
  output word_t                out_word_o  // The word.
);
  localparam int unsigned LogLanes = tfhe_cmux_pkg::LogLanes;
  localparam int unsigned LogRows = LogN - LogLanes;
  typedef logic [tfhe_cmux_pkg::Lanes-1:0][63:0] row_t;

  logic to_sample, to_accumulator, to_body, to_switch, load_ready, values_ready, take_word;
  assign to_sample      = word_to_i == ToSample;
  assign to_accumulator = word_to_i == ToAccumulator;
  assign to_body        = word_to_i == ToBody;
  assign to_switch      = word_to_i == ToSwitch;
  assign word_ready_o   = to_sample || to_body || (to_accumulator && load_ready) || (to_switch && values_ready);
  assign take_word      = word_valid_i && word_ready_o;

  // -------------------------------------------------------------------------------------------------------------------
  // The accumulator, its test vector, and the steps of the blind rotation.
  // -------------------------------------------------------------------------------------------------------------------

  logic [31:0]            element;
  logic [LogN:0]          exponent;
  logic                   load_valid, load_first, load_component, load_busy, cmux_idle;
  row_t                   load_data, row_data;
  logic                   extract_read, extract_component;
  logic [LogRows-1:0]     extract_row;
  logic                   step_valid, step_ready;
  // The exponent of an element: round(element * 2N / 2^32).
  assign exponent = (LogN + 1)'(((element >> (30 - LogN)) + 32'd1) >> 1);

  tfhe_engine_load #(.LogRows(LogRows)) u_load (
    .clk_i, .rst_ni, .clear_i, .start_i(load_start_i), .busy_o(load_busy),
    .word_valid_i(word_valid_i && to_accumulator), .word_ready_o(load_ready), .word_i, .load_valid_o(load_valid),
    .load_first_o(load_first), .load_component_o(load_component), .load_data_o(load_data)
  );
  tfhe_cmux #(
    .LogN(LogN), .Circuits(Circuits), .OuterFile(OuterFile), .MiddleFile(MiddleFile), .TileA(TileA), .TileB(TileB)
  ) u_cmux (
    .clk_i, .rst_ni, .clear_i, .gadget_i(rotation_gadget_i), .idle_o(cmux_idle), .load_valid_i(load_valid),
    .load_first_i(load_first), .load_component_i(load_component), .load_exponent_i(-exponent),
    .load_data_i(load_data), .read_en_i(extract_read), .read_component_i(extract_component),
    .read_row_i(extract_row), .read_data_o(row_data), .step_valid_i(step_valid), .step_ready_o(step_ready),
    .step_exponent_i(exponent), .key_round_i, .key_waits_o, .key_take_o, .key_data_i
  );

  // Element i of the sample has been read one cycle after its number was set.
  logic       rotating_q, fresh_q;
  logic [9:0] step_q;
  assign step_valid    = rotating_q && fresh_q && step_q != dimension_i;
  assign rotate_busy_o = rotating_q;
  assign step_o        = step_valid && step_ready;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rotating_q <= 1'b0;
      fresh_q    <= 1'b0;
      step_q     <= '0;
    end else if (clear_i) begin
      rotating_q <= 1'b0;
      fresh_q    <= 1'b0;
      step_q     <= '0;
    end else begin
      fresh_q <= rotating_q && !(step_o);
      if (rotate_start_i) begin
        rotating_q <= 1'b1;
        step_q     <= '0;
      end else if (step_o) begin
        step_q <= step_q + 1'b1;
      end else if (rotating_q && step_q == dimension_i && cmux_idle) begin
        rotating_q <= 1'b0;
      end
    end
  end
  logic        value_valid, value_ready, value_last, extract_busy, body_first_q;
  logic [63:0] value;
  tfhe_engine_extract #(.LogN(LogN)) u_extract (
    .clk_i, .rst_ni, .clear_i, .start_i(extract_start_i), .body_first_i(body_first_q), .busy_o(extract_busy),
    .read_en_o(extract_read), .read_component_o(extract_component), .read_row_o(extract_row),
    .read_data_i(row_data), .value_valid_o(value_valid), .value_ready_i(value_ready), .value_o(value),
    .value_last_o(value_last)
  );
  always_ff @(posedge clk_i) begin
    if (extract_start_i) body_first_q <= !extract_writes_i;
  end

  // -------------------------------------------------------------------------------------------------------------------
  // The vector unit. A key switch takes its body first, then its mask, from the accumulator or from memory.
  // -------------------------------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {SwitchIdle, SwitchBody, SwitchMask} switch_e;
  switch_e     switch_q;
  logic        memory_q, vector_busy, switch_valid, body_valid_q;
  logic        coefficient_valid, coefficient_ready, coefficient_last;
  logic        values_take, values_end;
  logic [63:0] coefficient, body_q, body_value;
  word_t       values_q;
  logic        values_valid_q;
  // The number of the next coefficient of a mask in memory, whose words are taken apart.
  logic [LogN-1:0] value_number_q;
  assign values_ready = !values_valid_q;
  assign values_end   = value_number_q[$clog2(WordValues)-1:0] == '1;
  assign values_take  = values_valid_q && memory_q && switch_q == SwitchMask && coefficient_ready;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      values_valid_q <= 1'b0;
      value_number_q <= '0;
      body_valid_q   <= 1'b0;
    end else if (clear_i) begin
      values_valid_q <= 1'b0;
      value_number_q <= '0;
      body_valid_q   <= 1'b0;
    end else begin
      if (to_switch && take_word) values_valid_q <= 1'b1;
      else if (values_take && values_end) values_valid_q <= 1'b0;
      if (values_take) value_number_q <= value_number_q + 1'b1;
      if (to_body && take_word) body_valid_q <= 1'b1;
      else if (switch_valid) body_valid_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (to_switch && take_word) begin
      values_q <= word_i;
    end else if (values_take) begin
      values_q <= values_q >> 64;
    end
    if (to_body && take_word) body_q <= word_i[63:0];
  end

  assign switch_valid      = switch_q == SwitchBody && (memory_q ? body_valid_q : value_valid);
  assign body_value        = memory_q ? body_q : value;
  assign coefficient       = memory_q ? values_q[63:0] : value;
  assign coefficient_valid = switch_q == SwitchMask && (memory_q ? values_valid_q : value_valid);
  assign coefficient_last  = memory_q ? value_number_q == '1 : value_last;
  assign switch_busy_o     = switch_q != SwitchIdle;
  assign switch_masks_o    = switch_q == SwitchMask;
  logic write_value_ready;
  assign value_ready       = switch_q == SwitchIdle ? write_value_ready
                           : !memory_q && (switch_q == SwitchBody || coefficient_ready);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      switch_q <= SwitchIdle;
      memory_q <= 1'b0;
    end else if (clear_i) begin
      switch_q <= SwitchIdle;
    end else begin
      unique case (switch_q)
        SwitchBody: if (switch_valid) switch_q <= SwitchMask;
        SwitchMask: if (!vector_busy) switch_q <= SwitchIdle;
        default: begin
          if (switch_start_i) switch_q <= SwitchBody;
          memory_q <= switch_memory_i;
        end
      endcase
    end
  end

  // A read of memory into the sample waits until all results are in memory, and so does the end of a job. So no element is
  // needed while a result is read.
  logic                            write_reads;
  tfhe_vector_pkg::word_index_t    write_index;
  tfhe_vector_pkg::element_index_t element_index, read_index;
  word_t                           sample_word;
  assign element_index = rotating_q ? step_q : dimension_i;
  assign read_index    = write_reads ? {write_index, ($clog2(tfhe_vector_pkg::WordLanes))'(0)} : element_index;
  tfhe_vector u_vector (
    .clk_i, .rst_ni, .clear_i, .body_i(dimension_i), .gadget_i(switch_gadget_i), .busy_o(vector_busy),
    .word_valid_i(to_sample && take_word), .word_first_i, .word_op_i, .word_i, .read_index_i(read_index),
    .read_word_o(sample_word), .element_o(element), .scale_valid_i, .scale_value_i, .switch_valid_i(switch_valid),
    .switch_body_i(32'((body_value + 64'h8000_0000) >> 32)), .coefficient_valid_i(coefficient_valid),
    .coefficient_ready_o(coefficient_ready), .coefficient_i(coefficient), .coefficient_last_i(coefficient_last),
    .key_valid_i(switch_key_valid_i), .key_ready_o(switch_key_ready_o), .key_i(switch_key_i)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // Results.
  // -------------------------------------------------------------------------------------------------------------------

  tfhe_engine_write u_write (
    .clk_i, .rst_ni, .clear_i, .start_i(write_start_i), .extracts_i(extract_writes_i), .last_i(write_last_i),
    .busy_o(write_busy_o), .reads_o(write_reads), .read_index_o(write_index), .read_word_i(sample_word),
    .value_valid_i(value_valid && switch_q == SwitchIdle), .value_ready_o(write_value_ready), .value_i(value),
    .value_last_i(value_last), .word_valid_o(out_valid_o), .word_ready_i(out_ready_i), .word_o(out_word_o)
  );
  assign idle_o = cmux_idle && !vector_busy && !load_busy && !extract_busy && !rotating_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (rst_ni && !clear_i && (rotating_q || load_busy)) begin
      assert (!write_reads) else $error("a result is read while elements are needed");
    end
  end
`endif
endmodule
