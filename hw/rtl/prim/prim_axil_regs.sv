// An AXI4-Lite port of 32-bit registers. It processes one access at a time; reads and writes take turns if both
// wait. An access needs four cycles without waits. No output depends on an input of the same cycle.
//
// The user sees an access for one cycle (`access_o`) and answers in the next one: `read_data_i`, and `refused_i` for an
// error response. An access of less than a word or to an address that is not a multiple of 4 is refused without being shown.
module prim_axil_regs #(
  parameter int unsigned AddrWidth = 12  // Bits of a byte address.
) (
  input  logic                 clk_i,  // Clock.
  input  logic                 rst_ni,  // Asynchronous reset, active low.

  input  logic                 aw_valid_i,  // AXI4-Lite: write address.
  output logic                 aw_ready_o,  // AXI4-Lite.
  input  logic [AddrWidth-1:0] aw_addr_i,  // AXI4-Lite.
  input  logic                 w_valid_i,  // AXI4-Lite: write data.
  output logic                 w_ready_o,  // AXI4-Lite.
  input  logic [31:0]          w_data_i,  // AXI4-Lite.
  input  logic [3:0]           w_strb_i,  // AXI4-Lite: all four must be set.
  output logic                 b_valid_o,  // AXI4-Lite: write response.
  input  logic                 b_ready_i,  // AXI4-Lite.
  output logic [1:0]           b_resp_o,  // AXI4-Lite: OKAY or SLVERR.
  input  logic                 ar_valid_i,  // AXI4-Lite: read address.
  output logic                 ar_ready_o,  // AXI4-Lite.
  input  logic [AddrWidth-1:0] ar_addr_i,  // AXI4-Lite.
  output logic                 r_valid_o,  // AXI4-Lite: read data.
  input  logic                 r_ready_i,  // AXI4-Lite.
  output logic [31:0]          r_data_o,  // AXI4-Lite: 0 if refused.
  output logic [1:0]           r_resp_o,  // AXI4-Lite: OKAY or SLVERR.

  output logic                 access_o,  // An access, for one cycle.
  output logic                 write_o,  // It is a write.
  output logic [AddrWidth-1:2] addr_o,  // Its word.
  output logic [31:0]          write_data_o,  // The data of a write.
  input  logic [31:0]          read_data_i,  // The data of the read of the cycle before.
  input  logic                 refused_i  // The access of the cycle before is refused.
);
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlaveError = 2'b10;

  typedef enum logic [1:0] { StIdle, StAccess, StAnswer, StRespond } state_e;
  state_e               state_q;
  logic                 write_q, wrong_q;
  logic [AddrWidth-1:2] addr_q;
  logic [31:0]          data_q;
  logic [1:0]           resp_q;
  // A read goes first: the last access was a write.
  logic                 read_first_q;

  // An access is chosen in one cycle and its handshakes are in the next, so that ready depends on registers alone.
  logic taken_q;
  logic offers_write, choose_write, choose_read;
  assign offers_write = aw_valid_i && w_valid_i;
  assign choose_read  = ar_valid_i && (read_first_q || !offers_write);
  assign choose_write = offers_write && !choose_read;

  assign aw_ready_o   = taken_q && write_q;
  assign w_ready_o    = taken_q && write_q;
  assign ar_ready_o   = taken_q && !write_q;
  assign access_o     = state_q == StAccess && !wrong_q;
  assign write_o      = write_q;
  assign addr_o       = addr_q;
  assign write_data_o = data_q;
  assign b_valid_o    = state_q == StRespond && write_q;
  assign r_valid_o    = state_q == StRespond && !write_q;
  assign b_resp_o     = resp_q;
  assign r_resp_o     = resp_q;
  assign r_data_o     = data_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q      <= StIdle;
      taken_q      <= 1'b0;
      read_first_q <= 1'b0;
    end else begin
      taken_q <= 1'b0;
      unique case (state_q)
        StIdle: begin
          if (choose_read || choose_write) begin
            state_q      <= StAccess;
            taken_q      <= 1'b1;
            read_first_q <= choose_write;
          end
        end
        StAccess: state_q <= StAnswer;
        StAnswer: state_q <= StRespond;
        StRespond: if (write_q ? b_ready_i : r_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end
  end

  // Offers stay until they are taken, so these are still there in the cycle of the handshake.
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      write_q <= choose_write;
      addr_q  <= choose_write ? aw_addr_i[AddrWidth-1:2] : ar_addr_i[AddrWidth-1:2];
      data_q  <= w_data_i;
      wrong_q <= choose_write ? (w_strb_i != 4'hf || aw_addr_i[1:0] != 2'b00) : ar_addr_i[1:0] != 2'b00;
    end
    if (state_q == StAnswer) begin
      resp_q <= wrong_q || refused_i ? SlaveError : Okay;
      data_q <= wrong_q || refused_i ? '0 : read_data_i;
    end
  end
endmodule
