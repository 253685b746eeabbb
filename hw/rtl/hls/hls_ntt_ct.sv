// Compiled from hw/hls/ntt_ct.c by `ciphermill hls compile`: change the source, not this file.
//
//   CT_BUTTERFLIES: 512 iterations, one in a cycle, 13 cycles each, 524 in all
module hls_ntt_ct (
  input  logic        clk_i,  // Clock.
  input  logic        rst_ni,  // Asynchronous reset, active low.
  input  logic        start_i,  // Begins a run while idle_o is high.
  output logic        idle_o,  // No run is in progress.
  output logic        done_o,  // A run has ended in the cycle before.
  input  logic        a_en_i,  // a: the host reads or writes a place while idle_o is high and start_i is low.
  input  logic        a_write_i,  // a: the host writes.
  input  logic [1:0]  a_bank_i,  // a: the bank of the place.
  input  logic [5:0]  a_row_i,  // a: the row of the place.
  input  logic [11:0] a_data_i,  // a: the element to write.
  output logic [11:0] a_data_o  // a: the element of a read, two cycles later.
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

  // The table w.
  function automatic logic [11:0] w_at(logic [6:0] row);
    case (row)
      7'd0: return 12'd1;
      7'd1: return 12'd3061;
      7'd2: return 12'd1915;
      7'd3: return 12'd2775;
      7'd4: return 12'd1996;
      7'd5: return 12'd1041;
      7'd6: return 12'd648;
      7'd7: return 12'd2773;
      7'd8: return 12'd2532;
      7'd9: return 12'd540;
      7'd10: return 12'd1756;
      7'd11: return 12'd2110;
      7'd12: return 12'd450;
      7'd13: return 12'd2573;
      7'd14: return 12'd2868;
      7'd15: return 12'd375;
      7'd16: return 12'd2699;
      7'd17: return 12'd2390;
      7'd18: return 12'd1977;
      7'd19: return 12'd2804;
      7'd20: return 12'd882;
      7'd21: return 12'd3312;
      7'd22: return 12'd1227;
      7'd23: return 12'd735;
      7'd24: return 12'd2760;
      7'd25: return 12'd2687;
      7'd26: return 12'd2277;
      7'd27: return 12'd2300;
      7'd28: return 12'd2794;
      7'd29: return 12'd233;
      7'd30: return 12'd807;
      7'd31: return 12'd109;
      7'd32: return 12'd749;
      7'd33: return 12'd2337;
      7'd34: return 12'd2865;
      7'd35: return 12'd1179;
      7'd36: return 12'd283;
      7'd37: return 12'd723;
      7'd38: return 12'd2647;
      7'd39: return 12'd3010;
      7'd40: return 12'd2267;
      7'd41: return 12'd1651;
      7'd42: return 12'd289;
      7'd43: return 12'd2444;
      7'd44: return 12'd821;
      7'd45: return 12'd3015;
      7'd46: return 12'd927;
      7'd47: return 12'd1239;
      7'd48: return 12'd848;
      7'd49: return 12'd2437;
      7'd50: return 12'd2697;
      7'd51: return 12'd2926;
      7'd52: return 12'd1476;
      7'd53: return 12'd583;
      7'd54: return 12'd219;
      7'd55: return 12'd1230;
      7'd56: return 12'd3260;
      7'd57: return 12'd1847;
      7'd58: return 12'd1025;
      7'd59: return 12'd1607;
      7'd60: return 12'd2094;
      7'd61: return 12'd1409;
      7'd62: return 12'd1894;
      7'd63: return 12'd1745;
      7'd64: return 12'd1729;
      7'd65: return 12'd2688;
      7'd66: return 12'd2009;
      7'd67: return 12'd886;
      7'd68: return 12'd2240;
      7'd69: return 12'd2229;
      7'd70: return 12'd1848;
      7'd71: return 12'd757;
      7'd72: return 12'd193;
      7'd73: return 12'd1540;
      7'd74: return 12'd76;
      7'd75: return 12'd2935;
      7'd76: return 12'd2393;
      7'd77: return 12'd1173;
      7'd78: return 12'd1891;
      7'd79: return 12'd2549;
      7'd80: return 12'd2642;
      7'd81: return 12'd1021;
      7'd82: return 12'd2679;
      7'd83: return 12'd1092;
      7'd84: return 12'd296;
      7'd85: return 12'd568;
      7'd86: return 12'd910;
      7'd87: return 12'd2466;
      7'd88: return 12'd1583;
      7'd89: return 12'd1868;
      7'd90: return 12'd2055;
      7'd91: return 12'd1874;
      7'd92: return 12'd447;
      7'd93: return 12'd48;
      7'd94: return 12'd452;
      7'd95: return 12'd2037;
      7'd96: return 12'd40;
      7'd97: return 12'd2596;
      7'd98: return 12'd33;
      7'd99: return 12'd1143;
      7'd100: return 12'd3273;
      7'd101: return 12'd1692;
      7'd102: return 12'd2617;
      7'd103: return 12'd1063;
      7'd104: return 12'd1410;
      7'd105: return 12'd1626;
      7'd106: return 12'd331;
      7'd107: return 12'd1175;
      7'd108: return 12'd1355;
      7'd109: return 12'd3050;
      7'd110: return 12'd1534;
      7'd111: return 12'd1684;
      7'd112: return 12'd1432;
      7'd113: return 12'd2388;
      7'd114: return 12'd2513;
      7'd115: return 12'd2303;
      7'd116: return 12'd1990;
      7'd117: return 12'd2649;
      7'd118: return 12'd2474;
      7'd119: return 12'd2768;
      7'd120: return 12'd543;
      7'd121: return 12'd952;
      7'd122: return 12'd1197;
      7'd123: return 12'd2117;
      7'd124: return 12'd1903;
      7'd125: return 12'd2662;
      7'd126: return 12'd2319;
      7'd127: return 12'd1031;
      default: return '0;
    endcase
  endfunction

  // Kernel CT_BUTTERFLIES: while k0_valid[i] is high, an iteration is in its cycle i.
  logic k0_issue, k0_all_q;
  assign k0_issue = (active_q[0] || (idle_o && start_i)) && !k0_all_q;
  logic [2:0] k0_l0_ct_stages_q;
  logic [6:0] k0_l1_ct_butterflies_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      k0_all_q <= 1'b0;
      k0_l0_ct_stages_q <= 3'd0;
      k0_l1_ct_butterflies_q <= 7'd0;
    end else if (ends[0]) begin
      k0_all_q <= 1'b0;
      k0_l0_ct_stages_q <= 3'd0;
      k0_l1_ct_butterflies_q <= 7'd0;
    end else if (k0_issue) begin
      k0_all_q <= k0_l0_ct_stages_q == 3'd7 && k0_l1_ct_butterflies_q == 7'd126;
      if (k0_l1_ct_butterflies_q == 7'd126) k0_l0_ct_stages_q <= k0_l0_ct_stages_q == 3'd7 ? 3'd0 : k0_l0_ct_stages_q +
          3'd1;
      k0_l1_ct_butterflies_q <= k0_l1_ct_butterflies_q == 7'd126 ? 7'd0 : k0_l1_ct_butterflies_q + 7'd2;
    end
  end
  logic [12:0] k0_valid;
  assign k0_valid[0] = k0_issue;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) k0_valid[12:1] <= '0;
    else k0_valid[12:1] <= k0_valid[11:0];
  end
  assign ends[0] = active_q[0] && k0_all_q && k0_valid[11:0] == '0;

  logic [7:0] k0_n6_c1;
  logic [3:0] k0_n8_c1;
  logic [6:0] k0_n9_c1;
  logic [7:0] k0_n15_c1;
  logic [6:0] k0_n16_c1;
  logic k0_p_n31_c2;
  logic k0_n35_c2;
  logic k0_p_n49_c2;
  logic k0_n51_c2;
  logic [1:0] k0_found_n54_c3, k0_found_n54_c4, k0_found_n54_c5, k0_found_n54_c6, k0_found_n54_c7, k0_found_n54_c8;
  logic [1:0] k0_found_n54_c9, k0_found_n54_c10, k0_found_n54_c11, k0_found_n54_c12;
  logic [5:0] k0_n55_c2, k0_n55_c3, k0_n55_c4, k0_n55_c5, k0_n55_c6, k0_n55_c7;
  logic [5:0] k0_n55_c8, k0_n55_c9, k0_n55_c10, k0_n55_c11, k0_n55_c12;
  logic [11:0] k0_u_n57_c6, k0_u_n57_c7, k0_u_n57_c8, k0_u_n57_c9, k0_u_n57_c10, k0_u_n57_c11;
  logic k0_p_n67_c2;
  logic k0_n69_c2;
  logic k0_p_n81_c2;
  logic k0_n83_c2;
  logic [1:0] k0_found_n86_c3, k0_found_n86_c4, k0_found_n86_c5, k0_found_n86_c6, k0_found_n86_c7, k0_found_n86_c8;
  logic [1:0] k0_found_n86_c9, k0_found_n86_c10, k0_found_n86_c11, k0_found_n86_c12;
  logic [5:0] k0_n87_c2, k0_n87_c3, k0_n87_c4, k0_n87_c5, k0_n87_c6, k0_n87_c7;
  logic [5:0] k0_n87_c8, k0_n87_c9, k0_n87_c10, k0_n87_c11, k0_n87_c12;
  logic [11:0] k0_v_n88_c6;
  logic [2:0] k0_n90_c1;
  logic [6:0] k0_n91_c1;
  logic [11:0] k0_n94_c3, k0_n94_c4, k0_n94_c5, k0_n94_c6;
  logic [11:0] k0_n109_c9;
  logic [12:0] k0_n111_c9;
  logic [12:0] k0_n113_c9;
  logic [12:0] k0_n115_c9;
  logic [12:0] k0_n119_c9, k0_n119_c10;
  logic [12:0] k0_n120_c10;
  logic [11:0] k0_t_n125_c11;
  logic [11:0] k0_even_0_n132_c12;
  logic [12:0] k0_s_n134_c12;
  logic k0_n136_c12;
  logic [11:0] k0_n137_c12;
  logic [7:0] k0_n141_c1;
  logic [6:0] k0_n142_c1;
  logic [7:0] k0_n145_c1;
  logic [7:0] k0_n146_c1;
  logic [7:0] k0_o_n149_c2;
  logic k0_p_n159_c2;
  logic k0_n161_c2;
  logic k0_p_n173_c2;
  logic k0_n175_c2;
  logic [1:0] k0_found_n178_c3, k0_found_n178_c4, k0_found_n178_c5, k0_found_n178_c6, k0_found_n178_c7,
      k0_found_n178_c8;
  logic [1:0] k0_found_n178_c9, k0_found_n178_c10, k0_found_n178_c11, k0_found_n178_c12;
  logic [5:0] k0_n179_c2, k0_n179_c3, k0_n179_c4, k0_n179_c5, k0_n179_c6, k0_n179_c7;
  logic [5:0] k0_n179_c8, k0_n179_c9, k0_n179_c10, k0_n179_c11, k0_n179_c12;
  logic [11:0] k0_u_n180_c6, k0_u_n180_c7, k0_u_n180_c8, k0_u_n180_c9, k0_u_n180_c10, k0_u_n180_c11;
  logic [1:0] k0_found_n209_c3, k0_found_n209_c4, k0_found_n209_c5, k0_found_n209_c6, k0_found_n209_c7,
      k0_found_n209_c8;
  logic [1:0] k0_found_n209_c9, k0_found_n209_c10, k0_found_n209_c11, k0_found_n209_c12;
  logic [5:0] k0_n210_c2, k0_n210_c3, k0_n210_c4, k0_n210_c5, k0_n210_c6, k0_n210_c7;
  logic [5:0] k0_n210_c8, k0_n210_c9, k0_n210_c10, k0_n210_c11, k0_n210_c12;
  logic [11:0] k0_v_n211_c6;
  logic [6:0] k0_n212_c1;
  logic [11:0] k0_n214_c3, k0_n214_c4, k0_n214_c5, k0_n214_c6;
  logic [11:0] k0_n225_c9;
  logic [12:0] k0_n226_c9;
  logic [12:0] k0_n227_c9;
  logic [12:0] k0_n228_c9;
  logic [12:0] k0_n232_c9, k0_n232_c10;
  logic [12:0] k0_n233_c10;
  logic [11:0] k0_t_n238_c11;
  logic [11:0] k0_even_1_n245_c12;
  logic [12:0] k0_s_n247_c12;
  logic k0_n249_c12;
  logic [11:0] k0_n250_c12;
  logic [11:0] k0_x2_q;
  logic [11:0] k0_x5_q;
  logic [7:0] k0_n5;
  assign k0_n5 = 8'(k0_l1_ct_butterflies_q) << 1'd1;
  logic [7:0] k0_n6;
  assign k0_n6 = k0_n5 << k0_l0_ct_stages_q;
  logic [3:0] k0_n8;
  assign k0_n8 = 4'd8 - 4'(k0_l0_ct_stages_q);
  logic [6:0] k0_n9;
  assign k0_n9 = 7'(k0_n5 >> k0_n8);
  logic [7:0] k0_n10;
  assign k0_n10 = k0_n6_c1 | 8'(k0_n9_c1);
  logic [7:0] k0_e_n13;
  assign k0_e_n13 = k0_n10 & 8'd255;
  logic [7:0] k0_n14;
  assign k0_n14 = k0_n5 + 8'd1;
  logic [7:0] k0_n15;
  assign k0_n15 = k0_n14 << k0_l0_ct_stages_q;
  logic [6:0] k0_n16;
  assign k0_n16 = 7'(k0_n14 >> k0_n8);
  logic [7:0] k0_n17;
  assign k0_n17 = k0_n15_c1 | 8'(k0_n16_c1);
  logic [7:0] k0_o_n18;
  assign k0_o_n18 = k0_n17 & 8'd255;
  logic [6:0] k0_n20;
  assign k0_n20 = 7'(k0_e_n13) & 7'd85;
  logic k0_p_n21;
  assign k0_p_n21 = 1'(k0_n20) & 1'd1;
  logic k0_n23;
  assign k0_n23 = 1'(k0_n20 >> 2'd2);
  logic k0_n24;
  assign k0_n24 = k0_n23 & 1'd1;
  logic k0_p_n25;
  assign k0_p_n25 = k0_p_n21 ^ k0_n24;
  logic k0_n29;
  assign k0_n29 = 1'(k0_n20 >> 3'd4);
  logic k0_n30;
  assign k0_n30 = k0_n29 & 1'd1;
  logic k0_p_n31;
  assign k0_p_n31 = k0_p_n25 ^ k0_n30;
  logic k0_n35;
  assign k0_n35 = 1'(k0_n20 >> 3'd6);
  logic k0_p_n36;
  assign k0_p_n36 = k0_p_n31_c2 ^ k0_n35_c2;
  logic [7:0] k0_n39;
  assign k0_n39 = k0_e_n13 & 8'd170;
  logic k0_n40;
  assign k0_n40 = 1'(k0_n39 >> 1'd1);
  logic k0_p_n41;
  assign k0_p_n41 = k0_n40 & 1'd1;
  logic k0_n43;
  assign k0_n43 = 1'(k0_n39 >> 2'd3);
  logic k0_n44;
  assign k0_n44 = k0_n43 & 1'd1;
  logic k0_p_n45;
  assign k0_p_n45 = k0_p_n41 ^ k0_n44;
  logic k0_n47;
  assign k0_n47 = 1'(k0_n39 >> 3'd5);
  logic k0_n48;
  assign k0_n48 = k0_n47 & 1'd1;
  logic k0_p_n49;
  assign k0_p_n49 = k0_p_n45 ^ k0_n48;
  logic k0_n51;
  assign k0_n51 = 1'(k0_n39 >> 3'd7);
  logic k0_p_n52;
  assign k0_p_n52 = k0_p_n49_c2 ^ k0_n51_c2;
  logic [1:0] k0_n53;
  assign k0_n53 = 2'(k0_p_n52) << 1'd1;
  logic [1:0] k0_found_n54;
  assign k0_found_n54 = 2'(k0_p_n36) | k0_n53;
  logic [5:0] k0_n55;
  assign k0_n55 = 6'(k0_e_n13 >> 2'd2);
  logic [11:0] k0_u_n57;
  assign k0_u_n57 = a_read_data[k0_found_n54_c5];
  logic [6:0] k0_n58;
  assign k0_n58 = 7'(k0_o_n18) & 7'd85;
  logic k0_p_n59;
  assign k0_p_n59 = 1'(k0_n58) & 1'd1;
  logic k0_n61;
  assign k0_n61 = 1'(k0_n58 >> 2'd2);
  logic k0_n62;
  assign k0_n62 = k0_n61 & 1'd1;
  logic k0_p_n63;
  assign k0_p_n63 = k0_p_n59 ^ k0_n62;
  logic k0_n65;
  assign k0_n65 = 1'(k0_n58 >> 3'd4);
  logic k0_n66;
  assign k0_n66 = k0_n65 & 1'd1;
  logic k0_p_n67;
  assign k0_p_n67 = k0_p_n63 ^ k0_n66;
  logic k0_n69;
  assign k0_n69 = 1'(k0_n58 >> 3'd6);
  logic k0_p_n70;
  assign k0_p_n70 = k0_p_n67_c2 ^ k0_n69_c2;
  logic [7:0] k0_n71;
  assign k0_n71 = k0_o_n18 & 8'd170;
  logic k0_n72;
  assign k0_n72 = 1'(k0_n71 >> 1'd1);
  logic k0_p_n73;
  assign k0_p_n73 = k0_n72 & 1'd1;
  logic k0_n75;
  assign k0_n75 = 1'(k0_n71 >> 2'd3);
  logic k0_n76;
  assign k0_n76 = k0_n75 & 1'd1;
  logic k0_p_n77;
  assign k0_p_n77 = k0_p_n73 ^ k0_n76;
  logic k0_n79;
  assign k0_n79 = 1'(k0_n71 >> 3'd5);
  logic k0_n80;
  assign k0_n80 = k0_n79 & 1'd1;
  logic k0_p_n81;
  assign k0_p_n81 = k0_p_n77 ^ k0_n80;
  logic k0_n83;
  assign k0_n83 = 1'(k0_n71 >> 3'd7);
  logic k0_p_n84;
  assign k0_p_n84 = k0_p_n81_c2 ^ k0_n83_c2;
  logic [1:0] k0_n85;
  assign k0_n85 = 2'(k0_p_n84) << 1'd1;
  logic [1:0] k0_found_n86;
  assign k0_found_n86 = 2'(k0_p_n70) | k0_n85;
  logic [5:0] k0_n87;
  assign k0_n87 = 6'(k0_o_n18 >> 2'd2);
  logic [11:0] k0_v_n88;
  assign k0_v_n88 = a_read_data[k0_found_n86_c5];
  logic [2:0] k0_n90;
  assign k0_n90 = 3'd7 - k0_l0_ct_stages_q;
  logic [6:0] k0_n91;
  assign k0_n91 = 7'(k0_l1_ct_butterflies_q >> k0_n90);
  logic [6:0] k0_n92;
  assign k0_n92 = k0_n91_c1 << k0_n90_c1;
  logic [11:0] k0_n94;
  assign k0_n94 = k0_x2_q;
  logic [1:0] [23:0] k0_n95_p;
  logic [23:0] k0_n95;
  assign k0_n95 = k0_n95_p[1];
  always_ff @(posedge clk_i) begin
    k0_n95_p[0] <= 24'(k0_v_n88_c6) * 24'(k0_n94_c6);
    k0_n95_p[1] <= k0_n95_p[0];
  end
  logic [12:0] k0_n99;
  assign k0_n99 = 13'(k0_n95 >> 4'd11);
  logic [17:0] k0_n100;
  assign k0_n100 = 18'(k0_n99) << 3'd5;
  logic [19:0] k0_n101;
  assign k0_n101 = 20'(k0_n99) << 3'd7;
  logic [23:0] k0_n102;
  assign k0_n102 = 24'(k0_n99) << 4'd11;
  logic [25:0] k0_n104;
  assign k0_n104 = 26'(k0_n99) << 4'd13;
  logic [25:0] k0_n105;
  assign k0_n105 = 26'(k0_n102) + k0_n104;
  logic [17:0] k0_n106;
  assign k0_n106 = 18'(k0_n99) + k0_n100;
  logic [19:0] k0_n107;
  assign k0_n107 = k0_n101 + 20'(k0_n106);
  logic [25:0] k0_n108;
  assign k0_n108 = k0_n105 - 26'(k0_n107);
  logic [11:0] k0_n109;
  assign k0_n109 = 12'(k0_n108 >> 4'd14);
  logic [12:0] k0_n111;
  assign k0_n111 = 13'(k0_n109) << 4'd8;
  logic [12:0] k0_n113;
  assign k0_n113 = 13'(k0_n109) << 4'd10;
  logic [12:0] k0_n115;
  assign k0_n115 = 13'(k0_n109) << 4'd12;
  logic [12:0] k0_n116;
  assign k0_n116 = 13'(k0_n109_c9) + k0_n111_c9;
  logic [12:0] k0_n117;
  assign k0_n117 = k0_n115_c9 + k0_n116;
  logic [12:0] k0_n118;
  assign k0_n118 = k0_n117 - k0_n113_c9;
  logic [12:0] k0_n119;
  assign k0_n119 = 13'(k0_n95) & 13'd8191;
  logic [12:0] k0_n120;
  assign k0_n120 = k0_n118 & 13'd8191;
  logic [12:0] k0_n121;
  assign k0_n121 = k0_n119_c10 - k0_n120_c10;
  logic [12:0] k0_n122;
  assign k0_n122 = k0_n121 & 13'd8191;
  logic k0_n123;
  assign k0_n123 = k0_n122 < 13'd3329;
  logic [11:0] k0_n124;
  assign k0_n124 = 12'(k0_n122) - 12'd3329;
  logic [11:0] k0_t_n125;
  assign k0_t_n125 = k0_n123 ? 12'(k0_n122) : k0_n124;
  logic [12:0] k0_s_n128;
  assign k0_s_n128 = 13'(k0_u_n57_c11) + 13'(k0_t_n125_c11);
  logic k0_n129;
  assign k0_n129 = k0_s_n128 < 13'd3329;
  logic k0_n130;
  assign k0_n130 = k0_n129 == 1'd0;
  logic [11:0] k0_n131;
  assign k0_n131 = 12'(k0_s_n128) - 12'd3329;
  logic [11:0] k0_even_0_n132;
  assign k0_even_0_n132 = k0_n130 ? k0_n131 : 12'(k0_s_n128);
  logic [11:0] k0_n133;
  assign k0_n133 = 12'd3329 - k0_t_n125_c11;
  logic [12:0] k0_s_n134;
  assign k0_s_n134 = 13'(k0_u_n57_c11) + 13'(k0_n133);
  logic k0_n135;
  assign k0_n135 = k0_s_n134 < 13'd3329;
  logic k0_n136;
  assign k0_n136 = k0_n135 == 1'd0;
  logic [11:0] k0_n137;
  assign k0_n137 = 12'(k0_s_n134) - 12'd3329;
  logic [11:0] k0_odd_0_n138;
  assign k0_odd_0_n138 = k0_n136_c12 ? k0_n137_c12 : 12'(k0_s_n134_c12);
  logic [6:0] k0_n139;
  assign k0_n139 = k0_l1_ct_butterflies_q + 7'd1;
  logic [7:0] k0_n140;
  assign k0_n140 = 8'(k0_n139) << 1'd1;
  logic [7:0] k0_n141;
  assign k0_n141 = k0_n140 << k0_l0_ct_stages_q;
  logic [6:0] k0_n142;
  assign k0_n142 = 7'(k0_n140 >> k0_n8);
  logic [7:0] k0_n143;
  assign k0_n143 = k0_n141_c1 | 8'(k0_n142_c1);
  logic [7:0] k0_e_n144;
  assign k0_e_n144 = k0_n143 & 8'd255;
  logic [7:0] k0_n145;
  assign k0_n145 = k0_n140 + 8'd1;
  logic [7:0] k0_n146;
  assign k0_n146 = k0_n145 << k0_l0_ct_stages_q;
  logic [6:0] k0_n147;
  assign k0_n147 = 7'(k0_n145_c1 >> k0_n8_c1);
  logic [7:0] k0_n148;
  assign k0_n148 = k0_n146_c1 | 8'(k0_n147);
  logic [7:0] k0_o_n149;
  assign k0_o_n149 = k0_n148 & 8'd255;
  logic [6:0] k0_n150;
  assign k0_n150 = 7'(k0_e_n144) & 7'd85;
  logic k0_p_n151;
  assign k0_p_n151 = 1'(k0_n150) & 1'd1;
  logic k0_n153;
  assign k0_n153 = 1'(k0_n150 >> 2'd2);
  logic k0_n154;
  assign k0_n154 = k0_n153 & 1'd1;
  logic k0_p_n155;
  assign k0_p_n155 = k0_p_n151 ^ k0_n154;
  logic k0_n157;
  assign k0_n157 = 1'(k0_n150 >> 3'd4);
  logic k0_n158;
  assign k0_n158 = k0_n157 & 1'd1;
  logic k0_p_n159;
  assign k0_p_n159 = k0_p_n155 ^ k0_n158;
  logic k0_n161;
  assign k0_n161 = 1'(k0_n150 >> 3'd6);
  logic k0_p_n162;
  assign k0_p_n162 = k0_p_n159_c2 ^ k0_n161_c2;
  logic [7:0] k0_n163;
  assign k0_n163 = k0_e_n144 & 8'd170;
  logic k0_n164;
  assign k0_n164 = 1'(k0_n163 >> 1'd1);
  logic k0_p_n165;
  assign k0_p_n165 = k0_n164 & 1'd1;
  logic k0_n167;
  assign k0_n167 = 1'(k0_n163 >> 2'd3);
  logic k0_n168;
  assign k0_n168 = k0_n167 & 1'd1;
  logic k0_p_n169;
  assign k0_p_n169 = k0_p_n165 ^ k0_n168;
  logic k0_n171;
  assign k0_n171 = 1'(k0_n163 >> 3'd5);
  logic k0_n172;
  assign k0_n172 = k0_n171 & 1'd1;
  logic k0_p_n173;
  assign k0_p_n173 = k0_p_n169 ^ k0_n172;
  logic k0_n175;
  assign k0_n175 = 1'(k0_n163 >> 3'd7);
  logic k0_p_n176;
  assign k0_p_n176 = k0_p_n173_c2 ^ k0_n175_c2;
  logic [1:0] k0_n177;
  assign k0_n177 = 2'(k0_p_n176) << 1'd1;
  logic [1:0] k0_found_n178;
  assign k0_found_n178 = 2'(k0_p_n162) | k0_n177;
  logic [5:0] k0_n179;
  assign k0_n179 = 6'(k0_e_n144 >> 2'd2);
  logic [11:0] k0_u_n180;
  assign k0_u_n180 = a_read_data[k0_found_n178_c5];
  logic [6:0] k0_n181;
  assign k0_n181 = 7'(k0_o_n149_c2) & 7'd85;
  logic k0_p_n182;
  assign k0_p_n182 = 1'(k0_n181) & 1'd1;
  logic k0_n184;
  assign k0_n184 = 1'(k0_n181 >> 2'd2);
  logic k0_n185;
  assign k0_n185 = k0_n184 & 1'd1;
  logic k0_p_n186;
  assign k0_p_n186 = k0_p_n182 ^ k0_n185;
  logic k0_n188;
  assign k0_n188 = 1'(k0_n181 >> 3'd4);
  logic k0_n189;
  assign k0_n189 = k0_n188 & 1'd1;
  logic k0_p_n190;
  assign k0_p_n190 = k0_p_n186 ^ k0_n189;
  logic k0_n192;
  assign k0_n192 = 1'(k0_n181 >> 3'd6);
  logic k0_p_n193;
  assign k0_p_n193 = k0_p_n190 ^ k0_n192;
  logic [7:0] k0_n194;
  assign k0_n194 = k0_o_n149_c2 & 8'd170;
  logic k0_n195;
  assign k0_n195 = 1'(k0_n194 >> 1'd1);
  logic k0_p_n196;
  assign k0_p_n196 = k0_n195 & 1'd1;
  logic k0_n198;
  assign k0_n198 = 1'(k0_n194 >> 2'd3);
  logic k0_n199;
  assign k0_n199 = k0_n198 & 1'd1;
  logic k0_p_n200;
  assign k0_p_n200 = k0_p_n196 ^ k0_n199;
  logic k0_n202;
  assign k0_n202 = 1'(k0_n194 >> 3'd5);
  logic k0_n203;
  assign k0_n203 = k0_n202 & 1'd1;
  logic k0_p_n204;
  assign k0_p_n204 = k0_p_n200 ^ k0_n203;
  logic k0_n206;
  assign k0_n206 = 1'(k0_n194 >> 3'd7);
  logic k0_p_n207;
  assign k0_p_n207 = k0_p_n204 ^ k0_n206;
  logic [1:0] k0_n208;
  assign k0_n208 = 2'(k0_p_n207) << 1'd1;
  logic [1:0] k0_found_n209;
  assign k0_found_n209 = 2'(k0_p_n193) | k0_n208;
  logic [5:0] k0_n210;
  assign k0_n210 = 6'(k0_o_n149 >> 2'd2);
  logic [11:0] k0_v_n211;
  assign k0_v_n211 = a_read_data[k0_found_n209_c5];
  logic [6:0] k0_n212;
  assign k0_n212 = 7'(k0_n139 >> k0_n90);
  logic [6:0] k0_n213;
  assign k0_n213 = k0_n212_c1 << k0_n90_c1;
  logic [11:0] k0_n214;
  assign k0_n214 = k0_x5_q;
  logic [1:0] [23:0] k0_n215_p;
  logic [23:0] k0_n215;
  assign k0_n215 = k0_n215_p[1];
  always_ff @(posedge clk_i) begin
    k0_n215_p[0] <= 24'(k0_v_n211_c6) * 24'(k0_n214_c6);
    k0_n215_p[1] <= k0_n215_p[0];
  end
  logic [12:0] k0_n216;
  assign k0_n216 = 13'(k0_n215 >> 4'd11);
  logic [17:0] k0_n217;
  assign k0_n217 = 18'(k0_n216) << 3'd5;
  logic [19:0] k0_n218;
  assign k0_n218 = 20'(k0_n216) << 3'd7;
  logic [23:0] k0_n219;
  assign k0_n219 = 24'(k0_n216) << 4'd11;
  logic [25:0] k0_n220;
  assign k0_n220 = 26'(k0_n216) << 4'd13;
  logic [25:0] k0_n221;
  assign k0_n221 = 26'(k0_n219) + k0_n220;
  logic [17:0] k0_n222;
  assign k0_n222 = 18'(k0_n216) + k0_n217;
  logic [19:0] k0_n223;
  assign k0_n223 = k0_n218 + 20'(k0_n222);
  logic [25:0] k0_n224;
  assign k0_n224 = k0_n221 - 26'(k0_n223);
  logic [11:0] k0_n225;
  assign k0_n225 = 12'(k0_n224 >> 4'd14);
  logic [12:0] k0_n226;
  assign k0_n226 = 13'(k0_n225) << 4'd8;
  logic [12:0] k0_n227;
  assign k0_n227 = 13'(k0_n225) << 4'd10;
  logic [12:0] k0_n228;
  assign k0_n228 = 13'(k0_n225) << 4'd12;
  logic [12:0] k0_n229;
  assign k0_n229 = 13'(k0_n225_c9) + k0_n226_c9;
  logic [12:0] k0_n230;
  assign k0_n230 = k0_n228_c9 + k0_n229;
  logic [12:0] k0_n231;
  assign k0_n231 = k0_n230 - k0_n227_c9;
  logic [12:0] k0_n232;
  assign k0_n232 = 13'(k0_n215) & 13'd8191;
  logic [12:0] k0_n233;
  assign k0_n233 = k0_n231 & 13'd8191;
  logic [12:0] k0_n234;
  assign k0_n234 = k0_n232_c10 - k0_n233_c10;
  logic [12:0] k0_n235;
  assign k0_n235 = k0_n234 & 13'd8191;
  logic k0_n236;
  assign k0_n236 = k0_n235 < 13'd3329;
  logic [11:0] k0_n237;
  assign k0_n237 = 12'(k0_n235) - 12'd3329;
  logic [11:0] k0_t_n238;
  assign k0_t_n238 = k0_n236 ? 12'(k0_n235) : k0_n237;
  logic [12:0] k0_s_n241;
  assign k0_s_n241 = 13'(k0_u_n180_c11) + 13'(k0_t_n238_c11);
  logic k0_n242;
  assign k0_n242 = k0_s_n241 < 13'd3329;
  logic k0_n243;
  assign k0_n243 = k0_n242 == 1'd0;
  logic [11:0] k0_n244;
  assign k0_n244 = 12'(k0_s_n241) - 12'd3329;
  logic [11:0] k0_even_1_n245;
  assign k0_even_1_n245 = k0_n243 ? k0_n244 : 12'(k0_s_n241);
  logic [11:0] k0_n246;
  assign k0_n246 = 12'd3329 - k0_t_n238_c11;
  logic [12:0] k0_s_n247;
  assign k0_s_n247 = 13'(k0_u_n180_c11) + 13'(k0_n246);
  logic k0_n248;
  assign k0_n248 = k0_s_n247 < 13'd3329;
  logic k0_n249;
  assign k0_n249 = k0_n248 == 1'd0;
  logic [11:0] k0_n250;
  assign k0_n250 = 12'(k0_s_n247) - 12'd3329;
  logic [11:0] k0_odd_1_n251;
  assign k0_odd_1_n251 = k0_n249_c12 ? k0_n250_c12 : 12'(k0_s_n247_c12);
  always_ff @(posedge clk_i) begin
    k0_n6_c1 <= k0_n6;
    k0_n8_c1 <= k0_n8;
    k0_n9_c1 <= k0_n9;
    k0_n15_c1 <= k0_n15;
    k0_n16_c1 <= k0_n16;
    k0_p_n31_c2 <= k0_p_n31;
    k0_n35_c2 <= k0_n35;
    k0_p_n49_c2 <= k0_p_n49;
    k0_n51_c2 <= k0_n51;
    k0_found_n54_c3 <= k0_found_n54;
    k0_found_n54_c4 <= k0_found_n54_c3;
    k0_found_n54_c5 <= k0_found_n54_c4;
    k0_found_n54_c6 <= k0_found_n54_c5;
    k0_found_n54_c7 <= k0_found_n54_c6;
    k0_found_n54_c8 <= k0_found_n54_c7;
    k0_found_n54_c9 <= k0_found_n54_c8;
    k0_found_n54_c10 <= k0_found_n54_c9;
    k0_found_n54_c11 <= k0_found_n54_c10;
    k0_found_n54_c12 <= k0_found_n54_c11;
    k0_n55_c2 <= k0_n55;
    k0_n55_c3 <= k0_n55_c2;
    k0_n55_c4 <= k0_n55_c3;
    k0_n55_c5 <= k0_n55_c4;
    k0_n55_c6 <= k0_n55_c5;
    k0_n55_c7 <= k0_n55_c6;
    k0_n55_c8 <= k0_n55_c7;
    k0_n55_c9 <= k0_n55_c8;
    k0_n55_c10 <= k0_n55_c9;
    k0_n55_c11 <= k0_n55_c10;
    k0_n55_c12 <= k0_n55_c11;
    k0_u_n57_c6 <= k0_u_n57;
    k0_u_n57_c7 <= k0_u_n57_c6;
    k0_u_n57_c8 <= k0_u_n57_c7;
    k0_u_n57_c9 <= k0_u_n57_c8;
    k0_u_n57_c10 <= k0_u_n57_c9;
    k0_u_n57_c11 <= k0_u_n57_c10;
    k0_p_n67_c2 <= k0_p_n67;
    k0_n69_c2 <= k0_n69;
    k0_p_n81_c2 <= k0_p_n81;
    k0_n83_c2 <= k0_n83;
    k0_found_n86_c3 <= k0_found_n86;
    k0_found_n86_c4 <= k0_found_n86_c3;
    k0_found_n86_c5 <= k0_found_n86_c4;
    k0_found_n86_c6 <= k0_found_n86_c5;
    k0_found_n86_c7 <= k0_found_n86_c6;
    k0_found_n86_c8 <= k0_found_n86_c7;
    k0_found_n86_c9 <= k0_found_n86_c8;
    k0_found_n86_c10 <= k0_found_n86_c9;
    k0_found_n86_c11 <= k0_found_n86_c10;
    k0_found_n86_c12 <= k0_found_n86_c11;
    k0_n87_c2 <= k0_n87;
    k0_n87_c3 <= k0_n87_c2;
    k0_n87_c4 <= k0_n87_c3;
    k0_n87_c5 <= k0_n87_c4;
    k0_n87_c6 <= k0_n87_c5;
    k0_n87_c7 <= k0_n87_c6;
    k0_n87_c8 <= k0_n87_c7;
    k0_n87_c9 <= k0_n87_c8;
    k0_n87_c10 <= k0_n87_c9;
    k0_n87_c11 <= k0_n87_c10;
    k0_n87_c12 <= k0_n87_c11;
    k0_v_n88_c6 <= k0_v_n88;
    k0_n90_c1 <= k0_n90;
    k0_n91_c1 <= k0_n91;
    k0_n94_c3 <= k0_n94;
    k0_n94_c4 <= k0_n94_c3;
    k0_n94_c5 <= k0_n94_c4;
    k0_n94_c6 <= k0_n94_c5;
    k0_n109_c9 <= k0_n109;
    k0_n111_c9 <= k0_n111;
    k0_n113_c9 <= k0_n113;
    k0_n115_c9 <= k0_n115;
    k0_n119_c9 <= k0_n119;
    k0_n119_c10 <= k0_n119_c9;
    k0_n120_c10 <= k0_n120;
    k0_t_n125_c11 <= k0_t_n125;
    k0_even_0_n132_c12 <= k0_even_0_n132;
    k0_s_n134_c12 <= k0_s_n134;
    k0_n136_c12 <= k0_n136;
    k0_n137_c12 <= k0_n137;
    k0_n141_c1 <= k0_n141;
    k0_n142_c1 <= k0_n142;
    k0_n145_c1 <= k0_n145;
    k0_n146_c1 <= k0_n146;
    k0_o_n149_c2 <= k0_o_n149;
    k0_p_n159_c2 <= k0_p_n159;
    k0_n161_c2 <= k0_n161;
    k0_p_n173_c2 <= k0_p_n173;
    k0_n175_c2 <= k0_n175;
    k0_found_n178_c3 <= k0_found_n178;
    k0_found_n178_c4 <= k0_found_n178_c3;
    k0_found_n178_c5 <= k0_found_n178_c4;
    k0_found_n178_c6 <= k0_found_n178_c5;
    k0_found_n178_c7 <= k0_found_n178_c6;
    k0_found_n178_c8 <= k0_found_n178_c7;
    k0_found_n178_c9 <= k0_found_n178_c8;
    k0_found_n178_c10 <= k0_found_n178_c9;
    k0_found_n178_c11 <= k0_found_n178_c10;
    k0_found_n178_c12 <= k0_found_n178_c11;
    k0_n179_c2 <= k0_n179;
    k0_n179_c3 <= k0_n179_c2;
    k0_n179_c4 <= k0_n179_c3;
    k0_n179_c5 <= k0_n179_c4;
    k0_n179_c6 <= k0_n179_c5;
    k0_n179_c7 <= k0_n179_c6;
    k0_n179_c8 <= k0_n179_c7;
    k0_n179_c9 <= k0_n179_c8;
    k0_n179_c10 <= k0_n179_c9;
    k0_n179_c11 <= k0_n179_c10;
    k0_n179_c12 <= k0_n179_c11;
    k0_u_n180_c6 <= k0_u_n180;
    k0_u_n180_c7 <= k0_u_n180_c6;
    k0_u_n180_c8 <= k0_u_n180_c7;
    k0_u_n180_c9 <= k0_u_n180_c8;
    k0_u_n180_c10 <= k0_u_n180_c9;
    k0_u_n180_c11 <= k0_u_n180_c10;
    k0_found_n209_c3 <= k0_found_n209;
    k0_found_n209_c4 <= k0_found_n209_c3;
    k0_found_n209_c5 <= k0_found_n209_c4;
    k0_found_n209_c6 <= k0_found_n209_c5;
    k0_found_n209_c7 <= k0_found_n209_c6;
    k0_found_n209_c8 <= k0_found_n209_c7;
    k0_found_n209_c9 <= k0_found_n209_c8;
    k0_found_n209_c10 <= k0_found_n209_c9;
    k0_found_n209_c11 <= k0_found_n209_c10;
    k0_found_n209_c12 <= k0_found_n209_c11;
    k0_n210_c2 <= k0_n210;
    k0_n210_c3 <= k0_n210_c2;
    k0_n210_c4 <= k0_n210_c3;
    k0_n210_c5 <= k0_n210_c4;
    k0_n210_c6 <= k0_n210_c5;
    k0_n210_c7 <= k0_n210_c6;
    k0_n210_c8 <= k0_n210_c7;
    k0_n210_c9 <= k0_n210_c8;
    k0_n210_c10 <= k0_n210_c9;
    k0_n210_c11 <= k0_n210_c10;
    k0_n210_c12 <= k0_n210_c11;
    k0_v_n211_c6 <= k0_v_n211;
    k0_n212_c1 <= k0_n212;
    k0_n214_c3 <= k0_n214;
    k0_n214_c4 <= k0_n214_c3;
    k0_n214_c5 <= k0_n214_c4;
    k0_n214_c6 <= k0_n214_c5;
    k0_n225_c9 <= k0_n225;
    k0_n226_c9 <= k0_n226;
    k0_n227_c9 <= k0_n227;
    k0_n228_c9 <= k0_n228;
    k0_n232_c9 <= k0_n232;
    k0_n232_c10 <= k0_n232_c9;
    k0_n233_c10 <= k0_n233;
    k0_t_n238_c11 <= k0_t_n238;
    k0_even_1_n245_c12 <= k0_even_1_n245;
    k0_s_n247_c12 <= k0_s_n247;
    k0_n249_c12 <= k0_n249;
    k0_n250_c12 <= k0_n250;
  end
  // Line 61: reads a.
  logic k0_x0_en;
  assign k0_x0_en = k0_valid[3];
  logic [1:0] k0_x0_bank;
  assign k0_x0_bank = k0_found_n54_c3;
  logic [5:0] k0_x0_row;
  assign k0_x0_row = k0_n55_c3;
  // Line 61: reads a.
  logic k0_x1_en;
  assign k0_x1_en = k0_valid[3];
  logic [1:0] k0_x1_bank;
  assign k0_x1_bank = k0_found_n86_c3;
  logic [5:0] k0_x1_row;
  assign k0_x1_row = k0_n87_c3;
  always_ff @(posedge clk_i) k0_x2_q <= w_at(k0_n92);
  // Line 61: reads a.
  logic k0_x3_en;
  assign k0_x3_en = k0_valid[3];
  logic [1:0] k0_x3_bank;
  assign k0_x3_bank = k0_found_n178_c3;
  logic [5:0] k0_x3_row;
  assign k0_x3_row = k0_n179_c3;
  // Line 61: reads a.
  logic k0_x4_en;
  assign k0_x4_en = k0_valid[3];
  logic [1:0] k0_x4_bank;
  assign k0_x4_bank = k0_found_n209_c3;
  logic [5:0] k0_x4_row;
  assign k0_x4_row = k0_n210_c3;
  always_ff @(posedge clk_i) k0_x5_q <= w_at(k0_n213);
  // Line 70: writes a.
  logic k0_x6_en;
  assign k0_x6_en = k0_valid[12];
  logic [11:0] k0_x6_data;
  assign k0_x6_data = k0_even_0_n132_c12;
  logic [1:0] k0_x6_bank;
  assign k0_x6_bank = k0_found_n54_c12;
  logic [5:0] k0_x6_row;
  assign k0_x6_row = k0_n55_c12;
  // Line 71: writes a.
  logic k0_x7_en;
  assign k0_x7_en = k0_valid[12];
  logic [11:0] k0_x7_data;
  assign k0_x7_data = k0_odd_0_n138;
  logic [1:0] k0_x7_bank;
  assign k0_x7_bank = k0_found_n86_c12;
  logic [5:0] k0_x7_row;
  assign k0_x7_row = k0_n87_c12;
  // Line 70: writes a.
  logic k0_x8_en;
  assign k0_x8_en = k0_valid[12];
  logic [11:0] k0_x8_data;
  assign k0_x8_data = k0_even_1_n245_c12;
  logic [1:0] k0_x8_bank;
  assign k0_x8_bank = k0_found_n178_c12;
  logic [5:0] k0_x8_row;
  assign k0_x8_row = k0_n179_c12;
  // Line 71: writes a.
  logic k0_x9_en;
  assign k0_x9_en = k0_valid[12];
  logic [11:0] k0_x9_data;
  assign k0_x9_data = k0_odd_1_n251;
  logic [1:0] k0_x9_bank;
  assign k0_x9_bank = k0_found_n209_c12;
  logic [5:0] k0_x9_row;
  assign k0_x9_row = k0_n210_c12;

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
      if (k0_x1_en && k0_x1_bank == 2'(bank)) begin
        a_read_en_d[bank] = 1'b1;
        a_read_addr_d[bank] = a_read_addr_d[bank] | 6'(k0_x1_row);
      end
      if (k0_x3_en && k0_x3_bank == 2'(bank)) begin
        a_read_en_d[bank] = 1'b1;
        a_read_addr_d[bank] = a_read_addr_d[bank] | 6'(k0_x3_row);
      end
      if (k0_x4_en && k0_x4_bank == 2'(bank)) begin
        a_read_en_d[bank] = 1'b1;
        a_read_addr_d[bank] = a_read_addr_d[bank] | 6'(k0_x4_row);
      end
      if (k0_x6_en && k0_x6_bank == 2'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 6'(k0_x6_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 12'(k0_x6_data);
      end
      if (k0_x7_en && k0_x7_bank == 2'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 6'(k0_x7_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 12'(k0_x7_data);
      end
      if (k0_x8_en && k0_x8_bank == 2'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 6'(k0_x8_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 12'(k0_x8_data);
      end
      if (k0_x9_en && k0_x9_bank == 2'(bank)) begin
        a_write_en_d[bank] = 1'b1;
        a_write_addr_d[bank] = a_write_addr_d[bank] | 6'(k0_x9_row);
        a_write_data_d[bank] = a_write_data_d[bank] | 12'(k0_x9_data);
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

`ifndef SYNTHESIS
  // From start to done.
  logic [9:0] cycles_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cycles_q <= '0;
    else cycles_q <= idle_o ? 10'd1 : cycles_q + 1'b1;
    if (rst_ni && done_o) assert (cycles_q == 10'd524) else $error("a run of another length");
  end
`endif
endmodule
