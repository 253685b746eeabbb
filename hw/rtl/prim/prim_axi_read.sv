// Reads runs of whole words through an AXI4 port. A run is an address and a number of words; the words come out in order.
//
// Bursts are INCR, of at most `Burst` words and within a page of 4096 bytes, with one ID; up to `Outstanding` of them
// wait for their data. A burst is asked for only when the queue behind the port has room for all of its words, so
// `r_ready_o` is always high. No output depends on an input of the same cycle.
//
// `clear_i` ends all runs. The port asks for no further burst and drops the words of earlier ones. `idle_o` is low until
// the last of these words has come.
module prim_axi_read #(
  parameter int unsigned AddrWidth   = 40,  // Bits of a byte address.
  parameter int unsigned DataWidth   = 512,  // Bits of a word, a power of two from 32 to 1024.
  parameter int unsigned RunWidth    = 24,  // Bits of the number of words of a run.
  parameter int unsigned Burst       = 64,  // Words of a burst at most, a power of two up to 256 and 4096 bytes.
  parameter int unsigned Outstanding = 32,  // Bursts that wait for data at most.
  parameter int unsigned Buffer      = 512,  // Words of the queue, a power of two from 2·Burst on.
  localparam int unsigned LogBytes = $clog2(DataWidth / 8)  // Bits of a byte's place in a word.
) (
  input  logic                 clk_i,  // Clock.
  input  logic                 rst_ni,  // Asynchronous reset, active low.
  input  logic                 clear_i,  // Ends all runs.
  output logic                 idle_o,  // No run is under way and no word waits.
  output logic                 error_o,  // A response since reset or the last `clear_i` was an error.

  input  logic                 run_valid_i,  // A run is offered.
  output logic                 run_ready_o,  // It is taken.
  input  logic [AddrWidth-1:0] run_addr_i,  // Its first byte; the bits within a word are ignored.
  input  logic [RunWidth-1:0]  run_words_i,  // Its words, at least 1.

  output logic                 out_valid_o,  // A word is given.
  input  logic                 out_ready_i,  // It leaves.
  output logic [DataWidth-1:0] out_data_o,  // The word.
  output logic                 out_last_o,  // It is the last one of its run.

  output logic                 ar_valid_o,  // AXI: read address.
  input  logic                 ar_ready_i,  // AXI.
  output logic [AddrWidth-1:0] ar_addr_o,  // AXI.
  output logic [7:0]           ar_len_o,  // AXI: words of the burst less one.
  output logic [2:0]           ar_size_o,  // AXI: constant, whole words.
  output logic [1:0]           ar_burst_o,  // AXI: constant, INCR.
  input  logic                 r_valid_i,  // AXI: read data.
  output logic                 r_ready_o,  // AXI: always 1.
  input  logic [DataWidth-1:0] r_data_i,  // AXI.
  input  logic [1:0]           r_resp_i,  // AXI: an error if bit 1 is set.
  input  logic                 r_last_i  // AXI: must agree with the burst's length, or else `error_o` rises.
);
  localparam int unsigned WordAddrWidth = AddrWidth - LogBytes;
  localparam int unsigned BurstWidth = $clog2(Burst) + 1;
  localparam int unsigned RoomWidth = $clog2(Buffer + 1);
  typedef logic [WordAddrWidth-1:0] addr_t;
  typedef logic [BurstWidth-1:0] burst_t;
  typedef logic [RoomWidth-1:0] room_t;

  if (Burst > 256 || Burst * DataWidth > 32768 || Buffer < 2 * Burst) begin : gen_wrong_size
    $error("prim_axi_read: a burst has at most 256 words and 4096 bytes, and the queue room for two");
  end

  // The rest of the run that is being asked for.
  addr_t               addr_q;
  logic [RunWidth-1:0] left_q;
  // Words of the queue that no burst has claimed.
  room_t               room_q;
  logic                draining_q, error_q;

  // The next burst ends with the run, or before the next multiple of `Burst` words: then no burst crosses a page.
  burst_t to_boundary, burst;
  logic   ends_run, ask, ask_ready, bursts_ready;
  assign to_boundary = burst_t'(Burst) - burst_t'(addr_q[BurstWidth-2:0]);
  assign ends_run    = left_q <= RunWidth'(to_boundary);
  assign burst       = ends_run ? burst_t'(left_q) : to_boundary;
  assign ask_ready   = !ar_valid_o || ar_ready_i;
  assign ask         = left_q != '0 && ask_ready && bursts_ready && room_q >= room_t'(burst) && !draining_q && !clear_i;

  assign run_ready_o = left_q == '0 && !draining_q;

  logic take_run;
  assign take_run = run_valid_i && run_ready_o && !clear_i;

  // The words of the bursts that wait for data, and whether they end a run.
  typedef struct packed {
    burst_t words;
    logic   ends_run;
  } waiting_t;
  waiting_t waiting;
  logic     waiting_valid, word, last_word;
  logic [$clog2(Outstanding + 1)-1:0] bursts;
  burst_t   words_q;
  prim_fifo #(.Width($bits(waiting_t)), .Depth(Outstanding)) u_bursts (
    .clk_i, .rst_ni, .clear_i(1'b0), .in_valid_i(ask), .in_ready_o(bursts_ready), .in_data_i({burst, ends_run}),
    .out_valid_o(waiting_valid), .out_ready_i(word && last_word), .out_data_o(waiting), .count_o(bursts)
  );
  assign r_ready_o = 1'b1;
  assign word      = r_valid_i && waiting_valid;
  assign last_word = words_q == waiting.words - 1'b1;

  logic drop, queue_ready, leave, unused;
  logic [DataWidth:0] out;
  logic [$clog2(Buffer + 5)-1:0] queued;
  assign drop  = draining_q || clear_i;
  assign leave = out_valid_o && out_ready_i;
  prim_fifo_ram #(.Width(DataWidth + 1), .Depth(Buffer)) u_queue (
    .clk_i, .rst_ni, .clear_i, .in_valid_i(word && !drop), .in_ready_o(queue_ready),
    .in_data_i({last_word && waiting.ends_run, r_data_i}), .out_valid_o, .out_ready_i, .out_data_o(out),
    .count_o(queued)
  );
  assign {out_last_o, out_data_o} = out;

  assign ar_size_o  = 3'(LogBytes);
  assign ar_burst_o = 2'b01;
  assign error_o    = error_q;
  assign idle_o     = left_q == '0 && !ar_valid_o && !waiting_valid && queued == '0 && !draining_q;
  assign unused     = ^{queue_ready, bursts, r_resp_i[0], run_addr_i[LogBytes-1:0]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ar_valid_o <= 1'b0;
      left_q     <= '0;
      room_q     <= room_t'(Buffer);
      words_q    <= '0;
      draining_q <= 1'b0;
      error_q    <= 1'b0;
    end else begin
      if (ask_ready) ar_valid_o <= ask;
      if (word) words_q <= last_word ? '0 : words_q + 1'b1;

      if (clear_i) left_q <= '0;
      else if (take_run) left_q <= run_words_i;
      else if (ask) left_q <= left_q - RunWidth'(burst);

      // After `clear_i` all room returns when the last burst has come.
      if (drop) room_q <= room_t'(Buffer);
      else room_q <= room_q - (ask ? room_t'(burst) : '0) + room_t'(leave);

      draining_q <= drop && ((ar_valid_o && !ar_ready_i) || (waiting_valid && !(word && last_word && bursts == 1)));

      if (clear_i) error_q <= 1'b0;
      else if (r_valid_i && !draining_q) begin
        if (r_resp_i[1] || !waiting_valid || r_last_i != last_word) error_q <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_run) addr_q <= run_addr_i[AddrWidth-1:LogBytes];
    else if (ask) addr_q <= addr_q + addr_t'(burst);
    if (ask_ready) begin
      ar_addr_o <= {addr_q, LogBytes'(0)};
      ar_len_o  <= 8'(burst - 1'b1);
    end
  end
endmodule
