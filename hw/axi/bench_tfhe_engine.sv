// tfhe_engine with the names of the AXI signals that the independent checker looks for, and IDs of one bit.
module bench_tfhe_engine
  import tfhe_engine_pkg::*;
#(
  parameter int unsigned LogN      = 12,  // As in tfhe_engine.
  parameter int unsigned Circuits  = 2,  // As in tfhe_engine.
  parameter int unsigned AddrWidth = 40,  // As in tfhe_engine.
  localparam int unsigned KeyPorts = key_ports(Circuits),  // Key ports.
  localparam int unsigned RegWidth = 12  // Bits of a byte address of the registers.
) (
  input  logic                 clk_i,  // As in tfhe_engine.
  input  logic                 rst_ni,  // As in tfhe_engine.
  input  logic                 regs_awvalid,  // AXI4-Lite.
  output logic                 regs_awready,  // AXI4-Lite.
  input  logic [RegWidth-1:0]  regs_awaddr,  // AXI4-Lite.
  input  logic                 regs_wvalid,  // AXI4-Lite.
  output logic                 regs_wready,  // AXI4-Lite.
  input  logic [31:0]          regs_wdata,  // AXI4-Lite.
  input  logic [3:0]           regs_wstrb,  // AXI4-Lite.
  output logic                 regs_bvalid,  // AXI4-Lite.
  input  logic                 regs_bready,  // AXI4-Lite.
  output logic [1:0]           regs_bresp,  // AXI4-Lite.
  input  logic                 regs_arvalid,  // AXI4-Lite.
  output logic                 regs_arready,  // AXI4-Lite.
  input  logic [RegWidth-1:0]  regs_araddr,  // AXI4-Lite.
  output logic                 regs_rvalid,  // AXI4-Lite.
  input  logic                 regs_rready,  // AXI4-Lite.
  output logic [31:0]          regs_rdata,  // AXI4-Lite.
  output logic [1:0]           regs_rresp,  // AXI4-Lite.
  output logic                 ring_arvalid,  // AXI4.
  input  logic                 ring_arready,  // AXI4.
  output logic                 ring_arid,  // AXI4: constant.
  output logic [AddrWidth-1:0] ring_araddr,  // AXI4.
  output logic [7:0]           ring_arlen,  // AXI4.
  output logic [2:0]           ring_arsize,  // AXI4.
  output logic [1:0]           ring_arburst,  // AXI4.
  input  logic                 ring_rvalid,  // AXI4.
  output logic                 ring_rready,  // AXI4.
  input  logic                 ring_rid,  // AXI4: not looked at, as there is one ID.
  input  logic [WordWidth-1:0] ring_rdata,  // AXI4.
  input  logic [1:0]           ring_rresp,  // AXI4.
  input  logic                 ring_rlast,  // AXI4.
  output logic                 ring_awvalid,  // AXI4.
  input  logic                 ring_awready,  // AXI4.
  output logic                 ring_awid,  // AXI4: constant.
  output logic [AddrWidth-1:0] ring_awaddr,  // AXI4.
  output logic [7:0]           ring_awlen,  // AXI4.
  output logic [2:0]           ring_awsize,  // AXI4.
  output logic [1:0]           ring_awburst,  // AXI4.
  output logic                 ring_wvalid,  // AXI4.
  input  logic                 ring_wready,  // AXI4.
  output logic [WordWidth-1:0] ring_wdata,  // AXI4.
  output logic [WordBytes-1:0] ring_wstrb,  // AXI4.
  output logic                 ring_wlast,  // AXI4.
  input  logic                 ring_bvalid,  // AXI4.
  output logic                 ring_bready,  // AXI4.
  input  logic                 ring_bid,  // AXI4: not looked at, as there is one ID.
  input  logic [1:0]           ring_bresp,  // AXI4.
  output logic                 data_arvalid,  // AXI4.
  input  logic                 data_arready,  // AXI4.
  output logic                 data_arid,  // AXI4: constant.
  output logic [AddrWidth-1:0] data_araddr,  // AXI4.
  output logic [7:0]           data_arlen,  // AXI4.
  output logic [2:0]           data_arsize,  // AXI4.
  output logic [1:0]           data_arburst,  // AXI4.
  input  logic                 data_rvalid,  // AXI4.
  output logic                 data_rready,  // AXI4.
  input  logic                 data_rid,  // AXI4: not looked at, as there is one ID.
  input  logic [WordWidth-1:0] data_rdata,  // AXI4.
  input  logic [1:0]           data_rresp,  // AXI4.
  input  logic                 data_rlast,  // AXI4.
  output logic                 data_awvalid,  // AXI4.
  input  logic                 data_awready,  // AXI4.
  output logic                 data_awid,  // AXI4: constant.
  output logic [AddrWidth-1:0] data_awaddr,  // AXI4.
  output logic [7:0]           data_awlen,  // AXI4.
  output logic [2:0]           data_awsize,  // AXI4.
  output logic [1:0]           data_awburst,  // AXI4.
  output logic                 data_wvalid,  // AXI4.
  input  logic                 data_wready,  // AXI4.
  output logic [WordWidth-1:0] data_wdata,  // AXI4.
  output logic [WordBytes-1:0] data_wstrb,  // AXI4.
  output logic                 data_wlast,  // AXI4.
  input  logic                 data_bvalid,  // AXI4.
  output logic                 data_bready,  // AXI4.
  input  logic                 data_bid,  // AXI4: not looked at, as there is one ID.
  input  logic [1:0]           data_bresp,  // AXI4.
  output logic                 key_arvalid[KeyPorts],  // AXI4 of each key port.
  input  logic                 key_arready[KeyPorts],  // AXI4 of each key port.
  output logic                 key_arid[KeyPorts],  // AXI4: constant.
  output logic [AddrWidth-1:0] key_araddr[KeyPorts],  // AXI4 of each key port.
  output logic [7:0]           key_arlen[KeyPorts],  // AXI4 of each key port.
  output logic [2:0]           key_arsize[KeyPorts],  // AXI4 of each key port.
  output logic [1:0]           key_arburst[KeyPorts],  // AXI4 of each key port.
  input  logic                 key_rvalid[KeyPorts],  // AXI4 of each key port.
  output logic                 key_rready[KeyPorts],  // AXI4 of each key port.
  input  logic                 key_rid[KeyPorts],  // AXI4: not looked at, as there is one ID.
  input  logic [WordWidth-1:0] key_rdata[KeyPorts],  // AXI4 of each key port.
  input  logic [1:0]           key_rresp[KeyPorts],  // AXI4 of each key port.
  input  logic                 key_rlast[KeyPorts],  // AXI4 of each key port.
  output logic                 irq_o  // As in tfhe_engine.
);
  // The checker indexes unpacked arrays only.
  logic [KeyPorts-1:0]                key_ar_valid, key_ar_ready, key_r_valid, key_r_ready, key_r_last, unused_key;
  logic [KeyPorts-1:0][AddrWidth-1:0] key_ar_addr;
  logic [KeyPorts-1:0][7:0]           key_ar_len;
  logic [KeyPorts-1:0][2:0]           key_ar_size;
  logic [KeyPorts-1:0][1:0]           key_ar_burst, key_r_resp;
  logic [KeyPorts-1:0][WordWidth-1:0] key_r_data;
  for (genvar p = 0; p < KeyPorts; p++) begin : gen_key
    assign key_arvalid[p]  = key_ar_valid[p];
    assign key_ar_ready[p] = key_arready[p];
    assign key_arid[p]     = 1'b0;
    assign key_araddr[p]   = key_ar_addr[p];
    assign key_arlen[p]    = key_ar_len[p];
    assign key_arsize[p]   = key_ar_size[p];
    assign key_arburst[p]  = key_ar_burst[p];
    assign key_r_valid[p]  = key_rvalid[p];
    assign key_rready[p]   = key_r_ready[p];
    assign key_r_data[p]   = key_rdata[p];
    assign key_r_resp[p]   = key_rresp[p];
    assign key_r_last[p]   = key_rlast[p];
    assign unused_key[p]   = key_rid[p];
  end

  tfhe_engine #(
    .LogN(LogN), .Circuits(Circuits), .AddrWidth(AddrWidth)
  ) u_dut (
    .clk_i, .rst_ni, .regs_aw_valid_i(regs_awvalid), .regs_aw_ready_o(regs_awready), .regs_aw_addr_i(regs_awaddr),
    .regs_w_valid_i(regs_wvalid), .regs_w_ready_o(regs_wready), .regs_w_data_i(regs_wdata), .regs_w_strb_i(regs_wstrb),
    .regs_b_valid_o(regs_bvalid), .regs_b_ready_i(regs_bready), .regs_b_resp_o(regs_bresp),
    .regs_ar_valid_i(regs_arvalid), .regs_ar_ready_o(regs_arready), .regs_ar_addr_i(regs_araddr),
    .regs_r_valid_o(regs_rvalid), .regs_r_ready_i(regs_rready), .regs_r_data_o(regs_rdata), .regs_r_resp_o(regs_rresp),
    .ring_ar_valid_o(ring_arvalid), .ring_ar_ready_i(ring_arready), .ring_ar_addr_o(ring_araddr),
    .ring_ar_len_o(ring_arlen), .ring_ar_size_o(ring_arsize), .ring_ar_burst_o(ring_arburst),
    .ring_r_valid_i(ring_rvalid), .ring_r_ready_o(ring_rready), .ring_r_data_i(ring_rdata), .ring_r_resp_i(ring_rresp),
    .ring_r_last_i(ring_rlast), .ring_aw_valid_o(ring_awvalid), .ring_aw_ready_i(ring_awready),
    .ring_aw_addr_o(ring_awaddr), .ring_aw_len_o(ring_awlen), .ring_aw_size_o(ring_awsize),
    .ring_aw_burst_o(ring_awburst), .ring_w_valid_o(ring_wvalid), .ring_w_ready_i(ring_wready),
    .ring_w_data_o(ring_wdata), .ring_w_strb_o(ring_wstrb), .ring_w_last_o(ring_wlast), .ring_b_valid_i(ring_bvalid),
    .ring_b_ready_o(ring_bready), .ring_b_resp_i(ring_bresp), .data_ar_valid_o(data_arvalid),
    .data_ar_ready_i(data_arready), .data_ar_addr_o(data_araddr), .data_ar_len_o(data_arlen),
    .data_ar_size_o(data_arsize), .data_ar_burst_o(data_arburst), .data_r_valid_i(data_rvalid),
    .data_r_ready_o(data_rready), .data_r_data_i(data_rdata), .data_r_resp_i(data_rresp), .data_r_last_i(data_rlast),
    .data_aw_valid_o(data_awvalid), .data_aw_ready_i(data_awready), .data_aw_addr_o(data_awaddr),
    .data_aw_len_o(data_awlen), .data_aw_size_o(data_awsize), .data_aw_burst_o(data_awburst),
    .data_w_valid_o(data_wvalid), .data_w_ready_i(data_wready), .data_w_data_o(data_wdata), .data_w_strb_o(data_wstrb),
    .data_w_last_o(data_wlast), .data_b_valid_i(data_bvalid), .data_b_ready_o(data_bready), .data_b_resp_i(data_bresp),
    .irq_o, .key_ar_valid_o(key_ar_valid), .key_ar_ready_i(key_ar_ready), .key_ar_addr_o(key_ar_addr),
    .key_ar_len_o(key_ar_len), .key_ar_size_o(key_ar_size), .key_ar_burst_o(key_ar_burst), .key_r_valid_i(key_r_valid),
    .key_r_ready_o(key_r_ready), .key_r_data_i(key_r_data), .key_r_resp_i(key_r_resp), .key_r_last_i(key_r_last)
  );
  assign ring_arid = 1'b0;
  assign ring_awid = 1'b0;
  assign data_arid = 1'b0;
  assign data_awid = 1'b0;
  logic unused;
  assign unused = ^{ring_rid, ring_bid, data_rid, data_bid, unused_key};
endmodule
