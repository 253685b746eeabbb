// A memory that answers in the same cycle: one write port, `Reads` read ports. Small and wide, so that it becomes
// look-up tables.
module rvfhe_lane_memory #(
  parameter int unsigned Width = 128,  // Bits of a word.
  parameter int unsigned Depth = 32,  // Number of words.
  parameter int unsigned Reads = 1,  // Number of read ports.
  localparam int unsigned AddrWidth = $clog2(Depth)  // Bits of an address.
) (
  input  logic                            clk_i,  // Clock.
  input  logic                            write_en_i,  // Write enable.
  input  logic [AddrWidth-1:0]            write_addr_i,  // Write address.
  input  logic [Width-1:0]                write_data_i,  // Word to write.
  input  logic [Reads-1:0][AddrWidth-1:0] read_addr_i,  // Read addresses.
  output logic [Reads-1:0][Width-1:0]     read_data_o  // Words read, in the same cycle.
);
  logic [Width-1:0] memory[Depth];

  always_ff @(posedge clk_i) begin
    if (write_en_i) memory[write_addr_i] <= write_data_i;
  end
  for (genvar r = 0; r < Reads; r++) begin : gen_read
    assign read_data_o[r] = memory[read_addr_i[r]];
  end
endmodule
