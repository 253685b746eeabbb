// The discrete Fourier transform of 32 points modulo p = 2^64 - 2^32 + 1 without a multiplier: 64 = 2^6 is a root of
// unity of order 32, so that all twiddles are shifts. A row of 32 values every cycle, its transform `Latency` enabled
// cycles later, natural order on both sides:
//
//   middle_i 0:  data_o[k] = sum over j of 64^(j*k) * data_i[j]
//   middle_i 1:  2^(5 - LogMiddle) transforms of R = 2^LogMiddle points, interleaved: that of the lanes H*j + h, with
//                H = 32 / R, goes to the lanes H*k + h, root 64^H
//   pre_i  1:    lane j is multiplied by 8^j before,
//   post_i 1:    lane k by 8^k after: 8 is a root of unity of order 64
//
// Decimation in time: layer i adds and subtracts places that differ in bit i, the upper one times a root; the layers
// that join the interleaved transforms are passed by. Values are pairs of signed digits (`dft_goldilocks_pkg`), which
// only the last two registers make canonical. In units of 2^32, digits are within
//
//   1 in, 2.5 with 8^j, 5 after layer 0; from M to 2*M + 1 in a layer with twiddles: 11, 23, 47, 95; 96 with 8^k
//
// and so fit 40 bits, up to 128. The registers:
//
//   1: times 8^j    2: layer 0    3, 4 ... 9, 10: twiddles of layer 1, layer 1 ... layer 4    11: order, times 8^k
//   12: what is above bit 32 of either digit is folded into 64 bits, which leaves (-2^40, 2^64 + 2^40)
//   13: plus or minus p, or neither
//
//   range: any values below 2^64; the results are below p
module dft_goldilocks
  import dft_goldilocks_pkg::*;
