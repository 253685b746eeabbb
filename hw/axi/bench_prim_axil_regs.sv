// prim_axil_regs with the names of the AXI signals that the independent checker looks for, and as its user a file of
// `Words` registers, which refuses all further addresses.
module bench_prim_axil_regs #(
  parameter int unsigned AddrWidth = 8,  // As in prim_axil_regs.
  parameter int unsigned Words     = 16  // Registers, from address 0 on.
) (
  input  logic                 clk_i,  // As in prim_axil_regs.
  input  logic                 rst_ni,  // As in prim_axil_regs.
  output logic                 access_o,  // As in prim_axil_regs.
  input  logic                 axil_awvalid,  // AXI4-Lite.
  output logic                 axil_awready,  // AXI4-Lite.
  input  logic [AddrWidth-1:0] axil_awaddr,  // AXI4-Lite.
  input  logic                 axil_wvalid,  // AXI4-Lite.
  output logic                 axil_wready,  // AXI4-Lite.
  input  logic [31:0]          axil_wdata,  // AXI4-Lite.
  input  logic [3:0]           axil_wstrb,  // AXI4-Lite.
  output logic                 axil_bvalid,  // AXI4-Lite.
  input  logic                 axil_bready,  // AXI4-Lite.
  output logic [1:0]           axil_bresp,  // AXI4-Lite.
  input  logic                 axil_arvalid,  // AXI4-Lite.
  output logic                 axil_arready,  // AXI4-Lite.
  input  logic [AddrWidth-1:0] axil_araddr,  // AXI4-Lite.
  output logic                 axil_rvalid,  // AXI4-Lite.
  input  logic                 axil_rready,  // AXI4-Lite.
  output logic [31:0]          axil_rdata,  // AXI4-Lite.
  output logic [1:0]           axil_rresp  // AXI4-Lite.
);
  logic                 write, refused_q;
  logic [AddrWidth-1:2] addr;
  logic [31:0]          write_data, read_data_q;
  prim_axil_regs #(.AddrWidth(AddrWidth)) u_dut (
    .clk_i, .rst_ni, .aw_valid_i(axil_awvalid), .aw_ready_o(axil_awready), .aw_addr_i(axil_awaddr),
    .w_valid_i(axil_wvalid), .w_ready_o(axil_wready), .w_data_i(axil_wdata), .w_strb_i(axil_wstrb),
    .b_valid_o(axil_bvalid), .b_ready_i(axil_bready), .b_resp_o(axil_bresp), .ar_valid_i(axil_arvalid),
    .ar_ready_o(axil_arready), .ar_addr_i(axil_araddr), .r_valid_o(axil_rvalid), .r_ready_i(axil_rready),
    .r_data_o(axil_rdata), .r_resp_o(axil_rresp), .access_o, .write_o(write), .addr_o(addr),
    .write_data_o(write_data), .read_data_i(read_data_q), .refused_i(refused_q)
  );

  // The answer comes in the cycle after the access, and only then.
  logic [31:0] registers_q[Words];
  logic        is_register;
  assign is_register = 32'(addr) < Words;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < Words; i++) registers_q[i] <= '0;
      read_data_q <= '0;
      refused_q   <= 1'b0;
    end else begin
      if (access_o && write && is_register) registers_q[addr[$clog2(Words)+1:2]] <= write_data;
      read_data_q <= access_o && is_register ? registers_q[addr[$clog2(Words)+1:2]] : 32'hdead_beef;
      refused_q   <= access_o && !is_register;
    end
  end
endmodule
