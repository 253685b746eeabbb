// prim_axi_read with the names of the AXI signals that the independent checker looks for, and an ID of one bit.
module bench_prim_axi_read #(
  parameter int unsigned AddrWidth   = 32,  // As in prim_axi_read.
  parameter int unsigned DataWidth   = 64,  // As in prim_axi_read.
  parameter int unsigned RunWidth    = 12,  // As in prim_axi_read.
  parameter int unsigned Burst       = 16,  // As in prim_axi_read.
  parameter int unsigned Outstanding = 4,  // As in prim_axi_read.
  parameter int unsigned Buffer      = 64  // As in prim_axi_read.
) (
  input  logic                 clk_i,  // As in prim_axi_read.
  input  logic                 rst_ni,  // As in prim_axi_read.
  input  logic                 clear_i,  // As in prim_axi_read.
  output logic                 idle_o,  // As in prim_axi_read.
  output logic                 error_o,  // As in prim_axi_read.
  input  logic                 run_valid_i,  // As in prim_axi_read.
  output logic                 run_ready_o,  // As in prim_axi_read.
  input  logic [AddrWidth-1:0] run_addr_i,  // As in prim_axi_read.
  input  logic [RunWidth-1:0]  run_words_i,  // As in prim_axi_read.
  output logic                 out_valid_o,  // As in prim_axi_read.
  input  logic                 out_ready_i,  // As in prim_axi_read.
  output logic [DataWidth-1:0] out_data_o,  // As in prim_axi_read.
  output logic                 out_last_o,  // As in prim_axi_read.
  output logic                 axi_arvalid,  // AXI4.
  input  logic                 axi_arready,  // AXI4.
  output logic                 axi_arid,  // AXI4: constant.
  output logic [AddrWidth-1:0] axi_araddr,  // AXI4.
  output logic [7:0]           axi_arlen,  // AXI4.
  output logic [2:0]           axi_arsize,  // AXI4.
  output logic [1:0]           axi_arburst,  // AXI4.
  input  logic                 axi_rvalid,  // AXI4.
  output logic                 axi_rready,  // AXI4.
  input  logic                 axi_rid,  // AXI4: not looked at, as there is one ID.
  input  logic [DataWidth-1:0] axi_rdata,  // AXI4.
  input  logic [1:0]           axi_rresp,  // AXI4.
  input  logic                 axi_rlast  // AXI4.
);
  prim_axi_read #(
    .AddrWidth(AddrWidth), .DataWidth(DataWidth), .RunWidth(RunWidth), .Burst(Burst), .Outstanding(Outstanding),
    .Buffer(Buffer)
  ) u_dut (
    .clk_i, .rst_ni, .clear_i, .idle_o, .error_o, .run_valid_i, .run_ready_o, .run_addr_i, .run_words_i, .out_valid_o,
    .out_ready_i, .out_data_o, .out_last_o, .ar_valid_o(axi_arvalid), .ar_ready_i(axi_arready), .ar_addr_o(axi_araddr),
    .ar_len_o(axi_arlen), .ar_size_o(axi_arsize), .ar_burst_o(axi_arburst), .r_valid_i(axi_rvalid),
    .r_ready_o(axi_rready), .r_data_i(axi_rdata), .r_resp_i(axi_rresp), .r_last_i(axi_rlast)
  );
  assign axi_arid = 1'b0;
  logic unused;
  assign unused = axi_rid;
endmodule
