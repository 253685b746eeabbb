// A row of lanes with their numbers turned: lane x leaves with what entered as lane x ^ turn_i. Turning twice by the
// same number gives the row back, so that one network leads from lanes to banks and its like from banks to lanes. No
// register.
module ntt_goldilocks_shift_turn #(
  parameter int unsigned LogLanes = 5,  // log2 of the lanes.
  parameter int unsigned Width    = 64,  // Bits of a value.
  localparam int unsigned Lanes   = 1 << LogLanes  // Lanes of a row.
) (
  input  logic [LogLanes-1:0]          turn_i,  // Number that is XORed to each lane number.
  input  logic [Lanes-1:0][Width-1:0]  data_i,  // The row that enters.
  output logic [Lanes-1:0][Width-1:0]  data_o  // The permuted row.
);
  // One layer of exchanges for each bit: far smaller than a multiplexer of all lanes for each lane.
  logic [LogLanes:0][Lanes-1:0][Width-1:0] layer;

  assign layer[0] = data_i;
  for (genvar b = 0; b < LogLanes; b++) begin : gen_layer
    for (genvar lane = 0; lane < Lanes; lane++) begin : gen_lane
      assign layer[b+1][lane] = turn_i[b] ? layer[b][lane^(1<<b)] : layer[b][lane];
    end
  end
  assign data_o = layer[LogLanes];
endmodule
