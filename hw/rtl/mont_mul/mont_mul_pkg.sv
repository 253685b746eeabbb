// When a product of `mont_mul` uses the array of multipliers, in cycles after it was accepted.
//
// The digit that reduces the sum after digit i is known `loop` cycles after the last summand before it went in, so that
// m_i goes in at loop*(i + 1). Digit i + 1 of the operand goes in between m_(i-1) and m_i. The last m comes `quotient`
// cycles later than the others. A product every `period` cycles needs slots that differ modulo it; period 0 is one
// product at a time.
package mont_mul_pkg;
  localparam int unsigned MaxDigits = 64;
  localparam int unsigned MaxPeriod = 1024;

  typedef logic [MaxDigits-1:0][15:0] slots_t;

  function automatic int unsigned wrapped(int unsigned slot, int unsigned period);
    return period == 0 ? slot : slot % period;
  endfunction

  // The slots of the reductions and of digit 0 of the operand, which are placed first.
  function automatic logic [MaxPeriod-1:0] fixed(int unsigned digits, int unsigned loop, int unsigned period);
    logic [MaxPeriod-1:0] taken;
    taken = '0;
    for (int unsigned i = 0; i < digits; i++) taken[wrapped(loop*i, period)] = 1'b1;
    return taken;
  endfunction

  // The slot of the last reduction.
  function automatic int unsigned last_slot(int unsigned digits, int unsigned loop, int unsigned quotient,
                                            int unsigned period);
    logic [MaxPeriod-1:0] taken;
    int unsigned slot;
    taken = fixed(digits, loop, period);
    slot  = digits * loop + quotient;
    // Tries every slot in order. If all are occupied, `possible` returns 0.
    for (int unsigned tried = 0; tried < MaxPeriod; tried++) if (taken[wrapped(slot, period)]) slot++;
    return slot;
  endfunction

  // The slots of the operand's digits; all ones if no slot is free.
  function automatic slots_t operand_slots(int unsigned digits, int unsigned loop, int unsigned quotient,
                                           int unsigned period);
    logic [MaxPeriod-1:0] taken;
    slots_t slots;
    slots = '1;
    taken = fixed(digits, loop, period);
    taken[wrapped(last_slot(digits, loop, quotient, period), period)] = 1'b1;
    slots[0] = 16'd0;
    for (int unsigned i = 1; i < digits; i++) begin
      for (int unsigned slot = loop * (i - 1) + 1; slot < loop * i; slot++) begin
        if (slots[i] == 16'hffff && !taken[wrapped(slot, period)]) begin
          slots[i] = 16'(slot);
          taken[wrapped(slot, period)] = 1'b1;
        end
      end
    end
    return slots;
  endfunction

  // Whether all slots exist and the reductions do not meet one another.
  function automatic bit possible(int unsigned digits, int unsigned loop, int unsigned quotient, int unsigned period);
    slots_t slots;
    slots = operand_slots(digits, loop, quotient, period);
    if ($countones(fixed(digits, loop, period)) != digits) return 1'b0;
    for (int unsigned i = 0; i < digits; i++) begin
      if (slots[i] == 16'hffff) return 1'b0;
    end
    return 1'b1;
  endfunction
endpackage
