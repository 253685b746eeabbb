// Compiled from hw/hls/pointwise.c by `ciphermill hls compile`: change the source, not this file.
//
//   POINTS: 64 iterations, one in a cycle, 10 cycles each, 73 in all
module hls_pointwise (
  input  logic        clk_i,  // Clock.
  input  logic        rst_ni,  // Asynchronous reset, active low.
  input  logic        start_i,  // Begins a run while idle_o is high.
  output logic        idle_o,  // No run is in progress.
  output logic        done_o,  // A run has ended in the cycle before.
  input  logic        a_en_i,  // a: the host reads or writes an element while idle_o is high and start_i is low.
  input  logic        a_write_i,  // a: the host writes.
  input  logic [1:0]  a_bank_i,  // a: the bank of the element.
  input  logic [5:0]  a_row_i,  // a: the row of the element.
  input  logic [11:0] a_data_i,  // a: the element to write.
  output logic [11:0] a_data_o,  // a: the element of a read, two cycles later.
  input  logic        b_en_i,  // b: the host reads or writes an element while idle_o is high and start_i is low.
  input  logic        b_write_i,  // b: the host writes.
  input  logic [1:0]  b_bank_i,  // b: the bank of the element.
  input  logic [5:0]  b_row_i,  // b: the row of the element.
  input  logic [11:0] b_data_i,  // b: the element to write.
  output logic [11:0] b_data_o  // b: the element of a read, two cycles later.
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

  // The memory a: 4 banks of 64 elements.
  logic [3:0] a_read_en, a_write_en;
  logic [3:0] [5:0] a_read_addr, a_write_addr;
  logic [3:0] [11:0] a_read_data, a_write_data;
  for (genvar bank = 0; bank < 4; bank++) begin : gen_a
    logic [11:0] contents[64];
    always_ff @(posedge clk_i) begin
      if (a_read_en[bank]) a_read_data[bank] <= contents[a_read_addr[bank]];
      if (a_write_en[bank]) contents[a_write_addr[bank]] <= a_write_data[bank];
    end
  end

  // The memory b: 4 banks of 64 elements.
  logic [3:0] b_read_en, b_write_en;
  logic [3:0] [5:0] b_read_addr, b_write_addr;
  logic [3:0] [11:0] b_read_data, b_write_data;
  for (genvar bank = 0; bank < 4; bank++) begin : gen_b
    logic [11:0] contents[64];
    always_ff @(posedge clk_i) begin
      if (b_read_en[bank]) b_read_data[bank] <= contents[b_read_addr[bank]];
      if (b_write_en[bank]) contents[b_write_addr[bank]] <= b_write_data[bank];
    end
  end

  // Kernel POINTS: while k0_valid[i] is high, an iteration is in its cycle i.
  logic k0_issue, k0_all_q;
  assign k0_issue = (active_q[0] || (idle_o && start_i)) && !k0_all_q;
  logic [5:0] k0_l0_points_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      k0_all_q <= 1'b0;
      k0_l0_points_q <= 6'd0;
    end else if (ends[0]) begin
      k0_all_q <= 1'b0;
      k0_l0_points_q <= 6'd0;
    end else if (k0_issue) begin
      k0_all_q <= k0_l0_points_q == 6'd63;
      k0_l0_points_q <= k0_l0_points_q == 6'd63 ? 6'd0 : k0_l0_points_q + 6'd1;
    end
  end
  logic [9:0] k0_valid;
  assign k0_valid[0] = k0_issue;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) k0_valid[9:1] <= '0;
    else k0_valid[9:1] <= k0_valid[8:0];
  end
  assign ends[0] = active_q[0] && k0_all_q && k0_valid[8:0] == '0;

  logic [5:0] k0_l0_points_q_c1, k0_l0_points_q_c2, k0_l0_points_q_c3, k0_l0_points_q_c4, k0_l0_points_q_c5,
      k0_l0_points_q_c6;
  logic [5:0] k0_l0_points_q_c7, k0_l0_points_q_c8, k0_l0_points_q_c9;
  logic [11:0] k0_n6_c3;
  logic [11:0] k0_n8_c3;
  logic [25:0] k0_n21_c6;
  logic [19:0] k0_n23_c6;
  logic [12:0] k0_n30_c7;
  logic [12:0] k0_n32_c7;
  logic [12:0] k0_n33_c7;
  logic [12:0] k0_n36_c6, k0_n36_c7, k0_n36_c8;
  logic [12:0] k0_n37_c8;
  logic [11:0] k0_n42_c9;
  logic [11:0] k0_n45_c3;
  logic [11:0] k0_n46_c3;
  logic [25:0] k0_n53_c6;
  logic [19:0] k0_n55_c6;
  logic [12:0] k0_n59_c7;
  logic [12:0] k0_n60_c7;
  logic [12:0] k0_n61_c7;
  logic [12:0] k0_n64_c6, k0_n64_c7, k0_n64_c8;
  logic [12:0] k0_n65_c8;
  logic [11:0] k0_n70_c9;
  logic [11:0] k0_n74_c3;
  logic [11:0] k0_n75_c3;
  logic [25:0] k0_n82_c6;
  logic [19:0] k0_n84_c6;
  logic [12:0] k0_n88_c7;
  logic [12:0] k0_n89_c7;
  logic [12:0] k0_n90_c7;
  logic [12:0] k0_n93_c6, k0_n93_c7, k0_n93_c8;
  logic [12:0] k0_n94_c8;
  logic [11:0] k0_n99_c9;
  logic [11:0] k0_n103_c3;
  logic [11:0] k0_n104_c3;
  logic [25:0] k0_n111_c6;
  logic [19:0] k0_n113_c6;
  logic [12:0] k0_n117_c7;
  logic [12:0] k0_n118_c7;
  logic [12:0] k0_n119_c7;
  logic [12:0] k0_n122_c6, k0_n122_c7, k0_n122_c8;
  logic [12:0] k0_n123_c8;
  logic [11:0] k0_n128_c9;
  logic [11:0] k0_n6;
  assign k0_n6 = a_read_data[2'd0];
  logic [11:0] k0_n8;
  assign k0_n8 = b_read_data[2'd0];
  logic [1:0] [23:0] k0_n9_p;
  logic [23:0] k0_n9;
  assign k0_n9 = k0_n9_p[1];
  always_ff @(posedge clk_i) begin
    k0_n9_p[0] <= 24'(k0_n6_c3) * 24'(k0_n8_c3);
    k0_n9_p[1] <= k0_n9_p[0];
  end
  logic [12:0] k0_n13;
  assign k0_n13 = 13'(k0_n9 >> 4'd11);
  logic [17:0] k0_n15;
  assign k0_n15 = 18'(k0_n13) << 3'd5;
  logic [19:0] k0_n17;
  assign k0_n17 = 20'(k0_n13) << 3'd7;
  logic [23:0] k0_n18;
  assign k0_n18 = 24'(k0_n13) << 4'd11;
  logic [25:0] k0_n20;
  assign k0_n20 = 26'(k0_n13) << 4'd13;
  logic [25:0] k0_n21;
  assign k0_n21 = 26'(k0_n18) + k0_n20;
  logic [17:0] k0_n22;
  assign k0_n22 = 18'(k0_n13) + k0_n15;
  logic [19:0] k0_n23;
  assign k0_n23 = k0_n17 + 20'(k0_n22);
  logic [25:0] k0_n24;
  assign k0_n24 = k0_n21_c6 - 26'(k0_n23_c6);
  logic [11:0] k0_n25;
  assign k0_n25 = 12'(k0_n24 >> 4'd14);
  logic [12:0] k0_n28;
  assign k0_n28 = 13'(k0_n25) << 4'd8;
  logic [12:0] k0_n30;
  assign k0_n30 = 13'(k0_n25) << 4'd10;
  logic [12:0] k0_n32;
  assign k0_n32 = 13'(k0_n25) << 4'd12;
  logic [12:0] k0_n33;
  assign k0_n33 = 13'(k0_n25) + k0_n28;
  logic [12:0] k0_n34;
  assign k0_n34 = k0_n32_c7 + k0_n33_c7;
  logic [12:0] k0_n35;
  assign k0_n35 = k0_n34 - k0_n30_c7;
  logic [12:0] k0_n36;
  assign k0_n36 = 13'(k0_n9) & 13'd8191;
  logic [12:0] k0_n37;
  assign k0_n37 = k0_n35 & 13'd8191;
  logic [12:0] k0_n38;
  assign k0_n38 = k0_n36_c8 - k0_n37_c8;
  logic [12:0] k0_n39;
  assign k0_n39 = k0_n38 & 13'd8191;
  logic k0_n40;
  assign k0_n40 = k0_n39 < 13'd3329;
  logic [11:0] k0_n41;
  assign k0_n41 = 12'(k0_n39) - 12'd3329;
  logic [11:0] k0_n42;
  assign k0_n42 = k0_n40 ? 12'(k0_n39) : k0_n41;
  logic [11:0] k0_n45;
  assign k0_n45 = a_read_data[2'd1];
  logic [11:0] k0_n46;
  assign k0_n46 = b_read_data[2'd1];
  logic [1:0] [23:0] k0_n47_p;
  logic [23:0] k0_n47;
  assign k0_n47 = k0_n47_p[1];
  always_ff @(posedge clk_i) begin
    k0_n47_p[0] <= 24'(k0_n45_c3) * 24'(k0_n46_c3);
    k0_n47_p[1] <= k0_n47_p[0];
  end
  logic [12:0] k0_n48;
  assign k0_n48 = 13'(k0_n47 >> 4'd11);
  logic [17:0] k0_n49;
  assign k0_n49 = 18'(k0_n48) << 3'd5;
  logic [19:0] k0_n50;
  assign k0_n50 = 20'(k0_n48) << 3'd7;
  logic [23:0] k0_n51;
  assign k0_n51 = 24'(k0_n48) << 4'd11;
  logic [25:0] k0_n52;
  assign k0_n52 = 26'(k0_n48) << 4'd13;
  logic [25:0] k0_n53;
  assign k0_n53 = 26'(k0_n51) + k0_n52;
  logic [17:0] k0_n54;
  assign k0_n54 = 18'(k0_n48) + k0_n49;
  logic [19:0] k0_n55;
  assign k0_n55 = k0_n50 + 20'(k0_n54);
  logic [25:0] k0_n56;
  assign k0_n56 = k0_n53_c6 - 26'(k0_n55_c6);
  logic [11:0] k0_n57;
  assign k0_n57 = 12'(k0_n56 >> 4'd14);
  logic [12:0] k0_n58;
  assign k0_n58 = 13'(k0_n57) << 4'd8;
  logic [12:0] k0_n59;
  assign k0_n59 = 13'(k0_n57) << 4'd10;
  logic [12:0] k0_n60;
  assign k0_n60 = 13'(k0_n57) << 4'd12;
  logic [12:0] k0_n61;
  assign k0_n61 = 13'(k0_n57) + k0_n58;
  logic [12:0] k0_n62;
  assign k0_n62 = k0_n60_c7 + k0_n61_c7;
  logic [12:0] k0_n63;
  assign k0_n63 = k0_n62 - k0_n59_c7;
  logic [12:0] k0_n64;
  assign k0_n64 = 13'(k0_n47) & 13'd8191;
  logic [12:0] k0_n65;
  assign k0_n65 = k0_n63 & 13'd8191;
  logic [12:0] k0_n66;
  assign k0_n66 = k0_n64_c8 - k0_n65_c8;
  logic [12:0] k0_n67;
  assign k0_n67 = k0_n66 & 13'd8191;
  logic k0_n68;
  assign k0_n68 = k0_n67 < 13'd3329;
  logic [11:0] k0_n69;
  assign k0_n69 = 12'(k0_n67) - 12'd3329;
  logic [11:0] k0_n70;
  assign k0_n70 = k0_n68 ? 12'(k0_n67) : k0_n69;
  logic [11:0] k0_n74;
  assign k0_n74 = a_read_data[2'd2];
  logic [11:0] k0_n75;
  assign k0_n75 = b_read_data[2'd2];
  logic [1:0] [23:0] k0_n76_p;
  logic [23:0] k0_n76;
  assign k0_n76 = k0_n76_p[1];
  always_ff @(posedge clk_i) begin
    k0_n76_p[0] <= 24'(k0_n74_c3) * 24'(k0_n75_c3);
    k0_n76_p[1] <= k0_n76_p[0];
  end
  logic [12:0] k0_n77;
  assign k0_n77 = 13'(k0_n76 >> 4'd11);
  logic [17:0] k0_n78;
  assign k0_n78 = 18'(k0_n77) << 3'd5;
  logic [19:0] k0_n79;
  assign k0_n79 = 20'(k0_n77) << 3'd7;
  logic [23:0] k0_n80;
  assign k0_n80 = 24'(k0_n77) << 4'd11;
  logic [25:0] k0_n81;
  assign k0_n81 = 26'(k0_n77) << 4'd13;
  logic [25:0] k0_n82;
  assign k0_n82 = 26'(k0_n80) + k0_n81;
  logic [17:0] k0_n83;
  assign k0_n83 = 18'(k0_n77) + k0_n78;
  logic [19:0] k0_n84;
  assign k0_n84 = k0_n79 + 20'(k0_n83);
  logic [25:0] k0_n85;
  assign k0_n85 = k0_n82_c6 - 26'(k0_n84_c6);
  logic [11:0] k0_n86;
  assign k0_n86 = 12'(k0_n85 >> 4'd14);
  logic [12:0] k0_n87;
  assign k0_n87 = 13'(k0_n86) << 4'd8;
  logic [12:0] k0_n88;
  assign k0_n88 = 13'(k0_n86) << 4'd10;
  logic [12:0] k0_n89;
  assign k0_n89 = 13'(k0_n86) << 4'd12;
  logic [12:0] k0_n90;
  assign k0_n90 = 13'(k0_n86) + k0_n87;
  logic [12:0] k0_n91;
  assign k0_n91 = k0_n89_c7 + k0_n90_c7;
  logic [12:0] k0_n92;
  assign k0_n92 = k0_n91 - k0_n88_c7;
  logic [12:0] k0_n93;
  assign k0_n93 = 13'(k0_n76) & 13'd8191;
  logic [12:0] k0_n94;
  assign k0_n94 = k0_n92 & 13'd8191;
  logic [12:0] k0_n95;
  assign k0_n95 = k0_n93_c8 - k0_n94_c8;
  logic [12:0] k0_n96;
  assign k0_n96 = k0_n95 & 13'd8191;
  logic k0_n97;
  assign k0_n97 = k0_n96 < 13'd3329;
  logic [11:0] k0_n98;
  assign k0_n98 = 12'(k0_n96) - 12'd3329;
  logic [11:0] k0_n99;
  assign k0_n99 = k0_n97 ? 12'(k0_n96) : k0_n98;
  logic [11:0] k0_n103;
  assign k0_n103 = a_read_data[2'd3];
  logic [11:0] k0_n104;
  assign k0_n104 = b_read_data[2'd3];
  logic [1:0] [23:0] k0_n105_p;
  logic [23:0] k0_n105;
  assign k0_n105 = k0_n105_p[1];
  always_ff @(posedge clk_i) begin
    k0_n105_p[0] <= 24'(k0_n103_c3) * 24'(k0_n104_c3);
    k0_n105_p[1] <= k0_n105_p[0];
  end
  logic [12:0] k0_n106;
  assign k0_n106 = 13'(k0_n105 >> 4'd11);
  logic [17:0] k0_n107;
  assign k0_n107 = 18'(k0_n106) << 3'd5;
  logic [19:0] k0_n108;
  assign k0_n108 = 20'(k0_n106) << 3'd7;
  logic [23:0] k0_n109;
  assign k0_n109 = 24'(k0_n106) << 4'd11;
  logic [25:0] k0_n110;
  assign k0_n110 = 26'(k0_n106) << 4'd13;
  logic [25:0] k0_n111;
  assign k0_n111 = 26'(k0_n109) + k0_n110;
  logic [17:0] k0_n112;
  assign k0_n112 = 18'(k0_n106) + k0_n107;
  logic [19:0] k0_n113;
  assign k0_n113 = k0_n108 + 20'(k0_n112);
  logic [25:0] k0_n114;
  assign k0_n114 = k0_n111_c6 - 26'(k0_n113_c6);
  logic [11:0] k0_n115;
  assign k0_n115 = 12'(k0_n114 >> 4'd14);
  logic [12:0] k0_n116;
  assign k0_n116 = 13'(k0_n115) << 4'd8;
  logic [12:0] k0_n117;
  assign k0_n117 = 13'(k0_n115) << 4'd10;
  logic [12:0] k0_n118;
  assign k0_n118 = 13'(k0_n115) << 4'd12;
  logic [12:0] k0_n119;
  assign k0_n119 = 13'(k0_n115) + k0_n116;
  logic [12:0] k0_n120;
  assign k0_n120 = k0_n118_c7 + k0_n119_c7;
  logic [12:0] k0_n121;
  assign k0_n121 = k0_n120 - k0_n117_c7;
  logic [12:0] k0_n122;
  assign k0_n122 = 13'(k0_n105) & 13'd8191;
  logic [12:0] k0_n123;
  assign k0_n123 = k0_n121 & 13'd8191;
  logic [12:0] k0_n124;
  assign k0_n124 = k0_n122_c8 - k0_n123_c8;
  logic [12:0] k0_n125;
  assign k0_n125 = k0_n124 & 13'd8191;
  logic k0_n126;
  assign k0_n126 = k0_n125 < 13'd3329;
  logic [11:0] k0_n127;
  assign k0_n127 = 12'(k0_n125) - 12'd3329;
  logic [11:0] k0_n128;
  assign k0_n128 = k0_n126 ? 12'(k0_n125) : k0_n127;
  always_ff @(posedge clk_i) begin
    k0_l0_points_q_c1 <= k0_l0_points_q;
    k0_l0_points_q_c2 <= k0_l0_points_q_c1;
    k0_l0_points_q_c3 <= k0_l0_points_q_c2;
    k0_l0_points_q_c4 <= k0_l0_points_q_c3;
    k0_l0_points_q_c5 <= k0_l0_points_q_c4;
    k0_l0_points_q_c6 <= k0_l0_points_q_c5;
    k0_l0_points_q_c7 <= k0_l0_points_q_c6;
    k0_l0_points_q_c8 <= k0_l0_points_q_c7;
    k0_l0_points_q_c9 <= k0_l0_points_q_c8;
    k0_n6_c3 <= k0_n6;
    k0_n8_c3 <= k0_n8;
    k0_n21_c6 <= k0_n21;
    k0_n23_c6 <= k0_n23;
    k0_n30_c7 <= k0_n30;
    k0_n32_c7 <= k0_n32;
    k0_n33_c7 <= k0_n33;
    k0_n36_c6 <= k0_n36;
    k0_n36_c7 <= k0_n36_c6;
    k0_n36_c8 <= k0_n36_c7;
    k0_n37_c8 <= k0_n37;
    k0_n42_c9 <= k0_n42;
    k0_n45_c3 <= k0_n45;
    k0_n46_c3 <= k0_n46;
    k0_n53_c6 <= k0_n53;
    k0_n55_c6 <= k0_n55;
    k0_n59_c7 <= k0_n59;
    k0_n60_c7 <= k0_n60;
    k0_n61_c7 <= k0_n61;
    k0_n64_c6 <= k0_n64;
    k0_n64_c7 <= k0_n64_c6;
    k0_n64_c8 <= k0_n64_c7;
    k0_n65_c8 <= k0_n65;
    k0_n70_c9 <= k0_n70;
    k0_n74_c3 <= k0_n74;
    k0_n75_c3 <= k0_n75;
    k0_n82_c6 <= k0_n82;
    k0_n84_c6 <= k0_n84;
    k0_n88_c7 <= k0_n88;
    k0_n89_c7 <= k0_n89;
    k0_n90_c7 <= k0_n90;
    k0_n93_c6 <= k0_n93;
    k0_n93_c7 <= k0_n93_c6;
    k0_n93_c8 <= k0_n93_c7;
    k0_n94_c8 <= k0_n94;
    k0_n99_c9 <= k0_n99;
    k0_n103_c3 <= k0_n103;
    k0_n104_c3 <= k0_n104;
    k0_n111_c6 <= k0_n111;
    k0_n113_c6 <= k0_n113;
    k0_n117_c7 <= k0_n117;
    k0_n118_c7 <= k0_n118;
    k0_n119_c7 <= k0_n119;
    k0_n122_c6 <= k0_n122;
    k0_n122_c7 <= k0_n122_c6;
    k0_n122_c8 <= k0_n122_c7;
    k0_n123_c8 <= k0_n123;
    k0_n128_c9 <= k0_n128;
  end
  // Line 86: reads a.
  logic k0_x0_en;
  assign k0_x0_en = k0_valid[0];
  logic [1:0] k0_x0_bank;
  assign k0_x0_bank = 2'd0;
  logic [5:0] k0_x0_row;
  assign k0_x0_row = k0_l0_points_q;
  // Line 87: reads b.
  logic k0_x1_en;
  assign k0_x1_en = k0_valid[0];
  logic [1:0] k0_x1_bank;
  assign k0_x1_bank = 2'd0;
  logic [5:0] k0_x1_row;
  assign k0_x1_row = k0_l0_points_q;
  // Line 88: writes a.
  logic k0_x2_en;
  assign k0_x2_en = k0_valid[9];
  logic [11:0] k0_x2_data;
  assign k0_x2_data = k0_n42_c9;
  logic [1:0] k0_x2_bank;
  assign k0_x2_bank = 2'd0;
  logic [5:0] k0_x2_row;
  assign k0_x2_row = k0_l0_points_q_c9;
  // Line 86: reads a.
  logic k0_x3_en;
  assign k0_x3_en = k0_valid[0];
  logic [1:0] k0_x3_bank;
  assign k0_x3_bank = 2'd1;
  logic [5:0] k0_x3_row;
  assign k0_x3_row = k0_l0_points_q;
  // Line 87: reads b.
  logic k0_x4_en;
  assign k0_x4_en = k0_valid[0];
  logic [1:0] k0_x4_bank;
  assign k0_x4_bank = 2'd1;
  logic [5:0] k0_x4_row;
  assign k0_x4_row = k0_l0_points_q;
  // Line 88: writes a.
  logic k0_x5_en;
  assign k0_x5_en = k0_valid[9];
  logic [11:0] k0_x5_data;
  assign k0_x5_data = k0_n70_c9;
  logic [1:0] k0_x5_bank;
  assign k0_x5_bank = 2'd1;
  logic [5:0] k0_x5_row;
  assign k0_x5_row = k0_l0_points_q_c9;
  // Line 86: reads a.
  logic k0_x6_en;
  assign k0_x6_en = k0_valid[0];
  logic [1:0] k0_x6_bank;
  assign k0_x6_bank = 2'd2;
  logic [5:0] k0_x6_row;
  assign k0_x6_row = k0_l0_points_q;
  // Line 87: reads b.
  logic k0_x7_en;
  assign k0_x7_en = k0_valid[0];
  logic [1:0] k0_x7_bank;
  assign k0_x7_bank = 2'd2;
  logic [5:0] k0_x7_row;
  assign k0_x7_row = k0_l0_points_q;
  // Line 88: writes a.
  logic k0_x8_en;
  assign k0_x8_en = k0_valid[9];
  logic [11:0] k0_x8_data;
  assign k0_x8_data = k0_n99_c9;
  logic [1:0] k0_x8_bank;
  assign k0_x8_bank = 2'd2;
  logic [5:0] k0_x8_row;
  assign k0_x8_row = k0_l0_points_q_c9;
  // Line 86: reads a.
  logic k0_x9_en;
  assign k0_x9_en = k0_valid[0];
  logic [1:0] k0_x9_bank;
  assign k0_x9_bank = 2'd3;
  logic [5:0] k0_x9_row;
  assign k0_x9_row = k0_l0_points_q;
  // Line 87: reads b.
  logic k0_x10_en;
  assign k0_x10_en = k0_valid[0];
  logic [1:0] k0_x10_bank;
  assign k0_x10_bank = 2'd3;
  logic [5:0] k0_x10_row;
  assign k0_x10_row = k0_l0_points_q;
  // Line 88: writes a.
  logic k0_x11_en;
  assign k0_x11_en = k0_valid[9];
  logic [11:0] k0_x11_data;
  assign k0_x11_data = k0_n128_c9;
  logic [1:0] k0_x11_bank;
  assign k0_x11_bank = 2'd3;
  logic [5:0] k0_x11_row;
  assign k0_x11_row = k0_l0_points_q_c9;

  // The host's access to a.
  logic a_host_read_en;
  assign a_host_read_en = a_en_i && !a_write_i && idle_o && !start_i;
  logic [1:0] a_host_read_bank;
  assign a_host_read_bank = a_bank_i;
  logic [5:0] a_host_read_row;
  assign a_host_read_row = a_row_i;
  logic a_host_write_en;
  assign a_host_write_en = a_en_i && a_write_i && idle_o && !start_i;
  logic [1:0] a_host_write_bank;
  assign a_host_write_bank = a_bank_i;
  logic [5:0] a_host_write_row;
  assign a_host_write_row = a_row_i;
  logic [11:0] a_host_write_data;
  assign a_host_write_data = a_data_i;
  logic [1:0] [1:0] a_host_q;
  always_ff @(posedge clk_i) a_host_q <= {a_host_q[0], a_bank_i};
  assign a_data_o = a_read_data[a_host_q[1]];

  // The ports of a. At most one access uses a port in a cycle, so rows and elements are joined by OR.
  logic [3:0] a_read_en_d;
  logic [3:0] [5:0] a_read_addr_d;
  logic [3:0] a_write_en_d;
  logic [3:0] [5:0] a_write_addr_d;
  logic [3:0] [11:0] a_write_data_d;
  always_comb begin
    a_read_en_d = '0;
    a_read_addr_d = '0;
    a_write_en_d = '0;
    a_write_addr_d = '0;
    a_write_data_d = '0;
    for (int unsigned bank = 0; bank < 4; bank++) begin
      if (k0_x0_en && k0_x0_bank == 2'(bank)) begin
        a_read_en_d[bank] = 1'b1;
        a_read_addr_d[bank] = a_read_addr_d[bank] | 6'(k0_x0_row);
      end
      if (k0_x2_en && k0_x2_bank == 2'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 6'(k0_x2_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 12'(k0_x2_data);
      end
      if (k0_x3_en && k0_x3_bank == 2'(bank)) begin
        a_read_en_d[bank] = 1'b1;
        a_read_addr_d[bank] = a_read_addr_d[bank] | 6'(k0_x3_row);
      end
      if (k0_x5_en && k0_x5_bank == 2'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 6'(k0_x5_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 12'(k0_x5_data);
      end
      if (k0_x6_en && k0_x6_bank == 2'(bank)) begin
        a_read_en_d[bank] = 1'b1;
        a_read_addr_d[bank] = a_read_addr_d[bank] | 6'(k0_x6_row);
      end
      if (k0_x8_en && k0_x8_bank == 2'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 6'(k0_x8_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 12'(k0_x8_data);
      end
      if (k0_x9_en && k0_x9_bank == 2'(bank)) begin
        a_read_en_d[bank] = 1'b1;
        a_read_addr_d[bank] = a_read_addr_d[bank] | 6'(k0_x9_row);
      end
      if (k0_x11_en && k0_x11_bank == 2'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 6'(k0_x11_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 12'(k0_x11_data);
      end
      if (a_host_read_en && a_host_read_bank == 2'(bank)) begin
        a_read_en_d[bank] = 1'b1;
        a_read_addr_d[bank] = a_read_addr_d[bank] | 6'(a_host_read_row);
      end
      if (a_host_write_en && a_host_write_bank == 2'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 6'(a_host_write_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 12'(a_host_write_data);
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

  // The host's access to b.
  logic b_host_read_en;
  assign b_host_read_en = b_en_i && !b_write_i && idle_o && !start_i;
  logic [1:0] b_host_read_bank;
  assign b_host_read_bank = b_bank_i;
  logic [5:0] b_host_read_row;
  assign b_host_read_row = b_row_i;
  logic b_host_write_en;
  assign b_host_write_en = b_en_i && b_write_i && idle_o && !start_i;
  logic [1:0] b_host_write_bank;
  assign b_host_write_bank = b_bank_i;
  logic [5:0] b_host_write_row;
  assign b_host_write_row = b_row_i;
  logic [11:0] b_host_write_data;
  assign b_host_write_data = b_data_i;
  logic [1:0] [1:0] b_host_q;
  always_ff @(posedge clk_i) b_host_q <= {b_host_q[0], b_bank_i};
  assign b_data_o = b_read_data[b_host_q[1]];

  // The ports of b. At most one access uses a port in a cycle, so rows and elements are joined by OR.
  logic [3:0] b_read_en_d;
  logic [3:0] [5:0] b_read_addr_d;
  logic [3:0] b_write_en_d;
  logic [3:0] [5:0] b_write_addr_d;
  logic [3:0] [11:0] b_write_data_d;
  always_comb begin
    b_read_en_d = '0;
    b_read_addr_d = '0;
    b_write_en_d = '0;
    b_write_addr_d = '0;
    b_write_data_d = '0;
    for (int unsigned bank = 0; bank < 4; bank++) begin
      if (k0_x1_en && k0_x1_bank == 2'(bank)) begin
        b_read_en_d[bank] = 1'b1;
        b_read_addr_d[bank] = b_read_addr_d[bank] | 6'(k0_x1_row);
      end
      if (k0_x4_en && k0_x4_bank == 2'(bank)) begin
        b_read_en_d[bank] = 1'b1;
        b_read_addr_d[bank] = b_read_addr_d[bank] | 6'(k0_x4_row);
      end
      if (k0_x7_en && k0_x7_bank == 2'(bank)) begin
        b_read_en_d[bank] = 1'b1;
        b_read_addr_d[bank] = b_read_addr_d[bank] | 6'(k0_x7_row);
      end
      if (k0_x10_en && k0_x10_bank == 2'(bank)) begin
        b_read_en_d[bank] = 1'b1;
        b_read_addr_d[bank] = b_read_addr_d[bank] | 6'(k0_x10_row);
      end
      if (b_host_read_en && b_host_read_bank == 2'(bank)) begin
        b_read_en_d[bank] = 1'b1;
        b_read_addr_d[bank] = b_read_addr_d[bank] | 6'(b_host_read_row);
      end
      if (b_host_write_en && b_host_write_bank == 2'(bank)) begin
        b_write_en_d[bank] = 1'b1;
        b_write_addr_d[bank] = b_write_addr_d[bank] | 6'(b_host_write_row);
        b_write_data_d[bank] = b_write_data_d[bank] | 12'(b_host_write_data);
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
  logic [6:0] cycles_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cycles_q <= '0;
    else cycles_q <= idle_o ? 7'd1 : cycles_q + 1'b1;
    if (rst_ni && done_o) assert (cycles_q == 7'd73) else $error("a run of another length");
  end
`endif
endmodule
