// base^exponent in Montgomery form by a ladder on two multipliers, as in the paper. With x and y = x * base, one
// multiplier computes x * y, the other squares x or y as the exponent's bit selects. Every bit costs the time of one
// product, for 0 and for 1.
//
// The product becomes one of the next pair and the square the other. Only the squarer needs to know their roles: it
// takes the square again if the bit equals that of the step before, otherwise the product.
//
// The ports are those of `mod_exp_window`.
module mod_exp_ladder #(
  parameter int unsigned Bits = 1024,  // Bits of the longest modulus.
  parameter int unsigned Rows = 16,  // Rows of 17 bits in a digit of the Montgomery product.
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
  typedef enum logic [2:0] { StIdle, StEnter, StClimb, StOut, StFlush } state_e;
  state_e state_q, state_d;

  logic            begin_product, product_done, square_done;
  logic [1:0]      ready;
  logic [Bits+1:0] product_a, product_b, square_a, square_b, product, square;
  mont_mul #(.Bits(Bits), .Rows(Rows), .Reduce(1'b0)) u_product (
    .clk_i, .rst_ni, .modulus_i, .nhat_i, .u_i, .valid_i(begin_product), .ready_o(ready[0]),
    .a_i(product_a), .b_i(product_b), .valid_o(product_done), .result_o(product)
  );
  mont_mul #(.Bits(Bits), .Rows(Rows), .Reduce(1'b0)) u_square (
    .clk_i, .rst_ni, .modulus_i, .nhat_i, .u_i, .valid_i(begin_product), .ready_o(ready[1]),
    .a_i(square_a), .b_i(square_b), .valid_o(square_done), .result_o(square)
  );
  assign result_o = square;

  // The bits of the next step and of the last step. The index is public: one below the number of remaining bits.
  localparam int unsigned IndexWidth = $clog2(Bits);
  logic [15:0] left_q, left_d;
  logic        bit_d, bit_q, last_bit_q, take_square;
  assign bit_d       = exponent_i[IndexWidth'(left_q-16'd1)];
  // The end requires x, as a bit of 0 does.
  assign take_square = (left_q == '0 ? 1'b0 : bit_q) == last_bit_q;

  logic flushed_q, flushed_d, step;
  always_comb begin
    state_d       = state_q;
    left_d        = left_q;
    flushed_d     = 1'b0;
    begin_product = 1'b0;
    step          = 1'b0;
    product_a     = product;
    product_b     = square;
    square_a      = take_square ? square : product;
    square_b      = square_a;
    unique case (state_q)
      StIdle: begin
        if (start_i) begin
          // y = base * R^2 * R^-1, x = 1 * R^2 * R^-1
          begin_product = 1'b1;
          product_a     = {2'b00, base_i};
          product_b     = {2'b00, rsquared_i};
          square_a      = (Bits + 2)'(1);
          square_b      = {2'b00, rsquared_i};
          left_d        = exponent_bits_i;
          state_d       = StEnter;
        end else if (clear_i) begin
          begin_product = 1'b1;
          product_a     = '0;
          product_b     = '0;
          square_a      = '0;
          square_b      = '0;
          left_d        = '0;
          state_d       = StFlush;
        end
      end
      StEnter, StClimb: begin
        if (product_done) begin
          begin_product = 1'b1;
          if (left_q == '0) begin
            square_b = (Bits + 2)'(1);
            state_d  = StOut;
          end else begin
            step    = 1'b1;
            left_d  = left_q - 16'd1;
            state_d = StClimb;
          end
        end
      end
      StOut: begin
        if (product_done) state_d = StIdle;
      end
      // A second product of zeros: the first one still adds values that remain in the sums.
      StFlush: begin
        flushed_d = flushed_q;
        product_a = '0;
        product_b = '0;
        square_a  = '0;
        square_b  = '0;
        if (product_done) begin
          flushed_d     = 1'b1;
          begin_product = ~flushed_q;
          if (flushed_q) state_d = StIdle;
        end
      end
      default: state_d = StIdle;
    endcase
  end
  assign done_o = product_done && state_d == StIdle;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q    <= StIdle;
      left_q     <= '0;
      flushed_q  <= 1'b0;
      bit_q      <= 1'b0;
      last_bit_q <= 1'b0;
    end else begin
      state_q   <= state_d;
      left_q    <= left_d;
      flushed_q <= flushed_d;
      bit_q     <= bit_d;
      if (state_q == StIdle) last_bit_q <= 1'b0;
      else if (step) last_bit_q <= bit_q;
    end
  end

  logic unused;
  assign unused = ^{ready, square_done};

`ifndef SYNTHESIS
  // What clearing promises.
  logic cleared_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cleared_q <= 1'b0;
    end else begin
      cleared_q <= state_q == StFlush && state_d == StIdle;
      if (cleared_q) begin
        assert (u_product.a_file[0] == '0 && u_product.b_file[0] == '0) else $error("an operand is left");
        assert (u_square.a_file[0] == '0 && u_square.b_file[0] == '0) else $error("an operand is left");
        assert (u_product.operand_q == '0 && u_product.digit_q == '0) else $error("an operand of the array is left");
        assert (u_square.operand_q == '0 && u_square.digit_q == '0) else $error("an operand of the array is left");
        assert (u_product.stored[0] == '0 && u_product.stored[1] == '0) else $error("a sum is left");
        assert (u_square.stored[0] == '0 && u_square.stored[1] == '0) else $error("a sum is left");
        assert (u_product.end_q[0] == '0 && u_product.end_q[1] == '0) else $error("a result is left");
        assert (u_square.end_q[0] == '0 && u_square.end_q[1] == '0) else $error("a result is left");
        assert (product == '0 && square == '0) else $error("a result is left");
      end
    end
  end
`endif
endmodule
