// The words of results of `tfhe_engine`: those of the sample in the vector unit, or eight values of an extraction each.
// The last word of an extraction is filled with zeros.
module tfhe_engine_write
  import tfhe_engine_pkg::*;
(
  input  logic                   clk_i,  // Clock.
  input  logic                   rst_ni,  // Asynchronous reset, active low.
  input  logic                   clear_i,  // Ends a result in progress.
  input  logic                   start_i,  // A result begins; only while `busy_o` is low.
  input  logic                   extracts_i,  // It is an extraction.
  input  tfhe_vector_pkg::word_index_t last_i,  // The number of the sample's last word; constant while busy.
  output logic                   busy_o,  // Words are still to be given.
  output logic                   reads_o,  // The result is the sample's.
  output tfhe_vector_pkg::word_index_t read_index_o,  // The word of the sample that is read.
  input  word_t                  read_word_i,  // That word, one cycle later.
  input  logic                   value_valid_i,  // A value of the extraction is offered.
  output logic                   value_ready_o,  // It is taken.
  input  logic [63:0]            value_i,  // The value.
  input  logic                   value_last_i,  // It is the last one.
  output logic                   word_valid_o,  // A word is given.
  input  logic                   word_ready_i,  // It leaves.
  output word_t                  word_o  // The word.
);
  localparam int unsigned Queue = 4;
  typedef enum logic [1:0] {Idle, Sample, Values} state_e;
  state_e state_q;

  tfhe_vector_pkg::word_index_t index_q;
  logic       read, read_q, credit, taken, take_value, fills, queue_ready;
  logic [2:0] credits, queued, place_q;
  word_t      values_q, values;
  logic       values_valid_q;
  assign reads_o       = state_q == Sample;
  assign read_index_o  = index_q;
  assign read          = state_q == Sample && credit && !clear_i;
  assign value_ready_o = state_q == Values && credit && !clear_i;
  assign take_value    = value_valid_i && value_ready_o;
  // A value takes its place; those behind it become zero with the first one.
  assign fills         = take_value && (place_q == '1 || value_last_i);
  always_comb begin
    values = place_q == '0 ? '0 : values_q;
    values[64*32'(place_q)+:64] = value_i;
  end
  always_ff @(posedge clk_i) begin
    if (take_value) values_q <= values;
  end

  prim_credit #(.Credits(Queue)) u_credit (
    .clk_i, .rst_ni, .clear_i, .take_i(read || fills), .give_i(taken), .available_o(credit), .count_o(credits)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q        <= Idle;
      index_q        <= '0;
      read_q         <= 1'b0;
      values_valid_q <= 1'b0;
      place_q        <= '0;
    end else if (clear_i) begin
      state_q        <= Idle;
      index_q        <= '0;
      read_q         <= 1'b0;
      values_valid_q <= 1'b0;
      place_q        <= '0;
    end else begin
      read_q         <= read;
      values_valid_q <= fills;
      if (take_value) place_q <= fills ? '0 : place_q + 1'b1;
      if (read) index_q <= index_q + 1'b1;
      unique case (state_q)
        Sample: begin
          if (read && index_q == last_i) begin
            index_q <= '0;
            state_q <= Idle;
          end
        end
        Values: if (take_value && value_last_i) state_q <= Idle;
        default: if (start_i) state_q <= extracts_i ? Values : Sample;
      endcase
    end
  end

  prim_fifo #(.Width(WordWidth), .Depth(Queue)) u_queue (
    .clk_i, .rst_ni, .clear_i, .in_valid_i(read_q | values_valid_q), .in_ready_o(queue_ready),
    .in_data_i(read_q ? read_word_i : values_q), .out_valid_o(word_valid_o), .out_ready_i(word_ready_i),
    .out_data_o(word_o), .count_o(queued)
  );
  assign taken  = word_valid_o && word_ready_i;
  assign busy_o = state_q != Idle || read_q || values_valid_q || queued != '0;

  logic unused;
  assign unused = ^{queue_ready, credits};
endmodule
