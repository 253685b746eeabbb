// Carry-save compression: `Outputs` numbers with the same sum as the `Inputs` numbers, by levels of 3:2 compressors. No
// clock. The numbers are in unpacked arrays, which simulators keep in separate words. The sum is right modulo 2^Width.
module prim_csa #(
  parameter int unsigned Width   = 32,  // Bits of a number.
  parameter int unsigned Inputs  = 4,  // Numbers that enter.
  parameter int unsigned Outputs = 2  // Numbers that leave.
) (
  input  logic [Width-1:0] data_i[Inputs],  // The numbers to add.
  output logic [Width-1:0] data_o[Outputs]  // Numbers with the same sum modulo 2^Width.
);
  if (Outputs < 2) begin : gen_wrong_outputs
    $error("prim_csa: Outputs must be at least 2");
  end

  // The number of values after each level. A level compresses no more than it must, so that the last leaves `Outputs`.
  function automatic int unsigned left(int unsigned levels);
    int unsigned count;
    count = Inputs;
    for (int unsigned level = 0; level < levels; level++) begin
      if (count > Outputs) count = count - compressors(count);
    end
    return count;
  endfunction

  function automatic int unsigned compressors(int unsigned count);
    if (count <= Outputs) return 0;
    return count / 3 < count - Outputs ? count / 3 : count - Outputs;
  endfunction

  function automatic int unsigned levels_needed();
    int unsigned levels;
    levels = 0;
    while (left(levels) > Outputs) levels++;
    return levels;
  endfunction

  localparam int unsigned Levels = levels_needed();

  for (genvar level = 0; level <= Levels; level++) begin : gen_level
    localparam int unsigned Count = left(level);
    logic [Width-1:0] numbers[Count];
    if (level == 0) begin : gen_inputs
      assign numbers = data_i;
    end else begin : gen_compress
      localparam int unsigned Before = left(level - 1);
      localparam int unsigned Cells  = compressors(Before);
      for (genvar k = 0; k < Cells; k++) begin : gen_cell
        prim_csa_cell #(.Width(Width)) u_cell (
          .x_i(gen_level[level-1].numbers[3*k]),
          .y_i(gen_level[level-1].numbers[3*k+1]),
          .z_i(gen_level[level-1].numbers[3*k+2]),
          .sum_o(numbers[2*k]),
          .carry_o(numbers[2*k+1])
        );
      end
      for (genvar k = 3 * Cells; k < Before; k++) begin : gen_pass
        assign numbers[k-Cells] = gen_level[level-1].numbers[k];
      end
    end
  end

  for (genvar k = 0; k < Outputs; k++) begin : gen_output
    if (k < Inputs) begin : gen_number
      assign data_o[k] = gen_level[Levels].numbers[k];
    end else begin : gen_none
      assign data_o[k] = '0;
    end
  end
endmodule
