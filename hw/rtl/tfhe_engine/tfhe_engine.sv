// The TFHE computing engine (nvme-tfhe paper, section 4): registers, a ring of jobs, programs of secure computing
// instructions, bootstraps, and the ports to keys, ciphertexts and test vectors in memory.
//
//   data port ─► words by their run ─┬─► tfhe_engine_lane ◄── tfhe_engine_keys ◄── key ports
//                                    │        └─► words of results ─► data port
//                                    └─► tfhe_engine_control ──► all units
//
// A lane has a ciphertext. With four circuits there are two lanes, which take the same keys and carry out each job on two
// ciphertexts: an object in memory then has the words of both in turn, word w of ciphertext b at 2w + b.
//
// engine_ring serves the registers and fetches the jobs. All addresses are multiples of 64.
//
//   verb          LENGTH                           A        B            C       D
//   1 run         instructions, 1 to 65535         program  result       stack   places of the stack, up to 65535
//   2 bootstrap   slot, + 256 under the big key    input    test vector  output  -
//   3 key         slot, 0 to 3                     header   -            -       -
//
// docs/hw/tfhe_engine.md has the layout of all objects. The bits of results are those of `Backend::Ntt`.
module tfhe_engine
  import tfhe_engine_pkg::*;
#(
  parameter int unsigned LogN       = 14,  // log2 of the number of coefficients N, 12 to 15.
  parameter int unsigned Circuits   = 2,  // Transform circuits: 1, 2, or 4 for two ciphertexts at a time.
  parameter int unsigned AddrWidth  = 40,  // Bits of a byte address in memory.
  parameter string       OuterFile  = "ntt_goldilocks_shift.outer.hex",  // Twiddles after the outer pass.
  parameter string       MiddleFile = "ntt_goldilocks_shift.middle.hex",  // Twiddles after the middle pass.
  parameter string       MicroFile  = "tfhe_engine.micro.hex",  // Micro-operations.
  parameter int unsigned TileA      = 26,  // Bits of the first factor of a multiplier tile.
  parameter int unsigned TileB      = 17,  // Bits of the second factor of a multiplier tile.
  localparam int unsigned Batch = batch(Circuits),  // Ciphertexts at a time.
  localparam int unsigned LaneCircuits = lane_circuits(Circuits),  // Transform circuits of each.
  localparam int unsigned KeyPorts = key_ports(Circuits),  // AXI4 ports of the keys.
  localparam int unsigned RegWidth = 12  // Bits of a byte address of the registers.
) (
  input  logic                 clk_i,  // Clock.
  input  logic                 rst_ni,  // Asynchronous reset, active low.

  input  logic                 regs_aw_valid_i,  // AXI4-Lite: write address.
  output logic                 regs_aw_ready_o,  // AXI4-Lite.
  input  logic [RegWidth-1:0]  regs_aw_addr_i,  // AXI4-Lite.
  input  logic                 regs_w_valid_i,  // AXI4-Lite: write data.
  output logic                 regs_w_ready_o,  // AXI4-Lite.
  input  logic [31:0]          regs_w_data_i,  // AXI4-Lite.
  input  logic [3:0]           regs_w_strb_i,  // AXI4-Lite.
  output logic                 regs_b_valid_o,  // AXI4-Lite: write response.
  input  logic                 regs_b_ready_i,  // AXI4-Lite.
  output logic [1:0]           regs_b_resp_o,  // AXI4-Lite.
  input  logic                 regs_ar_valid_i,  // AXI4-Lite: read address.
  output logic                 regs_ar_ready_o,  // AXI4-Lite.
  input  logic [RegWidth-1:0]  regs_ar_addr_i,  // AXI4-Lite.
  output logic                 regs_r_valid_o,  // AXI4-Lite: read data.
  input  logic                 regs_r_ready_i,  // AXI4-Lite.
  output logic [31:0]          regs_r_data_o,  // AXI4-Lite.
  output logic [1:0]           regs_r_resp_o,  // AXI4-Lite.

  output logic                 ring_ar_valid_o,  // AXI4 of the ring: read address.
  input  logic                 ring_ar_ready_i,  // AXI4.
  output logic [AddrWidth-1:0] ring_ar_addr_o,  // AXI4.
  output logic [7:0]           ring_ar_len_o,  // AXI4.
  output logic [2:0]           ring_ar_size_o,  // AXI4.
  output logic [1:0]           ring_ar_burst_o,  // AXI4.
  input  logic                 ring_r_valid_i,  // AXI4: read data.
  output logic                 ring_r_ready_o,  // AXI4.
  input  word_t                ring_r_data_i,  // AXI4.
  input  logic [1:0]           ring_r_resp_i,  // AXI4.
  input  logic                 ring_r_last_i,  // AXI4.
  output logic                 ring_aw_valid_o,  // AXI4: write address.
  input  logic                 ring_aw_ready_i,  // AXI4.
  output logic [AddrWidth-1:0] ring_aw_addr_o,  // AXI4.
  output logic [7:0]           ring_aw_len_o,  // AXI4.
  output logic [2:0]           ring_aw_size_o,  // AXI4.
  output logic [1:0]           ring_aw_burst_o,  // AXI4.
  output logic                 ring_w_valid_o,  // AXI4: write data.
  input  logic                 ring_w_ready_i,  // AXI4.
  output word_t                ring_w_data_o,  // AXI4.
  output logic [WordBytes-1:0] ring_w_strb_o,  // AXI4.
  output logic                 ring_w_last_o,  // AXI4.
  input  logic                 ring_b_valid_i,  // AXI4: write response.
  output logic                 ring_b_ready_o,  // AXI4.
  input  logic [1:0]           ring_b_resp_i,  // AXI4.

  output logic                 data_ar_valid_o,  // AXI4 of ciphertexts, test vectors and programs: read address.
  input  logic                 data_ar_ready_i,  // AXI4.
  output logic [AddrWidth-1:0] data_ar_addr_o,  // AXI4.
  output logic [7:0]           data_ar_len_o,  // AXI4.
  output logic [2:0]           data_ar_size_o,  // AXI4.
  output logic [1:0]           data_ar_burst_o,  // AXI4.
  input  logic                 data_r_valid_i,  // AXI4: read data.
  output logic                 data_r_ready_o,  // AXI4.
  input  word_t                data_r_data_i,  // AXI4.
  input  logic [1:0]           data_r_resp_i,  // AXI4.
  input  logic                 data_r_last_i,  // AXI4.
  output logic                 data_aw_valid_o,  // AXI4: write address.
  input  logic                 data_aw_ready_i,  // AXI4.
  output logic [AddrWidth-1:0] data_aw_addr_o,  // AXI4.
  output logic [7:0]           data_aw_len_o,  // AXI4.
  output logic [2:0]           data_aw_size_o,  // AXI4.
  output logic [1:0]           data_aw_burst_o,  // AXI4.
  output logic                 data_w_valid_o,  // AXI4: write data.
  input  logic                 data_w_ready_i,  // AXI4.
  output word_t                data_w_data_o,  // AXI4.
  output logic [WordBytes-1:0] data_w_strb_o,  // AXI4.
  output logic                 data_w_last_o,  // AXI4.
  input  logic                 data_b_valid_i,  // AXI4: write response.
  output logic                 data_b_ready_o,  // AXI4.
  input  logic [1:0]           data_b_resp_i,  // AXI4.

  output logic [KeyPorts-1:0]  key_ar_valid_o,  // AXI4 of each key port: read address.
  input  logic [KeyPorts-1:0]  key_ar_ready_i,  // AXI4.
  output logic [KeyPorts-1:0][AddrWidth-1:0] key_ar_addr_o,  // AXI4.
  output logic [KeyPorts-1:0][7:0] key_ar_len_o,  // AXI4.
  output logic [KeyPorts-1:0][2:0] key_ar_size_o,  // AXI4.
  output logic [KeyPorts-1:0][1:0] key_ar_burst_o,  // AXI4.
  input  logic [KeyPorts-1:0]  key_r_valid_i,  // AXI4: read data.
  output logic [KeyPorts-1:0]  key_r_ready_o,  // AXI4.
  input  logic [KeyPorts-1:0][WordWidth-1:0] key_r_data_i,  // AXI4.
  input  logic [KeyPorts-1:0][1:0] key_r_resp_i,  // AXI4.
  input  logic [KeyPorts-1:0]  key_r_last_i,  // AXI4.

  output logic                 irq_o  // Interrupt: high while IRQ.ENABLE and IRQ.PENDING are set.
);
  localparam int unsigned LogLanes = tfhe_cmux_pkg::LogLanes;
  localparam int unsigned LogRows = LogN - LogLanes;
  localparam int unsigned Jobs = 4;
  localparam int unsigned TagWidth = $clog2(Jobs);
  localparam int unsigned Burst = 64;
  localparam int unsigned DataBuffer = 128;
  // Runs of the data port in progress at most.
  localparam int unsigned Runs = 4;

  if (LogN < 12 || LogN > 15) begin : gen_wrong_size
    $error("tfhe_engine: LogN must be 12 to 15");
  end
  if (Circuits != 1 && Circuits != 2 && Circuits != 4) begin : gen_wrong_circuits
    $error("tfhe_engine: Circuits must be 1, 2 or 4");
  end

  // -------------------------------------------------------------------------------------------------------------------
  // Jobs and control.
  // -------------------------------------------------------------------------------------------------------------------

  logic                job_valid, job_ready, done_valid, done_ready, clear, clearing, stalled;
  logic [511:0]        job;
  logic [TagWidth-1:0] job_tag, done_tag;
  engine_job_status_pkg::status_t done_status;
  logic                user_access, user_write, user_refused;
  logic [RegWidth-1:2] user_addr;
  logic [31:0]         user_write_data, user_read_data;
  engine_ring #(
    .Id(32'h5446_4845), .Version(32'd1), .Parameters({16'(KeyPorts), 8'(Circuits), 8'(LogN)}), .AddrWidth(AddrWidth),
    .DataWidth(WordWidth), .Jobs(Jobs)
  ) u_ring (
    .clk_i, .rst_ni, .regs_aw_valid_i, .regs_aw_ready_o, .regs_aw_addr_i, .regs_w_valid_i, .regs_w_ready_o,
    .regs_w_data_i, .regs_w_strb_i, .regs_b_valid_o, .regs_b_ready_i, .regs_b_resp_o, .regs_ar_valid_i,
    .regs_ar_ready_o, .regs_ar_addr_i, .regs_r_valid_o, .regs_r_ready_i, .regs_r_data_o, .regs_r_resp_o,
    .ring_ar_valid_o, .ring_ar_ready_i, .ring_ar_addr_o, .ring_ar_len_o, .ring_ar_size_o, .ring_ar_burst_o,
    .ring_r_valid_i, .ring_r_ready_o, .ring_r_data_i, .ring_r_resp_i, .ring_r_last_i, .ring_aw_valid_o,
    .ring_aw_ready_i, .ring_aw_addr_o, .ring_aw_len_o, .ring_aw_size_o, .ring_aw_burst_o, .ring_w_valid_o,
    .ring_w_ready_i, .ring_w_data_o, .ring_w_strb_o, .ring_w_last_o, .ring_b_valid_i, .ring_b_ready_o, .ring_b_resp_i,
    .irq_o, .job_valid_o(job_valid), .job_ready_i(job_ready), .job_o(job), .job_tag_o(job_tag),
    .done_valid_i(done_valid), .done_ready_o(done_ready), .done_tag_i(done_tag), .done_status_i(done_status),
    .clear_o(clear), .clearing_i(clearing), .stalled_i(stalled), .user_access_o(user_access),
    .user_write_o(user_write), .user_addr_o(user_addr), .user_write_data_o(user_write_data),
    .user_read_data_i(user_read_data), .user_refused_i(user_refused)
  );

  key_t        key;
  logic        abort, ports_idle, read_error, write_error;
  logic        run_valid, run_ready, runs_idle, word_to_control;
  logic [57:0] run_addr, write_addr;
  logic [DataRunWidth-1:0] run_words;
  to_e         run_to;
  logic [1:0]  run_word_op;
  logic        stream_valid, stream_ready, stream_switch;
  logic        write_valid, write_ready, write_extracts, write_idle;
  logic        scale_valid, load_start, rotate_start, rotate_busy, extract_start;
  logic        switch_start, switch_memory, switch_busy;
  logic [31:0] scale_value;
  logic        units_idle;
  logic [15:0] steps_q;
  word_t       word;
  tfhe_engine_control #(
    .LogN(LogN), .Batch(Batch), .KeyPorts(KeyPorts), .AddrWidth(AddrWidth), .TagWidth(TagWidth), .MicroFile(MicroFile)
  ) u_control (
    .clk_i, .rst_ni, .clear_i(clear), .clearing_o(clearing), .job_valid_i(job_valid), .job_ready_o(job_ready),
    .job_i(job), .job_tag_i(job_tag), .done_valid_o(done_valid), .done_ready_i(done_ready), .done_tag_o(done_tag),
    .done_status_o(done_status), .user_access_i(user_access), .user_write_i(user_write), .user_addr_i(user_addr),
    .user_write_data_i(user_write_data), .user_read_data_o(user_read_data), .user_refused_o(user_refused),
    .abort_o(abort), .ports_idle_i(ports_idle), .read_error_i(read_error), .write_error_i(write_error), .key_o(key),
    .run_valid_o(run_valid), .run_ready_i(run_ready), .run_addr_o(run_addr), .run_words_o(run_words),
    .run_to_o(run_to), .run_word_op_o(run_word_op), .runs_idle_i(runs_idle), .word_valid_i(word_to_control),
    .word_i(word), .stream_valid_o(stream_valid), .stream_ready_i(stream_ready), .stream_switch_o(stream_switch),
    .write_valid_o(write_valid), .write_ready_i(write_ready), .write_addr_o(write_addr),
    .write_extracts_o(write_extracts), .write_idle_i(write_idle), .scale_valid_o(scale_valid),
    .scale_value_o(scale_value), .load_start_o(load_start), .rotate_start_o(rotate_start),
    .rotate_busy_i(rotate_busy), .extract_start_o(extract_start), .switch_start_o(switch_start),
    .switch_memory_o(switch_memory), .switch_busy_i(switch_busy), .units_idle_i(units_idle), .steps_i(steps_q)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // The data port: runs, whose words go where the run says.
  // -------------------------------------------------------------------------------------------------------------------

  typedef struct packed {
    to_e        to;
    logic [1:0] word_op;
  } route_t;
  route_t     route;
  logic       route_valid, routes_ready, read_run_ready, word_valid, word_ready, word_last, take_word, read_idle,
              data_error;
  logic [$clog2(Runs+1)-1:0] routes;
  assign run_ready = read_run_ready && routes_ready;
  prim_fifo #(.Width($bits(route_t)), .Depth(Runs)) u_routes (
    .clk_i, .rst_ni, .clear_i(abort), .in_valid_i(run_valid && run_ready), .in_ready_o(routes_ready),
    .in_data_i({run_to, run_word_op}), .out_valid_o(route_valid), .out_ready_i(take_word && word_last),
    .out_data_o(route), .count_o(routes)
  );
  prim_axi_read #(
    .AddrWidth(AddrWidth), .DataWidth(WordWidth), .RunWidth(DataRunWidth), .Burst(Burst), .Outstanding(32),
    .Buffer(DataBuffer)
  ) u_read (
    .clk_i, .rst_ni, .clear_i(abort), .idle_o(read_idle), .error_o(data_error),
    .run_valid_i(run_valid && routes_ready), .run_ready_o(read_run_ready), .run_addr_i(AddrWidth'({run_addr, 6'd0})),
    .run_words_i(run_words), .out_valid_o(word_valid), .out_ready_i(word_ready), .out_data_o(word),
    .out_last_o(word_last), .ar_valid_o(data_ar_valid_o), .ar_ready_i(data_ar_ready_i), .ar_addr_o(data_ar_addr_o),
    .ar_len_o(data_ar_len_o), .ar_size_o(data_ar_size_o), .ar_burst_o(data_ar_burst_o), .r_valid_i(data_r_valid_i),
    .r_ready_o(data_r_ready_o), .r_data_i(data_r_data_i), .r_resp_i(data_r_resp_i), .r_last_i(data_r_last_i)
  );
  // A word belongs to a lane, one after the other, or to the control. The first word of a run comes after its route.
  logic                to_control, to_lane, lanes_first_q;
  logic [Batch-1:0]    lane_ready, lane_turn_q;
  assign to_control      = route_valid && (route.to == ToHeader || route.to == ToProgram);
  assign to_lane         = route_valid && !to_control;
  assign word_ready      = to_control || (to_lane && (lane_turn_q & lane_ready) != '0);
  assign take_word       = word_valid && word_ready;
  assign word_to_control = word_valid && to_control;
  assign runs_idle       = !route_valid;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lane_turn_q   <= Batch'(1);
      lanes_first_q <= 1'b1;
    end else if (abort) begin
      lane_turn_q   <= Batch'(1);
      lanes_first_q <= 1'b1;
    end else if (to_lane && take_word) begin
      lane_turn_q <= Batch'({lane_turn_q, lane_turn_q[Batch-1]});
      if (lane_turn_q[Batch-1]) lanes_first_q <= word_last;
    end
  end

  // -------------------------------------------------------------------------------------------------------------------
  // The keys.
  // -------------------------------------------------------------------------------------------------------------------

  logic keys_idle, keys_error, key_round, key_valid, key_take, vector_take;
  logic [KeyPorts-1:0][1:0][WordWidth-1:0] key_words;
  tfhe_engine_keys #(
    .Ports(KeyPorts), .Rows(1 << LogRows), .AddrWidth(AddrWidth), .Burst(Burst)
  ) u_keys (
    .clk_i, .rst_ni, .clear_i(abort), .idle_o(keys_idle), .error_o(keys_error), .run_valid_i(stream_valid),
    .run_ready_o(stream_ready), .run_base_i(stream_switch ? key.switch_base : key.rotation_base),
    .run_stride_i(stream_switch ? key.switch_stride : key.rotation_stride),
    .run_words_i(stream_switch ? key.switch_words : key.rotation_words), .round_o(key_round), .valid_o(key_valid),
    .take_i(key_take), .beat_o(key_words), .key_ar_valid_o, .key_ar_ready_i, .key_ar_addr_o, .key_ar_len_o,
    .key_ar_size_o, .key_ar_burst_o, .key_r_valid_i, .key_r_ready_o, .key_r_data_i, .key_r_resp_i, .key_r_last_i
  );

  // A beat of the key switch is a part of a beat of the ports: all of it with four ports, the first or the second words of
  // the ports with eight.
  tfhe_vector_pkg::beat_t switch_beat;
  logic [Batch-1:0]       lane_takes, lane_wants, lane_waits, lane_masks;
  assign vector_take = key_valid && (&lane_wants);
  if (KeyPorts == 4) begin : gen_whole_beat
    always_comb begin
      for (int unsigned p = 0; p < KeyPorts; p++) begin
        switch_beat[16*p+:16]            = key_words[p][0];
        switch_beat[16*(KeyPorts+p)+:16] = key_words[p][1];
      end
    end
    assign key_take = lane_takes[0] | vector_take;
  end else begin : gen_half_beat
    logic half_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) half_q <= 1'b0;
      else if (abort) half_q <= 1'b0;
      else if (vector_take) half_q <= !half_q;
    end
    always_comb begin
      for (int unsigned p = 0; p < KeyPorts; p++) switch_beat[16*p+:16] = key_words[p][half_q];
    end
    assign key_take = lane_takes[0] | (vector_take & half_q);
  end

  // -------------------------------------------------------------------------------------------------------------------
  // The lanes, and their results: one word of each in turn.
  // -------------------------------------------------------------------------------------------------------------------

  logic                    write_run_ready, write_start, out_ready, port_idle;
  logic [DataRunWidth-1:0] write_words;
  tfhe_vector_pkg::word_index_t last_word;
  logic [Batch-1:0]        lane_idle, lane_rotates, lane_switches, lane_steps, lane_writes, out_valid, out_turn_q;
  word_t [Batch-1:0]       out_word;
  word_t                   out_chosen;
  assign last_word   = tfhe_vector_pkg::word_index_t'(key.dimension[9:4]);
  assign write_words = DataRunWidth'(Batch) *
                       (write_extracts ? (DataRunWidth'(1) << (LogN - $clog2(WordValues))) + 1'b1
                                       : DataRunWidth'(last_word) + 1'b1);
  assign write_ready = write_run_ready && lane_writes == '0;
  assign write_start = write_valid && write_ready;
  for (genvar b = 0; b < Batch; b++) begin : gen_lane
    tfhe_engine_lane #(
      .LogN(LogN), .Circuits(LaneCircuits), .OuterFile(OuterFile), .MiddleFile(MiddleFile), .TileA(TileA), .TileB(TileB)
    ) u_lane (
      .clk_i, .rst_ni, .clear_i(abort), .dimension_i(key.dimension), .rotation_gadget_i(key.rotation_gadget),
      .switch_gadget_i(key.switch_gadget), .idle_o(lane_idle[b]),
      .word_valid_i(word_valid && to_lane && lane_turn_q[b]), .word_ready_o(lane_ready[b]), .word_i(word),
      .word_to_i(route.to), .word_first_i(lanes_first_q), .word_op_i(tfhe_vector_pkg::word_op_e'(route.word_op)),
      .scale_valid_i(scale_valid), .scale_value_i(scale_value), .load_start_i(load_start),
      .rotate_start_i(rotate_start), .rotate_busy_o(lane_rotates[b]), .step_o(lane_steps[b]),
      .switch_start_i(switch_start), .switch_memory_i(switch_memory), .switch_busy_o(lane_switches[b]),
      .extract_start_i(extract_start), .extract_writes_i(write_extracts), .key_round_i(key_round),
      .key_waits_o(lane_waits[b]), .key_take_o(lane_takes[b]), .key_data_i(key_words),
      .switch_key_valid_i(vector_take), .switch_key_ready_o(lane_wants[b]), .switch_key_i(switch_beat),
      .switch_masks_o(lane_masks[b]), .write_start_i(write_start), .write_last_i(last_word),
      .write_busy_o(lane_writes[b]), .out_valid_o(out_valid[b]), .out_ready_i(out_ready && out_turn_q[b]),
      .out_word_o(out_word[b])
    );
  end
  always_comb begin
    out_chosen = '0;
    for (int unsigned b = 0; b < Batch; b++) out_chosen |= out_word[b] & {WordWidth{out_turn_q[b]}};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) out_turn_q <= Batch'(1);
    else if (abort) out_turn_q <= Batch'(1);
    else if (out_ready && (out_valid & out_turn_q) != '0) out_turn_q <= Batch'({out_turn_q, out_turn_q[Batch-1]});
  end
  // All lanes do the same; the control looks at the last one that is still at work.
  assign rotate_busy = lane_rotates != '0;
  assign switch_busy = lane_switches != '0;
  assign units_idle  = &lane_idle;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) steps_q <= '0;
    else if (job_valid && job_ready) steps_q <= '0;
    else if (lane_steps[0] && steps_q != '1) steps_q <= steps_q + 1'b1;
  end

  prim_axi_write #(
    .AddrWidth(AddrWidth), .DataWidth(WordWidth), .RunWidth(DataRunWidth), .Burst(Burst), .Outstanding(32)
  ) u_write (
    .clk_i, .rst_ni, .clear_i(abort), .idle_o(port_idle), .error_o(write_error),
    .run_valid_i(write_valid && lane_writes == '0), .run_ready_o(write_run_ready),
    .run_addr_i(AddrWidth'({write_addr, 6'd0})), .run_words_i(write_words),
    .in_valid_i((out_valid & out_turn_q) != '0), .in_ready_o(out_ready), .in_data_i(out_chosen), .in_strobe_i('1),
    .aw_valid_o(data_aw_valid_o), .aw_ready_i(data_aw_ready_i), .aw_addr_o(data_aw_addr_o),
    .aw_len_o(data_aw_len_o), .aw_size_o(data_aw_size_o), .aw_burst_o(data_aw_burst_o),
    .w_valid_o(data_w_valid_o), .w_ready_i(data_w_ready_i), .w_data_o(data_w_data_o), .w_strb_o(data_w_strb_o),
    .w_last_o(data_w_last_o), .b_valid_i(data_b_valid_i), .b_ready_o(data_b_ready_o), .b_resp_i(data_b_resp_i)
  );
  assign write_idle = port_idle && lane_writes == '0;
  assign ports_idle = port_idle && read_idle && keys_idle;
  assign read_error = data_error || keys_error;

  // Waiting for memory: a word that has not come, a frame of the rotation's key, a beat of the key switch, or room for a result.
  assign stalled = (route_valid && !word_valid) || lane_waits[0] || (lane_masks[0] && (&lane_wants) && !key_valid) ||
                   (write_valid && !write_ready);

`ifndef SYNTHESIS
  if (Batch > 1) begin : gen_alike
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
      end else begin
        assert (lane_takes == '0 || lane_takes == '1) else $error("lanes take other beats of the rotation's key");
        assert (lane_steps == '0 || lane_steps == '1) else $error("lanes begin other CMuxes");
      end
    end
  end
`endif

  logic unused;
  assign unused = ^{routes, lane_takes, lane_steps, lane_waits, lane_masks};
endmodule
