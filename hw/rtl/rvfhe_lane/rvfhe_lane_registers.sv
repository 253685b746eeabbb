// The vector registers: two reads and `Writers` writes per cycle. Each writer has a separate memory, and a table names
// the memory that has a register's value. So no memory needs more than one write port, and one table serves all lanes,
// as they are written together.
//
// The writers of one cycle write different registers.
module rvfhe_lane_registers
  import rvfhe_lane_pkg::*;
#(
  parameter int unsigned Width   = 128,  // Bits of a vector register.
  parameter int unsigned Writers = 3  // Write ports.
) (
  input  logic                               clk_i,  // Clock.
  input  logic      [Writers-1:0]            write_en_i,  // Write enables.
  input  register_t [Writers-1:0]            write_register_i,  // Registers to write; all different.
  input  logic      [Writers-1:0][Width-1:0] write_data_i,  // Vectors to write.
  input  register_t [1:0]                    read_register_i,  // The two registers to read.
  output logic      [1:0][Width-1:0]         read_data_o  // The two vectors, in the same cycle.
);
  localparam int unsigned WriterWidth = $clog2(Writers);

  logic [Registers-1:0][WriterWidth-1:0] writer_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned w = 0; w < Writers; w++) begin
      if (write_en_i[w]) writer_q[write_register_i[w]] <= WriterWidth'(w);
    end
  end

  logic [Writers-1:0][1:0][Width-1:0] read;
  for (genvar w = 0; w < Writers; w++) begin : gen_writer
    rvfhe_lane_memory #(.Width(Width), .Depth(Registers), .Reads(2)) u_memory (
      .clk_i, .write_en_i(write_en_i[w]), .write_addr_i(write_register_i[w]), .write_data_i(write_data_i[w]),
      .read_addr_i(read_register_i), .read_data_o(read[w])
    );
  end
  for (genvar r = 0; r < 2; r++) begin : gen_read
    assign read_data_o[r] = read[writer_q[read_register_i[r]]][r];
  end
endmodule
