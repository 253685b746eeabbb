// Loads the accumulator with a test vector, a GLWE ciphertext: its components, one after the other, switched from the
// torus of 64 bits to residues modulo p.
//
// In memory, row t of a component has the coefficients t, t + Rows, t + 2 * Rows ..., in `RowWords` words.
module tfhe_engine_load
  import tfhe_engine_pkg::*;
  import tfhe_cmux_pkg::*;
#(
  parameter int unsigned LogRows = 9,  // log2 of the rows of a polynomial.
  localparam int unsigned RowWords = Lanes / WordValues  // Words of a row.
) (
  input  logic                   clk_i,  // Clock.
  input  logic                   rst_ni,  // Asynchronous reset, active low.
  input  logic                   clear_i,  // Ends a load in progress.
  input  logic                   start_i,  // A load begins.
  output logic                   busy_o,  // A load is in progress.
  input  logic                   word_valid_i,  // A word is offered; as many as the test vector has.
  output logic                   word_ready_o,  // It is taken.
  input  word_t                  word_i,  // The word.
  output logic                   load_valid_o,  // A row of the accumulator is given.
  output logic                   load_first_o,  // It is row 0.
  output logic                   load_component_o,  // Its component.
  output logic [Lanes-1:0][63:0] load_data_o  // The row.
);
  localparam int unsigned SwitchLatency = 3;
  localparam int unsigned PlaceWidth = $clog2(RowWords);
  // The component and the row.
  typedef logic [LogRows:0] row_t;

  row_t row_q;
  logic busy_q, row_ends;
  assign busy_o       = busy_q;
  assign word_ready_o = busy_q;

  // The words on their way through the switch, and the place of the next one in its row.
  logic [SwitchLatency-1:0] valid_q;
  logic [PlaceWidth-1:0]    place_q;
  logic                     switched_valid;
  assign switched_valid = valid_q[SwitchLatency-1];
  assign row_ends       = switched_valid && place_q == PlaceWidth'(RowWords - 1);

  logic [WordValues-1:0][63:0] switched;
  logic [WordValues-1:0]       unused_low;
  for (genvar x = 0; x < WordValues; x++) begin : gen_value
    // x * p / 2^64, rounded, is x less the upper half of x * (2^32 - 1) + 2^63 - 1: at most p - 1, for the greatest x.
    logic [63:0] value_q, value_q2, result_q;
    logic [95:0] product_q, sum;
    logic [31:0] carry_q;
    assign sum           = product_q + 96'h7fff_ffff_ffff_ffff;
    assign unused_low[x] = ^sum[63:0];
    always_ff @(posedge clk_i) begin
      product_q <= {word_i[64*x+:64], 32'd0} - 96'(word_i[64*x+:64]);
      value_q   <= word_i[64*x+:64];
      carry_q   <= sum[95:64];
      value_q2  <= value_q;
      result_q  <= value_q2 - 64'(carry_q);
    end
    assign switched[x] = result_q;
  end

  logic [Lanes-1:0][63:0] row_data_q;
  logic                   given_q;
  always_ff @(posedge clk_i) begin
    if (switched_valid) begin
      for (int unsigned w = 0; w < RowWords; w++) begin
        if (place_q == PlaceWidth'(w)) row_data_q[w*WordValues+:WordValues] <= switched;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q  <= 1'b0;
      row_q   <= '0;
      valid_q <= '0;
      place_q <= '0;
      given_q <= 1'b0;
    end else if (clear_i) begin
      busy_q  <= 1'b0;
      row_q   <= '0;
      valid_q <= '0;
      place_q <= '0;
      given_q <= 1'b0;
    end else begin
      valid_q <= {valid_q[SwitchLatency-2:0], word_valid_i && word_ready_o};
      given_q <= row_ends;
      if (switched_valid) place_q <= place_q + 1'b1;
      if (given_q) row_q <= row_q + 1'b1;
      if (start_i) busy_q <= 1'b1;
      else if (given_q && row_q == '1) busy_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^unused_low;

  assign load_valid_o     = given_q;
  assign load_first_o     = row_q[LogRows-1:0] == '0;
  assign load_component_o = row_q[LogRows];
  assign load_data_o      = row_data_q;
endmodule
