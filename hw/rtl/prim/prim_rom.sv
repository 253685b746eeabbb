// A read-only memory of `Depth` words from a file of hexadecimal words, one a line; a read takes one enabled cycle.
module prim_rom #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 512,
  parameter string       File  = "",
  localparam int unsigned AddrWidth = $clog2(Depth)
) (
  input  logic                 clk_i,
  input  logic                 read_en_i,
  input  logic [AddrWidth-1:0] read_addr_i,
  output logic [Width-1:0]     read_data_o
);
  logic [Width-1:0] memory[Depth];

  initial $readmemh(File, memory);

  always_ff @(posedge clk_i) begin
    if (read_en_i) read_data_o <= memory[read_addr_i];
  end
endmodule
