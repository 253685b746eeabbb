// Stands in for a read-only memory in proofs that do not depend on its contents.
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
  assign read_data_o = '0;
  logic unused;
  assign unused = ^{clk_i, read_en_i, read_addr_i};
endmodule
