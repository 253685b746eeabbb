// prim_axi_write with the names of the AXI signals that the independent checker looks for, and an ID of one bit.
module bench_prim_axi_write #(
  parameter int unsigned AddrWidth   = 32,  // As in prim_axi_write.
  parameter int unsigned DataWidth   = 64,  // As in prim_axi_write.
  parameter int unsigned RunWidth    = 12,  // As in prim_axi_write.
  parameter int unsigned Burst       = 16,  // As in prim_axi_write.
  parameter int unsigned Outstanding = 4,  // As in prim_axi_write.
  localparam int unsigned Bytes = DataWidth / 8  // Bytes of a word.
) (
  input  logic                 clk_i,  // As in prim_axi_write.
  input  logic                 rst_ni,  // As in prim_axi_write.
  input  logic                 clear_i,  // As in prim_axi_write.
  output logic                 idle_o,  // As in prim_axi_write.
  output logic                 error_o,  // As in prim_axi_write.
  input  logic                 run_valid_i,  // As in prim_axi_write.
  output logic                 run_ready_o,  // As in prim_axi_write.
  input  logic [AddrWidth-1:0] run_addr_i,  // As in prim_axi_write.
  input  logic [RunWidth-1:0]  run_words_i,  // As in prim_axi_write.
  input  logic                 in_valid_i,  // As in prim_axi_write.
  output logic                 in_ready_o,  // As in prim_axi_write.
  input  logic [DataWidth-1:0] in_data_i,  // As in prim_axi_write.
  input  logic [Bytes-1:0]     in_strobe_i,  // As in prim_axi_write.
  output logic                 axi_awvalid,  // AXI4.
  input  logic                 axi_awready,  // AXI4.
  output logic                 axi_awid,  // AXI4: constant.
  output logic [AddrWidth-1:0] axi_awaddr,  // AXI4.
  output logic [7:0]           axi_awlen,  // AXI4.
  output logic [2:0]           axi_awsize,  // AXI4.
  output logic [1:0]           axi_awburst,  // AXI4.
  output logic                 axi_wvalid,  // AXI4.
  input  logic                 axi_wready,  // AXI4.
  output logic [DataWidth-1:0] axi_wdata,  // AXI4.
  output logic [Bytes-1:0]     axi_wstrb,  // AXI4.
  output logic                 axi_wlast,  // AXI4.
  input  logic                 axi_bvalid,  // AXI4.
  output logic                 axi_bready,  // AXI4.
  input  logic                 axi_bid,  // AXI4: not looked at, as there is one ID.
  input  logic [1:0]           axi_bresp  // AXI4.
);
  prim_axi_write #(
    .AddrWidth(AddrWidth), .DataWidth(DataWidth), .RunWidth(RunWidth), .Burst(Burst), .Outstanding(Outstanding)
  ) u_dut (
    .clk_i, .rst_ni, .clear_i, .idle_o, .error_o, .run_valid_i, .run_ready_o, .run_addr_i, .run_words_i, .in_valid_i,
    .in_ready_o, .in_data_i, .in_strobe_i, .aw_valid_o(axi_awvalid), .aw_ready_i(axi_awready), .aw_addr_o(axi_awaddr),
    .aw_len_o(axi_awlen), .aw_size_o(axi_awsize), .aw_burst_o(axi_awburst), .w_valid_o(axi_wvalid),
    .w_ready_i(axi_wready), .w_data_o(axi_wdata), .w_strb_o(axi_wstrb), .w_last_o(axi_wlast), .b_valid_i(axi_bvalid),
    .b_ready_o(axi_bready), .b_resp_i(axi_bresp)
  );
  assign axi_awid = 1'b0;
  logic unused;
  assign unused = axi_bid;
endmodule
