// What an AXI4 master must show at an address channel whose bursts are runs of whole words: an address that is not taken
// stays, with its length; a burst begins with a whole word, has at most `Burst` words, and stays within a page of 4096
// bytes.
module proof_axi_address #(
  parameter int unsigned AddrWidth = 16,
  parameter int unsigned LogBytes  = 3,
  parameter int unsigned Burst     = 4
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 valid_i,
  input logic                 ready_i,
  input logic [AddrWidth-1:0] addr_i,
  input logic [7:0]           len_i
);
  logic                 held_q;
  logic [AddrWidth-1:0] addr_q;
  logic [7:0]           len_q;
  initial held_q = 1'b0;
  always_ff @(posedge clk_i) begin
    held_q <= rst_ni && valid_i && !ready_i;
    addr_q <= addr_i;
    len_q  <= len_i;
  end
  logic [31:0] bytes;
  assign bytes = (32'(len_i) + 1) << LogBytes;
  always_comb begin
    stays: assert (!held_q || (valid_i && addr_i == addr_q && len_i == len_q));
    if (valid_i) begin
      whole: assert (addr_i[LogBytes-1:0] == '0);
      short: assert (32'(len_i) < Burst);
      page:  assert (32'(addr_i[11:0]) + bytes <= 4096);
    end
  end
endmodule
