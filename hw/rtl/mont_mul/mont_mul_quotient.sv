// digit * factor modulo 2^Digit: the digit of the last reduction of a Montgomery product, in `Passes` passes over the
// rows of tiles. Only tiles that reach below 2^Digit exist: 17 of them where 16 rows are done in 8 passes.
//
// `start_i` takes the digit; the product is there `Latency` cycles later, until the next one is. The next start may
// come `Passes` cycles after the last.
module mont_mul_quotient #(
  parameter int unsigned Rows   = 16,  // Rows of 17 bits in a digit.
  parameter int unsigned Passes = 1,  // Passes over the rows; divides Rows.
  localparam int unsigned TileA   = 26,  // Bits of the first factor of a tile.
  localparam int unsigned TileB   = 17,  // Bits of the second factor of a tile.
  localparam int unsigned Digit   = Rows * TileB,  // Bits of a digit.
  localparam int unsigned Latency = Passes == 1 ? 4 : Passes + 3  // Cycles from start to product.
) (
  input  logic             clk_i,  // Clock.
  input  logic             rst_ni,  // Asynchronous reset, active low.
  input  logic             start_i,  // Takes the digit.
  input  logic [Digit-1:0] digit_i,  // The digit.
  input  logic [Digit-1:0] factor_i,  // The factor; constant while a product is inside.
  output logic [Digit-1:0] product_o  // digit * factor modulo 2^Digit; holds until the next product.
);
  if (Rows % Passes != 0) begin : gen_wrong_passes
    $error("mont_mul_quotient: Passes must divide Rows");
  end

  // Bank b does rows b*Passes + Passes - 1 down to b*Passes, one a pass; the sum moves up a row between passes.
  localparam int unsigned Banks = Rows / Passes;

  // The row of each bank that its tiles multiply now. In passes it is chosen the cycle before, so that no choice stands
  // before the tiles.
  logic [Banks-1:0][TileB-1:0] row_digits;
  logic                        first;

  if (Passes == 1) begin : gen_at_once
    assign row_digits = digit_i;
    assign first      = 1'b1;
  end else begin : gen_in_passes
    typedef logic [$clog2(Passes)-1:0] pass_t;
    pass_t                       pass_q;
    logic [Digit-1:0]            digit_q;
    logic [Banks-1:0][TileB-1:0] row_digits_d, row_digits_q;
    logic                        first_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        pass_q <= '0;
      end else if (start_i) begin
        pass_q <= pass_t'(Passes - 1);
      end else if (pass_q != '0) begin
        pass_q <= pass_q - 1'b1;
      end
    end
    for (genvar b = 0; b < Banks; b++) begin : gen_row
      always_comb begin
        row_digits_d[b] = row_digits_q[b];
        for (int unsigned p = 1; p < Passes; p++) begin
          if (pass_q == pass_t'(p)) row_digits_d[b] = digit_q[(b*Passes+p-1)*TileB+:TileB];
        end
        if (start_i) row_digits_d[b] = digit_i[(b*Passes+Passes-1)*TileB+:TileB];
      end
    end
    always_ff @(posedge clk_i) begin
      first_q      <= start_i;
      row_digits_q <= row_digits_d;
      if (start_i) digit_q <= digit_i;
    end
    assign row_digits = row_digits_q;
    assign first      = first_q;
  end

  logic [Digit-1:0] tiles[2*Banks];
  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    // Row b*Passes is the longest of the bank.
    localparam int unsigned Used     = Digit - b * Passes * TileB;
    localparam int unsigned RowWidth = (Used + TileA - 1) / TileA * TileA + TileB;
    logic [RowWidth-1:0] row[2];
    prim_mul_row #(.Width(Used), .TileA(TileA), .TileB(TileB)) u_row (
      .clk_i, .a_i(factor_i[Used-1:0]), .b_i(row_digits[b]), .tiles_o(row)
    );
    assign tiles[2*b]   = Digit'({{Digit{1'b0}}, row[0]} << (b * Passes * TileB));
    assign tiles[2*b+1] = Digit'({{Digit{1'b0}}, row[1]} << (b * Passes * TileB));
  end

  logic [Digit-1:0] sum_q[2];
  logic [Digit-1:0] sum_d[2];
  if (Passes == 1) begin : gen_two_steps
    localparam int unsigned Between = 2 * Banks < 7 ? 2 * Banks : 7;
    logic [Digit-1:0] between_q[Between];
    logic [Digit-1:0] between_d[Between];
    prim_csa #(.Width(Digit), .Inputs(2 * Banks), .Outputs(Between)) u_first (.data_i(tiles), .data_o(between_d));
    always_ff @(posedge clk_i) between_q <= between_d;
    prim_csa #(.Width(Digit), .Inputs(Between), .Outputs(2)) u_second (.data_i(between_q), .data_o(sum_d));
    logic unused_first;
    assign unused_first = first;
  end else begin : gen_one_step
    logic first_q;
    always_ff @(posedge clk_i) first_q <= first;
    // The carry that leaves at the top is a multiple of 2^Digit.
    logic [Digit-1:0] all[2*Banks+2];
    for (genvar k = 0; k < 2 * Banks; k++) begin : gen_tiles
      assign all[k] = tiles[k];
    end
    for (genvar k = 0; k < 2; k++) begin : gen_kept
      assign all[2*Banks+k] = first_q ? '0 : {sum_q[k][Digit-TileB-1:0], {TileB{1'b0}}};
    end
    prim_csa #(.Width(Digit), .Inputs(2 * Banks + 2), .Outputs(2)) u_add (.data_i(all), .data_o(sum_d));
  end
  always_ff @(posedge clk_i) sum_q <= sum_d;

  logic [Digit-1:0] product_d;
  logic unused_carry;
  prim_add_select #(.Width(Digit)) u_sum (
    .clk_i, .en_i(1'b1), .x_i(sum_q[0]), .y_i(sum_q[1]), .carry_i(1'b0), .sum_o(product_d), .carry_o(unused_carry)
  );
  logic done;
  prim_delay #(.Width(1), .Depth(Latency - 1), .Reset(1'b1)) u_done (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(start_i), .data_o(done)
  );
  always_ff @(posedge clk_i) begin
    if (done) product_o <= product_d;
  end
endmodule
