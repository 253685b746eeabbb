// base^exponent in Montgomery form with fixed windows of `Window` bits and one multiplier. Every window costs `Window`
// squarings and one product. A table in one memory holds all powers that a window can select, so the time depends on
// `exponent_bits_i` alone.
//
//   powers 0 and 1 of the base, powers 2 .. 2^Window - 1, the highest window, the other windows, out of Montgomery form
//
// `result_o` is below 3N and holds until the next start. `clear_i` overwrites the table and the state of the multiplier
// with zeros; the numbers at the inputs must then be zero.
module mod_exp_window #(
  parameter int unsigned Bits   = 1024,  // Bits of the longest modulus.
  parameter int unsigned Rows   = 16,  // Rows of 17 bits in a digit of the Montgomery product.
  parameter int unsigned Window = 5,  // Bits of a window.
  localparam int unsigned Digit = Rows * 17  // Bits of a digit.
) (
  input  logic             clk_i,  // Clock.
  input  logic             rst_ni,  // Asynchronous reset, active low.
  input  logic             start_i,  // Begins an exponentiation of the numbers at the inputs.
  input  logic             clear_i,  // Overwrites the table and the multiplier with zeros.
  output logic             done_o,  // High for one cycle when the result is complete.
  input  logic [Bits-1:0]  modulus_i,  // Odd modulus N.
  input  logic [Bits-1:0]  nhat_i,  // (N*u + 1)/2^Digit, as in mont_mul.
  input  logic [Digit-1:0] u_i,  // -1/N modulo 2^Digit.
  input  logic [Bits-1:0]  rsquared_i,  // R^2 modulo N.
  input  logic [Bits-1:0]  base_i,  // Base, below N.
  input  logic [Bits-1:0]  exponent_i,  // Secret exponent.
  input  logic [15:0]      exponent_bits_i,  // Public length of the exponent in bits.
  output logic [Bits+1:0]  result_o  // Power, below 3N; holds until the next start.
);
  localparam int unsigned Windows     = (Bits + Window - 1) / Window;
  localparam int unsigned WindowIndex = $clog2(Windows);
  localparam int unsigned Entries     = 1 << Window;

  typedef enum logic [3:0] {
    StIdle, StFirst, StZeroth, StTable, StCount, StFetch, StLoad, StSquare, StMultiply, StOut, StFlush, StClear
  } state_e;
  state_e state_q, state_d;

  logic [Window-1:0]      entry_q, entry_d;
  logic [WindowIndex-1:0] window_q, window_d;
  logic [2:0]             square_q, square_d;
  // The window's power is fetched with the second squaring; squarings are counted in 3 bits.
  if (Window < 2 || Window > 7) begin : gen_wrong_window
    $error("mod_exp_window: Window must be 2 to 7");
  end

  // The multiplier: the next product begins in the cycle in which the last one is valid.
  logic            begin_product, product_done, product_ready;
  logic [Bits+1:0] a, b, product;
  mont_mul #(.Bits(Bits), .Rows(Rows), .Reduce(1'b0)) u_mul (
    .clk_i, .rst_ni, .modulus_i, .nhat_i, .u_i, .valid_i(begin_product), .ready_o(product_ready), .a_i(a), .b_i(b),
    .valid_o(product_done), .result_o(product)
  );
  assign result_o = product;

  // The table. It is read a cycle after a product begins, and written when one is done: never both in one cycle.
  logic              fetch_q, fetch_d, table_write;
  logic [Window-1:0] table_read_addr, table_write_addr;
  logic [Bits+1:0]   power, table_data;
  prim_ram_1r1w #(.Width(Bits + 2), .Depth(Entries)) u_table (
    .clk_i, .read_en_i(fetch_q), .read_addr_i(table_read_addr), .read_data_o(power),
    .write_en_i(table_write), .write_addr_i(table_write_addr), .write_data_i(table_data)
  );

  // How many windows there are, and how many bits the highest one has: found by taking away, while the table is made.
  // With short windows the table is done first, and waits; how long is public.
  logic [15:0]            left_q;
  logic [WindowIndex-1:0] top_q;
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      left_q <= exponent_bits_i;
      top_q  <= '0;
    end else if (left_q > 16'(Window)) begin
      left_q <= left_q - 16'(Window);
      top_q  <= top_q + 1'b1;
    end
  end

  // The window's bits. Which window is public; its bits are an address, and take the same way whatever they are.
  logic [Windows*Window-1:0] exponent;
  logic [Window-1:0]         digit_q, digit_mask;
  assign exponent = (Windows * Window)'(exponent_i);
  always_comb begin
    digit_mask = '1;
    for (int unsigned i = 0; i < Window; i++) begin
      if (window_q == top_q && left_q <= 16'(i)) digit_mask[i] = 1'b0;
    end
  end
  always_ff @(posedge clk_i) digit_q <= exponent[window_q*Window+:Window] & digit_mask;

  always_comb begin
    state_d       = state_q;
    entry_d       = entry_q;
    window_d      = window_q;
    square_d      = square_q;
    begin_product = 1'b0;
    a             = product;
    b             = product;
    table_write   = 1'b0;
    unique case (state_q)
      StIdle: begin
        entry_d = '0;
        if (start_i) begin
          // base * R^2 * R^-1
          begin_product = 1'b1;
          a             = {2'b00, base_i};
          b             = {2'b00, rsquared_i};
          entry_d       = Window'(1);
          state_d       = StFirst;
        end else if (clear_i) begin
          state_d = StClear;
        end
      end
      StFirst: begin
        if (product_done) begin
          // 1 * R^2 * R^-1
          table_write   = 1'b1;
          begin_product = 1'b1;
          a             = (Bits + 2)'(1);
          b             = {2'b00, rsquared_i};
          entry_d       = '0;
          state_d       = StZeroth;
        end
      end
      StZeroth: begin
        if (product_done) begin
          table_write   = 1'b1;
          begin_product = 1'b1;
          a             = power;
          b             = power;
          entry_d       = Window'(2);
          state_d       = StTable;
        end
      end
      StTable: begin
        if (product_done) begin
          table_write = 1'b1;
          if (entry_q == '1) begin
            state_d = StCount;
          end else begin
            begin_product = 1'b1;
            b             = power;
            entry_d       = entry_q + 1'b1;
          end
        end
      end
      StCount: begin
        window_d = top_q;
        entry_d  = '0;
        if (left_q <= 16'(Window)) state_d = StFetch;
      end
      // The highest window's bits, then its power: two cycles.
      StFetch: begin
        entry_d = entry_q + 1'b1;
        if (entry_q == Window'(1)) state_d = StLoad;
      end
      StLoad: begin
        begin_product = 1'b1;
        a             = power;
        if (window_q == '0) begin
          b       = (Bits + 2)'(1);
          state_d = StOut;
        end else begin
          b        = power;
          window_d = window_q - 1'b1;
          square_d = 3'd1;
          state_d  = StSquare;
        end
      end
      StSquare: begin
        if (product_done) begin
          begin_product = 1'b1;
          if (square_q == 3'(Window)) begin
            b       = power;
            state_d = StMultiply;
          end else begin
            square_d = square_q + 1'b1;
          end
        end
      end
      StMultiply: begin
        if (product_done) begin
          begin_product = 1'b1;
          if (window_q == '0) begin
            b       = (Bits + 2)'(1);
            state_d = StOut;
          end else begin
            window_d = window_q - 1'b1;
            square_d = 3'd1;
            state_d  = StSquare;
          end
        end
      end
      StOut: begin
        if (product_done) state_d = StIdle;
      end
      // Zeros over every entry, then two products of zeros over the state of the multiplier: the first one still adds
      // values that remain in its sums.
      StClear: begin
        table_write = 1'b1;
        entry_d     = entry_q + 1'b1;
        a           = '0;
        b           = '0;
        if (entry_q == '1) begin
          begin_product = 1'b1;
          state_d       = StFlush;
        end
      end
      StFlush: begin
        a = '0;
        b = '0;
        if (product_done) begin
          if (entry_q == '0) begin
            begin_product = 1'b1;
            entry_d       = Window'(1);
          end else begin
            state_d = StIdle;
          end
        end
      end
      default: state_d = StIdle;
    endcase
  end

  // Power 1 while the table is made, the window's after.
  assign fetch_d          = (begin_product && state_d != StFirst) || (state_q == StFetch && entry_q == '0);
  assign table_read_addr  = state_q == StZeroth || state_q == StTable ? Window'(1) : digit_q;
  assign table_write_addr = entry_q;
  assign table_data       = state_q == StClear ? '0 : product;
  assign done_o           = product_done && state_d == StIdle;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= StIdle;
      entry_q  <= '0;
      window_q <= '0;
      square_q <= '0;
      fetch_q  <= 1'b0;
    end else begin
      state_q  <= state_d;
      entry_q  <= entry_d;
      window_q <= window_d;
      square_q <= square_d;
      fetch_q  <= fetch_d;
    end
  end

  logic unused;
  assign unused = product_ready;

`ifndef SYNTHESIS
  // What clearing promises.
  logic cleared_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cleared_q <= 1'b0;
    end else begin
      cleared_q <= state_q == StFlush && state_d == StIdle;
      if (cleared_q) begin
        for (int unsigned i = 0; i < Entries; i++) begin
          assert (u_table.memory[i] == '0) else $error("a power is left in the table");
        end
        assert (power == '0 && digit_q == '0) else $error("a power is left");
        assert (u_mul.a_file[0] == '0 && u_mul.b_file[0] == '0) else $error("an operand is left");
        assert (u_mul.operand_q == '0 && u_mul.digit_q == '0) else $error("an operand of the array is left");
        assert (u_mul.stored[0] == '0 && u_mul.stored[1] == '0) else $error("a sum is left");
        assert (u_mul.end_q[0] == '0 && u_mul.end_q[1] == '0 && u_mul.result_q == '0) else $error("a result is left");
      end
    end
  end
`endif
endmodule
