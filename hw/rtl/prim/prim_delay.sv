// A delay line: what enters leaves `Depth` enabled cycles later. Depth 0 is a wire.
//
// `Reset` clears the line with `rst_ni`: for valid bits. Data need none, and a line without one can become a
// shift-register LUT.
module prim_delay #(
  parameter int unsigned Width = 1,  // Bits of the data.
  parameter int unsigned Depth = 1,  // Enabled cycles of delay; 0 is a wire.
  parameter bit          Reset = 1'b0  // Whether reset clears the line.
) (
  input  logic             clk_i,  // Clock.
  input  logic             rst_ni,  // Asynchronous reset, active low.
  input  logic             en_i,  // Clock enable: low holds every register.
  input  logic [Width-1:0] data_i,  // Data in.
  output logic [Width-1:0] data_o  // Data out, `Depth` enabled cycles later.
);
  if (Depth == 0) begin : gen_wire
    assign data_o = data_i;
    logic unused;
    assign unused = ^{clk_i, rst_ni, en_i};
  end else begin : gen_line
    logic [Depth-1:0][Width-1:0] line_q;

    if (Reset) begin : gen_reset
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
          line_q <= '0;
        end else if (en_i) begin
          line_q <= (Depth * Width)'({line_q, data_i});
        end
      end
    end else begin : gen_no_reset
      logic unused;
      assign unused = rst_ni;
      always_ff @(posedge clk_i) begin
        if (en_i) line_q <= (Depth * Width)'({line_q, data_i});
      end
    end

    assign data_o = line_q[Depth-1];
  end
endmodule
