// The vector registers: two are read, `Writers` are written in a cycle. Each writer has a memory of its own, and a table
// says which of them has a register's value: so no memory needs more than one write port, and one table does for all
// lanes, as they are written together.
//
// In one cycle writers write different registers.
module rvfhe_lane_registers
  import rvfhe_lane_pkg::*;
#(
  parameter int unsigned Width   = 128,
  parameter int unsigned Writers = 3
) (
  input  logic                               clk_i,
  input  logic      [Writers-1:0]            write_en_i,
  input  register_t [Writers-1:0]            write_register_i,
  input  logic      [Writers-1:0][Width-1:0] write_data_i,
  input  register_t [1:0]                    read_register_i,
  output logic      [1:0][Width-1:0]         read_data_o
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
