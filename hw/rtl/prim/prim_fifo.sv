// A queue of `Depth` beats, for depths that suit registers or LUT memory; `prim_fifo_ram` is for more. A beat can leave
// in the cycle after it came. Neither `in_ready_o` nor `out_valid_o` depends on an input of the same cycle, so a full
// queue takes no beat in the cycle in which one leaves.
module prim_fifo #(
  parameter int unsigned Width = 32,  // Bits of a beat.
  parameter int unsigned Depth = 4,  // Number of beats, at least 1.
  localparam int unsigned CountWidth = $clog2(Depth + 1)  // Bits of their count.
) (
  input  logic                  clk_i,  // Clock.
  input  logic                  rst_ni,  // Asynchronous reset, active low.
  input  logic                  clear_i,  // Drops all beats; none is taken in this cycle.
  input  logic                  in_valid_i,  // A beat is offered.
  output logic                  in_ready_o,  // It is taken.
  input  logic [Width-1:0]      in_data_i,  // Its data.
  output logic                  out_valid_o,  // A beat is given.
  input  logic                  out_ready_i,  // It leaves.
  output logic [Width-1:0]      out_data_o,  // Its data.
  output logic [CountWidth-1:0] count_o  // Beats in the queue.
);
  localparam int unsigned AddrWidth = Depth > 1 ? $clog2(Depth) : 1;
  typedef logic [AddrWidth-1:0] addr_t;

  logic [Width-1:0]      memory[Depth];
  addr_t                 write_q, read_q;
  logic [CountWidth-1:0] count_q;
  logic                  take, give;

  assign in_ready_o  = count_q != CountWidth'(Depth);
  assign out_valid_o = count_q != '0;
  assign out_data_o  = memory[read_q];
  assign count_o     = count_q;
  assign take        = in_valid_i && in_ready_o;
  assign give        = out_valid_o && out_ready_i;

  function automatic addr_t next(addr_t addr);
    return addr == addr_t'(Depth - 1) ? '0 : addr + 1'b1;
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
      count_q <= '0;
    end else if (clear_i) begin
      write_q <= '0;
      read_q  <= '0;
      count_q <= '0;
    end else begin
      if (take) write_q <= next(write_q);
      if (give) read_q <= next(read_q);
      count_q <= count_q + CountWidth'(take) - CountWidth'(give);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) memory[write_q] <= in_data_i;
  end
endmodule
