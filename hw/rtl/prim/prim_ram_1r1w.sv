// A memory of `Depth` words with one read and one write port; a read takes one enabled cycle. Reading a word in the
// cycle in which it is written gives the old one, or on some memories neither: its users never do it. For the
// transforms that is proved (docs/hw/proofs.md); `mod_exp_window` says why it does not.
module prim_ram_1r1w #(
  parameter int unsigned Width = 32,  // Bits of a word.
  parameter int unsigned Depth = 512,  // Number of words.
  localparam int unsigned AddrWidth = $clog2(Depth)  // Bits of an address.
) (
  input  logic                 clk_i,  // Clock.
  input  logic                 read_en_i,  // Read enable.
  input  logic [AddrWidth-1:0] read_addr_i,  // Read address.
  output logic [Width-1:0]     read_data_o,  // Word read, one enabled cycle later.
  input  logic                 write_en_i,  // Write enable.
  input  logic [AddrWidth-1:0] write_addr_i,  // Write address.
  input  logic [Width-1:0]     write_data_i  // Word to write.
);
  logic [Width-1:0] memory[Depth];

  always_ff @(posedge clk_i) begin
    if (write_en_i) memory[write_addr_i] <= write_data_i;
  end

  always_ff @(posedge clk_i) begin
    if (read_en_i) read_data_o <= memory[read_addr_i];
  end
endmodule
