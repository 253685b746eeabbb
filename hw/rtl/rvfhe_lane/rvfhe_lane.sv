// The lanes of one core of the RVFHE array: vector registers, in-order issue by dataflow, and in each lane a Shoup
// multiplier with one or two adders. docs/hw/rvfhe_lane.md has the rules cycle by cycle.
//
// An instruction waits in one register until its operands are full, no result is in progress for its destination, and
// the adder, the write port and the network are free when it will need them. It never stalls after that. Results are
// written 1 (sum), 6 (product) or 7 (butterfly) cycles later, with one adder the difference after 8, and can be read in
// the next cycle.
//
// Each adder has a port that writes its results; products are written by the last of them. Issue sees to it that a port
// has one result a cycle.
module rvfhe_lane
  import rvfhe_lane_pkg::*;
#(
  parameter int unsigned Lanes  = 4,  // Lanes of the core, 1 to 32.
  parameter int unsigned Width  = 32,  // Bits of a value.
  parameter int unsigned Adders = 2,  // Adders of a lane. 2: a butterfly every cycle, 1: every second cycle.
  // Bits of the first factor of a multiplier tile (26 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileA  = 17,
  // Bits of the second factor of a multiplier tile (17 for a DSP48E2, 18 for an ECP5).
  parameter int unsigned TileB  = 17
) (
  input  logic clk_i,  // Clock.
  input  logic rst_ni,  // Asynchronous reset, active low.

  input  logic         instruction_valid_i,  // The instruction is valid.
  output logic         instruction_ready_o,  // The instruction is accepted in this cycle.
  input  instruction_t instruction_i,  // The instruction, see rvfhe_lane_pkg.

  input  logic                        arrival_valid_i,  // A value from memory or network is valid.
  output logic                        arrival_ready_o,  // The value is accepted: its target is empty.
  // Register, or half of a twiddle register, that receives the value.
  input  target_t                     arrival_target_i,
  input  logic [Lanes-1:0][Width-1:0] arrival_data_i,  // One value per lane.

  // Sets a modulus register from the next cycle on; instructions inside keep theirs.
  input  logic             modulus_valid_i,
  input  modulus_t         modulus_index_i,  // The modulus register.
  input  logic [Width-1:0] modulus_value_i,  // 1 to 2^(Width-1); any other value leaves the register unset.

  output logic                        copy_valid_o,  // A copy to another core is valid.
  input  logic                        copy_ready_i,  // The network accepts the copy.
  output register_t                   copy_core_o,  // Core that receives the copy.
  output register_t                   copy_register_o,  // Register that receives the copy.
  output logic [Lanes-1:0][Width-1:0] copy_data_o,  // One value per lane.

  output error_e   error_o,  // Reason of the first instruction refused since reset.
  output modulus_t error_modulus_o,  // Modulus register that the refused instruction named.

  output logic idle_o,  // No instruction, no result in progress, no copy waiting.

  output logic [31:0]             cycles_o,  // Cycles since reset, modulo 2^32.
  output logic [Events-1:0][31:0] events_o  // Cycles by event (event_e), modulo 2^32.
);
  if (Lanes < 1 || Lanes > 32) begin : gen_wrong_lanes
    $error("rvfhe_lane: Lanes must be 1 to 32");
  end
  if (Adders != 1 && Adders != 2) begin : gen_wrong_adders
    $error("rvfhe_lane: Adders must be 1 or 2");
  end
  localparam int unsigned ProductPort = Adders - 1;
  typedef logic [Lanes-1:0][Width-1:0] vector_t;

  logic         valid_q;
  instruction_t head_q;
  logic         issue, refuse;
  event_e       what;
  assign instruction_ready_o = ~valid_q | issue | refuse;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (instruction_ready_o) valid_q <= instruction_valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (instruction_ready_o) head_q <= instruction_i;
  end

  logic is_sum, is_product, is_butterfly, is_copy, has_twiddle;
  assign is_sum       = head_q.op == OpMadd || head_q.op == OpMsub;
  assign is_product   = head_q.op == OpMmul;
  assign is_butterfly = head_q.op == OpMbfly;
  assign is_copy      = head_q.op == OpCopy;
  assign has_twiddle  = is_product | is_butterfly;

  twiddle_t twiddle;
  assign twiddle = head_q.rs2[3:0];

  // Moduli.
  logic [Moduli-1:0]            modulus_set_q;
  logic [Moduli-1:0][Width-1:0] modulus_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      modulus_set_q <= '0;
    end else if (modulus_valid_i) begin
      modulus_set_q[modulus_index_i] <=
          modulus_value_i != '0 && (!modulus_value_i[Width-1] || modulus_value_i[Width-2:0] == '0);
    end
  end
  always_ff @(posedge clk_i) begin
    if (modulus_valid_i) modulus_q[modulus_index_i] <= modulus_value_i;
  end

  // Refused instructions.
  error_e wrong;
  always_comb begin
    wrong = ErrorNone;
    if (!(is_sum || has_twiddle || is_copy) || (has_twiddle && head_q.rs2[4]) ||
        (is_butterfly && head_q.rd == head_q.rs1)) begin
      wrong = ErrorEncoding;
    end else if (!is_copy && !modulus_set_q[head_q.modulus]) begin
      wrong = ErrorModulus;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      error_o         <= ErrorNone;
      error_modulus_o <= '0;
    end else if (refuse && error_o == ErrorNone) begin
      error_o         <= wrong;
      error_modulus_o <= head_q.modulus;
    end
  end

  // Registers that have a value, and registers for which a result is in progress; never both.
  logic [Registers-1:0]     full_q, full_d, pending_q, pending_d;
  // Companion and factor of each twiddle register.
  logic [Twiddles-1:0][1:0] half_full_q, half_full_d;

  logic operands_full, twiddle_full;
  assign twiddle_full  = &half_full_q[twiddle];
  assign operands_full = full_q[head_q.rs1] & (~is_sum | full_q[head_q.rs2]) & (~has_twiddle | twiddle_full) &
      (~is_butterfly | full_q[head_q.rd]);

  // The instructions in the multipliers: entry k was issued k cycles ago.
  typedef struct packed {
    logic      valid;
    logic      butterfly;
    register_t rd;
    register_t rs1;
  } tag_t;
  tag_t [MulLatency:1] tag_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tag_q <= '0;
    end else begin
      tag_q    <= {tag_q[MulLatency-1:1], tag_t'('0)};
      tag_q[1] <= '{valid: issue & has_twiddle, butterfly: is_butterfly, rd: head_q.rd, rs1: head_q.rs1};
    end
  end

  logic [MulLatency:1] butterfly_in, product_in;
  for (genvar k = 1; k <= MulLatency; k++) begin : gen_in
    assign butterfly_in[k] = tag_q[k].valid & tag_q[k].butterfly;
    assign product_in[k]   = tag_q[k].valid & ~tag_q[k].butterfly;
  end

  // The operations of the adders in this cycle; their results are written in the next.
  logic      sum, difference;
  register_t difference_register;
  assign sum = butterfly_in[MulLatency];

  // The conflicts of an instruction that would be issued now. A sum is added now and written in the next cycle; a
  // product is written when a butterfly of the cycle before is; a butterfly is added when one of the cycle before is.
  logic adder_taken, port_taken;
  if (Adders == 2) begin : gen_two_adders
    assign difference          = sum;
    assign difference_register = tag_q[MulLatency].rs1;
    assign adder_taken         = is_sum & sum;
    assign port_taken          = is_product & butterfly_in[1];
    logic unused;
    assign unused = ^{product_in[MulLatency-1:1], butterfly_in[MulLatency-1:2]};
  end else begin : gen_one_adder
    logic      difference_q;
    register_t difference_register_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) difference_q <= 1'b0;
      else difference_q <= sum;
    end
    always_ff @(posedge clk_i) difference_register_q <= tag_q[MulLatency].rs1;
    assign difference          = difference_q;
    assign difference_register = difference_register_q;
    assign adder_taken         = (is_sum & (sum | difference)) | (is_butterfly & butterfly_in[1]);
    assign port_taken          = (is_product & (butterfly_in[1] | butterfly_in[2])) |
        (is_sum & product_in[MulLatency-1]);
    logic unused;
    assign unused = ^{product_in[MulLatency-2:1], butterfly_in[MulLatency-1:3]};
  end

  always_comb begin
    issue  = 1'b0;
    refuse = 1'b0;
    if (!valid_q) begin
      what = EventEmpty;
    end else if (wrong != ErrorNone) begin
      what   = EventRefused;
      refuse = 1'b1;
    end else if (!operands_full) begin
      what = EventOperand;
    end else if (!is_copy && pending_q[head_q.rd]) begin
      what = EventDestination;
    end else if (adder_taken) begin
      what = EventAdder;
    end else if (port_taken) begin
      what = EventPort;
    end else if (is_copy && copy_valid_o && !copy_ready_i) begin
      what = EventNetwork;
    end else begin
      issue = 1'b1;
      unique case (head_q.op)
        OpMadd:  what = EventMadd;
        OpMsub:  what = EventMsub;
        OpMmul:  what = EventMmul;
        OpMbfly: what = EventMbfly;
        default: what = EventCopy;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cycles_o <= '0;
      events_o <= '0;
    end else begin
      cycles_o       <= cycles_o + 1'b1;
      events_o[what] <= events_o[what] + 1'b1;
    end
  end

  // Sums, differences and the sums of butterflies, a cycle after they were added.
  logic      [Adders-1:0] added_q;
  register_t [Adders-1:0] added_register_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      added_q <= '0;
    end else begin
      added_q    <= Adders'({difference, 1'b0});
      added_q[0] <= sum | (issue & is_sum) | (Adders == 1 && difference);
    end
  end
  always_ff @(posedge clk_i) begin
    added_register_q[Adders-1] <= difference_register;
    if (Adders == 2 || !difference) added_register_q[0] <= sum ? tag_q[MulLatency].rd : head_q.rd;
  end

  logic product;
  assign product = product_in[MulLatency];

  // The last writer is the arrival port.
  logic      [Adders:0] write;
  register_t [Adders:0] write_register;
  vector_t   [Adders:0] write_data;
  logic      [Lanes-1:0][Adders-1:0][Width-1:0] lane_result;
  vector_t   products;
  always_comb begin
    write[Adders]          = arrival_valid_i & arrival_ready_o & ~arrival_target_i.is_twiddle;
    write_register[Adders] = arrival_target_i.index;
    write_data[Adders]     = arrival_data_i;
    for (int unsigned p = 0; p < Adders; p++) begin
      write[p]          = added_q[p];
      write_register[p] = added_register_q[p];
      for (int unsigned l = 0; l < Lanes; l++) write_data[p][l] = lane_result[l][p];
    end
    if (product) begin
      write[ProductPort]          = 1'b1;
      write_register[ProductPort] = tag_q[MulLatency].rd;
      write_data[ProductPort]     = products;
    end
  end

  logic twiddle_arrives;
  assign arrival_ready_o = arrival_target_i.is_twiddle
      ? ~half_full_q[arrival_target_i.index[4:1]][arrival_target_i.index[0]]
      : ~(full_q[arrival_target_i.index] | pending_q[arrival_target_i.index]);
  assign twiddle_arrives = arrival_valid_i & arrival_ready_o & arrival_target_i.is_twiddle;

  always_comb begin
    full_d      = full_q;
    pending_d   = pending_q;
    half_full_d = half_full_q;
    for (int unsigned p = 0; p <= Adders; p++) begin
      if (write[p]) begin
        full_d[write_register[p]]    = 1'b1;
        pending_d[write_register[p]] = 1'b0;
      end
    end
    if (twiddle_arrives) half_full_d[arrival_target_i.index[4:1]][arrival_target_i.index[0]] = 1'b1;
    if (issue) begin
      if (head_q.free_rs1) full_d[head_q.rs1] = 1'b0;
      if (head_q.free_rs2 && is_sum) full_d[head_q.rs2] = 1'b0;
      if (head_q.free_rs2 && has_twiddle) half_full_d[twiddle] = '0;
      if (!is_copy) begin
        full_d[head_q.rd]    = 1'b0;
        pending_d[head_q.rd] = 1'b1;
      end
      if (is_butterfly) begin
        full_d[head_q.rs1]    = 1'b0;
        pending_d[head_q.rs1] = 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q      <= '0;
      pending_q   <= '0;
      half_full_q <= '0;
    end else begin
      full_q      <= full_d;
      pending_q   <= pending_d;
      half_full_q <= half_full_d;
    end
  end
  assign idle_o = ~valid_q & (pending_q == '0) & ~copy_valid_o;

  // Registers and twiddles.
  register_t [1:0] read_register;
  vector_t   [1:0] read;
  assign read_register = {is_butterfly ? head_q.rd : head_q.rs2, head_q.rs1};
  rvfhe_lane_registers #(.Width(Lanes * Width), .Writers(Adders + 1)) u_registers (
    .clk_i, .write_en_i(write), .write_register_i(write_register), .write_data_i(write_data),
    .read_register_i(read_register), .read_data_o(read)
  );
  vector_t [1:0] factor;
  for (genvar half = 0; half < 2; half++) begin : gen_half
    rvfhe_lane_memory #(.Width(Lanes * Width), .Depth(Twiddles)) u_twiddles (
      .clk_i, .write_en_i(twiddle_arrives && arrival_target_i.index[0] == 1'(half)),
      .write_addr_i(arrival_target_i.index[4:1]), .write_data_i(arrival_data_i), .read_addr_i(twiddle),
      .read_data_o(factor[half])
    );
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    rvfhe_lane_unit #(.Width(Width), .Adders(Adders), .TileA(TileA), .TileB(TileB)) u_unit (
      .clk_i, .a_i(read[0][l]), .b_i(read[1][l]), .w_i(factor[0][l]), .w_shoup_i(factor[1][l]),
      .modulus_i(modulus_q[head_q.modulus]), .sub_i(head_q.op == OpMsub), .sum_i(sum), .difference_i(difference),
      .product_o(products[l]), .result_o(lane_result[l])
    );
  end

  // Copies: one waits for the network.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) copy_valid_o <= 1'b0;
    else if (!copy_valid_o || copy_ready_i) copy_valid_o <= issue & is_copy;
  end
  always_ff @(posedge clk_i) begin
    if (issue && is_copy) begin
      copy_core_o     <= head_q.rs2;
      copy_register_o <= head_q.rd;
      copy_data_o     <= read[0];
    end
  end

`ifndef SYNTHESIS
  // What issue promises. A register that is written waits for it, so no two writers write the same one.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      // Registers begin with any value.
    end else begin
      assert (!(product && added_q[ProductPort])) else $error("a port has two results");
      assert (!((issue && is_sum) && (sum || (Adders == 1 && difference)))) else $error("an adder has two sums");
      assert (!(Adders == 1 && sum && difference)) else $error("an adder has a sum and a difference");
      assert ((full_q & pending_q) == '0) else $error("a register is full and has a result under way");
      for (int unsigned p = 0; p < Adders; p++) begin
        assert (!write[p] || pending_q[write_register[p]]) else $error("a result that nobody waits for");
      end
    end
  end
`endif
endmodule
