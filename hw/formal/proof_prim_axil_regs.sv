// prim_axil_regs in front of a host that keeps the rules of AXI4-Lite: answers stay until they are taken, each access is
// answered once and shown to the user at most once, a wrong one is not shown and gets an error, and no access is longer
// under way than the host lets its answer wait.
module proof_prim_axil_regs #(
  parameter int unsigned AddrWidth = 6
) (
  input logic                 clk_i,
  input logic                 aw_valid_i,
  input logic [AddrWidth-1:0] aw_addr_i,
  input logic                 w_valid_i,
  input logic [31:0]          w_data_i,
  input logic [3:0]           w_strb_i,
  input logic                 b_ready_i,
  input logic                 ar_valid_i,
  input logic [AddrWidth-1:0] ar_addr_i,
  input logic                 r_ready_i,
  input logic [31:0]          read_data_i,
  input logic                 refused_i
);
  logic rst_nq;
  initial rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic                 aw_ready, w_ready, b_valid, ar_ready, r_valid, access, write;
  logic [1:0]           b_resp, r_resp;
  logic [31:0]          r_data, write_data;
  logic [AddrWidth-1:2] addr;
  prim_axil_regs #(.AddrWidth(AddrWidth)) u_dut (
    .clk_i, .rst_ni(rst_nq), .aw_valid_i, .aw_ready_o(aw_ready), .aw_addr_i, .w_valid_i, .w_ready_o(w_ready), .w_data_i,
    .w_strb_i, .b_valid_o(b_valid), .b_ready_i, .b_resp_o(b_resp), .ar_valid_i, .ar_ready_o(ar_ready), .ar_addr_i,
    .r_valid_o(r_valid), .r_ready_i, .r_data_o(r_data), .r_resp_o(r_resp), .access_o(access), .write_o(write),
    .addr_o(addr), .write_data_o(write_data), .read_data_i, .refused_i
  );

  // The host's offers stay until they are taken.
  logic aw_held_q, w_held_q, ar_held_q;
  logic [AddrWidth-1:0] aw_addr_q, ar_addr_q;
  logic [31:0] w_data_q;
  logic [3:0]  w_strb_q;
  initial {aw_held_q, w_held_q, ar_held_q} = '0;
  always_ff @(posedge clk_i) begin
    aw_held_q <= rst_nq && aw_valid_i && !aw_ready;
    w_held_q  <= rst_nq && w_valid_i && !w_ready;
    ar_held_q <= rst_nq && ar_valid_i && !ar_ready;
    aw_addr_q <= aw_addr_i;
    ar_addr_q <= ar_addr_i;
    w_data_q  <= w_data_i;
    w_strb_q  <= w_strb_i;
  end

  // The answers of the cycle before, the access in progress, and the last access that was taken.
  logic        b_held_q, r_held_q;
  logic [1:0]  b_resp_q, r_resp_q;
  logic [31:0] r_data_q, asked_data_q;
  logic        writes_q, reads_q, wrong_q, shown_q;
  logic [AddrWidth-1:0] asked_q;
  initial {b_held_q, r_held_q, writes_q, reads_q, shown_q} = '0;
  always_ff @(posedge clk_i) begin
    b_held_q <= rst_nq && b_valid && !b_ready_i;
    r_held_q <= rst_nq && r_valid && !r_ready_i;
    b_resp_q <= b_resp;
    r_resp_q <= r_resp;
    r_data_q <= r_data;
    if (!rst_nq) begin
      {writes_q, reads_q, shown_q} <= '0;
    end else begin
      if (aw_ready && aw_valid_i) writes_q <= 1'b1;
      else if (b_valid && b_ready_i) writes_q <= 1'b0;
      if (ar_ready && ar_valid_i) reads_q <= 1'b1;
      else if (r_valid && r_ready_i) reads_q <= 1'b0;
      shown_q <= (shown_q || access) && !((b_valid && b_ready_i) || (r_valid && r_ready_i));
      if (aw_ready) begin
        asked_q      <= aw_addr_i;
        asked_data_q <= w_data_i;
        wrong_q      <= w_strb_i != 4'hf || aw_addr_i[1:0] != '0;
      end else if (ar_ready) begin
        asked_q <= ar_addr_i;
        wrong_q <= ar_addr_i[1:0] != '0;
      end
    end
  end

  always_comb begin
    assume (!aw_held_q || (aw_valid_i && aw_addr_i == aw_addr_q));
    assume (!w_held_q || (w_valid_i && w_data_i == w_data_q && w_strb_i == w_strb_q));
    assume (!ar_held_q || (ar_valid_i && ar_addr_i == ar_addr_q));
    if (rst_nq) begin
      b_stays:  assert (!b_held_q || (b_valid && b_resp == b_resp_q));
      r_stays:  assert (!r_held_q || (r_valid && r_resp == r_resp_q && r_data == r_data_q));
      pairs:    assert (aw_ready == w_ready && !(aw_ready && ar_ready));
      offered:  assert ((!aw_ready || (aw_valid_i && w_valid_i)) && (!ar_ready || ar_valid_i));
      one:      assert (!(writes_q && reads_q) && !((aw_ready || ar_ready) && (writes_q || reads_q)));
      answered: assert ((!b_valid || writes_q) && (!r_valid || reads_q));
      once:     assert (!(access && shown_q));
      okay:     assert (!(b_valid && b_resp == 2'b00) || (shown_q && !wrong_q));
      error:    assert (!(b_valid && wrong_q) || b_resp == 2'b10);
      r_okay:   assert (!(r_valid && r_resp == 2'b00) || (shown_q && !wrong_q));
      r_error:  assert (!(r_valid && wrong_q) || (r_resp == 2'b10 && r_data == '0));
      hidden:   assert (!(shown_q && wrong_q));
      // For the induction: states idle, access, answer, respond.
      taken:    assert (u_dut.taken_q == (u_dut.state_q == 2'd1));
      at_rest:  assert (u_dut.state_q > 2'd1 || !(shown_q || writes_q || reads_q));
      handed:   assert (u_dut.state_q != 2'd1 || (u_dut.write_q
                        ? aw_held_q && w_held_q && u_dut.wrong_q == (w_strb_q != 4'hf || aw_addr_q[1:0] != '0)
                        : ar_held_q && u_dut.wrong_q == (ar_addr_q[1:0] != '0)));
      at_work:  assert (u_dut.state_q < 2'd2 || (writes_q == u_dut.write_q && reads_q == !u_dut.write_q
                        && wrong_q == u_dut.wrong_q && shown_q == !wrong_q));
      outcome:  assert (u_dut.state_q != 2'd3 || !wrong_q || (u_dut.resp_q == 2'b10 && u_dut.data_q == '0));
    end
  end
  logic unused;
  assign unused = ^{write, addr, write_data, asked_q, asked_data_q};
endmodule
