// The ports of the keys of `tfhe_engine`: each reads its own slice of a key and fills its own queue.
//
// Port p is at `base + p * stride`, in words. A beat takes two words of each port. `round_o` says that a whole frame of
// a transform waits, `Rows` beats. Two runs may wait for the end of the one in progress.
module tfhe_engine_keys
  import tfhe_engine_pkg::*;
#(
  parameter int unsigned Ports       = 8,  // Ports.
  parameter int unsigned Rows        = 512,  // Beats of a frame, a power of two.
  parameter int unsigned AddrWidth   = 40,  // Bits of a byte address.
  parameter int unsigned Burst       = 64,  // Words of a burst at most.
  parameter int unsigned Buffer      = 512,  // Words that a port asks for at most, a power of two.
  localparam int unsigned PortWidth = $clog2(Ports)  // Bits of the number of a port.
) (
  input  logic                   clk_i,  // Clock.
  input  logic                   rst_ni,  // Asynchronous reset, active low.
  input  logic                   clear_i,  // Ends all runs and drops all beats.
  output logic                   idle_o,  // No run is under way and no word waits at a port.
  output logic                   error_o,  // A response since reset or the last `clear_i` was an error.

  input  logic                   run_valid_i,  // A run of all ports is offered.
  output logic                   run_ready_o,  // It is taken.
  input  logic [57:0]            run_base_i,  // Address of port 0's words, in words.
  input  logic [57:0]            run_stride_i,  // From a port's words to the next port's, in words.
  input  logic [KeyRunWidth-1:0] run_words_i,  // Words of each port, even, at least 2.

  output logic                   round_o,  // A whole frame's beats wait.
  output logic                   valid_o,  // A beat is given.
  input  logic                   take_i,  // It leaves.
  output logic [Ports-1:0][1:0][WordWidth-1:0] beat_o,  // Two words of each port.

  output logic [Ports-1:0]       key_ar_valid_o,  // AXI4 of each port: read address.
  input  logic [Ports-1:0]       key_ar_ready_i,  // AXI4.
  output logic [Ports-1:0][AddrWidth-1:0] key_ar_addr_o,  // AXI4.
  output logic [Ports-1:0][7:0]  key_ar_len_o,  // AXI4.
  output logic [Ports-1:0][2:0]  key_ar_size_o,  // AXI4.
  output logic [Ports-1:0][1:0]  key_ar_burst_o,  // AXI4.
  input  logic [Ports-1:0]       key_r_valid_i,  // AXI4: read data.
  output logic [Ports-1:0]       key_r_ready_o,  // AXI4.
  input  logic [Ports-1:0][WordWidth-1:0] key_r_data_i,  // AXI4.
  input  logic [Ports-1:0][1:0]  key_r_resp_i,  // AXI4.
  input  logic [Ports-1:0]       key_r_last_i  // AXI4.
);
  localparam int unsigned CountWidth = $clog2(Rows + 5);
  typedef logic [CountWidth-1:0] count_t;

  typedef struct packed {
    logic [57:0]            base;
    logic [57:0]            stride;
    logic [KeyRunWidth-1:0] words;
  } run_t;
  run_t       run;
  logic       run_valid, ends_run;
  logic [1:0] runs;
  prim_fifo #(.Width($bits(run_t)), .Depth(2)) u_runs (
    .clk_i, .rst_ni, .clear_i, .in_valid_i(run_valid_i), .in_ready_o(run_ready_o),
    .in_data_i({run_base_i, run_stride_i, run_words_i}), .out_valid_o(run_valid), .out_ready_i(ends_run),
    .out_data_o(run), .count_o(runs)
  );

  // One port after the other begins its run, so that one adder makes all addresses.
  logic [PortWidth-1:0] port_q;
  logic [57:0]          base_q;
  logic                 beginning_q, begin_one;
  logic [Ports-1:0]     ready_each;
  assign begin_one = beginning_q && ready_each[port_q];
  assign ends_run  = begin_one && port_q == PortWidth'(Ports - 1);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beginning_q <= 1'b0;
      port_q      <= '0;
    end else if (clear_i || ends_run) begin
      beginning_q <= 1'b0;
      port_q      <= '0;
    end else begin
      if (run_valid) beginning_q <= 1'b1;
      if (begin_one) port_q <= port_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!beginning_q) base_q <= run.base;
    else if (begin_one) base_q <= base_q + run.stride;
  end

  logic [Ports-1:0] idle_each, error_each, valid_each, round_each;
  logic             round_q, idle_q, error_q;
  assign valid_o = &valid_each;
  // Registers, because all ports are far apart; a frame begins some cycles later, and beats only leave in one.
  assign round_o = round_q;
  assign idle_o  = idle_q && !run_valid;
  assign error_o = error_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      round_q <= 1'b0;
      idle_q  <= 1'b1;
      error_q <= 1'b0;
    end else begin
      round_q <= &round_each && !clear_i;
      idle_q  <= &idle_each && !run_valid && !clear_i;
      error_q <= |error_each && !clear_i;
    end
  end

  for (genvar p = 0; p < Ports; p++) begin : gen_port
    logic  word_valid, word_ready, unused_last, pair_ready, half_q;
    word_t word, first_q;
    count_t count;
    prim_axi_read #(
      .AddrWidth(AddrWidth), .DataWidth(WordWidth), .RunWidth(KeyRunWidth), .Burst(Burst), .Outstanding(32),
      .Buffer(Buffer)
    ) u_read (
      .clk_i, .rst_ni, .clear_i, .idle_o(idle_each[p]), .error_o(error_each[p]),
      .run_valid_i(beginning_q && port_q == PortWidth'(p)), .run_ready_o(ready_each[p]),
      .run_addr_i(AddrWidth'({base_q, 6'd0})), .run_words_i(run.words), .out_valid_o(word_valid),
      .out_ready_i(word_ready),
      .out_data_o(word), .out_last_o(unused_last), .ar_valid_o(key_ar_valid_o[p]), .ar_ready_i(key_ar_ready_i[p]),
      .ar_addr_o(key_ar_addr_o[p]), .ar_len_o(key_ar_len_o[p]), .ar_size_o(key_ar_size_o[p]),
      .ar_burst_o(key_ar_burst_o[p]), .r_valid_i(key_r_valid_i[p]), .r_ready_o(key_r_ready_o[p]),
      .r_data_i(key_r_data_i[p]), .r_resp_i(key_r_resp_i[p]), .r_last_i(key_r_last_i[p])
    );
    // Two words make a beat.
    assign word_ready = !half_q || pair_ready;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) half_q <= 1'b0;
      else if (clear_i) half_q <= 1'b0;
      else if (word_valid && word_ready) half_q <= !half_q;
    end
    always_ff @(posedge clk_i) begin
      if (!half_q) first_q <= word;
    end
    prim_fifo_ram #(.Width(2 * WordWidth), .Depth(Rows)) u_queue (
      .clk_i, .rst_ni, .clear_i, .in_valid_i(word_valid && half_q), .in_ready_o(pair_ready),
      .in_data_i({word, first_q}), .out_valid_o(valid_each[p]), .out_ready_i(take_i), .out_data_o(beat_o[p]),
      .count_o(count)
    );
    assign round_each[p] = count >= count_t'(Rows);
    logic unused;
    assign unused = ^{unused_last, runs};
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
    end else if (take_i) assert (valid_o) else $error("a beat is taken that has not come");
  end
`endif
endmodule
