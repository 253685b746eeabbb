// Compiled from hw/hls/ntt_gs.c by `ciphermill hls compile`: change the source, not this file.
//
//   GS_BUTTERFLIES: 512 iterations, one in a cycle, 13 cycles each, 524 in all
module hls_intt_gs (
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
      7'd1: return 12'd2298;
      7'd2: return 12'd1010;
      7'd3: return 12'd667;
      7'd4: return 12'd1426;
      7'd5: return 12'd1212;
      7'd6: return 12'd2132;
      7'd7: return 12'd2377;
      7'd8: return 12'd2786;
      7'd9: return 12'd561;
      7'd10: return 12'd855;
      7'd11: return 12'd680;
      7'd12: return 12'd1339;
      7'd13: return 12'd1026;
      7'd14: return 12'd816;
      7'd15: return 12'd941;
      7'd16: return 12'd1897;
      7'd17: return 12'd1645;
      7'd18: return 12'd1795;
      7'd19: return 12'd279;
      7'd20: return 12'd1974;
      7'd21: return 12'd2154;
      7'd22: return 12'd2998;
      7'd23: return 12'd1703;
      7'd24: return 12'd1919;
      7'd25: return 12'd2266;
      7'd26: return 12'd712;
      7'd27: return 12'd1637;
      7'd28: return 12'd56;
      7'd29: return 12'd2186;
      7'd30: return 12'd3296;
      7'd31: return 12'd733;
      7'd32: return 12'd3289;
      7'd33: return 12'd1292;
      7'd34: return 12'd2877;
      7'd35: return 12'd3281;
      7'd36: return 12'd2882;
      7'd37: return 12'd1455;
      7'd38: return 12'd1274;
      7'd39: return 12'd1461;
      7'd40: return 12'd1746;
      7'd41: return 12'd863;
      7'd42: return 12'd2419;
      7'd43: return 12'd2761;
      7'd44: return 12'd3033;
      7'd45: return 12'd2237;
      7'd46: return 12'd650;
      7'd47: return 12'd2308;
      7'd48: return 12'd687;
      7'd49: return 12'd780;
      7'd50: return 12'd1438;
      7'd51: return 12'd2156;
      7'd52: return 12'd936;
      7'd53: return 12'd394;
      7'd54: return 12'd3253;
      7'd55: return 12'd1789;
      7'd56: return 12'd3136;
      7'd57: return 12'd2572;
      7'd58: return 12'd1481;
      7'd59: return 12'd1100;
      7'd60: return 12'd1089;
      7'd61: return 12'd2443;
      7'd62: return 12'd1320;
      7'd63: return 12'd641;
      7'd64: return 12'd1600;
      7'd65: return 12'd1584;
      7'd66: return 12'd1435;
      7'd67: return 12'd1920;
      7'd68: return 12'd1235;
      7'd69: return 12'd1722;
      7'd70: return 12'd2304;
      7'd71: return 12'd1482;
      7'd72: return 12'd69;
      7'd73: return 12'd2099;
      7'd74: return 12'd3110;
      7'd75: return 12'd2746;
      7'd76: return 12'd1853;
      7'd77: return 12'd403;
      7'd78: return 12'd632;
      7'd79: return 12'd892;
      7'd80: return 12'd2481;
      7'd81: return 12'd2090;
      7'd82: return 12'd2402;
      7'd83: return 12'd314;
      7'd84: return 12'd2508;
      7'd85: return 12'd885;
      7'd86: return 12'd3040;
      7'd87: return 12'd1678;
      7'd88: return 12'd1062;
      7'd89: return 12'd319;
      7'd90: return 12'd682;
      7'd91: return 12'd2606;
      7'd92: return 12'd3046;
      7'd93: return 12'd2150;
      7'd94: return 12'd464;
      7'd95: return 12'd992;
      7'd96: return 12'd2580;
      7'd97: return 12'd3220;
      7'd98: return 12'd2522;
      7'd99: return 12'd3096;
      7'd100: return 12'd535;
      7'd101: return 12'd1029;
      7'd102: return 12'd1052;
      7'd103: return 12'd642;
      7'd104: return 12'd569;
      7'd105: return 12'd2594;
      7'd106: return 12'd2102;
      7'd107: return 12'd17;
      7'd108: return 12'd2447;
      7'd109: return 12'd525;
      7'd110: return 12'd1352;
      7'd111: return 12'd939;
      7'd112: return 12'd630;
      7'd113: return 12'd2954;
      7'd114: return 12'd461;
      7'd115: return 12'd756;
      7'd116: return 12'd2879;
      7'd117: return 12'd1219;
      7'd118: return 12'd1573;
      7'd119: return 12'd2789;
      7'd120: return 12'd797;
      7'd121: return 12'd556;
      7'd122: return 12'd2681;
      7'd123: return 12'd2288;
      7'd124: return 12'd1333;
      7'd125: return 12'd554;
      7'd126: return 12'd1414;
      7'd127: return 12'd268;
      default: return '0;
    endcase
  endfunction

  // Kernel GS_BUTTERFLIES: while k0_valid[i] is high, an iteration is in its cycle i.
  logic k0_issue, k0_all_q;
  assign k0_issue = (active_q[0] || (idle_o && start_i)) && !k0_all_q;
  logic [2:0] k0_l0_gs_stages_q;
  logic [6:0] k0_l1_gs_butterflies_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      k0_all_q <= 1'b0;
      k0_l0_gs_stages_q <= 3'd0;
      k0_l1_gs_butterflies_q <= 7'd0;
    end else if (ends[0]) begin
      k0_all_q <= 1'b0;
      k0_l0_gs_stages_q <= 3'd0;
      k0_l1_gs_butterflies_q <= 7'd0;
    end else if (k0_issue) begin
      k0_all_q <= k0_l0_gs_stages_q == 3'd7 && k0_l1_gs_butterflies_q == 7'd126;
      if (k0_l1_gs_butterflies_q == 7'd126) k0_l0_gs_stages_q <= k0_l0_gs_stages_q == 3'd7 ? 3'd0 : k0_l0_gs_stages_q +
          3'd1;
      k0_l1_gs_butterflies_q <= k0_l1_gs_butterflies_q == 7'd126 ? 7'd0 : k0_l1_gs_butterflies_q + 7'd2;
    end
  end
  logic [12:0] k0_valid;
  assign k0_valid[0] = k0_issue;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) k0_valid[12:1] <= '0;
    else k0_valid[12:1] <= k0_valid[11:0];
  end
  assign ends[0] = active_q[0] && k0_all_q && k0_valid[11:0] == '0;

  logic [2:0] k0_l0_gs_stages_q_c1;
  logic [7:0] k0_n5_c1;
  logic [7:0] k0_n9_c1;
  logic [3:0] k0_n10_c1;
  logic [7:0] k0_e_n15_c2;
  logic [7:0] k0_n16_c1;
  logic [7:0] k0_n17_c1;
  logic [7:0] k0_o_n20_c2;
  logic [1:0] k0_found_n56_c3, k0_found_n56_c4, k0_found_n56_c5, k0_found_n56_c6, k0_found_n56_c7, k0_found_n56_c8;
  logic [1:0] k0_found_n56_c9, k0_found_n56_c10, k0_found_n56_c11, k0_found_n56_c12;
  logic [5:0] k0_n57_c2, k0_n57_c3, k0_n57_c4, k0_n57_c5, k0_n57_c6, k0_n57_c7;
  logic [5:0] k0_n57_c8, k0_n57_c9, k0_n57_c10, k0_n57_c11, k0_n57_c12;
  logic [1:0] k0_found_n88_c3, k0_found_n88_c4, k0_found_n88_c5, k0_found_n88_c6, k0_found_n88_c7, k0_found_n88_c8;
  logic [1:0] k0_found_n88_c9, k0_found_n88_c10, k0_found_n88_c11, k0_found_n88_c12;
  logic [5:0] k0_n89_c2, k0_n89_c3, k0_n89_c4, k0_n89_c5, k0_n89_c6, k0_n89_c7;
  logic [5:0] k0_n89_c8, k0_n89_c9, k0_n89_c10, k0_n89_c11, k0_n89_c12;
  logic [12:0] k0_s_n92_c6;
  logic k0_n94_c6;
  logic [11:0] k0_n95_c6;
  logic [11:0] k0_even_0_n103_c7, k0_even_0_n103_c8, k0_even_0_n103_c9, k0_even_0_n103_c10, k0_even_0_n103_c11,
      k0_even_0_n103_c12;
  logic [12:0] k0_n105_c6;
  logic [6:0] k0_n107_c1;
  logic [11:0] k0_n109_c3, k0_n109_c4, k0_n109_c5, k0_n109_c6;
  logic [26:0] k0_n120_c9;
  logic [20:0] k0_n122_c9;
  logic [12:0] k0_n128_c10;
  logic [12:0] k0_n132_c10;
  logic [12:0] k0_n134_c9, k0_n134_c10;
  logic [12:0] k0_n137_c11;
  logic [10:0] k0_n143_c12;
  logic [10:0] k0_n146_c12;
  logic [7:0] k0_n149_c1;
  logic [7:0] k0_n150_c1;
  logic [7:0] k0_e_n153_c2;
  logic [7:0] k0_n154_c1;
  logic [7:0] k0_n155_c1;
  logic [7:0] k0_o_n158_c2;
  logic [1:0] k0_found_n187_c3, k0_found_n187_c4, k0_found_n187_c5, k0_found_n187_c6, k0_found_n187_c7,
      k0_found_n187_c8;
  logic [1:0] k0_found_n187_c9, k0_found_n187_c10, k0_found_n187_c11, k0_found_n187_c12;
  logic [5:0] k0_n188_c2, k0_n188_c3, k0_n188_c4, k0_n188_c5, k0_n188_c6, k0_n188_c7;
  logic [5:0] k0_n188_c8, k0_n188_c9, k0_n188_c10, k0_n188_c11, k0_n188_c12;
  logic [1:0] k0_found_n218_c3, k0_found_n218_c4, k0_found_n218_c5, k0_found_n218_c6, k0_found_n218_c7,
      k0_found_n218_c8;
  logic [1:0] k0_found_n218_c9, k0_found_n218_c10, k0_found_n218_c11, k0_found_n218_c12;
  logic [5:0] k0_n219_c2, k0_n219_c3, k0_n219_c4, k0_n219_c5, k0_n219_c6, k0_n219_c7;
  logic [5:0] k0_n219_c8, k0_n219_c9, k0_n219_c10, k0_n219_c11, k0_n219_c12;
  logic [12:0] k0_s_n221_c6;
  logic k0_n223_c6;
  logic [11:0] k0_n224_c6;
  logic [11:0] k0_even_1_n230_c7, k0_even_1_n230_c8, k0_even_1_n230_c9, k0_even_1_n230_c10, k0_even_1_n230_c11,
      k0_even_1_n230_c12;
  logic [12:0] k0_n232_c6;
  logic [6:0] k0_n233_c1;
  logic [11:0] k0_n235_c3, k0_n235_c4, k0_n235_c5, k0_n235_c6;
  logic [26:0] k0_n242_c9;
  logic [20:0] k0_n244_c9;
  logic [12:0] k0_n248_c10;
  logic [12:0] k0_n251_c10;
  logic [12:0] k0_n253_c9, k0_n253_c10;
  logic [12:0] k0_n256_c11;
  logic [10:0] k0_n262_c12;
  logic [10:0] k0_n265_c12;
  logic [11:0] k0_x2_q;
  logic [11:0] k0_x5_q;
  logic [7:0] k0_n5;
  assign k0_n5 = 8'(k0_l1_gs_butterflies_q) << 1'd1;
  logic [2:0] k0_n7;
  assign k0_n7 = 3'd0 - k0_l0_gs_stages_q;
  logic [2:0] k0_n8;
  assign k0_n8 = k0_n7 - 3'd1;
  logic [7:0] k0_n9;
  assign k0_n9 = k0_n5 << k0_n8;
  logic [3:0] k0_n10;
  assign k0_n10 = 4'd8 - 4'(k0_n8);
  logic [6:0] k0_n11;
  assign k0_n11 = 7'(k0_n5_c1 >> k0_n10_c1);
  logic [7:0] k0_n12;
  assign k0_n12 = k0_n9_c1 | 8'(k0_n11);
  logic [7:0] k0_e_n15;
  assign k0_e_n15 = k0_n12 & 8'd255;
  logic [7:0] k0_n16;
  assign k0_n16 = k0_n5 + 8'd1;
  logic [7:0] k0_n17;
  assign k0_n17 = k0_n16 << k0_n8;
  logic [6:0] k0_n18;
  assign k0_n18 = 7'(k0_n16_c1 >> k0_n10_c1);
  logic [7:0] k0_n19;
  assign k0_n19 = k0_n17_c1 | 8'(k0_n18);
  logic [7:0] k0_o_n20;
  assign k0_o_n20 = k0_n19 & 8'd255;
  logic [6:0] k0_n22;
  assign k0_n22 = 7'(k0_e_n15_c2) & 7'd85;
  logic k0_p_n23;
  assign k0_p_n23 = 1'(k0_n22) & 1'd1;
  logic k0_n25;
  assign k0_n25 = 1'(k0_n22 >> 2'd2);
  logic k0_n26;
  assign k0_n26 = k0_n25 & 1'd1;
  logic k0_p_n27;
  assign k0_p_n27 = k0_p_n23 ^ k0_n26;
  logic k0_n31;
  assign k0_n31 = 1'(k0_n22 >> 3'd4);
  logic k0_n32;
  assign k0_n32 = k0_n31 & 1'd1;
  logic k0_p_n33;
  assign k0_p_n33 = k0_p_n27 ^ k0_n32;
  logic k0_n37;
  assign k0_n37 = 1'(k0_n22 >> 3'd6);
  logic k0_p_n38;
  assign k0_p_n38 = k0_p_n33 ^ k0_n37;
  logic [7:0] k0_n41;
  assign k0_n41 = k0_e_n15_c2 & 8'd170;
  logic k0_n42;
  assign k0_n42 = 1'(k0_n41 >> 1'd1);
  logic k0_p_n43;
  assign k0_p_n43 = k0_n42 & 1'd1;
  logic k0_n45;
  assign k0_n45 = 1'(k0_n41 >> 2'd3);
  logic k0_n46;
  assign k0_n46 = k0_n45 & 1'd1;
  logic k0_p_n47;
  assign k0_p_n47 = k0_p_n43 ^ k0_n46;
  logic k0_n49;
  assign k0_n49 = 1'(k0_n41 >> 3'd5);
  logic k0_n50;
  assign k0_n50 = k0_n49 & 1'd1;
  logic k0_p_n51;
  assign k0_p_n51 = k0_p_n47 ^ k0_n50;
  logic k0_n53;
  assign k0_n53 = 1'(k0_n41 >> 3'd7);
  logic k0_p_n54;
  assign k0_p_n54 = k0_p_n51 ^ k0_n53;
  logic [1:0] k0_n55;
  assign k0_n55 = 2'(k0_p_n54) << 1'd1;
  logic [1:0] k0_found_n56;
  assign k0_found_n56 = 2'(k0_p_n38) | k0_n55;
  logic [5:0] k0_n57;
  assign k0_n57 = 6'(k0_e_n15 >> 2'd2);
  logic [11:0] k0_u_n59;
  assign k0_u_n59 = a_read_data[k0_found_n56_c5];
  logic [6:0] k0_n60;
  assign k0_n60 = 7'(k0_o_n20_c2) & 7'd85;
  logic k0_p_n61;
  assign k0_p_n61 = 1'(k0_n60) & 1'd1;
  logic k0_n63;
  assign k0_n63 = 1'(k0_n60 >> 2'd2);
  logic k0_n64;
  assign k0_n64 = k0_n63 & 1'd1;
  logic k0_p_n65;
  assign k0_p_n65 = k0_p_n61 ^ k0_n64;
  logic k0_n67;
  assign k0_n67 = 1'(k0_n60 >> 3'd4);
  logic k0_n68;
  assign k0_n68 = k0_n67 & 1'd1;
  logic k0_p_n69;
  assign k0_p_n69 = k0_p_n65 ^ k0_n68;
  logic k0_n71;
  assign k0_n71 = 1'(k0_n60 >> 3'd6);
  logic k0_p_n72;
  assign k0_p_n72 = k0_p_n69 ^ k0_n71;
  logic [7:0] k0_n73;
  assign k0_n73 = k0_o_n20_c2 & 8'd170;
  logic k0_n74;
  assign k0_n74 = 1'(k0_n73 >> 1'd1);
  logic k0_p_n75;
  assign k0_p_n75 = k0_n74 & 1'd1;
  logic k0_n77;
  assign k0_n77 = 1'(k0_n73 >> 2'd3);
  logic k0_n78;
  assign k0_n78 = k0_n77 & 1'd1;
  logic k0_p_n79;
  assign k0_p_n79 = k0_p_n75 ^ k0_n78;
  logic k0_n81;
  assign k0_n81 = 1'(k0_n73 >> 3'd5);
  logic k0_n82;
  assign k0_n82 = k0_n81 & 1'd1;
  logic k0_p_n83;
  assign k0_p_n83 = k0_p_n79 ^ k0_n82;
  logic k0_n85;
  assign k0_n85 = 1'(k0_n73 >> 3'd7);
  logic k0_p_n86;
  assign k0_p_n86 = k0_p_n83 ^ k0_n85;
  logic [1:0] k0_n87;
  assign k0_n87 = 2'(k0_p_n86) << 1'd1;
  logic [1:0] k0_found_n88;
  assign k0_found_n88 = 2'(k0_p_n72) | k0_n87;
  logic [5:0] k0_n89;
  assign k0_n89 = 6'(k0_o_n20 >> 2'd2);
  logic [11:0] k0_v_n90;
  assign k0_v_n90 = a_read_data[k0_found_n88_c5];
  logic [12:0] k0_s_n92;
  assign k0_s_n92 = 13'(k0_u_n59) + 13'(k0_v_n90);
  logic k0_n93;
  assign k0_n93 = k0_s_n92 < 13'd3329;
  logic k0_n94;
  assign k0_n94 = k0_n93 == 1'd0;
  logic [11:0] k0_n95;
  assign k0_n95 = 12'(k0_s_n92) - 12'd3329;
  logic [11:0] k0_n96;
  assign k0_n96 = k0_n94_c6 ? k0_n95_c6 : 12'(k0_s_n92_c6);
  logic [10:0] k0_n97;
  assign k0_n97 = 11'(k0_n96 >> 1'd1);
  logic k0_n98;
  assign k0_n98 = 1'(k0_n96) & 1'd1;
  logic [10:0] k0_n102;
  assign k0_n102 = k0_n98 ? 11'd1665 : 11'd0;
  logic [11:0] k0_even_0_n103;
  assign k0_even_0_n103 = 12'(k0_n97) + 12'(k0_n102);
  logic [12:0] k0_n104;
  assign k0_n104 = 13'(k0_u_n59) + 13'd3329;
  logic [12:0] k0_n105;
  assign k0_n105 = k0_n104 - 13'(k0_v_n90);
  logic [6:0] k0_n106;
  assign k0_n106 = 7'(k0_l1_gs_butterflies_q >> k0_l0_gs_stages_q);
  logic [6:0] k0_n107;
  assign k0_n107 = k0_n106 << k0_l0_gs_stages_q;
  logic [11:0] k0_n109;
  assign k0_n109 = k0_x2_q;
  logic [1:0] [24:0] k0_n110_p;
  logic [24:0] k0_n110;
  assign k0_n110 = k0_n110_p[1];
  always_ff @(posedge clk_i) begin
    k0_n110_p[0] <= 25'(k0_n105_c6) * 25'(k0_n109_c6);
    k0_n110_p[1] <= k0_n110_p[0];
  end
  logic [13:0] k0_n114;
  assign k0_n114 = 14'(k0_n110 >> 4'd11);
  logic [18:0] k0_n115;
  assign k0_n115 = 19'(k0_n114) << 3'd5;
  logic [20:0] k0_n116;
  assign k0_n116 = 21'(k0_n114) << 3'd7;
  logic [24:0] k0_n117;
  assign k0_n117 = 25'(k0_n114) << 4'd11;
  logic [26:0] k0_n119;
  assign k0_n119 = 27'(k0_n114) << 4'd13;
  logic [26:0] k0_n120;
  assign k0_n120 = 27'(k0_n117) + k0_n119;
  logic [18:0] k0_n121;
  assign k0_n121 = 19'(k0_n114) + k0_n115;
  logic [20:0] k0_n122;
  assign k0_n122 = k0_n116 + 21'(k0_n121);
  logic [26:0] k0_n123;
  assign k0_n123 = k0_n120_c9 - 27'(k0_n122_c9);
  logic [12:0] k0_n124;
  assign k0_n124 = 13'(k0_n123 >> 4'd14);
  logic [12:0] k0_n126;
  assign k0_n126 = k0_n124 << 4'd8;
  logic [12:0] k0_n128;
  assign k0_n128 = k0_n124 << 4'd10;
  logic [12:0] k0_n130;
  assign k0_n130 = k0_n124 << 4'd12;
  logic [12:0] k0_n131;
  assign k0_n131 = k0_n124 + k0_n126;
  logic [12:0] k0_n132;
  assign k0_n132 = k0_n130 + k0_n131;
  logic [12:0] k0_n133;
  assign k0_n133 = k0_n132_c10 - k0_n128_c10;
  logic [12:0] k0_n134;
  assign k0_n134 = 13'(k0_n110) & 13'd8191;
  logic [12:0] k0_n135;
  assign k0_n135 = k0_n133 & 13'd8191;
  logic [12:0] k0_n136;
  assign k0_n136 = k0_n134_c10 - k0_n135;
  logic [12:0] k0_n137;
  assign k0_n137 = k0_n136 & 13'd8191;
  logic k0_n138;
  assign k0_n138 = k0_n137_c11 < 13'd3329;
  logic [11:0] k0_n139;
  assign k0_n139 = 12'(k0_n137_c11) - 12'd3329;
  logic [11:0] k0_n140;
  assign k0_n140 = k0_n138 ? 12'(k0_n137_c11) : k0_n139;
  logic [10:0] k0_n143;
  assign k0_n143 = 11'(k0_n140 >> 1'd1);
  logic k0_n144;
  assign k0_n144 = 1'(k0_n140) & 1'd1;
  logic [10:0] k0_n146;
  assign k0_n146 = k0_n144 ? 11'd1665 : 11'd0;
  logic [11:0] k0_odd_0_n147;
  assign k0_odd_0_n147 = 12'(k0_n143_c12) + 12'(k0_n146_c12);
  logic [6:0] k0_n148;
  assign k0_n148 = k0_l1_gs_butterflies_q + 7'd1;
  logic [7:0] k0_n149;
  assign k0_n149 = 8'(k0_n148) << 1'd1;
  logic [7:0] k0_n150;
  assign k0_n150 = k0_n149 << k0_n8;
  logic [6:0] k0_n151;
  assign k0_n151 = 7'(k0_n149_c1 >> k0_n10_c1);
  logic [7:0] k0_n152;
  assign k0_n152 = k0_n150_c1 | 8'(k0_n151);
  logic [7:0] k0_e_n153;
  assign k0_e_n153 = k0_n152 & 8'd255;
  logic [7:0] k0_n154;
  assign k0_n154 = k0_n149 + 8'd1;
  logic [7:0] k0_n155;
  assign k0_n155 = k0_n154 << k0_n8;
  logic [6:0] k0_n156;
  assign k0_n156 = 7'(k0_n154_c1 >> k0_n10_c1);
  logic [7:0] k0_n157;
  assign k0_n157 = k0_n155_c1 | 8'(k0_n156);
  logic [7:0] k0_o_n158;
  assign k0_o_n158 = k0_n157 & 8'd255;
  logic [6:0] k0_n159;
  assign k0_n159 = 7'(k0_e_n153_c2) & 7'd85;
  logic k0_p_n160;
  assign k0_p_n160 = 1'(k0_n159) & 1'd1;
  logic k0_n162;
  assign k0_n162 = 1'(k0_n159 >> 2'd2);
  logic k0_n163;
  assign k0_n163 = k0_n162 & 1'd1;
  logic k0_p_n164;
  assign k0_p_n164 = k0_p_n160 ^ k0_n163;
  logic k0_n166;
  assign k0_n166 = 1'(k0_n159 >> 3'd4);
  logic k0_n167;
  assign k0_n167 = k0_n166 & 1'd1;
  logic k0_p_n168;
  assign k0_p_n168 = k0_p_n164 ^ k0_n167;
  logic k0_n170;
  assign k0_n170 = 1'(k0_n159 >> 3'd6);
  logic k0_p_n171;
  assign k0_p_n171 = k0_p_n168 ^ k0_n170;
  logic [7:0] k0_n172;
  assign k0_n172 = k0_e_n153_c2 & 8'd170;
  logic k0_n173;
  assign k0_n173 = 1'(k0_n172 >> 1'd1);
  logic k0_p_n174;
  assign k0_p_n174 = k0_n173 & 1'd1;
  logic k0_n176;
  assign k0_n176 = 1'(k0_n172 >> 2'd3);
  logic k0_n177;
  assign k0_n177 = k0_n176 & 1'd1;
  logic k0_p_n178;
  assign k0_p_n178 = k0_p_n174 ^ k0_n177;
  logic k0_n180;
  assign k0_n180 = 1'(k0_n172 >> 3'd5);
  logic k0_n181;
  assign k0_n181 = k0_n180 & 1'd1;
  logic k0_p_n182;
  assign k0_p_n182 = k0_p_n178 ^ k0_n181;
  logic k0_n184;
  assign k0_n184 = 1'(k0_n172 >> 3'd7);
  logic k0_p_n185;
  assign k0_p_n185 = k0_p_n182 ^ k0_n184;
  logic [1:0] k0_n186;
  assign k0_n186 = 2'(k0_p_n185) << 1'd1;
  logic [1:0] k0_found_n187;
  assign k0_found_n187 = 2'(k0_p_n171) | k0_n186;
  logic [5:0] k0_n188;
  assign k0_n188 = 6'(k0_e_n153 >> 2'd2);
  logic [11:0] k0_u_n189;
  assign k0_u_n189 = a_read_data[k0_found_n187_c5];
  logic [6:0] k0_n190;
  assign k0_n190 = 7'(k0_o_n158_c2) & 7'd85;
  logic k0_p_n191;
  assign k0_p_n191 = 1'(k0_n190) & 1'd1;
  logic k0_n193;
  assign k0_n193 = 1'(k0_n190 >> 2'd2);
  logic k0_n194;
  assign k0_n194 = k0_n193 & 1'd1;
  logic k0_p_n195;
  assign k0_p_n195 = k0_p_n191 ^ k0_n194;
  logic k0_n197;
  assign k0_n197 = 1'(k0_n190 >> 3'd4);
  logic k0_n198;
  assign k0_n198 = k0_n197 & 1'd1;
  logic k0_p_n199;
  assign k0_p_n199 = k0_p_n195 ^ k0_n198;
  logic k0_n201;
  assign k0_n201 = 1'(k0_n190 >> 3'd6);
  logic k0_p_n202;
  assign k0_p_n202 = k0_p_n199 ^ k0_n201;
  logic [7:0] k0_n203;
  assign k0_n203 = k0_o_n158_c2 & 8'd170;
  logic k0_n204;
  assign k0_n204 = 1'(k0_n203 >> 1'd1);
  logic k0_p_n205;
  assign k0_p_n205 = k0_n204 & 1'd1;
  logic k0_n207;
  assign k0_n207 = 1'(k0_n203 >> 2'd3);
  logic k0_n208;
  assign k0_n208 = k0_n207 & 1'd1;
  logic k0_p_n209;
  assign k0_p_n209 = k0_p_n205 ^ k0_n208;
  logic k0_n211;
  assign k0_n211 = 1'(k0_n203 >> 3'd5);
  logic k0_n212;
  assign k0_n212 = k0_n211 & 1'd1;
  logic k0_p_n213;
  assign k0_p_n213 = k0_p_n209 ^ k0_n212;
  logic k0_n215;
  assign k0_n215 = 1'(k0_n203 >> 3'd7);
  logic k0_p_n216;
  assign k0_p_n216 = k0_p_n213 ^ k0_n215;
  logic [1:0] k0_n217;
  assign k0_n217 = 2'(k0_p_n216) << 1'd1;
  logic [1:0] k0_found_n218;
  assign k0_found_n218 = 2'(k0_p_n202) | k0_n217;
  logic [5:0] k0_n219;
  assign k0_n219 = 6'(k0_o_n158 >> 2'd2);
  logic [11:0] k0_v_n220;
  assign k0_v_n220 = a_read_data[k0_found_n218_c5];
  logic [12:0] k0_s_n221;
  assign k0_s_n221 = 13'(k0_u_n189) + 13'(k0_v_n220);
  logic k0_n222;
  assign k0_n222 = k0_s_n221 < 13'd3329;
  logic k0_n223;
  assign k0_n223 = k0_n222 == 1'd0;
  logic [11:0] k0_n224;
  assign k0_n224 = 12'(k0_s_n221) - 12'd3329;
  logic [11:0] k0_n225;
  assign k0_n225 = k0_n223_c6 ? k0_n224_c6 : 12'(k0_s_n221_c6);
  logic [10:0] k0_n226;
  assign k0_n226 = 11'(k0_n225 >> 1'd1);
  logic k0_n227;
  assign k0_n227 = 1'(k0_n225) & 1'd1;
  logic [10:0] k0_n229;
  assign k0_n229 = k0_n227 ? 11'd1665 : 11'd0;
  logic [11:0] k0_even_1_n230;
  assign k0_even_1_n230 = 12'(k0_n226) + 12'(k0_n229);
  logic [12:0] k0_n231;
  assign k0_n231 = 13'(k0_u_n189) + 13'd3329;
  logic [12:0] k0_n232;
  assign k0_n232 = k0_n231 - 13'(k0_v_n220);
  logic [6:0] k0_n233;
  assign k0_n233 = 7'(k0_n148 >> k0_l0_gs_stages_q);
  logic [6:0] k0_n234;
  assign k0_n234 = k0_n233_c1 << k0_l0_gs_stages_q_c1;
  logic [11:0] k0_n235;
  assign k0_n235 = k0_x5_q;
  logic [1:0] [24:0] k0_n236_p;
  logic [24:0] k0_n236;
  assign k0_n236 = k0_n236_p[1];
  always_ff @(posedge clk_i) begin
    k0_n236_p[0] <= 25'(k0_n232_c6) * 25'(k0_n235_c6);
    k0_n236_p[1] <= k0_n236_p[0];
  end
  logic [13:0] k0_n237;
  assign k0_n237 = 14'(k0_n236 >> 4'd11);
  logic [18:0] k0_n238;
  assign k0_n238 = 19'(k0_n237) << 3'd5;
  logic [20:0] k0_n239;
  assign k0_n239 = 21'(k0_n237) << 3'd7;
  logic [24:0] k0_n240;
  assign k0_n240 = 25'(k0_n237) << 4'd11;
  logic [26:0] k0_n241;
  assign k0_n241 = 27'(k0_n237) << 4'd13;
  logic [26:0] k0_n242;
  assign k0_n242 = 27'(k0_n240) + k0_n241;
  logic [18:0] k0_n243;
  assign k0_n243 = 19'(k0_n237) + k0_n238;
  logic [20:0] k0_n244;
  assign k0_n244 = k0_n239 + 21'(k0_n243);
  logic [26:0] k0_n245;
  assign k0_n245 = k0_n242_c9 - 27'(k0_n244_c9);
  logic [12:0] k0_n246;
  assign k0_n246 = 13'(k0_n245 >> 4'd14);
  logic [12:0] k0_n247;
  assign k0_n247 = k0_n246 << 4'd8;
  logic [12:0] k0_n248;
  assign k0_n248 = k0_n246 << 4'd10;
  logic [12:0] k0_n249;
  assign k0_n249 = k0_n246 << 4'd12;
  logic [12:0] k0_n250;
  assign k0_n250 = k0_n246 + k0_n247;
  logic [12:0] k0_n251;
  assign k0_n251 = k0_n249 + k0_n250;
  logic [12:0] k0_n252;
  assign k0_n252 = k0_n251_c10 - k0_n248_c10;
  logic [12:0] k0_n253;
  assign k0_n253 = 13'(k0_n236) & 13'd8191;
  logic [12:0] k0_n254;
  assign k0_n254 = k0_n252 & 13'd8191;
  logic [12:0] k0_n255;
  assign k0_n255 = k0_n253_c10 - k0_n254;
  logic [12:0] k0_n256;
  assign k0_n256 = k0_n255 & 13'd8191;
  logic k0_n257;
  assign k0_n257 = k0_n256_c11 < 13'd3329;
  logic [11:0] k0_n258;
  assign k0_n258 = 12'(k0_n256_c11) - 12'd3329;
  logic [11:0] k0_n259;
  assign k0_n259 = k0_n257 ? 12'(k0_n256_c11) : k0_n258;
  logic [10:0] k0_n262;
  assign k0_n262 = 11'(k0_n259 >> 1'd1);
  logic k0_n263;
  assign k0_n263 = 1'(k0_n259) & 1'd1;
  logic [10:0] k0_n265;
  assign k0_n265 = k0_n263 ? 11'd1665 : 11'd0;
  logic [11:0] k0_odd_1_n266;
  assign k0_odd_1_n266 = 12'(k0_n262_c12) + 12'(k0_n265_c12);
  always_ff @(posedge clk_i) begin
    k0_l0_gs_stages_q_c1 <= k0_l0_gs_stages_q;
    k0_n5_c1 <= k0_n5;
    k0_n9_c1 <= k0_n9;
    k0_n10_c1 <= k0_n10;
    k0_e_n15_c2 <= k0_e_n15;
    k0_n16_c1 <= k0_n16;
    k0_n17_c1 <= k0_n17;
    k0_o_n20_c2 <= k0_o_n20;
    k0_found_n56_c3 <= k0_found_n56;
    k0_found_n56_c4 <= k0_found_n56_c3;
    k0_found_n56_c5 <= k0_found_n56_c4;
    k0_found_n56_c6 <= k0_found_n56_c5;
    k0_found_n56_c7 <= k0_found_n56_c6;
    k0_found_n56_c8 <= k0_found_n56_c7;
    k0_found_n56_c9 <= k0_found_n56_c8;
    k0_found_n56_c10 <= k0_found_n56_c9;
    k0_found_n56_c11 <= k0_found_n56_c10;
    k0_found_n56_c12 <= k0_found_n56_c11;
    k0_n57_c2 <= k0_n57;
    k0_n57_c3 <= k0_n57_c2;
    k0_n57_c4 <= k0_n57_c3;
    k0_n57_c5 <= k0_n57_c4;
    k0_n57_c6 <= k0_n57_c5;
    k0_n57_c7 <= k0_n57_c6;
    k0_n57_c8 <= k0_n57_c7;
    k0_n57_c9 <= k0_n57_c8;
    k0_n57_c10 <= k0_n57_c9;
    k0_n57_c11 <= k0_n57_c10;
    k0_n57_c12 <= k0_n57_c11;
    k0_found_n88_c3 <= k0_found_n88;
    k0_found_n88_c4 <= k0_found_n88_c3;
    k0_found_n88_c5 <= k0_found_n88_c4;
    k0_found_n88_c6 <= k0_found_n88_c5;
    k0_found_n88_c7 <= k0_found_n88_c6;
    k0_found_n88_c8 <= k0_found_n88_c7;
    k0_found_n88_c9 <= k0_found_n88_c8;
    k0_found_n88_c10 <= k0_found_n88_c9;
    k0_found_n88_c11 <= k0_found_n88_c10;
    k0_found_n88_c12 <= k0_found_n88_c11;
    k0_n89_c2 <= k0_n89;
    k0_n89_c3 <= k0_n89_c2;
    k0_n89_c4 <= k0_n89_c3;
    k0_n89_c5 <= k0_n89_c4;
    k0_n89_c6 <= k0_n89_c5;
    k0_n89_c7 <= k0_n89_c6;
    k0_n89_c8 <= k0_n89_c7;
    k0_n89_c9 <= k0_n89_c8;
    k0_n89_c10 <= k0_n89_c9;
    k0_n89_c11 <= k0_n89_c10;
    k0_n89_c12 <= k0_n89_c11;
    k0_s_n92_c6 <= k0_s_n92;
    k0_n94_c6 <= k0_n94;
    k0_n95_c6 <= k0_n95;
    k0_even_0_n103_c7 <= k0_even_0_n103;
    k0_even_0_n103_c8 <= k0_even_0_n103_c7;
    k0_even_0_n103_c9 <= k0_even_0_n103_c8;
    k0_even_0_n103_c10 <= k0_even_0_n103_c9;
    k0_even_0_n103_c11 <= k0_even_0_n103_c10;
    k0_even_0_n103_c12 <= k0_even_0_n103_c11;
    k0_n105_c6 <= k0_n105;
    k0_n107_c1 <= k0_n107;
    k0_n109_c3 <= k0_n109;
    k0_n109_c4 <= k0_n109_c3;
    k0_n109_c5 <= k0_n109_c4;
    k0_n109_c6 <= k0_n109_c5;
    k0_n120_c9 <= k0_n120;
    k0_n122_c9 <= k0_n122;
    k0_n128_c10 <= k0_n128;
    k0_n132_c10 <= k0_n132;
    k0_n134_c9 <= k0_n134;
    k0_n134_c10 <= k0_n134_c9;
    k0_n137_c11 <= k0_n137;
    k0_n143_c12 <= k0_n143;
    k0_n146_c12 <= k0_n146;
    k0_n149_c1 <= k0_n149;
    k0_n150_c1 <= k0_n150;
    k0_e_n153_c2 <= k0_e_n153;
    k0_n154_c1 <= k0_n154;
    k0_n155_c1 <= k0_n155;
    k0_o_n158_c2 <= k0_o_n158;
    k0_found_n187_c3 <= k0_found_n187;
    k0_found_n187_c4 <= k0_found_n187_c3;
    k0_found_n187_c5 <= k0_found_n187_c4;
    k0_found_n187_c6 <= k0_found_n187_c5;
    k0_found_n187_c7 <= k0_found_n187_c6;
    k0_found_n187_c8 <= k0_found_n187_c7;
    k0_found_n187_c9 <= k0_found_n187_c8;
    k0_found_n187_c10 <= k0_found_n187_c9;
    k0_found_n187_c11 <= k0_found_n187_c10;
    k0_found_n187_c12 <= k0_found_n187_c11;
    k0_n188_c2 <= k0_n188;
    k0_n188_c3 <= k0_n188_c2;
    k0_n188_c4 <= k0_n188_c3;
    k0_n188_c5 <= k0_n188_c4;
    k0_n188_c6 <= k0_n188_c5;
    k0_n188_c7 <= k0_n188_c6;
    k0_n188_c8 <= k0_n188_c7;
    k0_n188_c9 <= k0_n188_c8;
    k0_n188_c10 <= k0_n188_c9;
    k0_n188_c11 <= k0_n188_c10;
    k0_n188_c12 <= k0_n188_c11;
    k0_found_n218_c3 <= k0_found_n218;
    k0_found_n218_c4 <= k0_found_n218_c3;
    k0_found_n218_c5 <= k0_found_n218_c4;
    k0_found_n218_c6 <= k0_found_n218_c5;
    k0_found_n218_c7 <= k0_found_n218_c6;
    k0_found_n218_c8 <= k0_found_n218_c7;
    k0_found_n218_c9 <= k0_found_n218_c8;
    k0_found_n218_c10 <= k0_found_n218_c9;
    k0_found_n218_c11 <= k0_found_n218_c10;
    k0_found_n218_c12 <= k0_found_n218_c11;
    k0_n219_c2 <= k0_n219;
    k0_n219_c3 <= k0_n219_c2;
    k0_n219_c4 <= k0_n219_c3;
    k0_n219_c5 <= k0_n219_c4;
    k0_n219_c6 <= k0_n219_c5;
    k0_n219_c7 <= k0_n219_c6;
    k0_n219_c8 <= k0_n219_c7;
    k0_n219_c9 <= k0_n219_c8;
    k0_n219_c10 <= k0_n219_c9;
    k0_n219_c11 <= k0_n219_c10;
    k0_n219_c12 <= k0_n219_c11;
    k0_s_n221_c6 <= k0_s_n221;
    k0_n223_c6 <= k0_n223;
    k0_n224_c6 <= k0_n224;
    k0_even_1_n230_c7 <= k0_even_1_n230;
    k0_even_1_n230_c8 <= k0_even_1_n230_c7;
    k0_even_1_n230_c9 <= k0_even_1_n230_c8;
    k0_even_1_n230_c10 <= k0_even_1_n230_c9;
    k0_even_1_n230_c11 <= k0_even_1_n230_c10;
    k0_even_1_n230_c12 <= k0_even_1_n230_c11;
    k0_n232_c6 <= k0_n232;
    k0_n233_c1 <= k0_n233;
    k0_n235_c3 <= k0_n235;
    k0_n235_c4 <= k0_n235_c3;
    k0_n235_c5 <= k0_n235_c4;
    k0_n235_c6 <= k0_n235_c5;
    k0_n242_c9 <= k0_n242;
    k0_n244_c9 <= k0_n244;
    k0_n248_c10 <= k0_n248;
    k0_n251_c10 <= k0_n251;
    k0_n253_c9 <= k0_n253;
    k0_n253_c10 <= k0_n253_c9;
    k0_n256_c11 <= k0_n256;
    k0_n262_c12 <= k0_n262;
    k0_n265_c12 <= k0_n265;
  end
  // Line 34: reads a.
  logic k0_x0_en;
  assign k0_x0_en = k0_valid[3];
  logic [1:0] k0_x0_bank;
  assign k0_x0_bank = k0_found_n56_c3;
  logic [5:0] k0_x0_row;
  assign k0_x0_row = k0_n57_c3;
  // Line 34: reads a.
  logic k0_x1_en;
  assign k0_x1_en = k0_valid[3];
  logic [1:0] k0_x1_bank;
  assign k0_x1_bank = k0_found_n88_c3;
  logic [5:0] k0_x1_row;
  assign k0_x1_row = k0_n89_c3;
  always_ff @(posedge clk_i) k0_x2_q <= w_at(k0_n107_c1);
  // Line 34: reads a.
  logic k0_x3_en;
  assign k0_x3_en = k0_valid[3];
  logic [1:0] k0_x3_bank;
  assign k0_x3_bank = k0_found_n187_c3;
  logic [5:0] k0_x3_row;
  assign k0_x3_row = k0_n188_c3;
  // Line 34: reads a.
  logic k0_x4_en;
  assign k0_x4_en = k0_valid[3];
  logic [1:0] k0_x4_bank;
  assign k0_x4_bank = k0_found_n218_c3;
  logic [5:0] k0_x4_row;
  assign k0_x4_row = k0_n219_c3;
  always_ff @(posedge clk_i) k0_x5_q <= w_at(k0_n234);
  // Line 42: writes a.
  logic k0_x6_en;
  assign k0_x6_en = k0_valid[12];
  logic [11:0] k0_x6_data;
  assign k0_x6_data = k0_even_0_n103_c12;
  logic [1:0] k0_x6_bank;
  assign k0_x6_bank = k0_found_n56_c12;
  logic [5:0] k0_x6_row;
  assign k0_x6_row = k0_n57_c12;
  // Line 43: writes a.
  logic k0_x7_en;
  assign k0_x7_en = k0_valid[12];
  logic [11:0] k0_x7_data;
  assign k0_x7_data = k0_odd_0_n147;
  logic [1:0] k0_x7_bank;
  assign k0_x7_bank = k0_found_n88_c12;
  logic [5:0] k0_x7_row;
  assign k0_x7_row = k0_n89_c12;
  // Line 42: writes a.
  logic k0_x8_en;
  assign k0_x8_en = k0_valid[12];
  logic [11:0] k0_x8_data;
  assign k0_x8_data = k0_even_1_n230_c12;
  logic [1:0] k0_x8_bank;
  assign k0_x8_bank = k0_found_n187_c12;
  logic [5:0] k0_x8_row;
  assign k0_x8_row = k0_n188_c12;
  // Line 43: writes a.
  logic k0_x9_en;
  assign k0_x9_en = k0_valid[12];
  logic [11:0] k0_x9_data;
  assign k0_x9_data = k0_odd_1_n266;
  logic [1:0] k0_x9_bank;
  assign k0_x9_bank = k0_found_n218_c12;
  logic [5:0] k0_x9_row;
  assign k0_x9_row = k0_n219_c12;

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
