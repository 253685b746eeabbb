// prim_ram_2r1w: each port gives, one cycle after a read or with `OutputRegister` two, what was written last to the word,
// and keeps it until its next read. Reading a word in the cycle in which it is written gives no value that counts. Shown
// for one word, which may be any.
module proof_prim_ram_2r1w #(
  parameter int unsigned Width = 4,
  parameter int unsigned Depth = 4,
  parameter bit          OutputRegister = 1'b0,
  localparam int unsigned AddrWidth = $clog2(Depth)
) (
  input logic                      clk_i,
  input logic [1:0]                read_en_i,
  input logic [1:0][AddrWidth-1:0] read_addr_i,
  input logic                      write_en_i,
  input logic [AddrWidth-1:0]      write_addr_i,
  input logic [Width-1:0]          write_data_i
);
  logic [1:0][Width-1:0] read_data;
  prim_ram_2r1w #(.Width(Width), .Depth(Depth), .OutputRegister(OutputRegister)) u_dut (
    .clk_i, .read_en_i, .read_addr_i, .read_data_o(read_data), .write_en_i, .write_addr_i, .write_data_i
  );

  // The word that is watched, whether it was written, and with what.
  logic [AddrWidth-1:0] word_q;
  logic                 written_q;
  logic [Width-1:0]     data_q;
  initial written_q = 1'b0;
  always_ff @(posedge clk_i) begin
    word_q <= word_q;
    if (write_en_i && write_addr_i == word_q) begin
      written_q <= 1'b1;
      data_q    <= write_data_i;
    end
  end
  always_comb begin
    copies: assert (!written_q || (u_dut.gen_copy[0].u_ram.memory[word_q] == data_q
                                   && u_dut.gen_copy[1].u_ram.memory[word_q] == data_q));
  end

  for (genvar i = 0; i < 2; i++) begin : gen_port
    // The last read was of that word, after it was written, and must have given this.
    logic             known_q, shown_q;
    logic [Width-1:0] read_q, shown_data_q;
    initial {known_q, shown_q} = '0;
    always_ff @(posedge clk_i) begin
      if (read_en_i[i]) begin
        known_q <= written_q && read_addr_i[i] == word_q && !(write_en_i && write_addr_i == word_q);
        read_q  <= data_q;
      end
      shown_q      <= known_q;
      shown_data_q <= read_q;
    end
    if (OutputRegister) begin : gen_two
      always_comb begin
        memory: assert (!known_q || u_dut.gen_copy[i].read_data == read_q);
        gives:  assert (!shown_q || read_data[i] == shown_data_q);
      end
    end else begin : gen_one
      always_comb begin
        gives: assert (!known_q || read_data[i] == read_q);
      end
    end
  end
endmodule
