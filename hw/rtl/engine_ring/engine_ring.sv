// The register head of an engine, and the jobs of its ring in memory. hw/rdl/engine_ring.rdl describes the registers.
//
// A job descriptor has 64 bytes at RING_BASE + 64 * index; hw/rdl/engine_job.rdl names its fields:
//
//   bytes 0..3    bits 7:0 the verb, the other bits 0
//   bytes 4..7    status: 0 before the job; the engine writes its status there
//   bytes 8..11   length, as the verb says
//   bytes 12..15  0
//   bytes 16..63  addresses of six operands, 64 bits each
//
// The ring fetches descriptors in order while CONTROL.RUN is set and shows each one with a tag. The engine may work on
// `Jobs` of them and may end them in any order: it gives the tag and a status. The ring writes the status to memory,
// and HEAD moves over a job when its status and those of all earlier jobs are in memory. A descriptor with a reserved
// bit set in bytes 0..7 and 12..15 gets MALFORMED, one that cannot be read FETCH_FAILED; the engine does not see them.
//
// CONTROL.CLEAR drops all jobs. `clear_o` is high for one cycle; the engine then drops its jobs and its status, holds
// `clearing_i` from the next cycle on until it has dropped them, and takes no job meanwhile.
//
// Accesses to byte addresses from 0x100 on go to the engine. No output depends on an input of the same cycle.
module engine_ring
  import engine_job_status_pkg::*;
