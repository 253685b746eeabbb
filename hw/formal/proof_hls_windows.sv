// Compiled from hw/formal/hls.c by `ciphermill hls compile`: change the source, not this file.
//
//   i: 6 iterations, one in 2 cycles, 5 cycles each, 15 in all
module hls_windows (
  input  logic       clk_i,  // Clock.
  input  logic       rst_ni,  // Asynchronous reset, active low.
  input  logic       start_i,  // Begins a run while idle_o is high.
  output logic       idle_o,  // No run is in progress.
  output logic       done_o,  // A run has ended in the cycle before.
  input  logic       a_en_i,  // a: the host reads or writes an element while idle_o is high and start_i is low.
  input  logic       a_write_i,  // a: the host writes.
  input  logic [2:0] a_row_i,  // a: the row of the element.
  input  logic [7:0] a_data_i,  // a: the element to write.
  output logic [7:0] a_data_o,  // a: the element of a read, three cycles later.
  input  logic       b_en_i,  // b: the host reads or writes an element while idle_o is high and start_i is low.
  input  logic       b_write_i,  // b: the host writes.
  input  logic [2:0] b_row_i,  // b: the row of the element.
  input  logic [7:0] b_data_i,  // b: the element to write.
  output logic [7:0] b_data_o  // b: the element of a read, two cycles later.
);
  // The kernels, one after another.
  logic [0:0] active_q, ends;
  assign idle_o = active_q == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= '0;
      done_o   <= 1'b0;
    end else begin
      done_o   <= ends[0];
      active_q <= (active_q & ~ends) | (idle_o && start_i);
    end
  end

  // The memory a: 1 banks of 8 elements.
  logic [0:0] [1:0] a_en, a_write;
  logic [0:0] [1:0] [2:0] a_addr;
  logic [0:0] [1:0] [7:0] a_read_data, a_write_data;
  for (genvar bank = 0; bank < 1; bank++) begin : gen_a
    (* ram_style = "block" *) logic [7:0] contents[8];
    // A block memory does not define a read of the element that another port writes.
    always_ff @(posedge clk_i) begin
      if (a_en[bank][0] && !a_write[bank][0]) a_read_data[bank][0] <= (a_en[bank][1] && a_write[bank][1] &&
          a_addr[bank][0] == a_addr[bank][1]) ? 'x : contents[a_addr[bank][0]];
      if (a_en[bank][0] && a_write[bank][0]) contents[a_addr[bank][0]] <= a_write_data[bank][0];
      if (a_en[bank][1] && !a_write[bank][1]) a_read_data[bank][1] <= (a_en[bank][0] && a_write[bank][0] &&
          a_addr[bank][0] == a_addr[bank][1]) ? 'x : contents[a_addr[bank][1]];
      if (a_en[bank][1] && a_write[bank][1]) contents[a_addr[bank][1]] <= a_write_data[bank][1];
    end
  end

  // The data of the block memory a comes late in a cycle.
  logic [0:0] [1:0] [7:0] a_read_data_q;
  always_ff @(posedge clk_i) a_read_data_q <= a_read_data;

  // The memory b: 1 banks of 8 elements.
  logic [0:0] b_read_en, b_write_en;
  logic [0:0] [2:0] b_read_addr, b_write_addr;
  logic [0:0] [7:0] b_read_data, b_write_data;
  for (genvar bank = 0; bank < 1; bank++) begin : gen_b
    logic [7:0] contents[8];
    always_ff @(posedge clk_i) begin
      if (b_read_en[bank]) b_read_data[bank] <= contents[b_read_addr[bank]];
      if (b_write_en[bank]) contents[b_write_addr[bank]] <= b_write_data[bank];
    end
  end

  // Kernel i: while k0_valid[i] is high, an iteration is in its cycle i.
  logic k0_issue, k0_all_q;
  logic k0_wait_q;
  assign k0_issue = (active_q[0] || (idle_o && start_i)) && !k0_all_q && k0_wait_q == '0;
  logic [2:0] k0_l0_i_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      k0_all_q <= 1'b0;
      k0_wait_q <= '0;
      k0_l0_i_q <= 3'd0;
    end else if (ends[0]) begin
      k0_all_q <= 1'b0;
      k0_wait_q <= '0;
      k0_l0_i_q <= 3'd0;
    end else if (k0_issue) begin
      k0_all_q <= k0_l0_i_q == 3'd5;
      k0_wait_q <= 1'd1;
      k0_l0_i_q <= k0_l0_i_q == 3'd5 ? 3'd0 : k0_l0_i_q + 3'd1;
    end else if (k0_wait_q != '0) begin
      k0_wait_q <= k0_wait_q - 1'b1;
    end
  end
  logic [4:0] k0_valid;
  assign k0_valid[0] = k0_issue;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) k0_valid[4:1] <= '0;
    else k0_valid[4:1] <= k0_valid[3:0];
  end
  assign ends[0] = active_q[0] && k0_all_q && k0_valid[3:0] == '0;

  logic [2:0] k0_l0_i_q_c1, k0_l0_i_q_c2, k0_l0_i_q_c3, k0_l0_i_q_c4;
  logic [7:0] k0_n5_c4;
  logic [7:0] k0_n7_c4;
  logic [2:0] k0_n9_c1;
  logic [7:0] k0_n5;
  assign k0_n5 = a_read_data_q[0][0];
  logic [2:0] k0_n6;
  assign k0_n6 = k0_l0_i_q + 3'd1;
  logic [7:0] k0_n7;
  assign k0_n7 = a_read_data_q[0][1];
  logic [2:0] k0_n9;
  assign k0_n9 = k0_l0_i_q + 3'd2;
  logic [7:0] k0_n10;
  assign k0_n10 = a_read_data_q[0][0];
  logic [7:0] k0_n11;
  assign k0_n11 = k0_n7_c4 & k0_n10;
  logic [7:0] k0_n12;
  assign k0_n12 = k0_n5_c4 ^ k0_n11;
  always_ff @(posedge clk_i) begin
    k0_l0_i_q_c1 <= k0_l0_i_q;
    k0_l0_i_q_c2 <= k0_l0_i_q_c1;
    k0_l0_i_q_c3 <= k0_l0_i_q_c2;
    k0_l0_i_q_c4 <= k0_l0_i_q_c3;
    k0_n5_c4 <= k0_n5;
    k0_n7_c4 <= k0_n7;
    k0_n9_c1 <= k0_n9;
  end
  // Line 26: reads a.
  logic k0_x0_en;
  assign k0_x0_en = k0_valid[0];
  logic [2:0] k0_x0_row;
  assign k0_x0_row = k0_l0_i_q;
  // Line 26: reads a.
  logic k0_x1_en;
  assign k0_x1_en = k0_valid[0];
  logic [2:0] k0_x1_row;
  assign k0_x1_row = k0_n6;
  // Line 26: reads a.
  logic k0_x2_en;
  assign k0_x2_en = k0_valid[1];
  logic [2:0] k0_x2_row;
  assign k0_x2_row = k0_n9_c1;
  // Line 26: writes b.
  logic k0_x3_en;
  assign k0_x3_en = k0_valid[4];
  logic [7:0] k0_x3_data;
  assign k0_x3_data = k0_n12;
  logic [2:0] k0_x3_row;
  assign k0_x3_row = k0_l0_i_q_c4;

  // The host's access to a.
  logic a_host_read_en;
  assign a_host_read_en = a_en_i && !a_write_i && idle_o && !start_i;
  logic [2:0] a_host_read_row;
  assign a_host_read_row = a_row_i;
  logic a_host_write_en;
  assign a_host_write_en = a_en_i && a_write_i && idle_o && !start_i;
  logic [2:0] a_host_write_row;
  assign a_host_write_row = a_row_i;
  logic [7:0] a_host_write_data;
  assign a_host_write_data = a_data_i;
  assign a_data_o = a_read_data_q[0][0];

  // The ports of a. At most one access uses a port in a cycle, so rows and elements are joined by OR.
  logic [0:0] [1:0] a_en_d;
  logic [0:0] [1:0] a_write_d;
  logic [0:0] [1:0] [2:0] a_addr_d;
  logic [0:0] [1:0] [7:0] a_write_data_d;
  always_comb begin
    a_en_d = '0;
    a_write_d = '0;
    a_addr_d = '0;
    a_write_data_d = '0;
    for (int unsigned bank = 0; bank < 1; bank++) begin
      if (k0_x0_en) begin
        a_en_d[bank][0] = 1'b1;
        a_addr_d[bank][0] = a_addr_d[bank][0] | 3'(k0_x0_row);
      end
      if (k0_x1_en) begin
        a_en_d[bank][1] = 1'b1;
        a_addr_d[bank][1] = a_addr_d[bank][1] | 3'(k0_x1_row);
      end
      if (k0_x2_en) begin
        a_en_d[bank][0] = 1'b1;
        a_addr_d[bank][0] = a_addr_d[bank][0] | 3'(k0_x2_row);
      end
      if (a_host_read_en) begin
        a_en_d[bank][0] = 1'b1;
        a_addr_d[bank][0] = a_addr_d[bank][0] | 3'(a_host_read_row);
      end
      if (a_host_write_en) begin
        a_en_d[bank][0] = 1'b1;
        a_addr_d[bank][0] = a_addr_d[bank][0] | 3'(a_host_write_row);
        a_write_d[bank][0] = 1'b1;
        a_write_data_d[bank][0] = a_write_data_d[bank][0] | 8'(a_host_write_data);
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      a_en <= '0;
    end else begin
      a_en <= a_en_d;
    end
  end
  always_ff @(posedge clk_i) begin
    a_write <= a_write_d;
    a_addr <= a_addr_d;
    a_write_data <= a_write_data_d;
  end

  // The host's access to b.
  logic b_host_read_en;
  assign b_host_read_en = b_en_i && !b_write_i && idle_o && !start_i;
  logic [2:0] b_host_read_row;
  assign b_host_read_row = b_row_i;
  logic b_host_write_en;
  assign b_host_write_en = b_en_i && b_write_i && idle_o && !start_i;
  logic [2:0] b_host_write_row;
  assign b_host_write_row = b_row_i;
  logic [7:0] b_host_write_data;
  assign b_host_write_data = b_data_i;
  assign b_data_o = b_read_data[0];

  // The ports of b. At most one access uses a port in a cycle, so rows and elements are joined by OR.
  logic [0:0] b_read_en_d;
  logic [0:0] [2:0] b_read_addr_d;
  logic [0:0] b_write_en_d;
  logic [0:0] [2:0] b_write_addr_d;
  logic [0:0] [7:0] b_write_data_d;
  always_comb begin
    b_read_en_d = '0;
    b_read_addr_d = '0;
    b_write_en_d = '0;
    b_write_addr_d = '0;
    b_write_data_d = '0;
    for (int unsigned bank = 0; bank < 1; bank++) begin
      if (k0_x3_en) begin
        b_write_en_d[bank] = 1'b1;
        b_write_addr_d[bank] = b_write_addr_d[bank] | 3'(k0_x3_row);
        b_write_data_d[bank] = b_write_data_d[bank] | 8'(k0_x3_data);
      end
      if (b_host_read_en) begin
        b_read_en_d[bank] = 1'b1;
        b_read_addr_d[bank] = b_read_addr_d[bank] | 3'(b_host_read_row);
      end
      if (b_host_write_en) begin
        b_write_en_d[bank] = 1'b1;
        b_write_addr_d[bank] = b_write_addr_d[bank] | 3'(b_host_write_row);
        b_write_data_d[bank] = b_write_data_d[bank] | 8'(b_host_write_data);
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      b_read_en <= '0;
      b_write_en <= '0;
    end else begin
      b_read_en <= b_read_en_d;
      b_write_en <= b_write_en_d;
    end
  end
  always_ff @(posedge clk_i) begin
    b_read_addr <= b_read_addr_d;
    b_write_addr <= b_write_addr_d;
    b_write_data <= b_write_data_d;
  end

