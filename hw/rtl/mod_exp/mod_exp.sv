// Modular exponentiation with a secret exponent behind registers. An APB completer of 32-bit words without wait states;
// hw/rdl/mod_exp.rdl describes its registers.
//
// Cores 1: fixed windows of `Window` bits on one multiplier. Cores 2: a ladder on two, as in the paillier-codesign
// paper. Range: MODULUS odd, BASE below it. The time depends on EXPONENT_BITS alone. Windows need 2^Window products for
// the table, Window + 1 for each further window and one at the end. The ladder needs one product per bit and two more.
//
// These accesses get an error response and have no effect:
//
//   addresses without a register; writes of less than a word; writes to read-only registers; reads of input numbers;
//   while STATUS.BUSY is set, all writes except to INTERRUPT
module mod_exp
  import mod_exp_registers_pkg::*;
#(
  parameter int unsigned Bits   = 1024,  // Bits of the longest modulus; a multiple of 32, 64 to 16384.
  parameter int unsigned Rows   = 16,  // Rows of 17 bits in a digit of the Montgomery product.
  parameter int unsigned Cores  = 1,  // 1: fixed windows on one multiplier; 2: a ladder on two.
  parameter int unsigned Window = 5  // Bits of a window; used with one core.
) (
  input  logic                 clk_i,  // Clock.
  input  logic                 rst_ni,  // Asynchronous reset, active low.

  input  logic                 psel_i,  // APB: this completer is selected.
  input  logic                 penable_i,  // APB: access phase.
  input  logic                 pwrite_i,  // APB: 1 for a write, 0 for a read.
  input  logic [AddrWidth-1:0] paddr_i,  // APB: byte address.
  input  logic [31:0]          pwdata_i,  // APB: write data.
  input  logic [3:0]           pstrb_i,  // APB: byte strobes; all four must be set in a write.
  output logic                 pready_o,  // APB: always 1, no wait states.
  output logic [31:0]          prdata_o,  // APB: read data.
  output logic                 pslverr_o,  // APB: the access is refused and has no effect.

  output logic                 interrupt_o  // High while INTERRUPT.ENABLE and STATUS.DONE or REFUSED are set.
);
  localparam int unsigned Digit = Rows * 17;
  localparam int unsigned Words = Bits / 32;
  localparam int unsigned DigitWords = (Digit + 31) / 32;

  // Limits: a window of 4096 bytes, and the widths of the fields of PARAMETERS.
  if (Bits % 32 != 0 || Bits < 64 || Bits > 16384 || Digit >= 4096) begin : gen_wrong_bits
    $error("mod_exp: Bits must be a multiple of 32, 64 to 16384, and a digit shorter than 4096 bits");
  end
  if (Cores != 1 && Cores != 2) begin : gen_wrong_cores
    $error("mod_exp: Cores must be 1 or 2");
  end

  typedef enum logic [1:0] { StIdle, StRun, StReduce, StClear } state_e;
  state_e state_q, state_d;
  logic   busy, done_q, refused_q, enable_q, finished_q;
  logic [15:0] exponent_bits_q;
  logic [31:0] cycles_q;
  assign busy = state_q != StIdle || finished_q;

  // The register or window of an address. Windows begin at multiples of 4096.
  logic        access, word_write, aligned;
  logic [2:0]  window;
  logic [9:0]  index;
  assign access     = psel_i & penable_i;
  assign aligned    = paddr_i[1:0] == 2'b00;
  assign word_write = access & pwrite_i & (&pstrb_i) & aligned;
  assign window     = paddr_i[14:12];
  assign index      = paddr_i[11:2];

  logic is_modulus, is_nhat, is_u, is_rsquared, is_base, is_exponent, is_result;
  assign is_modulus  = window == Modulus[14:12] && index < 10'(Words);
  assign is_nhat     = window == Nhat[14:12] && index < 10'(Words);
  assign is_u        = window == U[14:12] && index < 10'(DigitWords);
  assign is_rsquared = window == Rsquared[14:12] && index < 10'(Words);
  assign is_base     = window == Base[14:12] && index < 10'(Words);
  assign is_exponent = window == Exponent[14:12] && index < 10'(Words);
  assign is_result   = window == Result[14:12] && index < 10'(Words);

  logic is_number, is_control, is_bits, is_interrupt, may_write, may_read;
  assign is_number    = is_modulus | is_nhat | is_u | is_rsquared | is_base | is_exponent;
  assign is_control   = paddr_i == Control;
  assign is_bits      = paddr_i == ExponentBits;
  assign is_interrupt = paddr_i == Interrupt;
  assign may_write    = is_interrupt | (~busy & (is_number | is_control | is_bits));
  assign may_read     = is_result | (paddr_i inside {Id, Parameters, Status, Interrupt, ExponentBits, Cycles});
  assign pready_o     = 1'b1;
  assign pslverr_o    = access & (~aligned | (pwrite_i ? ~(&pstrb_i) | ~may_write : ~may_read));

  logic write;
  assign write = word_write & may_write;

  // Orders. Both at once is to clear.
  logic start, clear, start_allowed;
  logic [Bits-1:0] modulus_q, nhat_q, rsquared_q, base_q, exponent_q, result_q;
  logic [DigitWords*32-1:0] u_q;
  assign clear         = write & is_control & pwdata_i[ControlClearBit];
  assign start         = write & is_control & pwdata_i[ControlStartBit] & ~pwdata_i[ControlClearBit];
  assign start_allowed = modulus_q[0] && exponent_bits_q != '0 && exponent_bits_q <= 16'(Bits);

  // The numbers. One index for all: which word is written is public.
  localparam int unsigned MostWords = Words > DigitWords ? Words : DigitWords;
  logic [MostWords-1:0] word_select;
  always_comb begin
    for (int unsigned i = 0; i < MostWords; i++) word_select[i] = write && index == 10'(i);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      modulus_q  <= '0;
      nhat_q     <= '0;
      u_q        <= '0;
      rsquared_q <= '0;
      base_q     <= '0;
      exponent_q <= '0;
    end else if (clear) begin
      modulus_q  <= '0;
      nhat_q     <= '0;
      u_q        <= '0;
      rsquared_q <= '0;
      base_q     <= '0;
      exponent_q <= '0;
    end else begin
      for (int unsigned i = 0; i < Words; i++) begin
        if (word_select[i] && is_modulus) modulus_q[32*i+:32] <= pwdata_i;
        if (word_select[i] && is_nhat) nhat_q[32*i+:32] <= pwdata_i;
        if (word_select[i] && is_rsquared) rsquared_q[32*i+:32] <= pwdata_i;
        if (word_select[i] && is_base) base_q[32*i+:32] <= pwdata_i;
        if (word_select[i] && is_exponent) exponent_q[32*i+:32] <= pwdata_i;
      end
      for (int unsigned i = 0; i < DigitWords; i++) begin
        if (word_select[i] && is_u) u_q[32*i+:32] <= pwdata_i;
      end
    end
  end

  logic unused_u;
  assign unused_u = ^u_q;

  // The exponentiation itself.
  logic            engine_done;
  logic [Bits+1:0] engine_result;
  if (Cores == 1) begin : gen_window
    mod_exp_window #(.Bits(Bits), .Rows(Rows), .Window(Window)) u_engine (
      .clk_i, .rst_ni, .start_i(start & start_allowed), .clear_i(clear), .done_o(engine_done), .modulus_i(modulus_q),
      .nhat_i(nhat_q), .u_i(u_q[Digit-1:0]), .rsquared_i(rsquared_q), .base_i(base_q), .exponent_i(exponent_q),
      .exponent_bits_i(exponent_bits_q), .result_o(engine_result)
    );
  end else begin : gen_ladder
    mod_exp_ladder #(.Bits(Bits), .Rows(Rows)) u_engine (
      .clk_i, .rst_ni, .start_i(start & start_allowed), .clear_i(clear), .done_o(engine_done), .modulus_i(modulus_q),
      .nhat_i(nhat_q), .u_i(u_q[Digit-1:0]), .rsquared_i(rsquared_q), .base_i(base_q), .exponent_i(exponent_q),
      .exponent_bits_i(exponent_bits_q), .result_o(engine_result)
    );
  end

  // Below 3N to below N: N is taken away twice if it can be, two cycles each, whatever the number.
  logic [Bits+2:0] value_q, less;
  logic [1:0]      step_q;
  logic            unused_carry;
  prim_add_select #(.Width(Bits + 3), .Stages(1)) u_reduce (
    .clk_i, .en_i(1'b1), .x_i(value_q), .y_i({3'b111, ~modulus_q}), .carry_i(1'b1), .sum_o(less),
    .carry_o(unused_carry)
  );
  always_ff @(posedge clk_i) begin
    if (state_q == StReduce) begin
      if (step_q[0] && !less[Bits+2]) value_q <= less;
    end else if (engine_done) begin
      value_q <= {1'b0, engine_result};
    end
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: begin
        if (clear) state_d = StClear;
        else if (start && start_allowed) state_d = StRun;
      end
      StRun:    if (engine_done) state_d = StReduce;
      StReduce: if (step_q == 2'd3) state_d = StIdle;
      StClear:  if (engine_done) state_d = StIdle;
      default:  state_d = StIdle;
    endcase
  end

  // After the last step the value is valid; before it a host reads zero.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q         <= StIdle;
      step_q          <= '0;
      finished_q      <= 1'b0;
      done_q          <= 1'b0;
      refused_q       <= 1'b0;
      enable_q        <= 1'b0;
      exponent_bits_q <= 16'(Bits);
      cycles_q        <= '0;
      result_q        <= '0;
    end else begin
      state_q    <= state_d;
      step_q     <= state_q == StReduce ? step_q + 1'b1 : '0;
      finished_q <= state_q == StReduce && step_q == 2'd3;
      if (start || clear) begin
        done_q    <= 1'b0;
        refused_q <= start & ~start_allowed;
        result_q  <= '0;
      end else if (finished_q) begin
        done_q   <= 1'b1;
        result_q <= value_q[Bits-1:0];
      end
      if (start && start_allowed) cycles_q <= 32'd1;
      else if (state_q == StRun || state_q == StReduce || finished_q) cycles_q <= cycles_q + 1'b1;
      if (write && is_interrupt) enable_q <= pwdata_i[InterruptEnableBit];
      if (write && is_bits) exponent_bits_q <= pwdata_i[ExponentBitsValueBit+:16];
    end
  end
  assign interrupt_o = enable_q & (done_q | refused_q);

`ifndef SYNTHESIS
  // The guarantee of CLEAR for these registers; the engines assert theirs.
  logic cleared_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cleared_q <= 1'b0;
    end else begin
      cleared_q <= state_q == StClear && state_d == StIdle;
      if (cleared_q) begin
        assert (modulus_q == '0 && nhat_q == '0 && u_q == '0 && rsquared_q == '0) else $error("a modulus is left");
        assert (base_q == '0 && exponent_q == '0) else $error("a base or an exponent is left");
        assert (value_q == '0 && result_q == '0) else $error("a result is left");
      end
    end
  end
`endif

  // Read data. No other value leaves the unit.
  always_comb begin
    prdata_o = '0;
    unique case (paddr_i)
      Id: begin
        prdata_o[IdKindBit+:16]    = IdKind;
        prdata_o[IdVersionBit+:16] = IdVersion;
      end
      Parameters: begin
        prdata_o[ParametersBitsBit+:16]  = 16'(Bits);
        prdata_o[ParametersDigitBit+:12] = 12'(Digit);
        prdata_o[ParametersCoresBit+:4]  = 4'(Cores);
      end
      Status: begin
        prdata_o[StatusBusyBit]    = busy;
        prdata_o[StatusDoneBit]    = done_q;
        prdata_o[StatusRefusedBit] = refused_q;
      end
      Interrupt:    prdata_o[InterruptEnableBit] = enable_q;
      ExponentBits: prdata_o[ExponentBitsValueBit+:16] = exponent_bits_q;
      Cycles:       prdata_o = cycles_q;
      default: begin
        for (int unsigned i = 0; i < Words; i++) begin
          if (is_result && index == 10'(i)) prdata_o = result_q[32*i+:32];
        end
      end
    endcase
  end
endmodule
