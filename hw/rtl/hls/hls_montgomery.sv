// Compiled from hw/hls/montgomery.c by `ciphermill hls compile`: change the source, not this file.
//
//   DIGITS_OF_B: 16 iterations, one in 9 cycles, 15 cycles each, 150 in all
//   code_1: 1 iterations, one in a cycle, 1 cycles each, 1 in all
//   CARRIES: 10 iterations, one in a cycle, 2 cycles each, 11 in all
module hls_montgomery #(
  // Bits of the first factor of a multiplier (18 for an ECP5, 26 for a DSP48E2).
  parameter int unsigned TileA = 18,
  // Bits of its second factor (18 for an ECP5, 17 for a DSP48E2).
  parameter int unsigned TileB = 18
) (
  input  logic              clk_i,  // Clock.
  input  logic              rst_ni,  // Asynchronous reset, active low.
  input  logic              start_i,  // Begins a run while idle_o is high.
  output logic              idle_o,  // No run is in progress.
  output logic              done_o,  // A run has ended in the cycle before.
  input  logic [9:0] [25:0] a_i,  // a: elements at the start.
  output logic [9:0] [25:0] a_o,  // a: elements at the end.
  input  logic              b_en_i,  // b: the host reads or writes an element while idle_o is high and start_i is low.
  input  logic              b_write_i,  // b: the host writes.
  input  logic [3:0]        b_row_i,  // b: the row of the element.
  input  logic [16:0]       b_data_i,  // b: the element to write.
  output logic [16:0]       b_data_o,  // b: the element of a read, two cycles later.
  input  logic [9:0] [25:0] n_i,  // n: elements at the start.
  output logic [9:0] [25:0] n_o,  // n: elements at the end.
  input  logic [0:0] [16:0] u_i,  // u: the value at the start.
  input  logic              r_en_i,  // r: the host reads or writes an element while idle_o is high and start_i is low.
  input  logic              r_write_i,  // r: the host writes.
  input  logic [3:0]        r_row_i,  // r: the row of the element.
  input  logic [25:0]       r_data_i,  // r: the element to write.
  output logic [25:0]       r_data_o  // r: the element of a read, two cycles later.
);
  // The kernels, one after another.
  logic [2:0] active_q, ends;
  assign idle_o = active_q == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= '0;
      done_o   <= 1'b0;
    end else begin
      done_o   <= ends[2];
      active_q <= (active_q & ~ends) | {ends[1:0], idle_o && start_i};
    end
  end

  logic [9:0] [25:0] a_q;
  // The memory b: 1 banks of 16 elements.
  logic [0:0] b_read_en, b_write_en;
  logic [0:0] [3:0] b_read_addr, b_write_addr;
  logic [0:0] [16:0] b_read_data, b_write_data;
  for (genvar bank = 0; bank < 1; bank++) begin : gen_b
    logic [16:0] contents[16];
    always_ff @(posedge clk_i) begin
      if (b_read_en[bank]) b_read_data[bank] <= contents[b_read_addr[bank]];
      if (b_write_en[bank]) contents[b_write_addr[bank]] <= b_write_data[bank];
    end
  end

  logic [9:0] [25:0] n_q;
  logic [0:0] [16:0] u_q;
  // The memory r: 1 banks of 10 elements.
  logic [0:0] r_read_en, r_write_en;
  logic [0:0] [3:0] r_read_addr, r_write_addr;
  logic [0:0] [25:0] r_read_data, r_write_data;
  for (genvar bank = 0; bank < 1; bank++) begin : gen_r
    logic [25:0] contents[10];
    always_ff @(posedge clk_i) begin
      if (r_read_en[bank]) r_read_data[bank] <= contents[r_read_addr[bank]];
      if (r_write_en[bank]) contents[r_write_addr[bank]] <= r_write_data[bank];
    end
  end

  logic [9:0] [27:0] sums_q;
  logic [0:0] [1:0] carry_q;
  // Kernel DIGITS_OF_B: while k0_valid[i] is high, an iteration is in its cycle i.
  logic k0_issue, k0_all_q;
  logic [3:0] k0_wait_q;
  assign k0_issue = active_q[0] && !k0_all_q && k0_wait_q == '0;
  logic [3:0] k0_l0_digits_of_b_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      k0_all_q <= 1'b0;
      k0_wait_q <= '0;
      k0_l0_digits_of_b_q <= 4'd0;
    end else if (ends[0]) begin
      k0_all_q <= 1'b0;
      k0_wait_q <= '0;
      k0_l0_digits_of_b_q <= 4'd0;
    end else if (k0_issue) begin
      k0_all_q <= k0_l0_digits_of_b_q == 4'd15;
      k0_wait_q <= 4'd8;
      k0_l0_digits_of_b_q <= k0_l0_digits_of_b_q == 4'd15 ? 4'd0 : k0_l0_digits_of_b_q + 4'd1;
    end else if (k0_wait_q != '0) begin
      k0_wait_q <= k0_wait_q - 1'b1;
    end
  end
  logic [14:0] k0_valid;
  assign k0_valid[0] = k0_issue;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) k0_valid[14:1] <= '0;
    else k0_valid[14:1] <= k0_valid[13:0];
  end
  assign ends[0] = active_q[0] && k0_all_q && k0_valid[13:0] == '0;

  logic [16:0] k0_n8_c1, k0_n8_c2, k0_n8_c3, k0_n8_c4, k0_n8_c5, k0_n8_c6;
  logic [16:0] k0_n8_c7;
  logic [25:0] k0_n10_c1, k0_n10_c2;
  logic k0_n13_c1, k0_n13_c2, k0_n13_c3, k0_n13_c4, k0_n13_c5, k0_n13_c6;
  logic k0_n14_c1, k0_n14_c2, k0_n14_c3, k0_n14_c4, k0_n14_c5, k0_n14_c6;
  logic [43:0] k0_s_0_n20_c7, k0_s_0_n20_c8, k0_s_0_n20_c9, k0_s_0_n20_c10, k0_s_0_n20_c11, k0_s_0_n20_c12;
  logic [43:0] k0_s_0_n20_c13;
  logic [25:0] k0_n21_c1, k0_n21_c2;
  logic [43:0] k0_s_1_n25_c7, k0_s_1_n25_c8, k0_s_1_n25_c9, k0_s_1_n25_c10, k0_s_1_n25_c11, k0_s_1_n25_c12;
  logic [43:0] k0_s_1_n25_c13;
  logic [25:0] k0_n27_c1, k0_n27_c2;
  logic [43:0] k0_s_2_n31_c7, k0_s_2_n31_c8, k0_s_2_n31_c9, k0_s_2_n31_c10, k0_s_2_n31_c11, k0_s_2_n31_c12;
  logic [43:0] k0_s_2_n31_c13;
  logic [25:0] k0_n33_c1, k0_n33_c2;
  logic [43:0] k0_s_3_n37_c7, k0_s_3_n37_c8, k0_s_3_n37_c9, k0_s_3_n37_c10, k0_s_3_n37_c11, k0_s_3_n37_c12;
  logic [43:0] k0_s_3_n37_c13;
  logic [25:0] k0_n38_c1, k0_n38_c2;
  logic [43:0] k0_s_4_n42_c7, k0_s_4_n42_c8, k0_s_4_n42_c9, k0_s_4_n42_c10, k0_s_4_n42_c11, k0_s_4_n42_c12;
  logic [43:0] k0_s_4_n42_c13;
  logic [25:0] k0_n44_c1, k0_n44_c2;
  logic [43:0] k0_s_5_n48_c7, k0_s_5_n48_c8, k0_s_5_n48_c9, k0_s_5_n48_c10, k0_s_5_n48_c11, k0_s_5_n48_c12;
  logic [43:0] k0_s_5_n48_c13;
  logic [25:0] k0_n50_c1, k0_n50_c2;
  logic [43:0] k0_s_6_n54_c7, k0_s_6_n54_c8, k0_s_6_n54_c9, k0_s_6_n54_c10, k0_s_6_n54_c11, k0_s_6_n54_c12;
  logic [43:0] k0_s_6_n54_c13;
  logic [25:0] k0_n56_c1, k0_n56_c2;
  logic [43:0] k0_s_7_n60_c7, k0_s_7_n60_c8, k0_s_7_n60_c9, k0_s_7_n60_c10, k0_s_7_n60_c11, k0_s_7_n60_c12;
  logic [43:0] k0_s_7_n60_c13;
  logic [25:0] k0_n62_c1, k0_n62_c2;
  logic [43:0] k0_s_8_n66_c7, k0_s_8_n66_c8, k0_s_8_n66_c9, k0_s_8_n66_c10, k0_s_8_n66_c11, k0_s_8_n66_c12;
  logic [43:0] k0_s_8_n66_c13;
  logic [25:0] k0_n68_c1, k0_n68_c2;
  logic [27:0] k0_before_n70_c6;
  logic [43:0] k0_s_9_n72_c7, k0_s_9_n72_c8, k0_s_9_n72_c9, k0_s_9_n72_c10, k0_s_9_n72_c11, k0_s_9_n72_c12;
  logic [43:0] k0_s_9_n72_c13;
  logic [16:0] k0_n74_c7;
  logic [25:0] k0_n77_c1, k0_n77_c2, k0_n77_c3, k0_n77_c4, k0_n77_c5, k0_n77_c6;
  logic [25:0] k0_n77_c7, k0_n77_c8, k0_n77_c9;
  logic [25:0] k0_n80_c1, k0_n80_c2, k0_n80_c3, k0_n80_c4, k0_n80_c5, k0_n80_c6;
  logic [25:0] k0_n80_c7, k0_n80_c8, k0_n80_c9;
  logic [25:0] k0_n83_c1, k0_n83_c2, k0_n83_c3, k0_n83_c4, k0_n83_c5, k0_n83_c6;
  logic [25:0] k0_n83_c7, k0_n83_c8, k0_n83_c9;
  logic [25:0] k0_n86_c1, k0_n86_c2, k0_n86_c3, k0_n86_c4, k0_n86_c5, k0_n86_c6;
  logic [25:0] k0_n86_c7, k0_n86_c8, k0_n86_c9;
  logic [25:0] k0_n89_c1, k0_n89_c2, k0_n89_c3, k0_n89_c4, k0_n89_c5, k0_n89_c6;
  logic [25:0] k0_n89_c7, k0_n89_c8, k0_n89_c9;
  logic [25:0] k0_n92_c1, k0_n92_c2, k0_n92_c3, k0_n92_c4, k0_n92_c5, k0_n92_c6;
  logic [25:0] k0_n92_c7, k0_n92_c8, k0_n92_c9;
  logic [25:0] k0_n95_c1, k0_n95_c2, k0_n95_c3, k0_n95_c4, k0_n95_c5, k0_n95_c6;
  logic [25:0] k0_n95_c7, k0_n95_c8, k0_n95_c9;
  logic [25:0] k0_n98_c1, k0_n98_c2, k0_n98_c3, k0_n98_c4, k0_n98_c5, k0_n98_c6;
  logic [25:0] k0_n98_c7, k0_n98_c8, k0_n98_c9;
  logic [25:0] k0_n101_c1, k0_n101_c2, k0_n101_c3, k0_n101_c4, k0_n101_c5, k0_n101_c6;
  logic [25:0] k0_n101_c7, k0_n101_c8, k0_n101_c9;
  logic [25:0] k0_n104_c1, k0_n104_c2, k0_n104_c3, k0_n104_c4, k0_n104_c5, k0_n104_c6;
  logic [25:0] k0_n104_c7, k0_n104_c8, k0_n104_c9;
  logic [27:0] k0_n107_c14;
  logic [25:0] k0_n109_c14;
  logic [27:0] k0_n111_c14;
  logic [25:0] k0_n113_c14;
  logic [27:0] k0_n115_c14;
  logic [25:0] k0_n117_c14;
  logic [27:0] k0_n119_c14;
  logic [25:0] k0_n121_c14;
  logic [27:0] k0_n123_c14;
  logic [25:0] k0_n125_c14;
  logic [27:0] k0_n127_c14;
  logic [25:0] k0_n129_c14;
  logic [27:0] k0_n131_c14;
  logic [25:0] k0_n133_c14;
  logic [27:0] k0_n135_c14;
  logic [25:0] k0_n137_c14;
  logic [27:0] k0_n139_c14;
  logic [25:0] k0_n141_c14;
  logic [25:0] k0_m0_first;
  logic [16:0] k0_m0_second;
  logic [42:0] k0_m0_sum;
  logic [25:0] k0_m1_first;
  logic [16:0] k0_m1_second;
  logic [42:0] k0_m1_sum;
  logic [25:0] k0_m2_first;
  logic [16:0] k0_m2_second;
  logic [42:0] k0_m2_sum;
  logic [25:0] k0_m3_first;
  logic [16:0] k0_m3_second;
  logic [42:0] k0_m3_sum;
  logic [25:0] k0_m4_first;
  logic [16:0] k0_m4_second;
  logic [42:0] k0_m4_sum;
  logic [25:0] k0_m5_first;
  logic [16:0] k0_m5_second;
  logic [42:0] k0_m5_sum;
  logic [25:0] k0_m6_first;
  logic [16:0] k0_m6_second;
  logic [42:0] k0_m6_sum;
  logic [25:0] k0_m7_first;
  logic [16:0] k0_m7_second;
  logic [42:0] k0_m7_sum;
  logic [25:0] k0_m8_first;
  logic [16:0] k0_m8_second;
  logic [42:0] k0_m8_sum;
  logic [25:0] k0_m9_first;
  logic [16:0] k0_m9_second;
  logic [42:0] k0_m9_sum;
  logic [16:0] k0_digit_n5;
  assign k0_digit_n5 = b_read_data[0];
  logic [16:0] k0_n8;
  assign k0_n8 = u_q[0];
  logic [25:0] k0_n10;
  assign k0_n10 = a_q[4'd0];
  logic k0_n13;
  assign k0_n13 = k0_l0_digits_of_b_q == 4'd0;
  logic k0_n14;
  assign k0_n14 = k0_n13 == 1'd0;
  logic [27:0] k0_n15;
  assign k0_n15 = sums_q[4'd0];
  logic [27:0] k0_before_n16;
  assign k0_before_n16 = k0_n13_c6 ? 28'd0 : k0_n15;
  logic [42:0] k0_n19;
  assign k0_n19 = k0_m0_sum;
  logic [43:0] k0_s_0_n20;
  assign k0_s_0_n20 = 44'(k0_before_n16) + 44'(k0_n19);
  logic [25:0] k0_n21;
  assign k0_n21 = a_q[4'd1];
  logic [27:0] k0_n22;
  assign k0_n22 = sums_q[4'd1];
  logic [27:0] k0_before_n23;
  assign k0_before_n23 = k0_n13_c6 ? 28'd0 : k0_n22;
  logic [42:0] k0_n24;
  assign k0_n24 = k0_m1_sum;
  logic [43:0] k0_s_1_n25;
  assign k0_s_1_n25 = 44'(k0_before_n23) + 44'(k0_n24);
  logic [25:0] k0_n27;
  assign k0_n27 = a_q[4'd2];
  logic [27:0] k0_n28;
  assign k0_n28 = sums_q[4'd2];
  logic [27:0] k0_before_n29;
  assign k0_before_n29 = k0_n13_c6 ? 28'd0 : k0_n28;
  logic [42:0] k0_n30;
  assign k0_n30 = k0_m2_sum;
  logic [43:0] k0_s_2_n31;
  assign k0_s_2_n31 = 44'(k0_before_n29) + 44'(k0_n30);
  logic [25:0] k0_n33;
  assign k0_n33 = a_q[4'd3];
  logic [27:0] k0_n34;
  assign k0_n34 = sums_q[4'd3];
  logic [27:0] k0_before_n35;
  assign k0_before_n35 = k0_n13_c6 ? 28'd0 : k0_n34;
  logic [42:0] k0_n36;
  assign k0_n36 = k0_m3_sum;
  logic [43:0] k0_s_3_n37;
  assign k0_s_3_n37 = 44'(k0_before_n35) + 44'(k0_n36);
  logic [25:0] k0_n38;
  assign k0_n38 = a_q[4'd4];
  logic [27:0] k0_n39;
  assign k0_n39 = sums_q[4'd4];
  logic [27:0] k0_before_n40;
  assign k0_before_n40 = k0_n13_c6 ? 28'd0 : k0_n39;
  logic [42:0] k0_n41;
  assign k0_n41 = k0_m4_sum;
  logic [43:0] k0_s_4_n42;
  assign k0_s_4_n42 = 44'(k0_before_n40) + 44'(k0_n41);
  logic [25:0] k0_n44;
  assign k0_n44 = a_q[4'd5];
  logic [27:0] k0_n45;
  assign k0_n45 = sums_q[4'd5];
  logic [27:0] k0_before_n46;
  assign k0_before_n46 = k0_n13_c6 ? 28'd0 : k0_n45;
  logic [42:0] k0_n47;
  assign k0_n47 = k0_m5_sum;
  logic [43:0] k0_s_5_n48;
  assign k0_s_5_n48 = 44'(k0_before_n46) + 44'(k0_n47);
  logic [25:0] k0_n50;
  assign k0_n50 = a_q[4'd6];
  logic [27:0] k0_n51;
  assign k0_n51 = sums_q[4'd6];
  logic [27:0] k0_before_n52;
  assign k0_before_n52 = k0_n13_c6 ? 28'd0 : k0_n51;
  logic [42:0] k0_n53;
  assign k0_n53 = k0_m6_sum;
  logic [43:0] k0_s_6_n54;
  assign k0_s_6_n54 = 44'(k0_before_n52) + 44'(k0_n53);
  logic [25:0] k0_n56;
  assign k0_n56 = a_q[4'd7];
  logic [27:0] k0_n57;
  assign k0_n57 = sums_q[4'd7];
  logic [27:0] k0_before_n58;
  assign k0_before_n58 = k0_n13_c6 ? 28'd0 : k0_n57;
  logic [42:0] k0_n59;
  assign k0_n59 = k0_m7_sum;
  logic [43:0] k0_s_7_n60;
  assign k0_s_7_n60 = 44'(k0_before_n58) + 44'(k0_n59);
  logic [25:0] k0_n62;
  assign k0_n62 = a_q[4'd8];
  logic [27:0] k0_n63;
  assign k0_n63 = sums_q[4'd8];
  logic [27:0] k0_before_n64;
  assign k0_before_n64 = k0_n13_c6 ? 28'd0 : k0_n63;
  logic [42:0] k0_n65;
  assign k0_n65 = k0_m8_sum;
  logic [43:0] k0_s_8_n66;
  assign k0_s_8_n66 = 44'(k0_before_n64) + 44'(k0_n65);
  logic [25:0] k0_n68;
  assign k0_n68 = a_q[4'd9];
  logic [27:0] k0_n69;
  assign k0_n69 = sums_q[4'd9];
  logic [27:0] k0_before_n70;
  assign k0_before_n70 = k0_n13_c5 ? 28'd0 : k0_n69;
  logic [42:0] k0_n71;
  assign k0_n71 = k0_m9_sum;
  logic [43:0] k0_s_9_n72;
  assign k0_s_9_n72 = 44'(k0_before_n70_c6) + 44'(k0_n71);
  logic [16:0] k0_n74;
  assign k0_n74 = 17'(k0_s_0_n20) & 17'd131071;
  logic [1:0] [16:0] k0_n75_p;
  logic [16:0] k0_n75;
  assign k0_n75 = k0_n75_p[1];
  always_ff @(posedge clk_i) begin
    k0_n75_p[0] <= k0_n8_c7 * k0_n74_c7;
    k0_n75_p[1] <= k0_n75_p[0];
  end
  logic [16:0] k0_factor_n76;
  assign k0_factor_n76 = k0_n75 & 17'd131071;
  logic [25:0] k0_n77;
  assign k0_n77 = n_q[4'd0];
  logic [42:0] k0_n78;
  assign k0_n78 = k0_m0_sum;
  logic [44:0] k0_s_0_n79;
  assign k0_s_0_n79 = 45'(k0_s_0_n20_c13) + 45'(k0_n78);
  logic [25:0] k0_n80;
  assign k0_n80 = n_q[4'd1];
  logic [42:0] k0_n81;
  assign k0_n81 = k0_m1_sum;
  logic [44:0] k0_s_1_n82;
  assign k0_s_1_n82 = 45'(k0_s_1_n25_c13) + 45'(k0_n81);
  logic [25:0] k0_n83;
  assign k0_n83 = n_q[4'd2];
  logic [42:0] k0_n84;
  assign k0_n84 = k0_m2_sum;
  logic [44:0] k0_s_2_n85;
  assign k0_s_2_n85 = 45'(k0_s_2_n31_c13) + 45'(k0_n84);
  logic [25:0] k0_n86;
  assign k0_n86 = n_q[4'd3];
  logic [42:0] k0_n87;
  assign k0_n87 = k0_m3_sum;
  logic [44:0] k0_s_3_n88;
  assign k0_s_3_n88 = 45'(k0_s_3_n37_c13) + 45'(k0_n87);
  logic [25:0] k0_n89;
  assign k0_n89 = n_q[4'd4];
  logic [42:0] k0_n90;
  assign k0_n90 = k0_m4_sum;
  logic [44:0] k0_s_4_n91;
  assign k0_s_4_n91 = 45'(k0_s_4_n42_c13) + 45'(k0_n90);
  logic [25:0] k0_n92;
  assign k0_n92 = n_q[4'd5];
  logic [42:0] k0_n93;
  assign k0_n93 = k0_m5_sum;
  logic [44:0] k0_s_5_n94;
  assign k0_s_5_n94 = 45'(k0_s_5_n48_c13) + 45'(k0_n93);
  logic [25:0] k0_n95;
  assign k0_n95 = n_q[4'd6];
  logic [42:0] k0_n96;
  assign k0_n96 = k0_m6_sum;
  logic [44:0] k0_s_6_n97;
  assign k0_s_6_n97 = 45'(k0_s_6_n54_c13) + 45'(k0_n96);
  logic [25:0] k0_n98;
  assign k0_n98 = n_q[4'd7];
  logic [42:0] k0_n99;
  assign k0_n99 = k0_m7_sum;
  logic [44:0] k0_s_7_n100;
  assign k0_s_7_n100 = 45'(k0_s_7_n60_c13) + 45'(k0_n99);
  logic [25:0] k0_n101;
  assign k0_n101 = n_q[4'd8];
  logic [42:0] k0_n102;
  assign k0_n102 = k0_m8_sum;
  logic [44:0] k0_s_8_n103;
  assign k0_s_8_n103 = 45'(k0_s_8_n66_c13) + 45'(k0_n102);
  logic [25:0] k0_n104;
  assign k0_n104 = n_q[4'd9];
  logic [42:0] k0_n105;
  assign k0_n105 = k0_m9_sum;
  logic [44:0] k0_s_9_n106;
  assign k0_s_9_n106 = 45'(k0_s_9_n72_c13) + 45'(k0_n105);
  logic [27:0] k0_n107;
  assign k0_n107 = 28'(k0_s_0_n79 >> 5'd17);
  logic [16:0] k0_n108;
  assign k0_n108 = 17'(k0_s_1_n82) & 17'd131071;
  logic [25:0] k0_n109;
  assign k0_n109 = 26'(k0_n108) << 4'd9;
  logic [27:0] k0_n110;
  assign k0_n110 = k0_n107_c14 + 28'(k0_n109_c14);
  logic [27:0] k0_n111;
  assign k0_n111 = 28'(k0_s_1_n82 >> 5'd17);
  logic [16:0] k0_n112;
  assign k0_n112 = 17'(k0_s_2_n85) & 17'd131071;
  logic [25:0] k0_n113;
  assign k0_n113 = 26'(k0_n112) << 4'd9;
  logic [27:0] k0_n114;
  assign k0_n114 = k0_n111_c14 + 28'(k0_n113_c14);
  logic [27:0] k0_n115;
  assign k0_n115 = 28'(k0_s_2_n85 >> 5'd17);
  logic [16:0] k0_n116;
  assign k0_n116 = 17'(k0_s_3_n88) & 17'd131071;
  logic [25:0] k0_n117;
  assign k0_n117 = 26'(k0_n116) << 4'd9;
  logic [27:0] k0_n118;
  assign k0_n118 = k0_n115_c14 + 28'(k0_n117_c14);
  logic [27:0] k0_n119;
  assign k0_n119 = 28'(k0_s_3_n88 >> 5'd17);
  logic [16:0] k0_n120;
  assign k0_n120 = 17'(k0_s_4_n91) & 17'd131071;
  logic [25:0] k0_n121;
  assign k0_n121 = 26'(k0_n120) << 4'd9;
  logic [27:0] k0_n122;
  assign k0_n122 = k0_n119_c14 + 28'(k0_n121_c14);
  logic [27:0] k0_n123;
  assign k0_n123 = 28'(k0_s_4_n91 >> 5'd17);
  logic [16:0] k0_n124;
  assign k0_n124 = 17'(k0_s_5_n94) & 17'd131071;
  logic [25:0] k0_n125;
  assign k0_n125 = 26'(k0_n124) << 4'd9;
  logic [27:0] k0_n126;
  assign k0_n126 = k0_n123_c14 + 28'(k0_n125_c14);
  logic [27:0] k0_n127;
  assign k0_n127 = 28'(k0_s_5_n94 >> 5'd17);
  logic [16:0] k0_n128;
  assign k0_n128 = 17'(k0_s_6_n97) & 17'd131071;
  logic [25:0] k0_n129;
  assign k0_n129 = 26'(k0_n128) << 4'd9;
  logic [27:0] k0_n130;
  assign k0_n130 = k0_n127_c14 + 28'(k0_n129_c14);
  logic [27:0] k0_n131;
  assign k0_n131 = 28'(k0_s_6_n97 >> 5'd17);
  logic [16:0] k0_n132;
  assign k0_n132 = 17'(k0_s_7_n100) & 17'd131071;
  logic [25:0] k0_n133;
  assign k0_n133 = 26'(k0_n132) << 4'd9;
  logic [27:0] k0_n134;
  assign k0_n134 = k0_n131_c14 + 28'(k0_n133_c14);
  logic [27:0] k0_n135;
  assign k0_n135 = 28'(k0_s_7_n100 >> 5'd17);
  logic [16:0] k0_n136;
  assign k0_n136 = 17'(k0_s_8_n103) & 17'd131071;
  logic [25:0] k0_n137;
  assign k0_n137 = 26'(k0_n136) << 4'd9;
  logic [27:0] k0_n138;
  assign k0_n138 = k0_n135_c14 + 28'(k0_n137_c14);
  logic [27:0] k0_n139;
  assign k0_n139 = 28'(k0_s_8_n103 >> 5'd17);
  logic [16:0] k0_n140;
  assign k0_n140 = 17'(k0_s_9_n106) & 17'd131071;
  logic [25:0] k0_n141;
  assign k0_n141 = 26'(k0_n140) << 4'd9;
  logic [27:0] k0_n142;
  assign k0_n142 = k0_n139_c14 + 28'(k0_n141_c14);
  logic [27:0] k0_n143;
  assign k0_n143 = 28'(k0_s_9_n106 >> 5'd17);
  // A multiplier of 2 products, which begin in different cycles.
  logic [25:0] k0_m0_a;
  assign k0_m0_a = k0_valid[2] ? k0_n10_c2 : k0_n77_c9;
  logic [16:0] k0_m0_b;
  assign k0_m0_b = k0_valid[2] ? k0_digit_n5 : k0_factor_n76;
  prim_mul #(
    .AWidth(26), .BWidth(17), .OutWidth(43), .Stages(3),
    .TileA(TileA), .TileB(TileB)
  ) k0_m0_tiles (
    .clk_i, .en_i(1'b1), .a_i(k0_m0_first), .b_i(k0_m0_second),
    .product_o(k0_m0_sum)
  );
  always_ff @(posedge clk_i) begin
    k0_m0_first <= k0_m0_a;
    k0_m0_second <= k0_m0_b;
  end
  // A multiplier of 2 products, which begin in different cycles.
  logic [25:0] k0_m1_a;
  assign k0_m1_a = k0_valid[2] ? k0_n21_c2 : k0_n80_c9;
  logic [16:0] k0_m1_b;
  assign k0_m1_b = k0_valid[2] ? k0_digit_n5 : k0_factor_n76;
  prim_mul #(
    .AWidth(26), .BWidth(17), .OutWidth(43), .Stages(3),
    .TileA(TileA), .TileB(TileB)
  ) k0_m1_tiles (
    .clk_i, .en_i(1'b1), .a_i(k0_m1_first), .b_i(k0_m1_second),
    .product_o(k0_m1_sum)
  );
  always_ff @(posedge clk_i) begin
    k0_m1_first <= k0_m1_a;
    k0_m1_second <= k0_m1_b;
  end
  // A multiplier of 2 products, which begin in different cycles.
  logic [25:0] k0_m2_a;
  assign k0_m2_a = k0_valid[2] ? k0_n27_c2 : k0_n83_c9;
  logic [16:0] k0_m2_b;
  assign k0_m2_b = k0_valid[2] ? k0_digit_n5 : k0_factor_n76;
  prim_mul #(
    .AWidth(26), .BWidth(17), .OutWidth(43), .Stages(3),
    .TileA(TileA), .TileB(TileB)
  ) k0_m2_tiles (
    .clk_i, .en_i(1'b1), .a_i(k0_m2_first), .b_i(k0_m2_second),
    .product_o(k0_m2_sum)
  );
  always_ff @(posedge clk_i) begin
    k0_m2_first <= k0_m2_a;
    k0_m2_second <= k0_m2_b;
  end
  // A multiplier of 2 products, which begin in different cycles.
  logic [25:0] k0_m3_a;
  assign k0_m3_a = k0_valid[2] ? k0_n33_c2 : k0_n86_c9;
  logic [16:0] k0_m3_b;
  assign k0_m3_b = k0_valid[2] ? k0_digit_n5 : k0_factor_n76;
  prim_mul #(
    .AWidth(26), .BWidth(17), .OutWidth(43), .Stages(3),
    .TileA(TileA), .TileB(TileB)
  ) k0_m3_tiles (
    .clk_i, .en_i(1'b1), .a_i(k0_m3_first), .b_i(k0_m3_second),
    .product_o(k0_m3_sum)
  );
  always_ff @(posedge clk_i) begin
    k0_m3_first <= k0_m3_a;
    k0_m3_second <= k0_m3_b;
  end
  // A multiplier of 2 products, which begin in different cycles.
  logic [25:0] k0_m4_a;
  assign k0_m4_a = k0_valid[2] ? k0_n38_c2 : k0_n89_c9;
  logic [16:0] k0_m4_b;
  assign k0_m4_b = k0_valid[2] ? k0_digit_n5 : k0_factor_n76;
  prim_mul #(
    .AWidth(26), .BWidth(17), .OutWidth(43), .Stages(3),
    .TileA(TileA), .TileB(TileB)
  ) k0_m4_tiles (
    .clk_i, .en_i(1'b1), .a_i(k0_m4_first), .b_i(k0_m4_second),
    .product_o(k0_m4_sum)
  );
  always_ff @(posedge clk_i) begin
    k0_m4_first <= k0_m4_a;
    k0_m4_second <= k0_m4_b;
  end
  // A multiplier of 2 products, which begin in different cycles.
  logic [25:0] k0_m5_a;
  assign k0_m5_a = k0_valid[2] ? k0_n44_c2 : k0_n92_c9;
  logic [16:0] k0_m5_b;
  assign k0_m5_b = k0_valid[2] ? k0_digit_n5 : k0_factor_n76;
  prim_mul #(
    .AWidth(26), .BWidth(17), .OutWidth(43), .Stages(3),
    .TileA(TileA), .TileB(TileB)
  ) k0_m5_tiles (
    .clk_i, .en_i(1'b1), .a_i(k0_m5_first), .b_i(k0_m5_second),
    .product_o(k0_m5_sum)
  );
  always_ff @(posedge clk_i) begin
    k0_m5_first <= k0_m5_a;
    k0_m5_second <= k0_m5_b;
  end
  // A multiplier of 2 products, which begin in different cycles.
  logic [25:0] k0_m6_a;
  assign k0_m6_a = k0_valid[2] ? k0_n50_c2 : k0_n95_c9;
  logic [16:0] k0_m6_b;
  assign k0_m6_b = k0_valid[2] ? k0_digit_n5 : k0_factor_n76;
  prim_mul #(
    .AWidth(26), .BWidth(17), .OutWidth(43), .Stages(3),
    .TileA(TileA), .TileB(TileB)
  ) k0_m6_tiles (
    .clk_i, .en_i(1'b1), .a_i(k0_m6_first), .b_i(k0_m6_second),
    .product_o(k0_m6_sum)
  );
  always_ff @(posedge clk_i) begin
    k0_m6_first <= k0_m6_a;
    k0_m6_second <= k0_m6_b;
  end
  // A multiplier of 2 products, which begin in different cycles.
  logic [25:0] k0_m7_a;
  assign k0_m7_a = k0_valid[2] ? k0_n56_c2 : k0_n98_c9;
  logic [16:0] k0_m7_b;
  assign k0_m7_b = k0_valid[2] ? k0_digit_n5 : k0_factor_n76;
  prim_mul #(
    .AWidth(26), .BWidth(17), .OutWidth(43), .Stages(3),
    .TileA(TileA), .TileB(TileB)
  ) k0_m7_tiles (
    .clk_i, .en_i(1'b1), .a_i(k0_m7_first), .b_i(k0_m7_second),
    .product_o(k0_m7_sum)
  );
  always_ff @(posedge clk_i) begin
    k0_m7_first <= k0_m7_a;
    k0_m7_second <= k0_m7_b;
  end
  // A multiplier of 2 products, which begin in different cycles.
  logic [25:0] k0_m8_a;
  assign k0_m8_a = k0_valid[2] ? k0_n62_c2 : k0_n101_c9;
  logic [16:0] k0_m8_b;
  assign k0_m8_b = k0_valid[2] ? k0_digit_n5 : k0_factor_n76;
  prim_mul #(
    .AWidth(26), .BWidth(17), .OutWidth(43), .Stages(3),
    .TileA(TileA), .TileB(TileB)
  ) k0_m8_tiles (
    .clk_i, .en_i(1'b1), .a_i(k0_m8_first), .b_i(k0_m8_second),
    .product_o(k0_m8_sum)
  );
  always_ff @(posedge clk_i) begin
    k0_m8_first <= k0_m8_a;
    k0_m8_second <= k0_m8_b;
  end
  // A multiplier of 2 products, which begin in different cycles.
  logic [25:0] k0_m9_a;
  assign k0_m9_a = k0_valid[2] ? k0_n68_c2 : k0_n104_c9;
  logic [16:0] k0_m9_b;
  assign k0_m9_b = k0_valid[2] ? k0_digit_n5 : k0_factor_n76;
  prim_mul #(
    .AWidth(26), .BWidth(17), .OutWidth(43), .Stages(3),
    .TileA(TileA), .TileB(TileB)
  ) k0_m9_tiles (
    .clk_i, .en_i(1'b1), .a_i(k0_m9_first), .b_i(k0_m9_second),
    .product_o(k0_m9_sum)
  );
  always_ff @(posedge clk_i) begin
    k0_m9_first <= k0_m9_a;
    k0_m9_second <= k0_m9_b;
  end
  always_ff @(posedge clk_i) begin
    k0_n8_c1 <= k0_n8;
    k0_n8_c2 <= k0_n8_c1;
    k0_n8_c3 <= k0_n8_c2;
    k0_n8_c4 <= k0_n8_c3;
    k0_n8_c5 <= k0_n8_c4;
    k0_n8_c6 <= k0_n8_c5;
    k0_n8_c7 <= k0_n8_c6;
    k0_n10_c1 <= k0_n10;
    k0_n10_c2 <= k0_n10_c1;
    k0_n13_c1 <= k0_n13;
    k0_n13_c2 <= k0_n13_c1;
    k0_n13_c3 <= k0_n13_c2;
    k0_n13_c4 <= k0_n13_c3;
    k0_n13_c5 <= k0_n13_c4;
    k0_n13_c6 <= k0_n13_c5;
    k0_n14_c1 <= k0_n14;
    k0_n14_c2 <= k0_n14_c1;
    k0_n14_c3 <= k0_n14_c2;
    k0_n14_c4 <= k0_n14_c3;
    k0_n14_c5 <= k0_n14_c4;
    k0_n14_c6 <= k0_n14_c5;
    k0_s_0_n20_c7 <= k0_s_0_n20;
    k0_s_0_n20_c8 <= k0_s_0_n20_c7;
    k0_s_0_n20_c9 <= k0_s_0_n20_c8;
    k0_s_0_n20_c10 <= k0_s_0_n20_c9;
    k0_s_0_n20_c11 <= k0_s_0_n20_c10;
    k0_s_0_n20_c12 <= k0_s_0_n20_c11;
    k0_s_0_n20_c13 <= k0_s_0_n20_c12;
    k0_n21_c1 <= k0_n21;
    k0_n21_c2 <= k0_n21_c1;
    k0_s_1_n25_c7 <= k0_s_1_n25;
    k0_s_1_n25_c8 <= k0_s_1_n25_c7;
    k0_s_1_n25_c9 <= k0_s_1_n25_c8;
    k0_s_1_n25_c10 <= k0_s_1_n25_c9;
    k0_s_1_n25_c11 <= k0_s_1_n25_c10;
    k0_s_1_n25_c12 <= k0_s_1_n25_c11;
    k0_s_1_n25_c13 <= k0_s_1_n25_c12;
    k0_n27_c1 <= k0_n27;
    k0_n27_c2 <= k0_n27_c1;
    k0_s_2_n31_c7 <= k0_s_2_n31;
    k0_s_2_n31_c8 <= k0_s_2_n31_c7;
    k0_s_2_n31_c9 <= k0_s_2_n31_c8;
    k0_s_2_n31_c10 <= k0_s_2_n31_c9;
    k0_s_2_n31_c11 <= k0_s_2_n31_c10;
    k0_s_2_n31_c12 <= k0_s_2_n31_c11;
    k0_s_2_n31_c13 <= k0_s_2_n31_c12;
    k0_n33_c1 <= k0_n33;
    k0_n33_c2 <= k0_n33_c1;
    k0_s_3_n37_c7 <= k0_s_3_n37;
    k0_s_3_n37_c8 <= k0_s_3_n37_c7;
    k0_s_3_n37_c9 <= k0_s_3_n37_c8;
    k0_s_3_n37_c10 <= k0_s_3_n37_c9;
    k0_s_3_n37_c11 <= k0_s_3_n37_c10;
    k0_s_3_n37_c12 <= k0_s_3_n37_c11;
    k0_s_3_n37_c13 <= k0_s_3_n37_c12;
    k0_n38_c1 <= k0_n38;
    k0_n38_c2 <= k0_n38_c1;
    k0_s_4_n42_c7 <= k0_s_4_n42;
    k0_s_4_n42_c8 <= k0_s_4_n42_c7;
    k0_s_4_n42_c9 <= k0_s_4_n42_c8;
    k0_s_4_n42_c10 <= k0_s_4_n42_c9;
    k0_s_4_n42_c11 <= k0_s_4_n42_c10;
    k0_s_4_n42_c12 <= k0_s_4_n42_c11;
    k0_s_4_n42_c13 <= k0_s_4_n42_c12;
    k0_n44_c1 <= k0_n44;
    k0_n44_c2 <= k0_n44_c1;
    k0_s_5_n48_c7 <= k0_s_5_n48;
    k0_s_5_n48_c8 <= k0_s_5_n48_c7;
    k0_s_5_n48_c9 <= k0_s_5_n48_c8;
    k0_s_5_n48_c10 <= k0_s_5_n48_c9;
    k0_s_5_n48_c11 <= k0_s_5_n48_c10;
    k0_s_5_n48_c12 <= k0_s_5_n48_c11;
    k0_s_5_n48_c13 <= k0_s_5_n48_c12;
    k0_n50_c1 <= k0_n50;
    k0_n50_c2 <= k0_n50_c1;
    k0_s_6_n54_c7 <= k0_s_6_n54;
    k0_s_6_n54_c8 <= k0_s_6_n54_c7;
    k0_s_6_n54_c9 <= k0_s_6_n54_c8;
    k0_s_6_n54_c10 <= k0_s_6_n54_c9;
    k0_s_6_n54_c11 <= k0_s_6_n54_c10;
    k0_s_6_n54_c12 <= k0_s_6_n54_c11;
    k0_s_6_n54_c13 <= k0_s_6_n54_c12;
    k0_n56_c1 <= k0_n56;
    k0_n56_c2 <= k0_n56_c1;
    k0_s_7_n60_c7 <= k0_s_7_n60;
    k0_s_7_n60_c8 <= k0_s_7_n60_c7;
    k0_s_7_n60_c9 <= k0_s_7_n60_c8;
    k0_s_7_n60_c10 <= k0_s_7_n60_c9;
    k0_s_7_n60_c11 <= k0_s_7_n60_c10;
    k0_s_7_n60_c12 <= k0_s_7_n60_c11;
    k0_s_7_n60_c13 <= k0_s_7_n60_c12;
    k0_n62_c1 <= k0_n62;
    k0_n62_c2 <= k0_n62_c1;
    k0_s_8_n66_c7 <= k0_s_8_n66;
    k0_s_8_n66_c8 <= k0_s_8_n66_c7;
    k0_s_8_n66_c9 <= k0_s_8_n66_c8;
    k0_s_8_n66_c10 <= k0_s_8_n66_c9;
    k0_s_8_n66_c11 <= k0_s_8_n66_c10;
    k0_s_8_n66_c12 <= k0_s_8_n66_c11;
    k0_s_8_n66_c13 <= k0_s_8_n66_c12;
    k0_n68_c1 <= k0_n68;
    k0_n68_c2 <= k0_n68_c1;
    k0_before_n70_c6 <= k0_before_n70;
    k0_s_9_n72_c7 <= k0_s_9_n72;
    k0_s_9_n72_c8 <= k0_s_9_n72_c7;
    k0_s_9_n72_c9 <= k0_s_9_n72_c8;
    k0_s_9_n72_c10 <= k0_s_9_n72_c9;
    k0_s_9_n72_c11 <= k0_s_9_n72_c10;
    k0_s_9_n72_c12 <= k0_s_9_n72_c11;
    k0_s_9_n72_c13 <= k0_s_9_n72_c12;
    k0_n74_c7 <= k0_n74;
    k0_n77_c1 <= k0_n77;
    k0_n77_c2 <= k0_n77_c1;
    k0_n77_c3 <= k0_n77_c2;
    k0_n77_c4 <= k0_n77_c3;
    k0_n77_c5 <= k0_n77_c4;
    k0_n77_c6 <= k0_n77_c5;
    k0_n77_c7 <= k0_n77_c6;
    k0_n77_c8 <= k0_n77_c7;
    k0_n77_c9 <= k0_n77_c8;
    k0_n80_c1 <= k0_n80;
    k0_n80_c2 <= k0_n80_c1;
    k0_n80_c3 <= k0_n80_c2;
    k0_n80_c4 <= k0_n80_c3;
    k0_n80_c5 <= k0_n80_c4;
    k0_n80_c6 <= k0_n80_c5;
    k0_n80_c7 <= k0_n80_c6;
    k0_n80_c8 <= k0_n80_c7;
    k0_n80_c9 <= k0_n80_c8;
    k0_n83_c1 <= k0_n83;
    k0_n83_c2 <= k0_n83_c1;
    k0_n83_c3 <= k0_n83_c2;
    k0_n83_c4 <= k0_n83_c3;
    k0_n83_c5 <= k0_n83_c4;
    k0_n83_c6 <= k0_n83_c5;
    k0_n83_c7 <= k0_n83_c6;
    k0_n83_c8 <= k0_n83_c7;
    k0_n83_c9 <= k0_n83_c8;
    k0_n86_c1 <= k0_n86;
    k0_n86_c2 <= k0_n86_c1;
    k0_n86_c3 <= k0_n86_c2;
    k0_n86_c4 <= k0_n86_c3;
    k0_n86_c5 <= k0_n86_c4;
    k0_n86_c6 <= k0_n86_c5;
    k0_n86_c7 <= k0_n86_c6;
    k0_n86_c8 <= k0_n86_c7;
    k0_n86_c9 <= k0_n86_c8;
    k0_n89_c1 <= k0_n89;
    k0_n89_c2 <= k0_n89_c1;
    k0_n89_c3 <= k0_n89_c2;
    k0_n89_c4 <= k0_n89_c3;
    k0_n89_c5 <= k0_n89_c4;
    k0_n89_c6 <= k0_n89_c5;
    k0_n89_c7 <= k0_n89_c6;
    k0_n89_c8 <= k0_n89_c7;
    k0_n89_c9 <= k0_n89_c8;
    k0_n92_c1 <= k0_n92;
    k0_n92_c2 <= k0_n92_c1;
    k0_n92_c3 <= k0_n92_c2;
    k0_n92_c4 <= k0_n92_c3;
    k0_n92_c5 <= k0_n92_c4;
    k0_n92_c6 <= k0_n92_c5;
    k0_n92_c7 <= k0_n92_c6;
    k0_n92_c8 <= k0_n92_c7;
    k0_n92_c9 <= k0_n92_c8;
    k0_n95_c1 <= k0_n95;
    k0_n95_c2 <= k0_n95_c1;
    k0_n95_c3 <= k0_n95_c2;
    k0_n95_c4 <= k0_n95_c3;
    k0_n95_c5 <= k0_n95_c4;
    k0_n95_c6 <= k0_n95_c5;
    k0_n95_c7 <= k0_n95_c6;
    k0_n95_c8 <= k0_n95_c7;
    k0_n95_c9 <= k0_n95_c8;
    k0_n98_c1 <= k0_n98;
    k0_n98_c2 <= k0_n98_c1;
    k0_n98_c3 <= k0_n98_c2;
    k0_n98_c4 <= k0_n98_c3;
    k0_n98_c5 <= k0_n98_c4;
    k0_n98_c6 <= k0_n98_c5;
    k0_n98_c7 <= k0_n98_c6;
    k0_n98_c8 <= k0_n98_c7;
    k0_n98_c9 <= k0_n98_c8;
    k0_n101_c1 <= k0_n101;
    k0_n101_c2 <= k0_n101_c1;
    k0_n101_c3 <= k0_n101_c2;
    k0_n101_c4 <= k0_n101_c3;
    k0_n101_c5 <= k0_n101_c4;
    k0_n101_c6 <= k0_n101_c5;
    k0_n101_c7 <= k0_n101_c6;
    k0_n101_c8 <= k0_n101_c7;
    k0_n101_c9 <= k0_n101_c8;
    k0_n104_c1 <= k0_n104;
    k0_n104_c2 <= k0_n104_c1;
    k0_n104_c3 <= k0_n104_c2;
    k0_n104_c4 <= k0_n104_c3;
    k0_n104_c5 <= k0_n104_c4;
    k0_n104_c6 <= k0_n104_c5;
    k0_n104_c7 <= k0_n104_c6;
    k0_n104_c8 <= k0_n104_c7;
    k0_n104_c9 <= k0_n104_c8;
    k0_n107_c14 <= k0_n107;
    k0_n109_c14 <= k0_n109;
    k0_n111_c14 <= k0_n111;
    k0_n113_c14 <= k0_n113;
    k0_n115_c14 <= k0_n115;
    k0_n117_c14 <= k0_n117;
    k0_n119_c14 <= k0_n119;
    k0_n121_c14 <= k0_n121;
    k0_n123_c14 <= k0_n123;
    k0_n125_c14 <= k0_n125;
    k0_n127_c14 <= k0_n127;
    k0_n129_c14 <= k0_n129;
    k0_n131_c14 <= k0_n131;
    k0_n133_c14 <= k0_n133;
    k0_n135_c14 <= k0_n135;
    k0_n137_c14 <= k0_n137;
    k0_n139_c14 <= k0_n139;
    k0_n141_c14 <= k0_n141;
  end
  // Line 20: reads b.
  logic k0_x0_en;
  assign k0_x0_en = k0_valid[0];
  logic [3:0] k0_x0_row;
  assign k0_x0_row = k0_l0_digits_of_b_q;
  // Line 36: writes sums.
  logic k0_x32_en;
  assign k0_x32_en = k0_valid[14];
  logic [27:0] k0_x32_data;
  assign k0_x32_data = k0_n110;
  logic [3:0] k0_x32_bank;
  assign k0_x32_bank = 4'd0;
  // Line 36: writes sums.
  logic k0_x33_en;
  assign k0_x33_en = k0_valid[14];
  logic [27:0] k0_x33_data;
  assign k0_x33_data = k0_n114;
  logic [3:0] k0_x33_bank;
  assign k0_x33_bank = 4'd1;
  // Line 36: writes sums.
  logic k0_x34_en;
  assign k0_x34_en = k0_valid[14];
  logic [27:0] k0_x34_data;
  assign k0_x34_data = k0_n118;
  logic [3:0] k0_x34_bank;
  assign k0_x34_bank = 4'd2;
  // Line 36: writes sums.
  logic k0_x35_en;
  assign k0_x35_en = k0_valid[14];
  logic [27:0] k0_x35_data;
  assign k0_x35_data = k0_n122;
  logic [3:0] k0_x35_bank;
  assign k0_x35_bank = 4'd3;
  // Line 36: writes sums.
  logic k0_x36_en;
  assign k0_x36_en = k0_valid[14];
  logic [27:0] k0_x36_data;
  assign k0_x36_data = k0_n126;
  logic [3:0] k0_x36_bank;
  assign k0_x36_bank = 4'd4;
  // Line 36: writes sums.
  logic k0_x37_en;
  assign k0_x37_en = k0_valid[14];
  logic [27:0] k0_x37_data;
  assign k0_x37_data = k0_n130;
  logic [3:0] k0_x37_bank;
  assign k0_x37_bank = 4'd5;
  // Line 36: writes sums.
  logic k0_x38_en;
  assign k0_x38_en = k0_valid[14];
  logic [27:0] k0_x38_data;
  assign k0_x38_data = k0_n134;
  logic [3:0] k0_x38_bank;
  assign k0_x38_bank = 4'd6;
  // Line 36: writes sums.
  logic k0_x39_en;
  assign k0_x39_en = k0_valid[14];
  logic [27:0] k0_x39_data;
  assign k0_x39_data = k0_n138;
  logic [3:0] k0_x39_bank;
  assign k0_x39_bank = 4'd7;
  // Line 36: writes sums.
  logic k0_x40_en;
  assign k0_x40_en = k0_valid[14];
  logic [27:0] k0_x40_data;
  assign k0_x40_data = k0_n142;
  logic [3:0] k0_x40_bank;
  assign k0_x40_bank = 4'd8;
  // Line 36: writes sums.
  logic k0_x41_en;
  assign k0_x41_en = k0_valid[13];
  logic [27:0] k0_x41_data;
  assign k0_x41_data = k0_n143;
  logic [3:0] k0_x41_bank;
  assign k0_x41_bank = 4'd9;

  // Kernel code_1: while k1_valid[i] is high, an iteration is in its cycle i.
  logic k1_issue, k1_all_q;
  assign k1_issue = active_q[1] && !k1_all_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      k1_all_q <= 1'b0;
    end else if (ends[1]) begin
      k1_all_q <= 1'b0;
    end else if (k1_issue) begin
      k1_all_q <= 1'b1;
    end
  end
  logic [0:0] k1_valid;
  assign k1_valid[0] = k1_issue;
  assign ends[1] = active_q[1] && k1_all_q;

  // Line 38: writes carry.
  logic k1_x0_en;
  assign k1_x0_en = k1_valid[0];
  logic [1:0] k1_x0_data;
  assign k1_x0_data = 2'd0;

  // Kernel CARRIES: while k2_valid[i] is high, an iteration is in its cycle i.
  logic k2_issue, k2_all_q;
  assign k2_issue = active_q[2] && !k2_all_q;
  logic [3:0] k2_l0_carries_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      k2_all_q <= 1'b0;
      k2_l0_carries_q <= 4'd0;
    end else if (ends[2]) begin
      k2_all_q <= 1'b0;
      k2_l0_carries_q <= 4'd0;
    end else if (k2_issue) begin
      k2_all_q <= k2_l0_carries_q == 4'd9;
      k2_l0_carries_q <= k2_l0_carries_q == 4'd9 ? 4'd0 : k2_l0_carries_q + 4'd1;
    end
  end
  logic [1:0] k2_valid;
  assign k2_valid[0] = k2_issue;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) k2_valid[1:1] <= '0;
    else k2_valid[1:1] <= k2_valid[0:0];
  end
  assign ends[2] = active_q[2] && k2_all_q && k2_valid[0:0] == '0;

  logic [3:0] k2_l0_carries_q_c1;
  logic [27:0] k2_limb_n4_c1;
  logic [27:0] k2_limb_n4;
  assign k2_limb_n4 = sums_q[k2_l0_carries_q];
  logic [1:0] k2_n7;
  assign k2_n7 = carry_q[0];
  logic [27:0] k2_now_n8;
  assign k2_now_n8 = k2_limb_n4_c1 + 28'(k2_n7);
  logic [25:0] k2_n10;
  assign k2_n10 = 26'(k2_now_n8) & 26'd67108863;
  logic [1:0] k2_n12;
  assign k2_n12 = 2'(k2_now_n8 >> 5'd26);
  always_ff @(posedge clk_i) begin
    k2_l0_carries_q_c1 <= k2_l0_carries_q;
    k2_limb_n4_c1 <= k2_limb_n4;
  end
  // Line 46: writes r.
  logic k2_x2_en;
  assign k2_x2_en = k2_valid[1];
  logic [25:0] k2_x2_data;
  assign k2_x2_data = k2_n10;
  logic [3:0] k2_x2_row;
  assign k2_x2_row = k2_l0_carries_q_c1;
  // Line 47: writes carry.
  logic k2_x3_en;
  assign k2_x3_en = k2_valid[1];
  logic [1:0] k2_x3_data;
  assign k2_x3_data = k2_n12;

  // The registers of a.
  always_ff @(posedge clk_i) begin
    if (idle_o && start_i) a_q <= a_i;
  end
  assign a_o = a_q;

  // The host's access to b.
  logic b_host_read_en;
  assign b_host_read_en = b_en_i && !b_write_i && idle_o && !start_i;
  logic [3:0] b_host_read_row;
  assign b_host_read_row = b_row_i;
  logic b_host_write_en;
  assign b_host_write_en = b_en_i && b_write_i && idle_o && !start_i;
  logic [3:0] b_host_write_row;
  assign b_host_write_row = b_row_i;
  logic [16:0] b_host_write_data;
  assign b_host_write_data = b_data_i;
  assign b_data_o = b_read_data[0];

  // The ports of b. At most one access uses a port in a cycle, so rows and elements are joined by OR.
  logic [0:0] b_read_en_d;
  logic [0:0] [3:0] b_read_addr_d;
  logic [0:0] b_write_en_d;
  logic [0:0] [3:0] b_write_addr_d;
  logic [0:0] [16:0] b_write_data_d;
  always_comb begin
    b_read_en_d = '0;
    b_read_addr_d = '0;
    b_write_en_d = '0;
    b_write_addr_d = '0;
    b_write_data_d = '0;
    for (int unsigned bank = 0; bank < 1; bank++) begin
      if (k0_x0_en) begin
        b_read_en_d[bank] = 1'b1;
        b_read_addr_d[bank] = b_read_addr_d[bank] | 4'(k0_x0_row);
      end
      if (b_host_read_en) begin
        b_read_en_d[bank] = 1'b1;
        b_read_addr_d[bank] = b_read_addr_d[bank] | 4'(b_host_read_row);
      end
      if (b_host_write_en) begin
        b_write_en_d[bank] = 1'b1;
        b_write_addr_d[bank] = b_write_addr_d[bank] | 4'(b_host_write_row);
        b_write_data_d[bank] = b_write_data_d[bank] | 17'(b_host_write_data);
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

  // The registers of n.
  always_ff @(posedge clk_i) begin
    if (idle_o && start_i) n_q <= n_i;
  end
  assign n_o = n_q;

  // The registers of u.
  always_ff @(posedge clk_i) begin
    if (idle_o && start_i) u_q <= u_i;
  end

  // The host's access to r.
  logic r_host_read_en;
  assign r_host_read_en = r_en_i && !r_write_i && idle_o && !start_i;
  logic [3:0] r_host_read_row;
  assign r_host_read_row = r_row_i;
  logic r_host_write_en;
  assign r_host_write_en = r_en_i && r_write_i && idle_o && !start_i;
  logic [3:0] r_host_write_row;
  assign r_host_write_row = r_row_i;
  logic [25:0] r_host_write_data;
  assign r_host_write_data = r_data_i;
  assign r_data_o = r_read_data[0];

  // The ports of r. At most one access uses a port in a cycle, so rows and elements are joined by OR.
  logic [0:0] r_read_en_d;
  logic [0:0] [3:0] r_read_addr_d;
  logic [0:0] r_write_en_d;
  logic [0:0] [3:0] r_write_addr_d;
  logic [0:0] [25:0] r_write_data_d;
  always_comb begin
    r_read_en_d = '0;
    r_read_addr_d = '0;
    r_write_en_d = '0;
    r_write_addr_d = '0;
    r_write_data_d = '0;
    for (int unsigned bank = 0; bank < 1; bank++) begin
      if (k2_x2_en) begin
        r_write_en_d[bank] = 1'b1;
        r_write_addr_d[bank] = r_write_addr_d[bank] | 4'(k2_x2_row);
        r_write_data_d[bank] = r_write_data_d[bank] | 26'(k2_x2_data);
      end
      if (r_host_read_en) begin
        r_read_en_d[bank] = 1'b1;
        r_read_addr_d[bank] = r_read_addr_d[bank] | 4'(r_host_read_row);
      end
      if (r_host_write_en) begin
        r_write_en_d[bank] = 1'b1;
        r_write_addr_d[bank] = r_write_addr_d[bank] | 4'(r_host_write_row);
        r_write_data_d[bank] = r_write_data_d[bank] | 26'(r_host_write_data);
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      r_read_en <= '0;
      r_write_en <= '0;
    end else begin
      r_read_en <= r_read_en_d;
      r_write_en <= r_write_en_d;
    end
  end
  always_ff @(posedge clk_i) begin
    r_read_addr <= r_read_addr_d;
    r_write_addr <= r_write_addr_d;
    r_write_data <= r_write_data_d;
  end

  // The registers of sums.
  always_ff @(posedge clk_i) begin
    if (k0_x32_en) sums_q[k0_x32_bank] <= k0_x32_data;
    if (k0_x33_en) sums_q[k0_x33_bank] <= k0_x33_data;
    if (k0_x34_en) sums_q[k0_x34_bank] <= k0_x34_data;
    if (k0_x35_en) sums_q[k0_x35_bank] <= k0_x35_data;
    if (k0_x36_en) sums_q[k0_x36_bank] <= k0_x36_data;
    if (k0_x37_en) sums_q[k0_x37_bank] <= k0_x37_data;
    if (k0_x38_en) sums_q[k0_x38_bank] <= k0_x38_data;
    if (k0_x39_en) sums_q[k0_x39_bank] <= k0_x39_data;
    if (k0_x40_en) sums_q[k0_x40_bank] <= k0_x40_data;
    if (k0_x41_en) sums_q[k0_x41_bank] <= k0_x41_data;
  end

  // The registers of carry.
  always_ff @(posedge clk_i) begin
    if (k1_x0_en) carry_q[0] <= k1_x0_data;
    if (k2_x3_en) carry_q[0] <= k2_x3_data;
  end

`ifndef SYNTHESIS
  // From start to done.
  logic [7:0] cycles_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cycles_q <= '0;
    else cycles_q <= idle_o ? 8'd1 : cycles_q + 1'b1;
    if (rst_ni && done_o) assert (cycles_q == 8'd164) else $error("a run of another length");
  end
`endif
endmodule
