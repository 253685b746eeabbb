// Compiled from hw/formal/hls.c by `ciphermill hls compile`: change the source, not this file.
//
//   i: 6 iterations, one in a cycle, 3 cycles each, 10 in all
module hls_stages (
  input  logic       clk_i,  // Clock.
  input  logic       rst_ni,  // Asynchronous reset, active low.
  input  logic       start_i,  // Begins a run while idle_o is high.
  output logic       idle_o,  // No run is in progress.
  output logic       done_o,  // A run has ended in the cycle before.
  input  logic       a_en_i,  // a: the host reads or writes an element while idle_o is high and start_i is low.
  input  logic       a_write_i,  // a: the host writes.
  input  logic       a_bank_i,  // a: the bank of the element.
  input  logic       a_row_i,  // a: the row of the element.
  input  logic [7:0] a_data_i,  // a: the element to write.
  output logic [7:0] a_data_o  // a: the element of a read, two cycles later.
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

  // The memory a: 2 banks of 2 elements.
  logic [1:0] a_read_en, a_write_en;
  logic [1:0] a_read_addr, a_write_addr;
  logic [1:0] [7:0] a_read_data, a_write_data;
  for (genvar bank = 0; bank < 2; bank++) begin : gen_a
    logic [7:0] contents[2];
    always_ff @(posedge clk_i) begin
      if (a_read_en[bank]) a_read_data[bank] <= contents[a_read_addr[bank]];
      if (a_write_en[bank]) contents[a_write_addr[bank]] <= a_write_data[bank];
    end
  end

  // Kernel i: while k0_valid[i] is high, an iteration is in its cycle i.
  logic k0_issue, k0_all_q;
  logic k0_wait_q;
  assign k0_issue = (active_q[0] || (idle_o && start_i)) && !k0_all_q && k0_wait_q == '0;
  logic [1:0] k0_l0_s_q;
  logic k0_l1_i_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      k0_all_q <= 1'b0;
      k0_wait_q <= '0;
      k0_l0_s_q <= 2'd0;
      k0_l1_i_q <= 1'd0;
    end else if (ends[0]) begin
      k0_all_q <= 1'b0;
      k0_wait_q <= '0;
      k0_l0_s_q <= 2'd0;
      k0_l1_i_q <= 1'd0;
    end else if (k0_issue) begin
      k0_all_q <= k0_l0_s_q == 2'd2 && k0_l1_i_q == 1'd1;
      k0_wait_q <= k0_l1_i_q == 1'd1 ? 1'd1 : 1'd0;
      if (k0_l1_i_q == 1'd1) k0_l0_s_q <= k0_l0_s_q == 2'd2 ? 2'd0 : k0_l0_s_q + 2'd1;
      k0_l1_i_q <= k0_l1_i_q == 1'd1 ? 1'd0 : k0_l1_i_q + 1'd1;
    end else if (k0_wait_q != '0) begin
      k0_wait_q <= k0_wait_q - 1'b1;
    end
  end
  logic [2:0] k0_valid;
  assign k0_valid[0] = k0_issue;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) k0_valid[2:1] <= '0;
    else k0_valid[2:1] <= k0_valid[1:0];
  end
  assign ends[0] = active_q[0] && k0_all_q && k0_valid[1:0] == '0;

  logic k0_n6_c1, k0_n6_c2;
  logic k0_n9_c1, k0_n9_c2;
  logic [1:0] k0_n4;
  assign k0_n4 = 2'(k0_l1_i_q) << 1'd1;
  logic k0_n6;
  assign k0_n6 = 1'(k0_n4 >> 1'd1);
  logic [7:0] k0_x_n7;
  assign k0_x_n7 = a_read_data[1'd0];
  logic [1:0] k0_n8;
  assign k0_n8 = k0_n4 + 2'd1;
  logic k0_n9;
  assign k0_n9 = 1'(k0_n8 >> 1'd1);
  logic [7:0] k0_y_n10;
  assign k0_y_n10 = a_read_data[1'd1];
  logic [2:0] k0_n11;
  assign k0_n11 = 3'(k0_x_n7) + 3'(k0_y_n10);
  logic [2:0] k0_n13;
  assign k0_n13 = k0_n11 & 3'd7;
  logic [7:0] k0_n14;
  assign k0_n14 = k0_x_n7 ^ k0_y_n10;
  always_ff @(posedge clk_i) begin
    k0_n6_c1 <= k0_n6;
    k0_n6_c2 <= k0_n6_c1;
    k0_n9_c1 <= k0_n9;
    k0_n9_c2 <= k0_n9_c1;
  end
  // Line 36: reads a.
  logic k0_x0_en;
  assign k0_x0_en = k0_valid[0];
  logic k0_x0_bank;
  assign k0_x0_bank = 1'd0;
  logic k0_x0_row;
  assign k0_x0_row = k0_n6;
  // Line 36: reads a.
  logic k0_x1_en;
  assign k0_x1_en = k0_valid[0];
  logic k0_x1_bank;
  assign k0_x1_bank = 1'd1;
  logic k0_x1_row;
  assign k0_x1_row = k0_n9;
  // Line 37: writes a.
  logic k0_x2_en;
  assign k0_x2_en = k0_valid[2];
  logic [7:0] k0_x2_data;
  assign k0_x2_data = 8'(k0_n13);
  logic k0_x2_bank;
  assign k0_x2_bank = 1'd0;
  logic k0_x2_row;
  assign k0_x2_row = k0_n6_c2;
  // Line 38: writes a.
  logic k0_x3_en;
  assign k0_x3_en = k0_valid[2];
  logic [7:0] k0_x3_data;
  assign k0_x3_data = k0_n14;
  logic k0_x3_bank;
  assign k0_x3_bank = 1'd1;
  logic k0_x3_row;
  assign k0_x3_row = k0_n9_c2;

  // The host's access to a.
  logic a_host_read_en;
  assign a_host_read_en = a_en_i && !a_write_i && idle_o && !start_i;
  logic a_host_read_bank;
  assign a_host_read_bank = a_bank_i;
  logic a_host_read_row;
  assign a_host_read_row = a_row_i;
  logic a_host_write_en;
  assign a_host_write_en = a_en_i && a_write_i && idle_o && !start_i;
  logic a_host_write_bank;
  assign a_host_write_bank = a_bank_i;
  logic a_host_write_row;
  assign a_host_write_row = a_row_i;
  logic [7:0] a_host_write_data;
  assign a_host_write_data = a_data_i;
  logic [1:0] a_host_q;
  always_ff @(posedge clk_i) a_host_q <= {a_host_q[0], a_bank_i};
  assign a_data_o = a_read_data[a_host_q[1]];

  // The ports of a. At most one access uses a port in a cycle, so rows and elements are joined by OR.
  logic [1:0] a_read_en_d;
  logic [1:0] a_read_addr_d;
  logic [1:0] a_write_en_d;
  logic [1:0] a_write_addr_d;
  logic [1:0] [7:0] a_write_data_d;
  always_comb begin
    a_read_en_d = '0;
    a_read_addr_d = '0;
    a_write_en_d = '0;
    a_write_addr_d = '0;
    a_write_data_d = '0;
    for (int unsigned bank = 0; bank < 2; bank++) begin
      if (k0_x0_en && k0_x0_bank == 1'(bank)) begin
        a_read_en_d[bank] = 1'b1;
        a_read_addr_d[bank] = a_read_addr_d[bank] | 1'(k0_x0_row);
      end
      if (k0_x1_en && k0_x1_bank == 1'(bank)) begin
        a_read_en_d[bank] = 1'b1;
        a_read_addr_d[bank] = a_read_addr_d[bank] | 1'(k0_x1_row);
      end
      if (k0_x2_en && k0_x2_bank == 1'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 1'(k0_x2_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 8'(k0_x2_data);
      end
      if (k0_x3_en && k0_x3_bank == 1'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 1'(k0_x3_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 8'(k0_x3_data);
      end
      if (a_host_read_en && a_host_read_bank == 1'(bank)) begin
        a_read_en_d[bank] = 1'b1;
        a_read_addr_d[bank] = a_read_addr_d[bank] | 1'(a_host_read_row);
      end
      if (a_host_write_en && a_host_write_bank == 1'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 1'(a_host_write_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 8'(a_host_write_data);
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      a_read_en <= '0;
      a_write_en <= '0;
    end else begin
      a_read_en <= a_read_en_d;
      a_write_en <= a_write_en_d;
    end
  end
  always_ff @(posedge clk_i) begin
    a_read_addr <= a_read_addr_d;
    a_write_addr <= a_write_addr_d;
    a_write_data <= a_write_data_d;
  end

`ifndef SYNTHESIS
  // From start to done.
  logic [3:0] cycles_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cycles_q <= '0;
    else cycles_q <= idle_o ? 4'd1 : cycles_q + 1'b1;
    if (rst_ni && done_o) assert (cycles_q == 4'd10) else $error("a run of another length");
  end
`endif
endmodule

// hls_stages leaves what the unscheduled program leaves, for all contents of its memories.
module proof_hls_stages (
  input logic clk_i
);
  logic [7:0] cycle_q;
  logic       idle, done;
  initial cycle_q = '0;
  always_ff @(posedge clk_i) if (cycle_q != 8'd19) cycle_q <= cycle_q + 1'b1;

  // Any contents of a, and any element.
  logic [3:0][7:0] a_q;
  logic [1:0] a_place_q, a_place;
  logic a_writes;
  logic [7:0] a_data;
  logic [0:0] a_bank;
  logic [0:0] a_row;
  always_ff @(posedge clk_i) begin
    a_q       <= a_q;
    a_place_q <= a_place_q;
  end
  assign a_writes = cycle_q != '0 && cycle_q <= 8'd4;
  assign a_place  = a_writes ? 2'(cycle_q - 8'd1) : a_place_q;
  always_comb begin
    a_bank = '0;
    a_row  = '0;
    case (a_place)
      2'd0: begin
        a_bank = 1'd0;
        a_row  = 1'd0;
      end
      2'd1: begin
        a_bank = 1'd1;
        a_row  = 1'd0;
      end
      2'd2: begin
        a_bank = 1'd0;
        a_row  = 1'd1;
      end
      2'd3: begin
        a_bank = 1'd1;
        a_row  = 1'd1;
      end
      default: ;
    endcase
  end

  hls_stages u_dut (
    .clk_i, .rst_ni(cycle_q != '0), .start_i(cycle_q == 8'd5),
    .idle_o(idle), .done_o(done),
    .a_en_i(a_writes || cycle_q > 8'd15), .a_write_i(a_writes), .a_bank_i(a_bank),
    .a_row_i(a_row), .a_data_i(a_q[a_place]), .a_data_o(a_data)
  );

  // The unscheduled program.
  logic [3:0][7:0] a_after;
  logic signed [10:0] v0_0_5;
  logic signed [10:0] v0_0_7;
  logic signed [10:0] v0_0_8;
  logic signed [10:0] v0_0_10;
  logic signed [10:0] v0_0_11;
  logic signed [10:0] v0_1_5;
  logic signed [10:0] v0_1_7;
  logic signed [10:0] v0_1_8;
  logic signed [10:0] v0_1_10;
  logic signed [10:0] v0_1_11;
  logic signed [10:0] v0_2_5;
  logic signed [10:0] v0_2_7;
  logic signed [10:0] v0_2_8;
  logic signed [10:0] v0_2_10;
  logic signed [10:0] v0_2_11;
  logic signed [10:0] v0_3_5;
  logic signed [10:0] v0_3_7;
  logic signed [10:0] v0_3_8;
  logic signed [10:0] v0_3_10;
  logic signed [10:0] v0_3_11;
  logic signed [10:0] v0_4_5;
  logic signed [10:0] v0_4_7;
  logic signed [10:0] v0_4_8;
  logic signed [10:0] v0_4_10;
  logic signed [10:0] v0_4_11;
  logic signed [10:0] v0_5_5;
  logic signed [10:0] v0_5_7;
  logic signed [10:0] v0_5_8;
  logic signed [10:0] v0_5_10;
  logic signed [10:0] v0_5_11;
  always_comb begin
    a_after = a_q;
    v0_0_5 = 11'(a_after[$unsigned(2'(0 * 4 + (0)))]);
    v0_0_7 = 11'(a_after[$unsigned(2'(0 * 4 + (1)))]);
    v0_0_8 = v0_0_5 + v0_0_7;
    v0_0_10 = v0_0_8 & (7);
    a_after[$unsigned(2'(0 * 4 + (0)))] = 8'(v0_0_10);
    v0_0_11 = v0_0_5 ^ v0_0_7;
    a_after[$unsigned(2'(0 * 4 + (1)))] = 8'(v0_0_11);
    v0_1_5 = 11'(a_after[$unsigned(2'(0 * 4 + (2)))]);
    v0_1_7 = 11'(a_after[$unsigned(2'(0 * 4 + (3)))]);
    v0_1_8 = v0_1_5 + v0_1_7;
    v0_1_10 = v0_1_8 & (7);
    a_after[$unsigned(2'(0 * 4 + (2)))] = 8'(v0_1_10);
    v0_1_11 = v0_1_5 ^ v0_1_7;
    a_after[$unsigned(2'(0 * 4 + (3)))] = 8'(v0_1_11);
    v0_2_5 = 11'(a_after[$unsigned(2'(0 * 4 + (0)))]);
    v0_2_7 = 11'(a_after[$unsigned(2'(0 * 4 + (1)))]);
    v0_2_8 = v0_2_5 + v0_2_7;
    v0_2_10 = v0_2_8 & (7);
    a_after[$unsigned(2'(0 * 4 + (0)))] = 8'(v0_2_10);
    v0_2_11 = v0_2_5 ^ v0_2_7;
    a_after[$unsigned(2'(0 * 4 + (1)))] = 8'(v0_2_11);
    v0_3_5 = 11'(a_after[$unsigned(2'(0 * 4 + (2)))]);
    v0_3_7 = 11'(a_after[$unsigned(2'(0 * 4 + (3)))]);
    v0_3_8 = v0_3_5 + v0_3_7;
    v0_3_10 = v0_3_8 & (7);
    a_after[$unsigned(2'(0 * 4 + (2)))] = 8'(v0_3_10);
    v0_3_11 = v0_3_5 ^ v0_3_7;
    a_after[$unsigned(2'(0 * 4 + (3)))] = 8'(v0_3_11);
    v0_4_5 = 11'(a_after[$unsigned(2'(0 * 4 + (0)))]);
    v0_4_7 = 11'(a_after[$unsigned(2'(0 * 4 + (1)))]);
    v0_4_8 = v0_4_5 + v0_4_7;
    v0_4_10 = v0_4_8 & (7);
    a_after[$unsigned(2'(0 * 4 + (0)))] = 8'(v0_4_10);
    v0_4_11 = v0_4_5 ^ v0_4_7;
    a_after[$unsigned(2'(0 * 4 + (1)))] = 8'(v0_4_11);
    v0_5_5 = 11'(a_after[$unsigned(2'(0 * 4 + (2)))]);
    v0_5_7 = 11'(a_after[$unsigned(2'(0 * 4 + (3)))]);
    v0_5_8 = v0_5_5 + v0_5_7;
    v0_5_10 = v0_5_8 & (7);
    a_after[$unsigned(2'(0 * 4 + (2)))] = 8'(v0_5_10);
    v0_5_11 = v0_5_5 ^ v0_5_7;
    a_after[$unsigned(2'(0 * 4 + (3)))] = 8'(v0_5_11);
  end

  always_comb begin
    length: assert (cycle_q == '0 || done == (cycle_q == 8'd15));
    a_right: assert (cycle_q != 8'd19 || a_data == a_after[a_place_q]);
  end
endmodule