#(
  parameter int unsigned LogMiddle = 4  // log2 of the points of the short transforms.
) (
  input  logic                    clk_i,  // Clock.
  input  logic                    en_i,  // Clock enable: low holds every register.
  input  logic                    pre_i,  // Multiply lane j by 8^j before the transform.
  // 0: one transform of 32 points; 1: interleaved transforms of 2^LogMiddle points.
  input  logic                    middle_i,
  input  logic                    post_i,  // Multiply lane k by 8^k after the transform.
  input  logic [Points-1:0][63:0] data_i,  // A row of 32 values, any 64-bit numbers.
  output logic [Points-1:0][63:0] data_o  // The transformed row, values below p, natural order.
);
  // Two registers for each layer, and one for the order.
  localparam int unsigned Columns = 2 * LogPoints + 1;
  // The bits of a lane's number that say which of the interleaved transforms it belongs to.
  localparam int unsigned WhichMask = (1 << (LogPoints - LogMiddle)) - 1;

  if (LogMiddle < 1 || LogMiddle > LogPoints) begin : gen_wrong_middle
    $error("dft_goldilocks: LogMiddle must be 1 to 5");
  end

  // Column c is computed with what column c - 1 holds; column 0 with the inputs.
  digit_t low_d[Columns][Points], high_d[Columns][Points];
  digit_t low_q[Columns][Points], high_q[Columns][Points];

  // `middle_now[c]`: what column c computes belongs to transforms of R points.
  logic [Columns-1:0] middle_now, post_now;
  logic [Columns-2:0] middle_q, post_q;
  assign middle_now = {middle_q, middle_i};
  assign post_now   = {post_q, post_i};
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      middle_q <= middle_now[Columns-2:0];
      post_q   <= post_now[Columns-2:0];
    end
  end

  // Loops stay loops in simulation: unrolled, they are eight times as much to compile.

  // Times 8^j. Decimation in time expects its inputs in bit-reversed lanes.
  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned place = 0; place < Points; place++) begin
      automatic int unsigned lane = 32'(reversed(lane_t'(place)));
      automatic digit_t      low  = {8'b0, data_i[lane][31:0]};
      automatic digit_t      high = {8'b0, data_i[lane][63:32]};
      low_d[0][place]  = pre_i && lane != 0 ? scaled_low(low, high, 3 * lane) : low;
      high_d[0][place] = pre_i && lane != 0 ? scaled_high(low, high, 3 * lane) : high;
    end
  end

  for (genvar layer = 0; layer < LogPoints; layer++) begin : gen_layer
    localparam int unsigned Column = 2 * layer;
    localparam int unsigned Half   = 1 << layer;

    if (layer > 0) begin : gen_twiddles
      logic pass_by;
      assign pass_by = layer >= LogMiddle ? middle_now[Column] : 1'b0;
      always_comb begin
        /* verilator unroll_disable */
        for (int unsigned place = 0; place < Points; place++) begin
          // The upper halves of blocks of 2*Half times the powers of a root of that order.
          automatic int unsigned exponent = (place & Half) != 0 ? 6 * (place % Half) * (Points / (2 * Half)) : 0;
          automatic digit_t      low      = low_q[Column-1][place];
          automatic digit_t      high     = high_q[Column-1][place];
          low_d[Column][place]  = exponent != 0 && !pass_by ? scaled_low(low, high, exponent) : low;
          high_d[Column][place] = exponent != 0 && !pass_by ? scaled_high(low, high, exponent) : high;
        end
      end
    end

    logic pass_by;
    assign pass_by = layer >= LogMiddle ? middle_now[Column+1] : 1'b0;
    always_comb begin
      /* verilator unroll_disable */
      for (int unsigned place = 0; place < Points; place++) begin
        automatic lane_t lower = lane_t'(place) & ~lane_t'(Half);
        automatic lane_t upper = lane_t'(place) | lane_t'(Half);
        if (pass_by) begin
          low_d[Column+1][place]  = low_q[Column][place];
          high_d[Column+1][place] = high_q[Column][place];
        end else if (lane_t'(place) == lower) begin
          low_d[Column+1][place]  = low_q[Column][lower] + low_q[Column][upper];
          high_d[Column+1][place] = high_q[Column][lower] + high_q[Column][upper];
        end else begin
          low_d[Column+1][place]  = low_q[Column][lower] - low_q[Column][upper];
          high_d[Column+1][place] = high_q[Column][lower] - high_q[Column][upper];
        end
      end
    end
  end

  // Order, and times 8^k. Without the last layers the transforms lie one after another, in the bit-reversed order of
  // their numbers.
  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned lane = 0; lane < Points; lane++) begin
      automatic lane_t  place = reversed(lane_t'(lane & WhichMask)) | lane_t'(lane >> (LogPoints - LogMiddle));
      automatic digit_t low   = middle_now[Columns-1] ? low_q[Columns-2][place] : low_q[Columns-2][lane];
      automatic digit_t high  = middle_now[Columns-1] ? high_q[Columns-2][place] : high_q[Columns-2][lane];
      low_d[Columns-1][lane]  = post_now[Columns-1] && lane != 0 ? scaled_low(low, high, 3 * lane) : low;
      high_d[Columns-1][lane] = post_now[Columns-1] && lane != 0 ? scaled_high(low, high, 3 * lane) : high;
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      low_q  <= low_d;
      high_q <= high_d;
    end
  end

  // The part above bit 32: e0*2^32 from the low digit, e1*2^64 = e1*(2^32 - 1) from the high one.
  logic signed [65:0] folded_d[Points], folded_q[Points];
  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned lane = 0; lane < Points; lane++) begin
      automatic digit_t             low    = low_q[Columns-1][lane];
      automatic digit_t             high   = high_q[Columns-1][lane];
      automatic logic signed [33:0] excess = 34'(high >>> 32);
      automatic logic signed [33:0] above  = 34'(low >>> 32) + excess;
      folded_d[lane] = $signed({2'b0, high[31:0], low[31:0]}) + $signed({above, 32'b0}) - 66'(excess);
    end
  end

  // Modulo 2^64 p is -(2^32 - 1): below zero that is taken away. Otherwise it is added, and stays so where a carry says
  // that the value was p or more.
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      folded_q <= folded_d;
      /* verilator unroll_disable */
      for (int unsigned lane = 0; lane < Points; lane++) begin
        automatic logic        negative = folded_q[lane][65];
        automatic logic [64:0] moved    = folded_q[lane][64:0] + {{33{negative}}, {31{~negative}}, 1'b1};
        data_o[lane] <= negative || moved[64] ? moved[63:0] : folded_q[lane][63:0];
      end
    end
  end
endmodule
