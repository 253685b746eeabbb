// The address channel of an AXI4 port, for reads or writes: it cuts runs of whole words into bursts. They are INCR, of at
// most `Burst` words, aligned so that none crosses a page of 4096 bytes.
//
// The user looks at the next burst (`words_o`, `ends_run_o`) and allows it with `allow_i`; `begin_o` is high in the cycle
// in which the burst begins. Its address waits at the port from the next cycle on. The address port's outputs depend on
// registers alone; `begin_o` depends on `allow_i` and `ready_i` of the same cycle.
//
// `clear_i` ends the run; an address that waits at the port stays there until it is taken.
module prim_axi_burst #(
  parameter int unsigned AddrWidth = 40,  // Bits of a byte address.
  parameter int unsigned DataWidth = 512,  // Bits of a word, a power of two from 32 to 1024.
  parameter int unsigned RunWidth  = 24,  // Bits of the number of words of a run, at least those of `words_o`.
  parameter int unsigned Burst     = 64,  // Words of a burst at most, a power of two from 2 to 256 and 4096 bytes.
  localparam int unsigned LogBytes = $clog2(DataWidth / 8),  // Bits of a byte's place in a word.
  localparam int unsigned BurstWidth = $clog2(Burst) + 1  // Bits of the number of words of a burst.
) (
  input  logic                  clk_i,  // Clock.
  input  logic                  rst_ni,  // Asynchronous reset, active low.
  input  logic                  clear_i,  // Ends the run; none is taken and no burst begins in this cycle.
  input  logic                  hold_i,  // No run is taken and no burst begins.

  input  logic                  run_valid_i,  // A run is offered.
  output logic                  run_ready_o,  // It is taken.
  input  logic [AddrWidth-1:0]  run_addr_i,  // Its first byte; the bits within a word are ignored.
  input  logic [RunWidth-1:0]   run_words_i,  // Its words, at least 1.

  input  logic                  allow_i,  // The next burst may begin.
  output logic                  begin_o,  // It begins.
  output logic [BurstWidth-1:0] words_o,  // Its words.
  output logic                  ends_run_o,  // It is the last one of its run.
  output logic                  busy_o,  // Words of a run are left for further bursts.

  output logic                  valid_o,  // AXI: address.
  input  logic                  ready_i,  // AXI.
  output logic [AddrWidth-1:0]  addr_o,  // AXI.
  output logic [7:0]            len_o,  // AXI: words of the burst less one.
  output logic [2:0]            size_o,  // AXI: constant, whole words.
  output logic [1:0]            burst_o  // AXI: constant, INCR.
);
  typedef logic [AddrWidth-LogBytes-1:0] addr_t;
  typedef logic [BurstWidth-1:0] burst_t;

  if (Burst < 2 || Burst != 2 ** $clog2(Burst) || Burst > 256 || Burst * DataWidth > 32768) begin : gen_wrong_size
    $error("prim_axi_burst: a burst has a power of two of words, from 2 to 256, and at most 4096 bytes");
  end
  if (RunWidth < BurstWidth) begin : gen_wrong_width
    $error("prim_axi_burst: RunWidth must hold the words of the longest burst");
  end

  // The rest of the run.
  addr_t               addr_q;
  logic [RunWidth-1:0] left_q;

  // The next burst ends with the run, or before the next multiple of `Burst` words: then no burst crosses a page.
  burst_t to_boundary;
  logic   take_run, port_ready;
  assign to_boundary = burst_t'(Burst) - burst_t'(addr_q[BurstWidth-2:0]);
  assign ends_run_o  = left_q <= RunWidth'(to_boundary);
  assign words_o     = ends_run_o ? burst_t'(left_q) : to_boundary;
  assign busy_o      = left_q != '0;
  assign port_ready  = !valid_o || ready_i;
  assign begin_o     = busy_o && port_ready && allow_i && !hold_i && !clear_i;
  assign run_ready_o = !busy_o && !hold_i;
  assign take_run    = run_valid_i && run_ready_o && !clear_i;
  assign size_o      = 3'(LogBytes);
  assign burst_o     = 2'b01;

  logic unused;
  assign unused = ^run_addr_i[LogBytes-1:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_o <= 1'b0;
      left_q  <= '0;
    end else begin
      if (port_ready) valid_o <= begin_o;

      if (clear_i) left_q <= '0;
      else if (take_run) left_q <= run_words_i;
      else if (begin_o) left_q <= left_q - RunWidth'(words_o);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_run) addr_q <= run_addr_i[AddrWidth-1:LogBytes];
    else if (begin_o) addr_q <= addr_q + addr_t'(words_o);
    if (port_ready) begin
      addr_o <= {addr_q, LogBytes'(0)};
      len_o  <= 8'(words_o - 1'b1);
    end
  end
endmodule
