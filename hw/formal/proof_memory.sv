// The contract of a memory's user, for one word, which may be any:
//
//   - it is not read in the cycle in which it is written;
//   - writes and reads alternate, beginning with a write: nothing is read before it was written or read twice, and nothing
//     is overwritten before it was read.
module proof_memory #(
  parameter int unsigned AddrWidth = 9
) (
  input  logic                 clk_i,
  input  logic [AddrWidth-1:0] word_i,
  input  logic                 read_en_i,
  input  logic [AddrWidth-1:0] read_addr_i,
  input  logic                 write_en_i,
  input  logic [AddrWidth-1:0] write_addr_i,
  // The word has been written and not been read.
  output logic                 full_o
);
  logic full_q;
  initial full_q = 1'b0;

  logic is_read, is_written;
  assign is_read    = read_en_i && read_addr_i == word_i;
  assign is_written = write_en_i && write_addr_i == word_i;
  always_ff @(posedge clk_i) begin
    if (is_written) full_q <= 1'b1;
    else if (is_read) full_q <= 1'b0;
  end
  always_comb begin
    not_both:        assert (!(is_read && is_written));
    written_first:   assert (!is_read || full_q);
    not_overwritten: assert (!is_written || !full_q);
  end
  assign full_o = full_q;
endmodule
