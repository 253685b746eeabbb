// A read-only memory of `Depth` words from a file of hexadecimal words, one a line; a read takes one enabled cycle.
module prim_rom #(
  parameter int unsigned Width = 32,  // Bits of a word.
  parameter int unsigned Depth = 512,  // Number of words.
  parameter string       File  = "",  // File of hexadecimal words, one per line.
  localparam int unsigned AddrWidth = $clog2(Depth)  // Bits of an address.
) (
  input  logic                 clk_i,  // Clock.
  input  logic                 read_en_i,  // Read enable.
  input  logic [AddrWidth-1:0] read_addr_i,  // Read address.
  output logic [Width-1:0]     read_data_o  // Word read, one enabled cycle later.
);
  logic [Width-1:0] memory[Depth];

  initial $readmemh(File, memory);

  always_ff @(posedge clk_i) begin
    if (read_en_i) read_data_o <= memory[read_addr_i];
  end
endmodule
