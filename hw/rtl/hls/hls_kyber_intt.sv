// Compiled from hw/hls/kyber.c by `ciphermill hls compile`: change the source, not this file.
//
//   INVERSE: 448 iterations, one in a cycle, 13 cycles each, 460 in all
module hls_kyber_intt (
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
      7'd0: w_at = 12'd1;
      7'd1: w_at = 12'd1600;
      7'd2: w_at = 12'd40;
      7'd3: w_at = 12'd749;
      7'd4: w_at = 12'd2481;
      7'd5: w_at = 12'd1432;
      7'd6: w_at = 12'd2699;
      7'd7: w_at = 12'd687;
      7'd8: w_at = 12'd1583;
      7'd9: w_at = 12'd2760;
      7'd10: w_at = 12'd69;
      7'd11: w_at = 12'd543;
      7'd12: w_at = 12'd2532;
      7'd13: w_at = 12'd3136;
      7'd14: w_at = 12'd1410;
      7'd15: w_at = 12'd2267;
      7'd16: w_at = 12'd2508;
      7'd17: w_at = 12'd1355;
      7'd18: w_at = 12'd450;
      7'd19: w_at = 12'd936;
      7'd20: w_at = 12'd447;
      7'd21: w_at = 12'd2794;
      7'd22: w_at = 12'd1235;
      7'd23: w_at = 12'd1903;
      7'd24: w_at = 12'd1996;
      7'd25: w_at = 12'd1089;
      7'd26: w_at = 12'd3273;
      7'd27: w_at = 12'd283;
      7'd28: w_at = 12'd1853;
      7'd29: w_at = 12'd1990;
      7'd30: w_at = 12'd882;
      7'd31: w_at = 12'd3033;
      7'd32: w_at = 12'd2419;
      7'd33: w_at = 12'd2102;
      7'd34: w_at = 12'd219;
      7'd35: w_at = 12'd855;
      7'd36: w_at = 12'd2681;
      7'd37: w_at = 12'd1848;
      7'd38: w_at = 12'd712;
      7'd39: w_at = 12'd682;
      7'd40: w_at = 12'd927;
      7'd41: w_at = 12'd1795;
      7'd42: w_at = 12'd461;
      7'd43: w_at = 12'd1891;
      7'd44: w_at = 12'd2877;
      7'd45: w_at = 12'd2522;
      7'd46: w_at = 12'd1894;
      7'd47: w_at = 12'd1010;
      7'd48: w_at = 12'd1414;
      7'd49: w_at = 12'd2009;
      7'd50: w_at = 12'd3296;
      7'd51: w_at = 12'd464;
      7'd52: w_at = 12'd2697;
      7'd53: w_at = 12'd816;
      7'd54: w_at = 12'd1352;
      7'd55: w_at = 12'd2679;
      7'd56: w_at = 12'd1274;
      7'd57: w_at = 12'd1052;
      7'd58: w_at = 12'd1025;
      7'd59: w_at = 12'd2132;
      7'd60: w_at = 12'd1573;
      7'd61: w_at = 12'd76;
      7'd62: w_at = 12'd2998;
      7'd63: w_at = 12'd3040;
      7'd64: w_at = 12'd1175;
      7'd65: w_at = 12'd2444;
      7'd66: w_at = 12'd394;
      7'd67: w_at = 12'd1219;
      7'd68: w_at = 12'd2300;
      7'd69: w_at = 12'd1455;
      7'd70: w_at = 12'd2117;
      7'd71: w_at = 12'd1607;
      7'd72: w_at = 12'd2443;
      7'd73: w_at = 12'd554;
      7'd74: w_at = 12'd1179;
      7'd75: w_at = 12'd2186;
      7'd76: w_at = 12'd2303;
      7'd77: w_at = 12'd2926;
      7'd78: w_at = 12'd2237;
      7'd79: w_at = 12'd525;
      7'd80: w_at = 12'd735;
      7'd81: w_at = 12'd863;
      7'd82: w_at = 12'd2768;
      7'd83: w_at = 12'd1230;
      7'd84: w_at = 12'd2572;
      7'd85: w_at = 12'd556;
      7'd86: w_at = 12'd3010;
      7'd87: w_at = 12'd2266;
      7'd88: w_at = 12'd1684;
      7'd89: w_at = 12'd1239;
      7'd90: w_at = 12'd780;
      7'd91: w_at = 12'd2954;
      7'd92: w_at = 12'd109;
      7'd93: w_at = 12'd1292;
      7'd94: w_at = 12'd1031;
      7'd95: w_at = 12'd1745;
      7'd96: w_at = 12'd2688;
      7'd97: w_at = 12'd3061;
      7'd98: w_at = 12'd992;
      7'd99: w_at = 12'd2596;
      7'd100: w_at = 12'd941;
      7'd101: w_at = 12'd892;
      7'd102: w_at = 12'd1021;
      7'd103: w_at = 12'd2390;
      7'd104: w_at = 12'd642;
      7'd105: w_at = 12'd1868;
      7'd106: w_at = 12'd2377;
      7'd107: w_at = 12'd1482;
      7'd108: w_at = 12'd1540;
      7'd109: w_at = 12'd540;
      7'd110: w_at = 12'd1678;
      7'd111: w_at = 12'd1626;
      7'd112: w_at = 12'd279;
      7'd113: w_at = 12'd314;
      7'd114: w_at = 12'd1173;
      7'd115: w_at = 12'd2573;
      7'd116: w_at = 12'd3096;
      7'd117: w_at = 12'd48;
      7'd118: w_at = 12'd667;
      7'd119: w_at = 12'd1920;
      7'd120: w_at = 12'd2229;
      7'd121: w_at = 12'd1041;
      7'd122: w_at = 12'd2606;
      7'd123: w_at = 12'd1692;
      7'd124: w_at = 12'd680;
      7'd125: w_at = 12'd2746;
      7'd126: w_at = 12'd568;
      7'd127: w_at = 12'd3312;
      default: w_at = '0;
    endcase
  endfunction

  // Kernel INVERSE: while k0_valid[i] is high, an iteration is in its cycle i.
  logic k0_issue, k0_all_q;
  assign k0_issue = (active_q[0] || (idle_o && start_i)) && !k0_all_q;
  logic [2:0] k0_l0_inverse_layers_q;
  logic [6:0] k0_l1_inverse_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      k0_all_q <= 1'b0;
      k0_l0_inverse_layers_q <= 3'd0;
      k0_l1_inverse_q <= 7'd0;
    end else if (ends[0]) begin
      k0_all_q <= 1'b0;
      k0_l0_inverse_layers_q <= 3'd0;
      k0_l1_inverse_q <= 7'd0;
    end else if (k0_issue) begin
      k0_all_q <= k0_l0_inverse_layers_q == 3'd6 && k0_l1_inverse_q == 7'd126;
      if (k0_l1_inverse_q == 7'd126) k0_l0_inverse_layers_q <= k0_l0_inverse_layers_q == 3'd6 ? 3'd0 :
          k0_l0_inverse_layers_q + 3'd1;
      k0_l1_inverse_q <= k0_l1_inverse_q == 7'd126 ? 7'd0 : k0_l1_inverse_q + 7'd2;
    end
  end
  logic [12:0] k0_valid;
  assign k0_valid[0] = k0_issue;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) k0_valid[12:1] <= '0;
    else k0_valid[12:1] <= k0_valid[11:0];
  end
  assign ends[0] = active_q[0] && k0_all_q && k0_valid[11:0] == '0;

  logic [7:0] k0_n9_c1;
  logic [3:0] k0_n10_c1, k0_n10_c2;
  logic [2:0] k0_n11_c1;
  logic [7:0] k0_n12_c2;
  logic [6:0] k0_n14_c2;
  logic [7:0] k0_n19_c1;
  logic [7:0] k0_n20_c2;
  logic [6:0] k0_n21_c2;
  logic [1:0] k0_found_n57_c3, k0_found_n57_c4, k0_found_n57_c5, k0_found_n57_c6, k0_found_n57_c7, k0_found_n57_c8;
  logic [1:0] k0_found_n57_c9, k0_found_n57_c10, k0_found_n57_c11, k0_found_n57_c12;
  logic [5:0] k0_n58_c3, k0_n58_c4, k0_n58_c5, k0_n58_c6, k0_n58_c7, k0_n58_c8;
  logic [5:0] k0_n58_c9, k0_n58_c10, k0_n58_c11, k0_n58_c12;
  logic [1:0] k0_found_n89_c3, k0_found_n89_c4, k0_found_n89_c5, k0_found_n89_c6, k0_found_n89_c7, k0_found_n89_c8;
  logic [1:0] k0_found_n89_c9, k0_found_n89_c10, k0_found_n89_c11, k0_found_n89_c12;
  logic [5:0] k0_n90_c3, k0_n90_c4, k0_n90_c5, k0_n90_c6, k0_n90_c7, k0_n90_c8;
  logic [5:0] k0_n90_c9, k0_n90_c10, k0_n90_c11, k0_n90_c12;
  logic k0_n95_c6;
  logic [11:0] k0_n96_c6;
  logic [11:0] k0_n97_c6;
  logic [11:0] k0_even_0_n105_c7, k0_even_0_n105_c8, k0_even_0_n105_c9, k0_even_0_n105_c10, k0_even_0_n105_c11,
      k0_even_0_n105_c12;
  logic [12:0] k0_n107_c6;
  logic [6:0] k0_n108_c1, k0_n108_c2, k0_n108_c3;
  logic [5:0] k0_n109_c3;
  logic [11:0] k0_n112_c5, k0_n112_c6;
  logic [26:0] k0_n123_c9;
  logic [20:0] k0_n125_c9;
  logic [12:0] k0_n131_c10;
  logic [12:0] k0_n133_c10;
  logic [12:0] k0_n134_c10;
  logic [12:0] k0_n137_c9, k0_n137_c10, k0_n137_c11;
  logic [12:0] k0_n138_c11;
  logic [10:0] k0_n146_c12;
  logic k0_n147_c12;
  logic [7:0] k0_n152_c1;
  logic [7:0] k0_n153_c2;
  logic [6:0] k0_n154_c2;
  logic [7:0] k0_n157_c1;
  logic [7:0] k0_n158_c2;
  logic [6:0] k0_n159_c2;
  logic [1:0] k0_found_n190_c3, k0_found_n190_c4, k0_found_n190_c5, k0_found_n190_c6, k0_found_n190_c7,
      k0_found_n190_c8;
  logic [1:0] k0_found_n190_c9, k0_found_n190_c10, k0_found_n190_c11, k0_found_n190_c12;
  logic [5:0] k0_n191_c3, k0_n191_c4, k0_n191_c5, k0_n191_c6, k0_n191_c7, k0_n191_c8;
  logic [5:0] k0_n191_c9, k0_n191_c10, k0_n191_c11, k0_n191_c12;
  logic [1:0] k0_found_n221_c3, k0_found_n221_c4, k0_found_n221_c5, k0_found_n221_c6, k0_found_n221_c7,
      k0_found_n221_c8;
  logic [1:0] k0_found_n221_c9, k0_found_n221_c10, k0_found_n221_c11, k0_found_n221_c12;
  logic [5:0] k0_n222_c3, k0_n222_c4, k0_n222_c5, k0_n222_c6, k0_n222_c7, k0_n222_c8;
  logic [5:0] k0_n222_c9, k0_n222_c10, k0_n222_c11, k0_n222_c12;
  logic k0_n226_c6;
  logic [11:0] k0_n227_c6;
  logic [11:0] k0_n228_c6;
  logic [11:0] k0_even_1_n234_c7, k0_even_1_n234_c8, k0_even_1_n234_c9, k0_even_1_n234_c10, k0_even_1_n234_c11,
      k0_even_1_n234_c12;
  logic [12:0] k0_n236_c6;
  logic [5:0] k0_n237_c3;
  logic [11:0] k0_n239_c5, k0_n239_c6;
  logic [26:0] k0_n246_c9;
  logic [20:0] k0_n248_c9;
  logic [12:0] k0_n252_c10;
  logic [12:0] k0_n253_c10;
  logic [12:0] k0_n254_c10;
  logic [12:0] k0_n257_c9, k0_n257_c10, k0_n257_c11;
  logic [12:0] k0_n258_c11;
  logic [10:0] k0_n266_c12;
  logic k0_n267_c12;
  logic [11:0] k0_x2_q;
  logic [11:0] k0_x5_q;
  logic [2:0] k0_i_n6;
  assign k0_i_n6 = 3'd6 - k0_l0_inverse_layers_q;
  logic [7:0] k0_n9;
  assign k0_n9 = 8'(k0_l1_inverse_q) << 1'd1;
  logic [3:0] k0_n10;
  assign k0_n10 = 4'd8 - 4'(k0_i_n6);
  logic [2:0] k0_n11;
  assign k0_n11 = 3'(k0_n10) - 3'd1;
  logic [7:0] k0_n12;
  assign k0_n12 = k0_n9_c1 << k0_n11_c1;
  logic [2:0] k0_n13;
  assign k0_n13 = 3'd0 - k0_n11_c1;
  logic [6:0] k0_n14;
  assign k0_n14 = 7'(k0_n9_c1 >> k0_n13);
  logic [7:0] k0_n15;
  assign k0_n15 = k0_n12_c2 | 8'(k0_n14_c2);
  logic [7:0] k0_e_n18;
  assign k0_e_n18 = k0_n15 & 8'd255;
  logic [7:0] k0_n19;
  assign k0_n19 = k0_n9 + 8'd1;
  logic [7:0] k0_n20;
  assign k0_n20 = k0_n19_c1 << k0_n11_c1;
  logic [6:0] k0_n21;
  assign k0_n21 = 7'(k0_n19_c1 >> k0_n13);
  logic [7:0] k0_n22;
  assign k0_n22 = k0_n20_c2 | 8'(k0_n21_c2);
  logic [7:0] k0_o_n23;
  assign k0_o_n23 = k0_n22 & 8'd255;
  logic [6:0] k0_n25;
  assign k0_n25 = 7'(k0_e_n18) & 7'd85;
  logic k0_p_n26;
  assign k0_p_n26 = 1'(k0_n25) & 1'd1;
  logic k0_n28;
  assign k0_n28 = 1'(k0_n25 >> 2'd2);
  logic k0_n29;
  assign k0_n29 = k0_n28 & 1'd1;
  logic k0_p_n30;
  assign k0_p_n30 = k0_p_n26 ^ k0_n29;
  logic k0_n34;
  assign k0_n34 = 1'(k0_n25 >> 3'd4);
  logic k0_n35;
  assign k0_n35 = k0_n34 & 1'd1;
  logic k0_p_n36;
  assign k0_p_n36 = k0_p_n30 ^ k0_n35;
  logic k0_n39;
  assign k0_n39 = 1'(k0_n25 >> 3'd6);
  logic k0_p_n40;
  assign k0_p_n40 = k0_p_n36 ^ k0_n39;
  logic [7:0] k0_n42;
  assign k0_n42 = k0_e_n18 & 8'd170;
  logic k0_n43;
  assign k0_n43 = 1'(k0_n42 >> 1'd1);
  logic k0_p_n44;
  assign k0_p_n44 = k0_n43 & 1'd1;
  logic k0_n46;
  assign k0_n46 = 1'(k0_n42 >> 2'd3);
  logic k0_n47;
  assign k0_n47 = k0_n46 & 1'd1;
  logic k0_p_n48;
  assign k0_p_n48 = k0_p_n44 ^ k0_n47;
  logic k0_n50;
  assign k0_n50 = 1'(k0_n42 >> 3'd5);
  logic k0_n51;
  assign k0_n51 = k0_n50 & 1'd1;
  logic k0_p_n52;
  assign k0_p_n52 = k0_p_n48 ^ k0_n51;
  logic k0_n54;
  assign k0_n54 = 1'(k0_n42 >> 3'd7);
  logic k0_p_n55;
  assign k0_p_n55 = k0_p_n52 ^ k0_n54;
  logic [1:0] k0_n56;
  assign k0_n56 = 2'(k0_p_n55) << 1'd1;
  logic [1:0] k0_found_n57;
  assign k0_found_n57 = 2'(k0_p_n40) | k0_n56;
  logic [5:0] k0_n58;
  assign k0_n58 = 6'(k0_e_n18 >> 2'd2);
  logic [11:0] k0_u_n60;
  assign k0_u_n60 = a_read_data[k0_found_n57_c5];
  logic [6:0] k0_n61;
  assign k0_n61 = 7'(k0_o_n23) & 7'd85;
  logic k0_p_n62;
  assign k0_p_n62 = 1'(k0_n61) & 1'd1;
  logic k0_n64;
  assign k0_n64 = 1'(k0_n61 >> 2'd2);
  logic k0_n65;
  assign k0_n65 = k0_n64 & 1'd1;
  logic k0_p_n66;
  assign k0_p_n66 = k0_p_n62 ^ k0_n65;
  logic k0_n68;
  assign k0_n68 = 1'(k0_n61 >> 3'd4);
  logic k0_n69;
  assign k0_n69 = k0_n68 & 1'd1;
  logic k0_p_n70;
  assign k0_p_n70 = k0_p_n66 ^ k0_n69;
  logic k0_n72;
  assign k0_n72 = 1'(k0_n61 >> 3'd6);
  logic k0_p_n73;
  assign k0_p_n73 = k0_p_n70 ^ k0_n72;
  logic [7:0] k0_n74;
  assign k0_n74 = k0_o_n23 & 8'd170;
  logic k0_n75;
  assign k0_n75 = 1'(k0_n74 >> 1'd1);
  logic k0_p_n76;
  assign k0_p_n76 = k0_n75 & 1'd1;
  logic k0_n78;
  assign k0_n78 = 1'(k0_n74 >> 2'd3);
  logic k0_n79;
  assign k0_n79 = k0_n78 & 1'd1;
  logic k0_p_n80;
  assign k0_p_n80 = k0_p_n76 ^ k0_n79;
  logic k0_n82;
  assign k0_n82 = 1'(k0_n74 >> 3'd5);
  logic k0_n83;
  assign k0_n83 = k0_n82 & 1'd1;
  logic k0_p_n84;
  assign k0_p_n84 = k0_p_n80 ^ k0_n83;
  logic k0_n86;
  assign k0_n86 = 1'(k0_n74 >> 3'd7);
  logic k0_p_n87;
  assign k0_p_n87 = k0_p_n84 ^ k0_n86;
  logic [1:0] k0_n88;
  assign k0_n88 = 2'(k0_p_n87) << 1'd1;
  logic [1:0] k0_found_n89;
  assign k0_found_n89 = 2'(k0_p_n73) | k0_n88;
  logic [5:0] k0_n90;
  assign k0_n90 = 6'(k0_o_n23 >> 2'd2);
  logic [11:0] k0_v_n91;
  assign k0_v_n91 = a_read_data[k0_found_n89_c5];
  logic [11:0] k0_room_n93;
  assign k0_room_n93 = 12'd3329 - k0_u_n60;
  logic k0_n94;
  assign k0_n94 = k0_v_n91 < k0_room_n93;
  logic k0_n95;
  assign k0_n95 = k0_n94 == 1'd0;
  logic [11:0] k0_n96;
  assign k0_n96 = k0_v_n91 - k0_room_n93;
  logic [11:0] k0_n97;
  assign k0_n97 = k0_u_n60 + k0_v_n91;
  logic [11:0] k0_s_n98;
  assign k0_s_n98 = k0_n95_c6 ? k0_n96_c6 : k0_n97_c6;
  logic [10:0] k0_n99;
  assign k0_n99 = 11'(k0_s_n98 >> 1'd1);
  logic k0_n100;
  assign k0_n100 = 1'(k0_s_n98) & 1'd1;
  logic [10:0] k0_n104;
  assign k0_n104 = k0_n100 ? 11'd1665 : 11'd0;
  logic [11:0] k0_even_0_n105;
  assign k0_even_0_n105 = 12'(k0_n99) + 12'(k0_n104);
  logic [12:0] k0_n106;
  assign k0_n106 = 13'(k0_u_n60) + 13'd3329;
  logic [12:0] k0_n107;
  assign k0_n107 = k0_n106 - 13'(k0_v_n91);
  logic [6:0] k0_n108;
  assign k0_n108 = 7'd1 << k0_i_n6;
  logic [5:0] k0_n109;
  assign k0_n109 = 6'(k0_e_n18 >> k0_n10_c2);
  logic [6:0] k0_n110;
  assign k0_n110 = k0_n108_c3 + 7'(k0_n109_c3);
  logic [11:0] k0_n112;
  assign k0_n112 = k0_x2_q;
  logic [1:0] [24:0] k0_n113_p;
  logic [24:0] k0_n113;
  assign k0_n113 = k0_n113_p[1];
  always_ff @(posedge clk_i) begin
    k0_n113_p[0] <= 25'(k0_n107_c6) * 25'(k0_n112_c6);
    k0_n113_p[1] <= k0_n113_p[0];
  end
  logic [13:0] k0_n117;
  assign k0_n117 = 14'(k0_n113 >> 4'd11);
  logic [18:0] k0_n118;
  assign k0_n118 = 19'(k0_n117) << 3'd5;
  logic [20:0] k0_n119;
  assign k0_n119 = 21'(k0_n117) << 3'd7;
  logic [24:0] k0_n120;
  assign k0_n120 = 25'(k0_n117) << 4'd11;
  logic [26:0] k0_n122;
  assign k0_n122 = 27'(k0_n117) << 4'd13;
  logic [26:0] k0_n123;
  assign k0_n123 = 27'(k0_n120) + k0_n122;
  logic [18:0] k0_n124;
  assign k0_n124 = 19'(k0_n117) + k0_n118;
  logic [20:0] k0_n125;
  assign k0_n125 = k0_n119 + 21'(k0_n124);
  logic [26:0] k0_n126;
  assign k0_n126 = k0_n123_c9 - 27'(k0_n125_c9);
  logic [12:0] k0_n127;
  assign k0_n127 = 13'(k0_n126 >> 4'd14);
  logic [12:0] k0_n129;
  assign k0_n129 = k0_n127 << 4'd8;
  logic [12:0] k0_n131;
  assign k0_n131 = k0_n127 << 4'd10;
  logic [12:0] k0_n133;
  assign k0_n133 = k0_n127 << 4'd12;
  logic [12:0] k0_n134;
  assign k0_n134 = k0_n127 + k0_n129;
  logic [12:0] k0_n135;
  assign k0_n135 = k0_n133_c10 + k0_n134_c10;
  logic [12:0] k0_n136;
  assign k0_n136 = k0_n135 - k0_n131_c10;
  logic [12:0] k0_n137;
  assign k0_n137 = 13'(k0_n113) & 13'd8191;
  logic [12:0] k0_n138;
  assign k0_n138 = k0_n136 & 13'd8191;
  logic [12:0] k0_n139;
  assign k0_n139 = k0_n137_c11 - k0_n138_c11;
  logic [12:0] k0_n140;
  assign k0_n140 = k0_n139 & 13'd8191;
  logic k0_n141;
  assign k0_n141 = k0_n140 < 13'd3329;
  logic [11:0] k0_n142;
  assign k0_n142 = 12'(k0_n140) - 12'd3329;
  logic [11:0] k0_n143;
  assign k0_n143 = k0_n141 ? 12'(k0_n140) : k0_n142;
  logic [10:0] k0_n146;
  assign k0_n146 = 11'(k0_n143 >> 1'd1);
  logic k0_n147;
  assign k0_n147 = 1'(k0_n143) & 1'd1;
  logic [10:0] k0_n149;
  assign k0_n149 = k0_n147_c12 ? 11'd1665 : 11'd0;
  logic [11:0] k0_odd_0_n150;
  assign k0_odd_0_n150 = 12'(k0_n146_c12) + 12'(k0_n149);
  logic [6:0] k0_n151;
  assign k0_n151 = k0_l1_inverse_q + 7'd1;
  logic [7:0] k0_n152;
  assign k0_n152 = 8'(k0_n151) << 1'd1;
  logic [7:0] k0_n153;
  assign k0_n153 = k0_n152_c1 << k0_n11_c1;
  logic [6:0] k0_n154;
  assign k0_n154 = 7'(k0_n152_c1 >> k0_n13);
  logic [7:0] k0_n155;
  assign k0_n155 = k0_n153_c2 | 8'(k0_n154_c2);
  logic [7:0] k0_e_n156;
  assign k0_e_n156 = k0_n155 & 8'd255;
  logic [7:0] k0_n157;
  assign k0_n157 = k0_n152 + 8'd1;
  logic [7:0] k0_n158;
  assign k0_n158 = k0_n157_c1 << k0_n11_c1;
  logic [6:0] k0_n159;
  assign k0_n159 = 7'(k0_n157_c1 >> k0_n13);
  logic [7:0] k0_n160;
  assign k0_n160 = k0_n158_c2 | 8'(k0_n159_c2);
  logic [7:0] k0_o_n161;
  assign k0_o_n161 = k0_n160 & 8'd255;
  logic [6:0] k0_n162;
  assign k0_n162 = 7'(k0_e_n156) & 7'd85;
  logic k0_p_n163;
  assign k0_p_n163 = 1'(k0_n162) & 1'd1;
  logic k0_n165;
  assign k0_n165 = 1'(k0_n162 >> 2'd2);
  logic k0_n166;
  assign k0_n166 = k0_n165 & 1'd1;
  logic k0_p_n167;
  assign k0_p_n167 = k0_p_n163 ^ k0_n166;
  logic k0_n169;
  assign k0_n169 = 1'(k0_n162 >> 3'd4);
  logic k0_n170;
  assign k0_n170 = k0_n169 & 1'd1;
  logic k0_p_n171;
  assign k0_p_n171 = k0_p_n167 ^ k0_n170;
  logic k0_n173;
  assign k0_n173 = 1'(k0_n162 >> 3'd6);
  logic k0_p_n174;
  assign k0_p_n174 = k0_p_n171 ^ k0_n173;
  logic [7:0] k0_n175;
  assign k0_n175 = k0_e_n156 & 8'd170;
  logic k0_n176;
  assign k0_n176 = 1'(k0_n175 >> 1'd1);
  logic k0_p_n177;
  assign k0_p_n177 = k0_n176 & 1'd1;
  logic k0_n179;
  assign k0_n179 = 1'(k0_n175 >> 2'd3);
  logic k0_n180;
  assign k0_n180 = k0_n179 & 1'd1;
  logic k0_p_n181;
  assign k0_p_n181 = k0_p_n177 ^ k0_n180;
  logic k0_n183;
  assign k0_n183 = 1'(k0_n175 >> 3'd5);
  logic k0_n184;
  assign k0_n184 = k0_n183 & 1'd1;
  logic k0_p_n185;
  assign k0_p_n185 = k0_p_n181 ^ k0_n184;
  logic k0_n187;
  assign k0_n187 = 1'(k0_n175 >> 3'd7);
  logic k0_p_n188;
  assign k0_p_n188 = k0_p_n185 ^ k0_n187;
  logic [1:0] k0_n189;
  assign k0_n189 = 2'(k0_p_n188) << 1'd1;
  logic [1:0] k0_found_n190;
  assign k0_found_n190 = 2'(k0_p_n174) | k0_n189;
  logic [5:0] k0_n191;
  assign k0_n191 = 6'(k0_e_n156 >> 2'd2);
  logic [11:0] k0_u_n192;
  assign k0_u_n192 = a_read_data[k0_found_n190_c5];
  logic [6:0] k0_n193;
  assign k0_n193 = 7'(k0_o_n161) & 7'd85;
  logic k0_p_n194;
  assign k0_p_n194 = 1'(k0_n193) & 1'd1;
  logic k0_n196;
  assign k0_n196 = 1'(k0_n193 >> 2'd2);
  logic k0_n197;
  assign k0_n197 = k0_n196 & 1'd1;
  logic k0_p_n198;
  assign k0_p_n198 = k0_p_n194 ^ k0_n197;
  logic k0_n200;
  assign k0_n200 = 1'(k0_n193 >> 3'd4);
  logic k0_n201;
  assign k0_n201 = k0_n200 & 1'd1;
  logic k0_p_n202;
  assign k0_p_n202 = k0_p_n198 ^ k0_n201;
  logic k0_n204;
  assign k0_n204 = 1'(k0_n193 >> 3'd6);
  logic k0_p_n205;
  assign k0_p_n205 = k0_p_n202 ^ k0_n204;
  logic [7:0] k0_n206;
  assign k0_n206 = k0_o_n161 & 8'd170;
  logic k0_n207;
  assign k0_n207 = 1'(k0_n206 >> 1'd1);
  logic k0_p_n208;
  assign k0_p_n208 = k0_n207 & 1'd1;
  logic k0_n210;
  assign k0_n210 = 1'(k0_n206 >> 2'd3);
  logic k0_n211;
  assign k0_n211 = k0_n210 & 1'd1;
  logic k0_p_n212;
  assign k0_p_n212 = k0_p_n208 ^ k0_n211;
  logic k0_n214;
  assign k0_n214 = 1'(k0_n206 >> 3'd5);
  logic k0_n215;
  assign k0_n215 = k0_n214 & 1'd1;
  logic k0_p_n216;
  assign k0_p_n216 = k0_p_n212 ^ k0_n215;
  logic k0_n218;
  assign k0_n218 = 1'(k0_n206 >> 3'd7);
  logic k0_p_n219;
  assign k0_p_n219 = k0_p_n216 ^ k0_n218;
  logic [1:0] k0_n220;
  assign k0_n220 = 2'(k0_p_n219) << 1'd1;
  logic [1:0] k0_found_n221;
  assign k0_found_n221 = 2'(k0_p_n205) | k0_n220;
  logic [5:0] k0_n222;
  assign k0_n222 = 6'(k0_o_n161 >> 2'd2);
  logic [11:0] k0_v_n223;
  assign k0_v_n223 = a_read_data[k0_found_n221_c5];
  logic [11:0] k0_room_n224;
  assign k0_room_n224 = 12'd3329 - k0_u_n192;
  logic k0_n225;
  assign k0_n225 = k0_v_n223 < k0_room_n224;
  logic k0_n226;
  assign k0_n226 = k0_n225 == 1'd0;
  logic [11:0] k0_n227;
  assign k0_n227 = k0_v_n223 - k0_room_n224;
  logic [11:0] k0_n228;
  assign k0_n228 = k0_u_n192 + k0_v_n223;
  logic [11:0] k0_s_n229;
  assign k0_s_n229 = k0_n226_c6 ? k0_n227_c6 : k0_n228_c6;
  logic [10:0] k0_n230;
  assign k0_n230 = 11'(k0_s_n229 >> 1'd1);
  logic k0_n231;
  assign k0_n231 = 1'(k0_s_n229) & 1'd1;
  logic [10:0] k0_n233;
  assign k0_n233 = k0_n231 ? 11'd1665 : 11'd0;
  logic [11:0] k0_even_1_n234;
  assign k0_even_1_n234 = 12'(k0_n230) + 12'(k0_n233);
  logic [12:0] k0_n235;
  assign k0_n235 = 13'(k0_u_n192) + 13'd3329;
  logic [12:0] k0_n236;
  assign k0_n236 = k0_n235 - 13'(k0_v_n223);
  logic [5:0] k0_n237;
  assign k0_n237 = 6'(k0_e_n156 >> k0_n10_c2);
  logic [6:0] k0_n238;
  assign k0_n238 = k0_n108_c3 + 7'(k0_n237_c3);
  logic [11:0] k0_n239;
  assign k0_n239 = k0_x5_q;
  logic [1:0] [24:0] k0_n240_p;
  logic [24:0] k0_n240;
  assign k0_n240 = k0_n240_p[1];
  always_ff @(posedge clk_i) begin
    k0_n240_p[0] <= 25'(k0_n236_c6) * 25'(k0_n239_c6);
    k0_n240_p[1] <= k0_n240_p[0];
  end
  logic [13:0] k0_n241;
  assign k0_n241 = 14'(k0_n240 >> 4'd11);
  logic [18:0] k0_n242;
  assign k0_n242 = 19'(k0_n241) << 3'd5;
  logic [20:0] k0_n243;
  assign k0_n243 = 21'(k0_n241) << 3'd7;
  logic [24:0] k0_n244;
  assign k0_n244 = 25'(k0_n241) << 4'd11;
  logic [26:0] k0_n245;
  assign k0_n245 = 27'(k0_n241) << 4'd13;
  logic [26:0] k0_n246;
  assign k0_n246 = 27'(k0_n244) + k0_n245;
  logic [18:0] k0_n247;
  assign k0_n247 = 19'(k0_n241) + k0_n242;
  logic [20:0] k0_n248;
  assign k0_n248 = k0_n243 + 21'(k0_n247);
  logic [26:0] k0_n249;
  assign k0_n249 = k0_n246_c9 - 27'(k0_n248_c9);
  logic [12:0] k0_n250;
  assign k0_n250 = 13'(k0_n249 >> 4'd14);
  logic [12:0] k0_n251;
  assign k0_n251 = k0_n250 << 4'd8;
  logic [12:0] k0_n252;
  assign k0_n252 = k0_n250 << 4'd10;
  logic [12:0] k0_n253;
  assign k0_n253 = k0_n250 << 4'd12;
  logic [12:0] k0_n254;
  assign k0_n254 = k0_n250 + k0_n251;
  logic [12:0] k0_n255;
  assign k0_n255 = k0_n253_c10 + k0_n254_c10;
  logic [12:0] k0_n256;
  assign k0_n256 = k0_n255 - k0_n252_c10;
  logic [12:0] k0_n257;
  assign k0_n257 = 13'(k0_n240) & 13'd8191;
  logic [12:0] k0_n258;
  assign k0_n258 = k0_n256 & 13'd8191;
  logic [12:0] k0_n259;
  assign k0_n259 = k0_n257_c11 - k0_n258_c11;
  logic [12:0] k0_n260;
  assign k0_n260 = k0_n259 & 13'd8191;
  logic k0_n261;
  assign k0_n261 = k0_n260 < 13'd3329;
  logic [11:0] k0_n262;
  assign k0_n262 = 12'(k0_n260) - 12'd3329;
  logic [11:0] k0_n263;
  assign k0_n263 = k0_n261 ? 12'(k0_n260) : k0_n262;
  logic [10:0] k0_n266;
  assign k0_n266 = 11'(k0_n263 >> 1'd1);
  logic k0_n267;
  assign k0_n267 = 1'(k0_n263) & 1'd1;
  logic [10:0] k0_n269;
  assign k0_n269 = k0_n267_c12 ? 11'd1665 : 11'd0;
  logic [11:0] k0_odd_1_n270;
  assign k0_odd_1_n270 = 12'(k0_n266_c12) + 12'(k0_n269);
  always_ff @(posedge clk_i) begin
    k0_n9_c1 <= k0_n9;
    k0_n10_c1 <= k0_n10;
    k0_n10_c2 <= k0_n10_c1;
    k0_n11_c1 <= k0_n11;
    k0_n12_c2 <= k0_n12;
    k0_n14_c2 <= k0_n14;
    k0_n19_c1 <= k0_n19;
    k0_n20_c2 <= k0_n20;
    k0_n21_c2 <= k0_n21;
    k0_found_n57_c3 <= k0_found_n57;
    k0_found_n57_c4 <= k0_found_n57_c3;
    k0_found_n57_c5 <= k0_found_n57_c4;
    k0_found_n57_c6 <= k0_found_n57_c5;
    k0_found_n57_c7 <= k0_found_n57_c6;
    k0_found_n57_c8 <= k0_found_n57_c7;
    k0_found_n57_c9 <= k0_found_n57_c8;
    k0_found_n57_c10 <= k0_found_n57_c9;
    k0_found_n57_c11 <= k0_found_n57_c10;
    k0_found_n57_c12 <= k0_found_n57_c11;
    k0_n58_c3 <= k0_n58;
    k0_n58_c4 <= k0_n58_c3;
    k0_n58_c5 <= k0_n58_c4;
    k0_n58_c6 <= k0_n58_c5;
    k0_n58_c7 <= k0_n58_c6;
    k0_n58_c8 <= k0_n58_c7;
    k0_n58_c9 <= k0_n58_c8;
    k0_n58_c10 <= k0_n58_c9;
    k0_n58_c11 <= k0_n58_c10;
    k0_n58_c12 <= k0_n58_c11;
    k0_found_n89_c3 <= k0_found_n89;
    k0_found_n89_c4 <= k0_found_n89_c3;
    k0_found_n89_c5 <= k0_found_n89_c4;
    k0_found_n89_c6 <= k0_found_n89_c5;
    k0_found_n89_c7 <= k0_found_n89_c6;
    k0_found_n89_c8 <= k0_found_n89_c7;
    k0_found_n89_c9 <= k0_found_n89_c8;
    k0_found_n89_c10 <= k0_found_n89_c9;
    k0_found_n89_c11 <= k0_found_n89_c10;
    k0_found_n89_c12 <= k0_found_n89_c11;
    k0_n90_c3 <= k0_n90;
    k0_n90_c4 <= k0_n90_c3;
    k0_n90_c5 <= k0_n90_c4;
    k0_n90_c6 <= k0_n90_c5;
    k0_n90_c7 <= k0_n90_c6;
    k0_n90_c8 <= k0_n90_c7;
    k0_n90_c9 <= k0_n90_c8;
    k0_n90_c10 <= k0_n90_c9;
    k0_n90_c11 <= k0_n90_c10;
    k0_n90_c12 <= k0_n90_c11;
    k0_n95_c6 <= k0_n95;
    k0_n96_c6 <= k0_n96;
    k0_n97_c6 <= k0_n97;
    k0_even_0_n105_c7 <= k0_even_0_n105;
    k0_even_0_n105_c8 <= k0_even_0_n105_c7;
    k0_even_0_n105_c9 <= k0_even_0_n105_c8;
    k0_even_0_n105_c10 <= k0_even_0_n105_c9;
    k0_even_0_n105_c11 <= k0_even_0_n105_c10;
    k0_even_0_n105_c12 <= k0_even_0_n105_c11;
    k0_n107_c6 <= k0_n107;
    k0_n108_c1 <= k0_n108;
    k0_n108_c2 <= k0_n108_c1;
    k0_n108_c3 <= k0_n108_c2;
    k0_n109_c3 <= k0_n109;
    k0_n112_c5 <= k0_n112;
    k0_n112_c6 <= k0_n112_c5;
    k0_n123_c9 <= k0_n123;
    k0_n125_c9 <= k0_n125;
    k0_n131_c10 <= k0_n131;
    k0_n133_c10 <= k0_n133;
    k0_n134_c10 <= k0_n134;
    k0_n137_c9 <= k0_n137;
    k0_n137_c10 <= k0_n137_c9;
    k0_n137_c11 <= k0_n137_c10;
    k0_n138_c11 <= k0_n138;
    k0_n146_c12 <= k0_n146;
    k0_n147_c12 <= k0_n147;
    k0_n152_c1 <= k0_n152;
    k0_n153_c2 <= k0_n153;
    k0_n154_c2 <= k0_n154;
    k0_n157_c1 <= k0_n157;
    k0_n158_c2 <= k0_n158;
    k0_n159_c2 <= k0_n159;
    k0_found_n190_c3 <= k0_found_n190;
    k0_found_n190_c4 <= k0_found_n190_c3;
    k0_found_n190_c5 <= k0_found_n190_c4;
    k0_found_n190_c6 <= k0_found_n190_c5;
    k0_found_n190_c7 <= k0_found_n190_c6;
    k0_found_n190_c8 <= k0_found_n190_c7;
    k0_found_n190_c9 <= k0_found_n190_c8;
    k0_found_n190_c10 <= k0_found_n190_c9;
    k0_found_n190_c11 <= k0_found_n190_c10;
    k0_found_n190_c12 <= k0_found_n190_c11;
    k0_n191_c3 <= k0_n191;
    k0_n191_c4 <= k0_n191_c3;
    k0_n191_c5 <= k0_n191_c4;
    k0_n191_c6 <= k0_n191_c5;
    k0_n191_c7 <= k0_n191_c6;
    k0_n191_c8 <= k0_n191_c7;
    k0_n191_c9 <= k0_n191_c8;
    k0_n191_c10 <= k0_n191_c9;
    k0_n191_c11 <= k0_n191_c10;
    k0_n191_c12 <= k0_n191_c11;
    k0_found_n221_c3 <= k0_found_n221;
    k0_found_n221_c4 <= k0_found_n221_c3;
    k0_found_n221_c5 <= k0_found_n221_c4;
    k0_found_n221_c6 <= k0_found_n221_c5;
    k0_found_n221_c7 <= k0_found_n221_c6;
    k0_found_n221_c8 <= k0_found_n221_c7;
    k0_found_n221_c9 <= k0_found_n221_c8;
    k0_found_n221_c10 <= k0_found_n221_c9;
    k0_found_n221_c11 <= k0_found_n221_c10;
    k0_found_n221_c12 <= k0_found_n221_c11;
    k0_n222_c3 <= k0_n222;
    k0_n222_c4 <= k0_n222_c3;
    k0_n222_c5 <= k0_n222_c4;
    k0_n222_c6 <= k0_n222_c5;
    k0_n222_c7 <= k0_n222_c6;
    k0_n222_c8 <= k0_n222_c7;
    k0_n222_c9 <= k0_n222_c8;
    k0_n222_c10 <= k0_n222_c9;
    k0_n222_c11 <= k0_n222_c10;
    k0_n222_c12 <= k0_n222_c11;
    k0_n226_c6 <= k0_n226;
    k0_n227_c6 <= k0_n227;
    k0_n228_c6 <= k0_n228;
    k0_even_1_n234_c7 <= k0_even_1_n234;
    k0_even_1_n234_c8 <= k0_even_1_n234_c7;
    k0_even_1_n234_c9 <= k0_even_1_n234_c8;
    k0_even_1_n234_c10 <= k0_even_1_n234_c9;
    k0_even_1_n234_c11 <= k0_even_1_n234_c10;
    k0_even_1_n234_c12 <= k0_even_1_n234_c11;
    k0_n236_c6 <= k0_n236;
    k0_n237_c3 <= k0_n237;
    k0_n239_c5 <= k0_n239;
    k0_n239_c6 <= k0_n239_c5;
    k0_n246_c9 <= k0_n246;
    k0_n248_c9 <= k0_n248;
    k0_n252_c10 <= k0_n252;
    k0_n253_c10 <= k0_n253;
    k0_n254_c10 <= k0_n254;
    k0_n257_c9 <= k0_n257;
    k0_n257_c10 <= k0_n257_c9;
    k0_n257_c11 <= k0_n257_c10;
    k0_n258_c11 <= k0_n258;
    k0_n266_c12 <= k0_n266;
    k0_n267_c12 <= k0_n267;
  end
  // Line 82: reads a.
  logic k0_x0_en;
  assign k0_x0_en = k0_valid[3];
  logic [1:0] k0_x0_bank;
  assign k0_x0_bank = k0_found_n57_c3;
  logic [5:0] k0_x0_row;
  assign k0_x0_row = k0_n58_c3;
  // Line 82: reads a.
  logic k0_x1_en;
  assign k0_x1_en = k0_valid[3];
  logic [1:0] k0_x1_bank;
  assign k0_x1_bank = k0_found_n89_c3;
  logic [5:0] k0_x1_row;
  assign k0_x1_row = k0_n90_c3;
  always_ff @(posedge clk_i) k0_x2_q <= w_at(k0_n110);
  // Line 82: reads a.
  logic k0_x3_en;
  assign k0_x3_en = k0_valid[3];
  logic [1:0] k0_x3_bank;
  assign k0_x3_bank = k0_found_n190_c3;
  logic [5:0] k0_x3_row;
  assign k0_x3_row = k0_n191_c3;
  // Line 82: reads a.
  logic k0_x4_en;
  assign k0_x4_en = k0_valid[3];
  logic [1:0] k0_x4_bank;
  assign k0_x4_bank = k0_found_n221_c3;
  logic [5:0] k0_x4_row;
  assign k0_x4_row = k0_n222_c3;
  always_ff @(posedge clk_i) k0_x5_q <= w_at(k0_n238);
  // Line 90: writes a.
  logic k0_x6_en;
  assign k0_x6_en = k0_valid[12];
  logic [11:0] k0_x6_data;
  assign k0_x6_data = k0_even_0_n105_c12;
  logic [1:0] k0_x6_bank;
  assign k0_x6_bank = k0_found_n57_c12;
  logic [5:0] k0_x6_row;
  assign k0_x6_row = k0_n58_c12;
  // Line 91: writes a.
  logic k0_x7_en;
  assign k0_x7_en = k0_valid[12];
  logic [11:0] k0_x7_data;
  assign k0_x7_data = k0_odd_0_n150;
  logic [1:0] k0_x7_bank;
  assign k0_x7_bank = k0_found_n89_c12;
  logic [5:0] k0_x7_row;
  assign k0_x7_row = k0_n90_c12;
  // Line 90: writes a.
  logic k0_x8_en;
  assign k0_x8_en = k0_valid[12];
  logic [11:0] k0_x8_data;
  assign k0_x8_data = k0_even_1_n234_c12;
  logic [1:0] k0_x8_bank;
  assign k0_x8_bank = k0_found_n190_c12;
  logic [5:0] k0_x8_row;
  assign k0_x8_row = k0_n191_c12;
  // Line 91: writes a.
  logic k0_x9_en;
  assign k0_x9_en = k0_valid[12];
  logic [11:0] k0_x9_data;
  assign k0_x9_data = k0_odd_1_n270;
  logic [1:0] k0_x9_bank;
  assign k0_x9_bank = k0_found_n221_c12;
  logic [5:0] k0_x9_row;
  assign k0_x9_row = k0_n222_c12;

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
  logic [8:0] cycles_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cycles_q <= '0;
    else cycles_q <= idle_o ? 9'd1 : cycles_q + 1'b1;
    if (rst_ni && done_o) assert (cycles_q == 9'd460) else $error("a run of another length");
  end
`endif
endmodule
