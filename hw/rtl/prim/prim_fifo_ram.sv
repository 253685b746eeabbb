// A queue of `Depth` beats in a block memory with an output register. Beats that have left the memory wait in a short
// queue, for which the read port takes a credit before it reads; so the memory's registers never stall. An empty queue
// gives a beat four cycles after it came. It takes and gives a beat in every cycle.
module prim_fifo_ram #(
  parameter int unsigned Width = 32,  // Bits of a beat.
  parameter int unsigned Depth = 512,  // Number of beats in the memory, a power of two from 2 on.
  localparam int unsigned Landing = 4,  // Beats of the short queue: those of the read's three cycles, and one more.
  localparam int unsigned CountWidth = $clog2(Depth + Landing + 1)  // Bits of a count.
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
  output logic [CountWidth-1:0] count_o  // Beats in the queue, in memory, on the way and waiting.
);
  localparam int unsigned AddrWidth = $clog2(Depth);
  typedef logic [AddrWidth-1:0] addr_t;
  typedef logic [CountWidth-1:0] count_t;

  addr_t              write_q, read_q;
  // Beats in the memory that were written in an earlier cycle and not yet read, and all beats.
  logic [AddrWidth:0] stored_q;
  count_t             count_q;
  logic               take, give, read, landing_credit, unused;
  logic [1:0]         read_q2;

  assign in_ready_o = stored_q != (AddrWidth + 1)'(Depth);
  assign count_o    = count_q;
  assign take       = in_valid_i && in_ready_o && !clear_i;
  assign give       = out_valid_o && out_ready_i;
  assign read       = stored_q != '0 && landing_credit && !clear_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q  <= '0;
      read_q   <= '0;
      stored_q <= '0;
      count_q  <= '0;
      read_q2  <= '0;
    end else if (clear_i) begin
      write_q  <= '0;
      read_q   <= '0;
      stored_q <= '0;
      count_q  <= '0;
      read_q2  <= '0;
    end else begin
      if (take) write_q <= write_q + 1'b1;
      if (read) read_q <= read_q + 1'b1;
      stored_q <= stored_q + (AddrWidth + 1)'(take) - (AddrWidth + 1)'(read);
      count_q  <= count_q + count_t'(take) - count_t'(give);
      read_q2  <= {read_q2[0], read};
    end
  end

  logic [1:0][Width-1:0] read_both;
  prim_ram_1r1w #(.Width(Width), .Depth(Depth)) u_ram (
    .clk_i, .read_en_i(read), .read_addr_i(read_q), .read_data_o(read_both[0]), .write_en_i(take),
    .write_addr_i(write_q), .write_data_i(in_data_i)
  );
  prim_delay #(.Width(Width), .Depth(1)) u_output_register (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(read_both[0]), .data_o(read_both[1])
  );

  logic [$clog2(Landing + 1)-1:0] credits, landed;
  logic                           landing_ready;
  prim_credit #(.Credits(Landing)) u_credit (
    .clk_i, .rst_ni, .clear_i, .take_i(read), .give_i(give), .available_o(landing_credit), .count_o(credits)
  );
  prim_fifo #(.Width(Width), .Depth(Landing)) u_landing (
    .clk_i, .rst_ni, .clear_i, .in_valid_i(read_q2[1]), .in_ready_o(landing_ready), .in_data_i(read_both[1]),
    .out_valid_o, .out_ready_i, .out_data_o, .count_o(landed)
  );
  assign unused = ^{credits, landed, landing_ready};
endmodule