#(
  parameter logic [31:0] Id         = 32'h454e_4731,  // Value of ID.
  parameter logic [31:0] Version    = 32'd1,  // Value of VERSION.
  parameter logic [31:0] Parameters = 32'd0,  // Value of PARAMETERS.
  parameter int unsigned AddrWidth  = 40,  // Bits of a byte address in memory, 33 to 64.
  parameter int unsigned DataWidth  = 128,  // Bits of a word of the AXI port, a power of two from 64 to 512.
  parameter int unsigned Jobs       = 16,  // Jobs in progress at most, a power of two from 2 to 128.
  localparam int unsigned TagWidth = $clog2(Jobs),  // Bits of a tag.
  localparam int unsigned Bytes = DataWidth / 8,  // Bytes of a word of the AXI port.
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
  input  logic [3:0]           regs_w_strb_i,  // AXI4-Lite: all four must be set.
  output logic                 regs_b_valid_o,  // AXI4-Lite: write response.
  input  logic                 regs_b_ready_i,  // AXI4-Lite.
  output logic [1:0]           regs_b_resp_o,  // AXI4-Lite: OKAY or SLVERR.
  input  logic                 regs_ar_valid_i,  // AXI4-Lite: read address.
  output logic                 regs_ar_ready_o,  // AXI4-Lite.
  input  logic [RegWidth-1:0]  regs_ar_addr_i,  // AXI4-Lite.
  output logic                 regs_r_valid_o,  // AXI4-Lite: read data.
  input  logic                 regs_r_ready_i,  // AXI4-Lite.
  output logic [31:0]          regs_r_data_o,  // AXI4-Lite.
  output logic [1:0]           regs_r_resp_o,  // AXI4-Lite: OKAY or SLVERR.

  output logic                 ring_ar_valid_o,  // AXI4 of the ring: read address.
  input  logic                 ring_ar_ready_i,  // AXI4.
  output logic [AddrWidth-1:0] ring_ar_addr_o,  // AXI4.
  output logic [7:0]           ring_ar_len_o,  // AXI4.
  output logic [2:0]           ring_ar_size_o,  // AXI4.
  output logic [1:0]           ring_ar_burst_o,  // AXI4.
  input  logic                 ring_r_valid_i,  // AXI4: read data.
  output logic                 ring_r_ready_o,  // AXI4.
  input  logic [DataWidth-1:0] ring_r_data_i,  // AXI4.
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
  output logic [DataWidth-1:0] ring_w_data_o,  // AXI4.
  output logic [Bytes-1:0]     ring_w_strb_o,  // AXI4.
  output logic                 ring_w_last_o,  // AXI4.
  input  logic                 ring_b_valid_i,  // AXI4: write response.
  output logic                 ring_b_ready_o,  // AXI4.
  input  logic [1:0]           ring_b_resp_i,  // AXI4.

  output logic                 irq_o,  // Interrupt: high while IRQ.ENABLE and IRQ.PENDING are set.

  output logic                 job_valid_o,  // A job is offered to the engine.
  input  logic                 job_ready_i,  // It is taken.
  output logic [511:0]         job_o,  // Its descriptor, byte 0 lowest.
  output logic [TagWidth-1:0]  job_tag_o,  // Its tag.
  input  logic                 done_valid_i,  // A job has ended.
  output logic                 done_ready_o,  // Its status is taken.
  input  logic [TagWidth-1:0]  done_tag_i,  // Its tag.
  input  status_t              done_status_i,  // Its status, as hw/rdl/engine_job.rdl encodes it.
  output logic                 clear_o,  // High for one cycle: drop all jobs and keys.
  input  logic                 clearing_i,  // The engine is still doing so.
  input  logic                 stalled_i,  // The engine waits for memory in this cycle.

  output logic                 user_access_o,  // An access to a register of the engine, for one cycle.
  output logic                 user_write_o,  // It is a write.
  output logic [RegWidth-1:2]  user_addr_o,  // Its word.
  output logic [31:0]          user_write_data_o,  // The data of a write.
  input  logic [31:0]          user_read_data_i,  // The data of the read of the cycle before.
  input  logic                 user_refused_i  // The access of the cycle before is refused.
);
  localparam int unsigned Words = 512 / DataWidth;
  localparam int unsigned Burst = Words == 1 ? 2 : Words;
  localparam int unsigned CountWidth = $clog2(Jobs + 1);
  localparam int unsigned LogBytes = $clog2(Bytes);
  typedef logic [TagWidth-1:0] tag_t;
  typedef logic [15:0] index_t;

  if (DataWidth < 64 || DataWidth > 512 || AddrWidth < 33 || AddrWidth > 64 || Jobs < 2 || Jobs > 128) begin
    : gen_wrong_size
    $error("engine_ring: DataWidth must be 64 to 512, AddrWidth 33 to 64, Jobs 2 to 128");
  end

  // The registers.
  logic                 run_q, enable_q, pending_q;
  logic [2:0]           error_q;
  logic [31:0]          cycles_q, stalls_q;
  logic [AddrWidth-1:6] base_q;
  index_t               size_q, head_q, tail_q, fetch_q;
  logic                 clear_start, clear_wait_q, clearing_q;
  logic [CountWidth-1:0] jobs;
  logic                 busy;
  logic [CountWidth-1:0] credits;
  assign jobs = CountWidth'(Jobs) - credits;
  assign busy = clearing_q || jobs != '0 || (run_q && fetch_q != tail_q);

  function automatic index_t next(index_t index, index_t size);
    return index == size - 1'b1 ? '0 : index + 1'b1;
  endfunction

  logic                 access, write;
  logic [RegWidth-1:2]  addr;
  logic [31:0]          write_data, read_data_q;
  logic                 refused_q, user_q;
  logic                 is_user;
  prim_axil_regs #(.AddrWidth(RegWidth)) u_regs (
    .clk_i, .rst_ni, .aw_valid_i(regs_aw_valid_i), .aw_ready_o(regs_aw_ready_o), .aw_addr_i(regs_aw_addr_i),
    .w_valid_i(regs_w_valid_i), .w_ready_o(regs_w_ready_o), .w_data_i(regs_w_data_i), .w_strb_i(regs_w_strb_i),
    .b_valid_o(regs_b_valid_o), .b_ready_i(regs_b_ready_i), .b_resp_o(regs_b_resp_o), .ar_valid_i(regs_ar_valid_i),
    .ar_ready_o(regs_ar_ready_o), .ar_addr_i(regs_ar_addr_i), .r_valid_o(regs_r_valid_o), .r_ready_i(regs_r_ready_i),
    .r_data_o(regs_r_data_o), .r_resp_o(regs_r_resp_o), .access_o(access), .write_o(write), .addr_o(addr),
    .write_data_o(write_data), .read_data_i(user_q ? user_read_data_i : read_data_q),
    .refused_i(user_q ? user_refused_i : refused_q)
  );
  assign is_user           = addr[RegWidth-1:8] != '0;
  assign user_access_o     = access && is_user;
  assign user_write_o      = write;
  assign user_addr_o       = addr;
  assign user_write_data_o = write_data;

  // The word of a register within the first 256 bytes.
  logic [5:0] word;
  assign word = addr[7:2];
  function automatic logic [5:0] place(logic [5:0] byte_offset);
    return byte_offset >> 2;
  endfunction

  logic is_control, is_error, is_irq, is_base, is_base_high, is_size, is_tail;
  assign is_control   = word == place(engine_ring_registers_pkg::Control);
  assign is_error     = word == place(engine_ring_registers_pkg::Error);
  assign is_irq       = word == place(engine_ring_registers_pkg::Irq);
  assign is_base      = word == place(engine_ring_registers_pkg::RingBase);
  assign is_base_high = word == place(engine_ring_registers_pkg::RingBaseHigh);
  assign is_size      = word == place(engine_ring_registers_pkg::RingSize);
  assign is_tail      = word == place(engine_ring_registers_pkg::Tail);

  logic write_allowed, read_allowed, head_write, sets_ring;
  logic [31:0] read_data_d;
  localparam logic [63:0] AddrMask = AddrWidth == 64 ? '1 : (64'd1 << AddrWidth) - 64'd1;
  always_comb begin
    write_allowed = 1'b0;
    if (is_control || is_error || is_irq) write_allowed = 1'b1;
    if (is_base) write_allowed = !busy && write_data[5:0] == '0;
    if (is_base_high) write_allowed = !busy && (write_data & ~AddrMask[63:32]) == '0;
    if (is_size) write_allowed = !busy && write_data[31:16] == '0 && write_data[15:0] >= 16'd2;
    if (is_tail) write_allowed = write_data[31:16] == '0 && write_data[15:0] < size_q;
    if (clearing_q) write_allowed = 1'b0;
  end
  assign head_write = access && !is_user && write && write_allowed;
  assign sets_ring  = head_write && (is_base || is_base_high || is_size);
  assign clear_start = head_write && is_control && write_data[engine_ring_registers_pkg::ControlClearBit];
  assign clear_o     = clear_start;

  always_comb begin
    read_data_d  = '0;
    read_allowed = 1'b1;
    unique case (word)
      place(engine_ring_registers_pkg::Id):         read_data_d = Id;
      place(engine_ring_registers_pkg::Version):    read_data_d = Version;
      place(engine_ring_registers_pkg::Parameters): read_data_d = Parameters;
      place(engine_ring_registers_pkg::Control):
        read_data_d[engine_ring_registers_pkg::ControlRunBit] = run_q;
      place(engine_ring_registers_pkg::Status): begin
        read_data_d[engine_ring_registers_pkg::StatusBusyBit]     = busy;
        read_data_d[engine_ring_registers_pkg::StatusClearingBit] = clearing_q;
        read_data_d[engine_ring_registers_pkg::StatusJobsBit+:8]  = 8'(jobs);
      end
      place(engine_ring_registers_pkg::Error): begin
        read_data_d[engine_ring_registers_pkg::ErrorJobBit]    = error_q[0];
        read_data_d[engine_ring_registers_pkg::ErrorFetchBit]  = error_q[1];
        read_data_d[engine_ring_registers_pkg::ErrorReportBit] = error_q[2];
      end
      place(engine_ring_registers_pkg::Irq): begin
        read_data_d[engine_ring_registers_pkg::IrqEnableBit]  = enable_q;
        read_data_d[engine_ring_registers_pkg::IrqPendingBit] = pending_q;
      end
      place(engine_ring_registers_pkg::Cycles):   read_data_d = cycles_q;
      place(engine_ring_registers_pkg::Stalls):   read_data_d = stalls_q;
      place(engine_ring_registers_pkg::RingBase): read_data_d = {base_q[31:6], 6'd0};
      place(engine_ring_registers_pkg::RingBaseHigh): read_data_d = 32'(base_q[AddrWidth-1:32]);
      place(engine_ring_registers_pkg::RingSize): read_data_d = 32'(size_q);
      place(engine_ring_registers_pkg::Head):     read_data_d = 32'(head_q);
      place(engine_ring_registers_pkg::Tail):     read_data_d = 32'(tail_q);
      default:                                    read_allowed = 1'b0;
    endcase
  end
  always_ff @(posedge clk_i) begin
    read_data_q <= write ? '0 : read_data_d;
    refused_q   <= write ? !write_allowed : !read_allowed;
    user_q      <= is_user;
  end

  // The fetch of one descriptor at a time: a read of its words, and a look at the whole.
  typedef enum logic [1:0] { FtIdle, FtRead, FtCheck, FtOffer } fetch_e;
  fetch_e               fetch_state_q;
  logic                 read_run, read_run_ready, read_valid, read_last, read_idle, read_error, axi_clear, read_clear;
  logic [DataWidth-1:0] read_data;
  logic [511:0]         job_q;
  tag_t                 next_tag_q;
  logic                 credit, take_credit, retire, bad_job;
  prim_axi_read #(
    .AddrWidth(AddrWidth), .DataWidth(DataWidth), .RunWidth(4), .Burst(Burst), .Outstanding(2),
    .Buffer(2 * Burst)
  ) u_read (
    .clk_i, .rst_ni, .clear_i(read_clear), .idle_o(read_idle), .error_o(read_error), .run_valid_i(read_run),
    .run_ready_o(read_run_ready), .run_addr_i({base_q, 6'd0} + AddrWidth'({fetch_q, 6'd0})), .run_words_i(4'(Words)),
    .out_valid_o(read_valid), .out_ready_i(1'b1), .out_data_o(read_data), .out_last_o(read_last),
    .ar_valid_o(ring_ar_valid_o), .ar_ready_i(ring_ar_ready_i), .ar_addr_o(ring_ar_addr_o), .ar_len_o(ring_ar_len_o),
    .ar_size_o(ring_ar_size_o), .ar_burst_o(ring_ar_burst_o), .r_valid_i(ring_r_valid_i), .r_ready_o(ring_r_ready_o),
    .r_data_i(ring_r_data_i), .r_resp_i(ring_r_resp_i), .r_last_i(ring_r_last_i)
  );
  prim_credit #(.Credits(Jobs)) u_credit (
    .clk_i, .rst_ni, .clear_i(clearing_q), .take_i(take_credit), .give_i(retire), .available_o(credit),
    .count_o(credits)
  );
  assign read_run    = fetch_state_q == FtIdle && run_q && fetch_q != tail_q && credit && !clearing_q && !clear_start;
  assign take_credit = read_run && read_run_ready;
  assign axi_clear   = clear_start || clear_wait_q;
  // A wrong response is forgotten with the descriptor.
  assign read_clear  = axi_clear || (fetch_state_q == FtCheck && read_idle && read_error);

  logic [31:0] given_status, reserved;
  assign given_status = job_q[8*engine_job_registers_pkg::Status+:32];
  assign reserved     = job_q[8*engine_job_registers_pkg::Reserved+:32];
  assign bad_job      = job_q[8*engine_job_registers_pkg::Operation+8+:24] != '0
                        || given_status != '0 || reserved != '0;

  // A job that the ring ends itself.
  logic       own_valid_q;
  status_t own_status_q;
  logic       own_taken;

  assign job_valid_o = fetch_state_q == FtOffer && !own_valid_q;
  assign job_o       = job_q;
  assign job_tag_o   = next_tag_q;
  logic fetch_ends;
  assign fetch_ends = fetch_state_q == FtOffer && (own_valid_q ? own_taken : job_ready_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fetch_state_q <= FtIdle;
      next_tag_q    <= '0;
      own_valid_q   <= 1'b0;
      own_status_q  <= '0;
    end else if (axi_clear || clearing_q) begin
      fetch_state_q <= FtIdle;
      next_tag_q    <= '0;
      own_valid_q   <= 1'b0;
    end else begin
      unique case (fetch_state_q)
        FtIdle: if (take_credit) fetch_state_q <= FtRead;
        FtRead: if (read_valid && read_last) fetch_state_q <= FtCheck;
        FtCheck: begin
          if (read_idle) begin
            fetch_state_q <= FtOffer;
            own_valid_q   <= read_error || bad_job;
            own_status_q  <= read_error ? FetchFailed : Malformed;
          end
        end
        default: begin
          if (fetch_ends) begin
            fetch_state_q <= FtIdle;
            next_tag_q    <= next_tag_q + 1'b1;
            own_valid_q   <= 1'b0;
          end
        end
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (read_valid && fetch_state_q == FtRead) job_q <= 512'({read_data, job_q} >> DataWidth);
  end

  // The status of one job at a time goes to memory.
  typedef enum logic [1:0] { WrIdle, WrRun, WrWord, WrWait } write_e;
  write_e               write_state_q;
  tag_t                 write_tag_q;
  status_t              status_q;
  logic                 write_run_ready, write_ready, write_idle, write_error, write_clear;
  index_t               index_of[Jobs];
  logic [Jobs-1:0]      finished_q;
  tag_t                 oldest_q;
  logic                 take_done;
  logic [AddrWidth-1:0] status_addr;
  assign done_ready_o = write_state_q == WrIdle && !own_valid_q && !clearing_q;
  assign own_taken    = write_state_q == WrIdle && own_valid_q;
  assign take_done    = done_valid_i && done_ready_o;
  assign status_addr  = {base_q, 6'd4} + AddrWidth'({index_of[write_tag_q], 6'd0});
  assign write_clear  = axi_clear || (write_state_q == WrWait && write_idle && write_error);
  prim_axi_write #(.AddrWidth(AddrWidth), .DataWidth(DataWidth), .RunWidth(2), .Burst(2), .Outstanding(2)) u_write (
    .clk_i, .rst_ni, .clear_i(write_clear), .idle_o(write_idle), .error_o(write_error),
    .run_valid_i(write_state_q == WrRun), .run_ready_o(write_run_ready), .run_addr_i(status_addr), .run_words_i(2'd1),
    .in_valid_i(write_state_q == WrWord), .in_ready_o(write_ready),
    .in_data_i(DataWidth'({24'd0, status_q}) << (8 * status_addr[LogBytes-1:0])),
    .in_strobe_i(Bytes'(4'hf) << status_addr[LogBytes-1:0]),
    .aw_valid_o(ring_aw_valid_o), .aw_ready_i(ring_aw_ready_i), .aw_addr_o(ring_aw_addr_o), .aw_len_o(ring_aw_len_o),
    .aw_size_o(ring_aw_size_o), .aw_burst_o(ring_aw_burst_o), .w_valid_o(ring_w_valid_o), .w_ready_i(ring_w_ready_i),
    .w_data_o(ring_w_data_o), .w_strb_o(ring_w_strb_o), .w_last_o(ring_w_last_o), .b_valid_i(ring_b_valid_i),
    .b_ready_o(ring_b_ready_o), .b_resp_i(ring_b_resp_i)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_state_q <= WrIdle;
      write_tag_q   <= '0;
      status_q      <= '0;
    end else if (axi_clear || clearing_q) begin
      write_state_q <= WrIdle;
    end else begin
      unique case (write_state_q)
        WrIdle: begin
          write_tag_q <= own_valid_q ? next_tag_q : done_tag_i;
          status_q    <= own_valid_q ? own_status_q : done_status_i;
          if (own_taken || take_done) write_state_q <= WrRun;
        end
        WrRun:  if (write_run_ready) write_state_q <= WrWord;
        WrWord: if (write_ready) write_state_q <= WrWait;
        default: if (write_idle) write_state_q <= WrIdle;
      endcase
    end
  end

  // HEAD moves over the oldest job when its status is in memory.
  assign retire = finished_q[oldest_q] && !clearing_q && !clear_start;
  always_ff @(posedge clk_i) begin
    if (take_credit) index_of[next_tag_q] <= fetch_q;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      finished_q <= '0;
      oldest_q   <= '0;
    end else if (axi_clear || clearing_q) begin
      finished_q <= '0;
      oldest_q   <= '0;
    end else begin
      if (retire) begin
        finished_q[oldest_q] <= 1'b0;
        oldest_q             <= oldest_q + 1'b1;
      end
      if (write_state_q == WrWait && write_idle) finished_q[write_tag_q] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      run_q        <= 1'b0;
      enable_q     <= 1'b0;
      pending_q    <= 1'b0;
      error_q      <= '0;
      cycles_q     <= '0;
      stalls_q     <= '0;
      base_q       <= '0;
      size_q       <= '0;
      head_q       <= '0;
      tail_q       <= '0;
      fetch_q      <= '0;
      clear_wait_q <= 1'b0;
      clearing_q   <= 1'b0;
    end else begin
      // The ports answer to a clearing in its second cycle, and the engine from its first one on.
      clear_wait_q <= clear_start;
      if (clear_start) clearing_q <= 1'b1;
      else if (!clear_wait_q && read_idle && write_idle && !clearing_i) clearing_q <= 1'b0;

      if (head_write) begin
        if (is_control) run_q <= write_data[engine_ring_registers_pkg::ControlRunBit];
        if (is_irq) enable_q <= write_data[engine_ring_registers_pkg::IrqEnableBit];
        if (is_irq && write_data[engine_ring_registers_pkg::IrqPendingBit]) pending_q <= 1'b0;
        if (is_error) error_q <= error_q & ~write_data[2:0];
        if (is_base) base_q[31:6] <= write_data[31:6];
        if (is_base_high) base_q[AddrWidth-1:32] <= write_data[AddrWidth-33:0];
        if (is_size) size_q <= write_data[15:0];
        if (is_tail) tail_q <= write_data[15:0];
      end
      if (take_credit) fetch_q <= next(fetch_q, size_q);
      if (retire) begin
        head_q    <= next(head_q, size_q);
        pending_q <= 1'b1;
      end
      if (fetch_state_q == FtCheck && read_idle && read_error) error_q[1] <= 1'b1;
      if (write_state_q == WrRun && status_q != Done) error_q[0] <= 1'b1;
      if (write_state_q == WrWait && write_idle && write_error) error_q[2] <= 1'b1;
      cycles_q <= cycles_q + 32'(jobs != '0);
      stalls_q <= stalls_q + 32'(stalled_i);
      if (sets_ring || clearing_q || clear_start) begin
        head_q  <= '0;
        tail_q  <= '0;
        fetch_q <= '0;
      end
      if (clearing_q || clear_start) begin
        run_q     <= 1'b0;
        pending_q <= 1'b0;
        error_q   <= '0;
        cycles_q  <= '0;
        stalls_q  <= '0;
      end
    end
  end
  assign irq_o = enable_q && pending_q;

  logic unused;
  assign unused = ^{user_q, status_addr[AddrWidth-1:LogBytes]};
endmodule
