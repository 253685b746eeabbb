// A memory of `Depth` words with two read ports and one write port, made of two copies of `prim_ram_1r1w`, whose rules
// apply to each port. A word that was read stays at its port until the port reads again.
//
// `OutputRegister` adds the register that block memories have behind their output. Without it their access time is part
// of the path behind the port.
module prim_ram_2r1w #(
  parameter int unsigned Width = 32,  // Bits of a word.
  parameter int unsigned Depth = 512,  // Number of words.
  parameter bit          OutputRegister = 1'b0,  // Whether a read takes two cycles instead of one.
  localparam int unsigned AddrWidth = $clog2(Depth)  // Bits of an address.
) (
  input  logic                      clk_i,  // Clock.
  input  logic [1:0]                read_en_i,  // Read enable of each port.
  input  logic [1:0][AddrWidth-1:0] read_addr_i,  // Read address of each port.
  output logic [1:0][Width-1:0]     read_data_o,  // Word read at each port, one or two cycles later.
  input  logic                      write_en_i,  // Write enable.
  input  logic [AddrWidth-1:0]      write_addr_i,  // Write address.
  input  logic [Width-1:0]          write_data_i  // Word to write.
);
  for (genvar i = 0; i < 2; i++) begin : gen_copy
    logic [Width-1:0] read_data;
    prim_ram_1r1w #(.Width(Width), .Depth(Depth)) u_ram (
      .clk_i, .read_en_i(read_en_i[i]), .read_addr_i(read_addr_i[i]), .read_data_o(read_data), .write_en_i,
      .write_addr_i, .write_data_i
    );
    // Always enabled: it follows the memory's own register, which stands still between reads.
    prim_delay #(.Width(Width), .Depth(OutputRegister ? 1 : 0)) u_register (
      .clk_i, .rst_ni(1'b1), .en_i(1'b1), .data_i(read_data), .data_o(read_data_o[i])
    );
  end
endmodule
