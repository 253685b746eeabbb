// A queue of `Depth` beats from one clock to another. Each side counts its beats in Gray code, of which one bit changes at
// a time, and sees the other side's count of two of its own edges ago. A count that is late shows the writer less room
// and the reader fewer beats than there are; so no beat is overwritten, and none is read before it was written.
//
// A beat shows at the output after the second edge of `out_clk_i` that follows its arrival, and its place is free after
// the second edge of `in_clk_i` that follows its leaving. With equal clocks a place returns after six cycles, so that a
// `Depth` of 8 passes a beat in every cycle.
// Neither `in_ready_o` nor `out_valid_o` depends on an input of the same cycle.
//
// Both resets come from one, each through a `prim_reset_sync` with its own clock: they begin together and end in any
// order. Timing constraints must keep the bits of a crossing count within one period of the clock that writes it, and
// the path through the memory within two of the clock that reads it.
module prim_fifo_async #(
  parameter int unsigned Width = 32,  // Bits of a beat.
  parameter int unsigned Depth = 8  // Number of beats, a power of two from 2 on.
) (
  input  logic             in_clk_i,  // Clock of the side where beats come in.
  input  logic             in_rst_ni,  // Its asynchronous reset, active low.
  input  logic             in_valid_i,  // A beat is offered.
  output logic             in_ready_o,  // It is taken.
  input  logic [Width-1:0] in_data_i,  // Its data.
  input  logic             out_clk_i,  // Clock of the side where beats go out.
  input  logic             out_rst_ni,  // Its asynchronous reset, active low.
  output logic             out_valid_o,  // A beat is given.
  input  logic             out_ready_i,  // It leaves.
  output logic [Width-1:0] out_data_o  // Its data.
);
  localparam int unsigned AddrWidth = $clog2(Depth);
  // One bit more than an address, in which a full queue differs from an empty one.
  typedef logic [AddrWidth:0] count_t;

  if (Depth < 2 || Depth != 2 ** AddrWidth) begin : gen_wrong_depth
    $error("prim_fifo_async: a Gray code turns over at a power of two; Depth must be one, from 2 on");
  end

  function automatic count_t gray(count_t count);
    return count ^ (count >> 1);
  endfunction

  logic [Width-1:0] memory[Depth];
  count_t           write_q, write_gray_q, read_q, read_gray_q;
  count_t           write_next, read_next;
  logic             take, give;
  // The other side's count behind one edge and behind two.
  (* ASYNC_REG = "TRUE" *) count_t read_meta_q, read_seen_q;
  (* ASYNC_REG = "TRUE" *) count_t write_meta_q, write_seen_q;

  // The side where beats come in. Counts that differ by `Depth` differ in Gray code in the two upper bits.
  assign in_ready_o = write_gray_q != (read_seen_q ^ (count_t'(3) << (AddrWidth - 1)));
  assign take       = in_valid_i && in_ready_o;
  assign write_next = write_q + count_t'(take);

  always_ff @(posedge in_clk_i or negedge in_rst_ni) begin
    if (!in_rst_ni) begin
      write_q      <= '0;
      write_gray_q <= '0;
      read_meta_q  <= '0;
      read_seen_q  <= '0;
    end else begin
      write_q      <= write_next;
      write_gray_q <= gray(write_next);
      read_meta_q  <= read_gray_q;
      read_seen_q  <= read_meta_q;
    end
  end

  always_ff @(posedge in_clk_i) begin
    if (take) memory[write_q[AddrWidth-1:0]] <= in_data_i;
  end

  // The side where beats go out.
  assign out_valid_o = read_gray_q != write_seen_q;
  assign out_data_o  = memory[read_q[AddrWidth-1:0]];
  assign give        = out_valid_o && out_ready_i;
  assign read_next   = read_q + count_t'(give);

  always_ff @(posedge out_clk_i or negedge out_rst_ni) begin
    if (!out_rst_ni) begin
      read_q       <= '0;
      read_gray_q  <= '0;
      write_meta_q <= '0;
      write_seen_q <= '0;
    end else begin
      read_q       <= read_next;
      read_gray_q  <= gray(read_next);
      write_meta_q <= write_gray_q;
      write_seen_q <= write_meta_q;
    end
  end
endmodule
