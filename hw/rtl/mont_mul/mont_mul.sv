// Montgomery product: a * b * R^-1 modulo N, for R = 2^(Digits * Digit), with one array of multipliers that multiplies
// a whole operand by a digit in every cycle.
//
// Orup's form of Montgomery's method. Let u = -1/N and Nhat = (N*u + 1)/B modulo B = 2^Digit. Adding t*N*u and dividing
// by B is (T >> Digit) + t*Nhat for t = T mod B. The next digit is then read from the sum without a product. The last
// reduction uses N itself, with the digit t*u mod B from a small multiplier; the result is below 2N and a little. The
// sum stays in carry-save form; only the digit that is read and the result are added up.
//
//   range: N odd, N < 2^Bits; a, b < 4N; the result is below 3N, or below N where `Reduce` is set: then N is taken away
//          twice if it can be, in the same cycles whatever the number.
//   nhat_i = (N*u + 1)/B, u_i = u; the three must not change while a product is inside.
//   `valid_o` is high for one cycle, `Latency` cycles after the pair was taken; `result_o` is the product in that cycle.
//   Without `Reduce` it stays until two cycles before the next.
//
// Period 0 is the core for latency: one product at a time, the next may come with the result. Period 2*Digits is the
// core for throughput: the array is busy in every cycle, several products are inside, a pair is taken every `Period`
// cycles and waits at most that long.
module mont_mul #(
  parameter int unsigned Bits           = 1024,  // Bits of the longest modulus.
  parameter int unsigned Rows           = 16,  // Rows of 17 bits in a digit.
  parameter int unsigned Period         = 0,  // 0: one product at a time; otherwise cycles from pair to pair.
  parameter int unsigned QuotientPasses = 1,  // Passes of the small multiplier; divides Rows.
  parameter bit          Karatsuba      = 1'b0,  // 0: schoolbook, 1: two levels of Karatsuba.
  parameter bit          Reduce         = 1'b1,  // Whether the result is reduced below N.
  localparam int unsigned Digit = Rows * 17  // Bits of a digit.
) (
  input  logic             clk_i,  // Clock.
  input  logic             rst_ni,  // Asynchronous reset, active low.

  input  logic [Bits-1:0]  modulus_i,  // Odd modulus N; constant while a product is inside.
  input  logic [Bits-1:0]  nhat_i,  // (N*u + 1)/2^Digit; constant while a product is inside.
  input  logic [Digit-1:0] u_i,  // -1/N modulo 2^Digit; constant while a product is inside.

  input  logic             valid_i,  // The pair is valid.
  output logic             ready_o,  // The pair is accepted in this cycle.
  input  logic [Bits+1:0]  a_i,  // First factor, below 4N.
  input  logic [Bits+1:0]  b_i,  // Second factor, below 4N.

  output logic             valid_o,  // High for one cycle with each result.
  output logic [Bits+1:0]  result_o  // a * b / R modulo N: below N with `Reduce`, otherwise below 3N.
);
  // 4 bits above N: 16 N^2 / R < N.
  localparam int unsigned Digits          = (Bits + 4 + Digit - 1) / Digit;
  localparam int unsigned ArrayLatency    = Karatsuba ? 6 : 2;
  localparam int unsigned QuotientLatency = QuotientPasses == 1 ? 4 : QuotientPasses + 3;
  if (Bits < 64 || Bits > 16384 || Rows < 1 || (Period != 0 && Period < 2 * Digits)) begin : gen_wrong_size
    $error("mont_mul: Bits must be 64 to 16384, and Period 0 or two slots for each digit and more");
  end
  // From a summand's slot to that of the digit read off the sum: operand register, array, sum, digit.
  localparam int unsigned Loop = ArrayLatency + 3;

  localparam int unsigned          Last  = mont_mul_pkg::last_slot(Digits, Loop, QuotientLatency, Period);
  localparam mont_mul_pkg::slots_t Slots = mont_mul_pkg::operand_slots(Digits, Loop, QuotientLatency, Period);
  localparam int unsigned          Sum   = ArrayLatency + 1;
  localparam int unsigned          Final = Last + Sum + 1;
  localparam int unsigned          Latency = Final + (Reduce ? 6 : 2);

  // How many have their operands and sums kept: a sum is read for the last time in the cycle before `Final`.
  localparam int unsigned InFlight = Period == 0 ? 1 : (Final + Period - 1) / Period;
  localparam int unsigned IdWidth  = InFlight == 1 ? 1 : $clog2(InFlight);

  localparam int unsigned OperandWidth = Bits + 2;
  localparam int unsigned SumWidth     = Bits + 3 + Digit;
  localparam int unsigned ResultWidth  = Bits + 3;

  if (!mont_mul_pkg::possible(Digits, Loop, QuotientLatency, Period)) begin : gen_wrong_period
    $error("mont_mul: the slots of a product meet those of the next");
  end
  if (Digits < 2 || Digits > mont_mul_pkg::MaxDigits) begin : gen_wrong_digits
    $error("mont_mul: a modulus must have 2 to 64 digits");
  end
  if (Period != 0 && (Period < QuotientPasses || Period < 6 || Last - Digits * Loop - QuotientLatency >= Period)) begin
    : gen_wrong_sharing
    $error("mont_mul: the small multiplier or the last adder would be busy");
  end

  // Products inside, by age: age[k] is high for a product that was accepted k cycles ago.
  logic                            accept;
  logic [Latency:0]                age;
  logic [Latency:1]                age_q;
  logic [Latency:0][IdWidth-1:0]   id;
  assign accept = valid_i & ready_o;
  assign age    = {age_q, accept};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) age_q <= '0;
    else age_q <= age[Latency-1:0];
  end

  logic busy_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else busy_q <= |age[Latency-2:0];
  end

  if (Period == 0) begin : gen_one
    assign ready_o = ~busy_q;
    assign id      = '0;
  end else begin : gen_several
    logic [$clog2(Period)-1:0]     phase_q;
    logic [IdWidth-1:0]            next_q;
    logic [Latency:1][IdWidth-1:0] id_q;
    assign ready_o = ~busy_q | (phase_q == '0);
    assign id      = {id_q, next_q};
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        phase_q <= '0;
        next_q  <= '0;
      end else begin
        if (accept) phase_q <= ($clog2(Period))'(1);
        else phase_q <= phase_q == ($clog2(Period))'(Period - 1) ? '0 : phase_q + 1'b1;
        if (accept) next_q <= next_q == IdWidth'(InFlight - 1) ? '0 : next_q + 1'b1;
      end
    end
    always_ff @(posedge clk_i) id_q <= id[Latency-1:0];
  end

  // The operands of the products that are inside.
  logic [OperandWidth-1:0]   a_file[InFlight];
  logic [Digits*Digit-1:0]   b_file[InFlight];
  always_ff @(posedge clk_i) begin
    if (accept) begin
      a_file[id[0]] <= a_i;
      b_file[id[0]] <= (Digits * Digit)'(b_i);
    end
  end

  // The schedule of this cycle: one operand that enters the array, and one product to add, at most.
  logic [Digits-1:0]              takes_operand, adds_operand, soon_operand, soon_moves;
  logic [Digits-1:0]              adds_multiple, soon_multiple, soon_reduces;
  logic [Digits-1:0][IdWidth-1:0] operand_ids, adder_ids;
  for (genvar i = 0; i < Digits; i++) begin : gen_slot
    localparam int unsigned Operand  = 32'(Slots[i]);
    localparam int unsigned Multiple = i == Digits - 1 ? Last : Loop * (i + 1);
    assign takes_operand[i] = age[Operand];
    assign adds_operand[i]  = age[Operand+Sum];
    assign adds_multiple[i] = age[Multiple+Sum];
    assign operand_ids[i] = id[Operand] & {IdWidth{takes_operand[i]}};
    assign adder_ids[i] = (id[Operand+Sum] & {IdWidth{adds_operand[i]}})
                        | (id[Multiple+Sum] & {IdWidth{adds_multiple[i]}});
    // The cycle before; a product's first digit comes unannounced, and begins its sum.
    if (i == 0) begin : gen_first
      assign soon_operand[i] = 1'b0;
      assign soon_moves[i]   = 1'b0;
    end else begin : gen_later
      assign soon_operand[i] = age[Operand-1];
      assign soon_moves[i]   = age[Operand+Sum-1];
    end
    assign soon_multiple[i] = age[Multiple-1];
    assign soon_reduces[i]  = age[Multiple+Sum-1];
  end
  logic [IdWidth-1:0] operand_id, sum_id;
  always_comb begin
    operand_id = '0;
    sum_id     = '0;
    for (int unsigned i = 0; i < Digits; i++) begin
      operand_id |= operand_ids[i];
      sum_id     |= adder_ids[i];
    end
  end

  // Decoded the cycle before, as thousands of gates hang on each.
  logic takes_later_q, takes_nhat_q, takes_modulus_q, sum_moves_q, sum_reduces_q, sum_goes_on_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      takes_later_q   <= 1'b0;
      takes_nhat_q    <= 1'b0;
      takes_modulus_q <= 1'b0;
      sum_moves_q     <= 1'b0;
      sum_reduces_q   <= 1'b0;
      sum_goes_on_q   <= 1'b0;
    end else begin
      takes_later_q   <= |soon_operand;
      takes_nhat_q    <= |soon_multiple[Digits-2:0];
      takes_modulus_q <= soon_multiple[Digits-1];
      sum_moves_q     <= |soon_moves;
      sum_reduces_q   <= |soon_reduces[Digits-2:0];
      sum_goes_on_q   <= age[Sum-1] | (|soon_moves) | (|soon_reduces[Digits-2:0]);
    end
  end

  logic [Digits*Digit-1:0] b;
  logic [Digit-1:0]        b_digit, m_q, last_m;
  assign b = b_file[operand_id];
  always_comb begin
    b_digit = b_i[Digit-1:0] & {Digit{accept}};
    for (int unsigned i = 1; i < Digits; i++) b_digit |= b[i*Digit+:Digit] & {Digit{takes_operand[i]}};
  end

  // Zero if no product is due.
  logic [OperandWidth-1:0] operand_q;
  logic [Digit-1:0]        digit_q;
  always_ff @(posedge clk_i) begin
    operand_q <= (a_i & {OperandWidth{accept}})
               | (a_file[operand_id] & {OperandWidth{takes_later_q}})
               | ({2'b00, nhat_i} & {OperandWidth{takes_nhat_q}})
               | ({2'b00, modulus_i} & {OperandWidth{takes_modulus_q}});
    digit_q   <= b_digit | (m_q & {Digit{takes_nhat_q}}) | (last_m & {Digit{takes_modulus_q}});
  end

  localparam int unsigned Summands = Karatsuba ? 2 : 7;
  logic [OperandWidth+Digit-1:0] summands[Summands];
  if (Karatsuba) begin : gen_karatsuba
    mont_mul_karatsuba #(.Width(OperandWidth), .Rows(Rows)) u_array (
      .clk_i, .operand_i(operand_q), .digit_i(digit_q), .summands_o(summands)
    );
  end else begin : gen_rows
    mont_mul_rows #(.Width(OperandWidth), .Rows(Rows), .Summands(Summands)) u_array (
      .clk_i, .operand_i(operand_q), .digit_i(digit_q), .summands_o(summands)
    );
  end

  // The sums. A digit of the operand finds the digit below it read off, and moves the sum down by one.
  logic sum_begins, sum_ends;
  assign sum_begins = adds_operand[0];
  assign sum_ends   = adds_multiple[Digits-1];

  // The carry of the digit that was read enters together with its multiple of Nhat. The carries of the sum have
  // their lowest bit free: a digit of the operand came between.
  logic carry_q, carry;
  prim_delay #(.Width(1), .Depth(Sum)) u_carry (.clk_i, .rst_ni, .en_i(1'b1), .data_i(carry_q), .data_o(carry));

  // The two numbers of a sum, in separate memories.
  logic [SumWidth-1:0] stored[2];
  logic [SumWidth-1:0] sum_d[2];
  logic [SumWidth-1:0] end_q[2];
  logic [Digit-1:0]    low_q[2];
  logic [SumWidth-1:0] all[Summands+2];
  for (genvar k = 0; k < Summands; k++) begin : gen_summand
    assign all[k] = {1'b0, summands[k]};
  end
  for (genvar k = 0; k < 2; k++) begin : gen_number
    logic [SumWidth-1:0] file[InFlight];
    assign stored[k] = file[sum_id];
    always_comb begin
      all[Summands+k] = stored[k];
      if (sum_begins) all[Summands+k] = '0;
      if (sum_moves_q) all[Summands+k] = {{Digit{1'b0}}, stored[k][SumWidth-1:Digit]};
      if (sum_reduces_q && k == 1) all[Summands+k][0] = carry;
    end
    always_ff @(posedge clk_i) begin
      if (sum_goes_on_q) file[sum_id] <= sum_d[k];
      if (sum_goes_on_q) low_q[k] <= sum_d[k][Digit-1:0];
      if (sum_ends) end_q[k] <= sum_d[k];
    end
  end
  prim_csa #(.Width(SumWidth), .Inputs(Summands + 2), .Outputs(2)) u_sum (.data_i(all), .data_o(sum_d));

  // The digit that is read off.
  logic [Digit-1:0] m_d;
  logic             carry_d;
  prim_add_select #(.Width(Digit)) u_digit (
    .clk_i, .en_i(1'b1), .x_i(low_q[0]), .y_i(low_q[1]), .carry_i(1'b0), .sum_o(m_d), .carry_o(carry_d)
  );
  always_ff @(posedge clk_i) begin
    m_q     <= m_d;
    carry_q <= carry_d;
  end

  mont_mul_quotient #(.Rows(Rows), .Passes(QuotientPasses)) u_quotient (
    .clk_i, .rst_ni, .start_i(age[Loop*Digits]), .digit_i(m_q), .factor_i(u_i), .product_o(last_m)
  );

  // The end: the lowest digit of the sum is 0 modulo 2^Digit, so it carries if it is anything. Then less N, twice, in
  // the same adder.
  logic [ResultWidth-1:0] result_q, x, y, total;
  logic                   carry_in, unused_carry;
  always_comb begin
    x        = end_q[0][SumWidth-1:Digit];
    y        = end_q[1][SumWidth-1:Digit];
    carry_in = |{end_q[0][Digit-1:0], end_q[1][Digit-1:0]};
    if (!age[Final]) begin
      x        = result_q;
      y        = {3'b111, ~modulus_i};
      carry_in = 1'b1;
    end
  end
  prim_add_select #(.Width(ResultWidth), .Stages(1)) u_end (
    .clk_i, .en_i(1'b1), .x_i(x), .y_i(y), .carry_i(carry_in), .sum_o(total), .carry_o(unused_carry)
  );
  if (Reduce) begin : gen_reduce
    always_ff @(posedge clk_i) begin
      if (age[Final+1] || ((age[Final+3] || age[Final+5]) && !total[ResultWidth-1])) result_q <= total;
    end
  end else begin : gen_no_reduce
    always_ff @(posedge clk_i) begin
      if (age[Final+1]) result_q <= total;
    end
  end

  assign valid_o  = age_q[Latency];
  assign result_o = result_q[OperandWidth-1:0];

  logic unused;
  assign unused = ^{age, id, takes_operand[0], soon_reduces[Digits-1], result_q[ResultWidth-1]};
endmodule
