// Reads runs of whole words through an AXI4 port. A run is an address and a number of words; the words come out in order.
//
// Bursts are those of `prim_axi_burst`, with one ID; up to `Outstanding` of them wait for their data. A burst is asked for
// only when the queue behind the port has room for all of its words, so `r_ready_o` is always high. No output depends on
// an input of the same cycle.
//
// `clear_i` ends all runs. The port asks for no further burst and drops the words of earlier ones. `idle_o` is low until
// the last of these words has come.
module prim_axi_read #(
  parameter int unsigned AddrWidth   = 40,  // Bits of a byte address.
  parameter int unsigned DataWidth   = 512,  // Bits of a word, a power of two from 32 to 1024.
  parameter int unsigned RunWidth    = 24,  // Bits of the number of words of a run.
  parameter int unsigned Burst       = 64,  // Words of a burst at most, a power of two from 2 to 256 and 4096 bytes.
  parameter int unsigned Outstanding = 32,  // Bursts that wait for data at most.
  parameter int unsigned Buffer      = 512  // Words of the queue, a power of two from 2·Burst on.
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
  localparam int unsigned BurstWidth = $clog2(Burst) + 1;
  localparam int unsigned RoomWidth = $clog2(Buffer + 1);
  typedef logic [BurstWidth-1:0] burst_t;
  typedef logic [RoomWidth-1:0] room_t;

  if (Buffer < 2 * Burst) begin : gen_wrong_size
    $error("prim_axi_read: the queue needs room for two bursts");
  end

  // Words of the queue that no burst has claimed.
  room_t room_q;
  logic  draining_q, error_q;

  burst_t burst;
  logic   ends_run, ask, bursts_ready, asking;
  prim_axi_burst #(.AddrWidth(AddrWidth), .DataWidth(DataWidth), .RunWidth(RunWidth), .Burst(Burst)) u_burst (
    .clk_i, .rst_ni, .clear_i, .hold_i(draining_q), .run_valid_i, .run_ready_o, .run_addr_i, .run_words_i,
    .allow_i(bursts_ready && room_q >= room_t'(burst)), .begin_o(ask), .words_o(burst), .ends_run_o(ends_run),
    .busy_o(asking), .valid_o(ar_valid_o), .ready_i(ar_ready_i), .addr_o(ar_addr_o), .len_o(ar_len_o),
    .size_o(ar_size_o), .burst_o(ar_burst_o)
  );

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

  assign error_o = error_q;
  assign idle_o  = !asking && !ar_valid_o && !waiting_valid && queued == '0 && !draining_q;
  assign unused  = ^{queue_ready, bursts, r_resp_i[0]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      room_q     <= room_t'(Buffer);
      words_q    <= '0;
      draining_q <= 1'b0;
      error_q    <= 1'b0;
    end else begin
      if (word) words_q <= last_word ? '0 : words_q + 1'b1;

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
endmodule
