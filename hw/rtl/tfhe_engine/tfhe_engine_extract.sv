// The sample of the accumulator's coefficient 0 (nvme-tfhe paper, Table 1: SAMPLE_EXT), switched from residues modulo p
// to the torus of 64 bits: the mask a_0 = A_0, a_i = -A_(N-i), and the body B_0, as `GlweCiphertext::extract` has it.
//
// `body_first_i` gives the body before the mask, as a key switch takes it, or else behind it, as a ciphertext has it.
module tfhe_engine_extract
  import tfhe_cmux_pkg::*;
#(
  parameter int unsigned LogN = 14,  // log2 of the number of coefficients N.
  localparam int unsigned LogRows = LogN - LogLanes  // log2 of the rows of a polynomial.
) (
  input  logic                   clk_i,  // Clock.
  input  logic                   rst_ni,  // Asynchronous reset, active low.
  input  logic                   clear_i,  // Ends an extraction in progress.
  input  logic                   start_i,  // An extraction begins.
  input  logic                   body_first_i,  // The order; constant while busy.
  output logic                   busy_o,  // Values are still to be given.
  output logic                   read_en_o,  // A row of the accumulator is read.
  output logic                   read_component_o,  // Its component.
  output logic [LogRows-1:0]     read_row_o,  // Its number.
  input  logic [Lanes-1:0][63:0] read_data_i,  // The row, two cycles later.
  output logic                   value_valid_o,  // A value is given.
  input  logic                   value_ready_i,  // It leaves.
  output logic [63:0]            value_o,  // The value.
  output logic                   value_last_o  // It is the last one.
);
  localparam int unsigned ReadLatency = 2;
  localparam int unsigned Latency = ReadLatency + 3;
  // As many as are on their way at one in each cycle.
  localparam int unsigned Queue = 12;
  typedef logic [LogN:0] count_t;
  localparam count_t N = count_t'(1) << LogN;

  // The number of the next value, and whether it is the body.
  count_t          next_q;
  logic            active_q, issue, credit, is_body, is_last;
  logic [LogN-1:0] mask, source;
  logic            taken;
  assign is_body = body_first_i ? next_q == '0 : next_q == N;
  assign is_last = next_q == N;
  assign mask    = LogN'(body_first_i ? next_q - 1'b1 : next_q);
  assign source  = is_body ? '0 : -mask;
  assign issue   = active_q && credit && !clear_i;

  assign read_en_o        = issue;
  assign read_component_o = is_body;
  assign read_row_o       = source[LogRows-1:0];

  logic [3:0] credits;
  prim_credit #(.Credits(Queue)) u_credit (
    .clk_i, .rst_ni, .clear_i, .take_i(issue), .give_i(taken), .available_o(credit), .count_o(credits)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      next_q   <= '0;
    end else if (clear_i) begin
      active_q <= 1'b0;
      next_q   <= '0;
    end else begin
      if (start_i) active_q <= 1'b1;
      if (issue) begin
        next_q <= is_last ? '0 : next_q + 1'b1;
        if (is_last) active_q <= 1'b0;
      end
    end
  end

  // Row, lane, sign, torus.
  lane_t           lane;
  logic            negate, negate_lane;
  logic [Latency-1:0] valid_q;
  logic [63:0]     picked_q, signed_q, switched_q;
  logic            last;
  prim_delay #(.Width(LogLanes + 1), .Depth(ReadLatency)) u_lane (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i({source[LogN-1:LogRows], !is_body && mask != '0}), .data_o({lane, negate})
  );
  prim_delay #(.Width(1), .Depth(Latency)) u_last (
    .clk_i, .rst_ni, .en_i(1'b1), .data_i(is_last), .data_o({last})
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (clear_i) valid_q <= '0;
    else valid_q <= {valid_q[Latency-2:0], issue};
  end
  always_ff @(posedge clk_i) begin
    picked_q    <= read_data_i[lane];
    negate_lane <= negate;
    // Of zero it is p, which the next line switches to 0 like zero itself.
    signed_q    <= negate_lane ? Modulus - picked_q : picked_q;
    // y * 2^64 / p, rounded.
    switched_q  <= signed_q + 64'((65'(signed_q) + 65'h7fff_ffff) >> 32);
  end

  logic       ready;
  logic [3:0] queued;
  prim_fifo #(.Width(65), .Depth(Queue)) u_queue (
    .clk_i, .rst_ni, .clear_i, .in_valid_i(valid_q[Latency-1]), .in_ready_o(ready), .in_data_i({last, switched_q}),
    .out_valid_o(value_valid_o), .out_ready_i(value_ready_i), .out_data_o({value_last_o, value_o}), .count_o(queued)
  );
  assign taken  = value_valid_o && value_ready_i;
  assign busy_o = active_q || valid_q != '0 || queued != '0;

  logic unused;
  assign unused = ^{ready, credits};
endmodule