`ifndef SYNTHESIS
  // From start to done.
  logic [4:0] cycles_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cycles_q <= '0;
    else cycles_q <= idle_o ? 5'd1 : cycles_q + 1'b1;
    if (rst_ni && done_o) assert (cycles_q == 5'd15) else $error("a run of another length");
  end
`endif
endmodule

// hls_windows leaves what the unscheduled program leaves, for all contents of its memories.
module proof_hls_windows (
  input logic clk_i
);
  logic [7:0] cycle_q;
  logic       idle, done;
  initial cycle_q = '0;
  always_ff @(posedge clk_i) if (cycle_q != 8'd28) cycle_q <= cycle_q + 1'b1;

  // Any contents of a, and any element.
  logic [7:0][7:0] a_q;
  logic [2:0] a_place_q, a_place;
  logic a_writes;
  logic [7:0] a_data;
  logic [0:0] a_bank;
  logic [2:0] a_row;
  always_ff @(posedge clk_i) begin
    a_q       <= a_q;
    a_place_q <= a_place_q;
  end
  assign a_writes = cycle_q != '0 && cycle_q <= 8'd8;
  assign a_place  = a_writes ? 3'(cycle_q - 8'd1) : a_place_q;
  always_comb begin
    a_bank = '0;
    a_row  = '0;
    case (a_place)
      3'd0: begin
        a_bank = 1'd0;
        a_row  = 3'd0;
      end
      3'd1: begin
        a_bank = 1'd0;
        a_row  = 3'd1;
      end
      3'd2: begin
        a_bank = 1'd0;
        a_row  = 3'd2;
      end
      3'd3: begin
        a_bank = 1'd0;
        a_row  = 3'd3;
      end
      3'd4: begin
        a_bank = 1'd0;
        a_row  = 3'd4;
      end
      3'd5: begin
        a_bank = 1'd0;
        a_row  = 3'd5;
      end
      3'd6: begin
        a_bank = 1'd0;
        a_row  = 3'd6;
      end
      3'd7: begin
        a_bank = 1'd0;
        a_row  = 3'd7;
      end
      default: ;
    endcase
  end

  // Any contents of b, and any element.
  logic [7:0][7:0] b_q;
  logic [2:0] b_place_q, b_place;
  logic b_writes;
  logic [7:0] b_data;
  logic [0:0] b_bank;
  logic [2:0] b_row;
  always_ff @(posedge clk_i) begin
    b_q       <= b_q;
    b_place_q <= b_place_q;
  end
  assign b_writes = cycle_q != '0 && cycle_q <= 8'd8;
  assign b_place  = b_writes ? 3'(cycle_q - 8'd1) : b_place_q;
  always_comb begin
    b_bank = '0;
    b_row  = '0;
    case (b_place)
      3'd0: begin
        b_bank = 1'd0;
        b_row  = 3'd0;
      end
      3'd1: begin
        b_bank = 1'd0;
        b_row  = 3'd1;
      end
      3'd2: begin
        b_bank = 1'd0;
        b_row  = 3'd2;
      end
      3'd3: begin
        b_bank = 1'd0;
        b_row  = 3'd3;
      end
      3'd4: begin
        b_bank = 1'd0;
        b_row  = 3'd4;
      end
      3'd5: begin
        b_bank = 1'd0;
        b_row  = 3'd5;
      end
      3'd6: begin
        b_bank = 1'd0;
        b_row  = 3'd6;
      end
      3'd7: begin
        b_bank = 1'd0;
        b_row  = 3'd7;
      end
      default: ;
    endcase
  end

  hls_windows u_dut (
    .clk_i, .rst_ni(cycle_q != '0), .start_i(cycle_q == 8'd9),
    .idle_o(idle), .done_o(done),
    .a_en_i(a_writes || cycle_q > 8'd24), .a_write_i(a_writes),
    .a_row_i(a_row), .a_data_i(a_q[a_place]), .a_data_o(a_data),
    .b_en_i(b_writes || cycle_q > 8'd24), .b_write_i(b_writes),
    .b_row_i(b_row), .b_data_i(b_q[b_place]), .b_data_o(b_data)
  );

  // The unscheduled program.
  logic [7:0][7:0] a_after;
  logic [7:0][7:0] b_after;
  logic signed [9:0] v0_0_1;
  logic signed [9:0] v0_0_4;
  logic signed [9:0] v0_0_7;
  logic signed [9:0] v0_0_8;
  logic signed [9:0] v0_0_9;
  logic signed [9:0] v0_1_1;
  logic signed [9:0] v0_1_4;
  logic signed [9:0] v0_1_7;
  logic signed [9:0] v0_1_8;
  logic signed [9:0] v0_1_9;
  logic signed [9:0] v0_2_1;
  logic signed [9:0] v0_2_4;
  logic signed [9:0] v0_2_7;
  logic signed [9:0] v0_2_8;
  logic signed [9:0] v0_2_9;
  logic signed [9:0] v0_3_1;
  logic signed [9:0] v0_3_4;
  logic signed [9:0] v0_3_7;
  logic signed [9:0] v0_3_8;
  logic signed [9:0] v0_3_9;
  logic signed [9:0] v0_4_1;
  logic signed [9:0] v0_4_4;
  logic signed [9:0] v0_4_7;
  logic signed [9:0] v0_4_8;
  logic signed [9:0] v0_4_9;
  logic signed [9:0] v0_5_1;
  logic signed [9:0] v0_5_4;
  logic signed [9:0] v0_5_7;
  logic signed [9:0] v0_5_8;
  logic signed [9:0] v0_5_9;
  always_comb begin
    a_after = a_q;
    b_after = b_q;
    v0_0_1 = 10'(a_after[$unsigned(3'(0 * 8 + (0)))]);
    v0_0_4 = 10'(a_after[$unsigned(3'(0 * 8 + (1)))]);
    v0_0_7 = 10'(a_after[$unsigned(3'(0 * 8 + (2)))]);
    v0_0_8 = v0_0_4 & v0_0_7;
    v0_0_9 = v0_0_1 ^ v0_0_8;
    b_after[$unsigned(3'(0 * 8 + (0)))] = 8'(v0_0_9);
    v0_1_1 = 10'(a_after[$unsigned(3'(0 * 8 + (1)))]);
    v0_1_4 = 10'(a_after[$unsigned(3'(0 * 8 + (2)))]);
    v0_1_7 = 10'(a_after[$unsigned(3'(0 * 8 + (3)))]);
    v0_1_8 = v0_1_4 & v0_1_7;
    v0_1_9 = v0_1_1 ^ v0_1_8;
    b_after[$unsigned(3'(0 * 8 + (1)))] = 8'(v0_1_9);
    v0_2_1 = 10'(a_after[$unsigned(3'(0 * 8 + (2)))]);
    v0_2_4 = 10'(a_after[$unsigned(3'(0 * 8 + (3)))]);
    v0_2_7 = 10'(a_after[$unsigned(3'(0 * 8 + (4)))]);
    v0_2_8 = v0_2_4 & v0_2_7;
    v0_2_9 = v0_2_1 ^ v0_2_8;
    b_after[$unsigned(3'(0 * 8 + (2)))] = 8'(v0_2_9);
    v0_3_1 = 10'(a_after[$unsigned(3'(0 * 8 + (3)))]);
    v0_3_4 = 10'(a_after[$unsigned(3'(0 * 8 + (4)))]);
    v0_3_7 = 10'(a_after[$unsigned(3'(0 * 8 + (5)))]);
    v0_3_8 = v0_3_4 & v0_3_7;
    v0_3_9 = v0_3_1 ^ v0_3_8;
    b_after[$unsigned(3'(0 * 8 + (3)))] = 8'(v0_3_9);
    v0_4_1 = 10'(a_after[$unsigned(3'(0 * 8 + (4)))]);
    v0_4_4 = 10'(a_after[$unsigned(3'(0 * 8 + (5)))]);
    v0_4_7 = 10'(a_after[$unsigned(3'(0 * 8 + (6)))]);
    v0_4_8 = v0_4_4 & v0_4_7;
    v0_4_9 = v0_4_1 ^ v0_4_8;
    b_after[$unsigned(3'(0 * 8 + (4)))] = 8'(v0_4_9);
    v0_5_1 = 10'(a_after[$unsigned(3'(0 * 8 + (5)))]);
    v0_5_4 = 10'(a_after[$unsigned(3'(0 * 8 + (6)))]);
    v0_5_7 = 10'(a_after[$unsigned(3'(0 * 8 + (7)))]);
    v0_5_8 = v0_5_4 & v0_5_7;
    v0_5_9 = v0_5_1 ^ v0_5_8;
    b_after[$unsigned(3'(0 * 8 + (5)))] = 8'(v0_5_9);
  end

  always_comb begin
    length: assert (cycle_q == '0 || done == (cycle_q == 8'd24));
    a_right: assert (cycle_q != 8'd28 || a_data == a_after[a_place_q]);
    b_right: assert (cycle_q != 8'd28 || b_data == b_after[b_place_q]);
  end
endmodule
