// Stands in for a memory in proofs that do not depend on its contents: what is read may be anything, and stays until the
// next read.
module prim_ram_1r1w #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 512,
  localparam int unsigned AddrWidth = $clog2(Depth)
) (
  input  logic                 clk_i,
  input  logic                 read_en_i,
  input  logic [AddrWidth-1:0] read_addr_i,
  output logic [Width-1:0]     read_data_o,
  input  logic                 write_en_i,
  input  logic [AddrWidth-1:0] write_addr_i,
  input  logic [Width-1:0]     write_data_i
);
  // Driven by nothing: the solver's choice in every cycle.
  logic [Width-1:0] any;
  always_ff @(posedge clk_i) begin
    if (read_en_i) read_data_o <= any;
  end
  logic unused;
  assign unused = ^{read_addr_i, write_en_i, write_addr_i, write_data_i};
endmodule
