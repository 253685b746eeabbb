// The accelerator of the Paillier system: registers, a ring of jobs, an AXI4 port for data, a loader, two cores with a
// Montgomery multiplier each that `Places` exponentiations share in turn, and a writer of results.
//
// engine_ring serves the registers and fetches the jobs. Numbers have `Bits` bits in memory, least significant byte
// first, at multiples of DataWidth / 8 bytes. LENGTH counts bits; it is 0 where the table names none.
//
//   verb        LENGTH      A                              B         C
//   1 key       of n        N, Nhat, Rsq, nR, u, n         -         -
//   2 encrypt   -           r, below n                     m, < n    (1 + m*n) * r^n mod N
//   3 power     of exponent base, below N                  exponent  base^exponent mod N
//   4 multiply  -           a, below N                     b, < N    a * b mod N
//
// A key is six numbers in a row: an odd modulus N, Nhat = (N*u + 1)/2^Digit, R^2 mod N, n*R mod N, u = -1/N modulo
// 2^Digit, and n, of 64 to Bits/2 bits, where N = n^2 is needed by `encrypt` alone. A key waits for all jobs before it.
// An exponent has 1 to Bits bits, in the fewest words of DataWidth bits; those above LENGTH are ignored.
//
// The engine cannot find out whether Nhat, Rsq, nR and u belong to N, and computes wrong values with wrong ones. The
// cycles of a job depend on the verb, LENGTH and the memory, and on no other number.
module paillier_engine
  import engine_job_status_pkg::*;
  import paillier_engine_pkg::*;
#(
  parameter int unsigned Bits           = 1024,  // Bits of the longest modulus.
  parameter int unsigned Rows           = 16,  // Rows of 17 bits in a digit of the Montgomery product.
  parameter int unsigned QuotientPasses = 8,  // Passes of the multiplier for the last quotient digit.
  parameter int unsigned Places         = 6,  // Exponentiations that share a core.
  parameter int unsigned AddrWidth      = 40,  // Bits of a byte address in memory.
  parameter int unsigned DataWidth      = 128,  // Bits of a word of the AXI ports.
  localparam int unsigned Bytes = DataWidth / 8,  // Bytes of a word.
  localparam int unsigned RegWidth = 12  // Bits of a byte address of the registers.
) (
  input  logic                 clk_i,  // Clock.
  input  logic                 rst_ni,  // Asynchronous reset, active low.

  input  logic                 regs_aw_valid_i,  // AXI4-Lite: write address.
  output logic                 regs_aw_ready_o,  // AXI4-Lite.
  input  logic [RegWidth-1:0]  regs_aw_addr_i,  // AXI4-Lite.
  input  logic                 regs_w_valid_i,  // AXI4-Lite: write data.
  output logic                 regs_w_ready_o,  // AXI4-Lite.
  input  logic [31:0]          regs_w_data_i,  // AXI4-Lite.
  input  logic [3:0]           regs_w_strb_i,  // AXI4-Lite.
  output logic                 regs_b_valid_o,  // AXI4-Lite: write response.
  input  logic                 regs_b_ready_i,  // AXI4-Lite.
  output logic [1:0]           regs_b_resp_o,  // AXI4-Lite.
  input  logic                 regs_ar_valid_i,  // AXI4-Lite: read address.
  output logic                 regs_ar_ready_o,  // AXI4-Lite.
  input  logic [RegWidth-1:0]  regs_ar_addr_i,  // AXI4-Lite.
  output logic                 regs_r_valid_o,  // AXI4-Lite: read data.
  input  logic                 regs_r_ready_i,  // AXI4-Lite.
  output logic [31:0]          regs_r_data_o,  // AXI4-Lite.
  output logic [1:0]           regs_r_resp_o,  // AXI4-Lite.

  output logic                 ring_ar_valid_o,  // AXI4 of the ring: read address.
  input  logic                 ring_ar_ready_i,  // AXI4.
  output logic [AddrWidth-1:0] ring_ar_addr_o,  // AXI4.
  output logic [7:0]           ring_ar_len_o,  // AXI4.
  output logic [2:0]           ring_ar_size_o,  // AXI4.
  output logic [1:0]           ring_ar_burst_o,  // AXI4.
  input  logic                 ring_r_valid_i,  // AXI4: read data.
  output logic                 ring_r_ready_o,  // AXI4.
  input  logic [DataWidth-1:0] ring_r_data_i,  // AXI4.
  input  logic [1:0]           ring_r_resp_i,  // AXI4.
  input  logic                 ring_r_last_i,  // AXI4.
  output logic                 ring_aw_valid_o,  // AXI4: write address.
  input  logic                 ring_aw_ready_i,  // AXI4.
  output logic [AddrWidth-1:0] ring_aw_addr_o,  // AXI4.
  output logic [7:0]           ring_aw_len_o,  // AXI4.
  output logic [2:0]           ring_aw_size_o,  // AXI4.
  output logic [1:0]           ring_aw_burst_o,  // AXI4.
  output logic                 ring_w_valid_o,  // AXI4: write data.
  input  logic                 ring_w_ready_i,  // AXI4.
  output logic [DataWidth-1:0] ring_w_data_o,  // AXI4.
  output logic [Bytes-1:0]     ring_w_strb_o,  // AXI4.
  output logic                 ring_w_last_o,  // AXI4.
  input  logic                 ring_b_valid_i,  // AXI4: write response.
  output logic                 ring_b_ready_o,  // AXI4.
  input  logic [1:0]           ring_b_resp_i,  // AXI4.

  output logic                 data_ar_valid_o,  // AXI4 of the numbers: read address.
  input  logic                 data_ar_ready_i,  // AXI4.
  output logic [AddrWidth-1:0] data_ar_addr_o,  // AXI4.
  output logic [7:0]           data_ar_len_o,  // AXI4.
  output logic [2:0]           data_ar_size_o,  // AXI4.
  output logic [1:0]           data_ar_burst_o,  // AXI4.
  input  logic                 data_r_valid_i,  // AXI4: read data.
  output logic                 data_r_ready_o,  // AXI4.
  input  logic [DataWidth-1:0] data_r_data_i,  // AXI4.
  input  logic [1:0]           data_r_resp_i,  // AXI4.
  input  logic                 data_r_last_i,  // AXI4.
  output logic                 data_aw_valid_o,  // AXI4: write address.
  input  logic                 data_aw_ready_i,  // AXI4.
  output logic [AddrWidth-1:0] data_aw_addr_o,  // AXI4.
  output logic [7:0]           data_aw_len_o,  // AXI4.
  output logic [2:0]           data_aw_size_o,  // AXI4.
  output logic [1:0]           data_aw_burst_o,  // AXI4.
  output logic                 data_w_valid_o,  // AXI4: write data.
  input  logic                 data_w_ready_i,  // AXI4.
  output logic [DataWidth-1:0] data_w_data_o,  // AXI4.
  output logic [Bytes-1:0]     data_w_strb_o,  // AXI4.
  output logic                 data_w_last_o,  // AXI4.
  input  logic                 data_b_valid_i,  // AXI4: write response.
  output logic                 data_b_ready_o,  // AXI4.
  input  logic [1:0]           data_b_resp_i,  // AXI4.

  output logic                 irq_o  // Interrupt: high while IRQ.ENABLE and IRQ.PENDING are set.
);
  localparam int unsigned Cores = 2;
  localparam int unsigned All = Cores * Places;
  localparam int unsigned Digit = Rows * 17;
  localparam int unsigned Words = Bits / DataWidth;
  localparam int unsigned WordWidth = Words == 1 ? 1 : $clog2(Words);
  localparam int unsigned LengthWidth = $clog2(Bits + 1);
  localparam int unsigned LogBytes = $clog2(Bytes);
  localparam int unsigned LogData = $clog2(DataWidth);
  localparam int unsigned Jobs = 16;
  localparam int unsigned TagWidth = $clog2(Jobs);
  localparam int unsigned IndexWidth = $clog2(All);
  localparam int unsigned Numbers = 6;  // Numbers of a key.
  localparam int unsigned RunWidth = $clog2(Numbers * Words + 1);
  localparam int unsigned Burst = 8;
  localparam int unsigned LeastKey = 64;
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [LengthWidth-1:0] length_t;
  typedef logic [AddrWidth-1:0] addr_t;

  if (Digit > Bits || Bits < 2 * LeastKey || All > Jobs) begin : gen_wrong_size
    $error("paillier_engine: a digit must fit into Bits, and all places must have jobs");
  end

  // Jobs, and their ends.
  logic                job_valid, job_ready, done_valid, done_ready, clear, clearing, stalled;
  logic [511:0]        job;
  logic [TagWidth-1:0] job_tag, done_tag;
  status_t             done_status;
  logic                user_access, user_write, unused_user;
  logic [RegWidth-1:2] user_addr;
  logic [31:0]         user_write_data;
  engine_ring #(
    .Id(32'h5041_494c), .Version(32'd1), .Parameters({4'(Cores), 12'(Digit), 16'(Bits)}), .AddrWidth(AddrWidth),
    .DataWidth(DataWidth), .Jobs(Jobs)
  ) u_ring (
    .clk_i, .rst_ni, .regs_aw_valid_i, .regs_aw_ready_o, .regs_aw_addr_i, .regs_w_valid_i, .regs_w_ready_o,
    .regs_w_data_i, .regs_w_strb_i, .regs_b_valid_o, .regs_b_ready_i, .regs_b_resp_o, .regs_ar_valid_i,
    .regs_ar_ready_o, .regs_ar_addr_i, .regs_r_valid_o, .regs_r_ready_i, .regs_r_data_o, .regs_r_resp_o,
    .ring_ar_valid_o, .ring_ar_ready_i, .ring_ar_addr_o, .ring_ar_len_o, .ring_ar_size_o, .ring_ar_burst_o,
    .ring_r_valid_i, .ring_r_ready_o, .ring_r_data_i, .ring_r_resp_i, .ring_r_last_i, .ring_aw_valid_o,
    .ring_aw_ready_i, .ring_aw_addr_o, .ring_aw_len_o, .ring_aw_size_o, .ring_aw_burst_o, .ring_w_valid_o,
    .ring_w_ready_i, .ring_w_data_o, .ring_w_strb_o, .ring_w_last_o, .ring_b_valid_i, .ring_b_ready_o, .ring_b_resp_i,
    .irq_o, .job_valid_o(job_valid), .job_ready_i(job_ready), .job_o(job), .job_tag_o(job_tag),
    .done_valid_i(done_valid), .done_ready_o(done_ready), .done_tag_i(done_tag), .done_status_i(done_status),
    .clear_o(clear), .clearing_i(clearing), .stalled_i(stalled), .user_access_o(user_access),
    .user_write_o(user_write), .user_addr_o(user_addr), .user_write_data_o(user_write_data), .user_read_data_i('0),
    .user_refused_i(1'b1)
  );
  assign unused_user = ^{user_access, user_write, user_addr, user_write_data};

  // Clearing: each core, and the data ports.
  logic [Cores-1:0] core_clearing;
  logic             read_idle, write_idle, ports_clearing_q;
  assign clearing = |core_clearing || ports_clearing_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ports_clearing_q <= 1'b0;
    else ports_clearing_q <= clear || (ports_clearing_q && !(read_idle && write_idle));
  end

  // The loader: it looks at a job, reads its numbers, compares them with their bounds, and starts a program.
  typedef enum logic [3:0] {
    LdIdle, LdLook, LdPlace, LdFirstRun, LdSecondRun, LdWords, LdStore, LdCheck, LdStart, LdEnd
  } loader_e;
  loader_e             loader_q;
  logic [7:0]          verb_q;
  status_t             ld_status_q;
  logic [31:0]         length_q;
  logic [63:0]         a_q, b_q, c_q;
  logic                reserved_q;
  logic [TagWidth-1:0] tag_q;
  index_t              place_q;
  logic                key_valid_q;

  assign job_ready = loader_q == LdIdle;
  always_ff @(posedge clk_i) begin
    if (loader_q == LdIdle) begin
      verb_q     <= job[8*engine_job_registers_pkg::Operation+:8];
      length_q   <= job[8*engine_job_registers_pkg::Length+:32];
      a_q        <= job[8*engine_job_registers_pkg::A+:64];
      b_q        <= job[8*engine_job_registers_pkg::B+:64];
      c_q        <= job[8*engine_job_registers_pkg::C+:64];
      reserved_q <= job[511:8*engine_job_registers_pkg::D] != '0;
      tag_q      <= job_tag;
    end
  end

  // The first reason to refuse a job before its numbers are read. All words of a number must have addresses.
  function automatic logic wrong_address(logic [63:0] address, logic [RunWidth-1:0] words);
    logic [64-LogBytes:0] last;
    last = (65 - LogBytes)'(address[63:LogBytes]) + (65 - LogBytes)'(words) - 1'b1;
    return address[LogBytes-1:0] != '0 || (last >> (AddrWidth - LogBytes)) != '0;
  endfunction
  logic                is_key, is_encrypt, is_power, is_multiply;
  logic [RunWidth-1:0] first_words, second_words;
  status_t             look;
  assign first_words  = is_key ? RunWidth'(Numbers * Words) : RunWidth'(Words);
  assign second_words = is_power ? RunWidth'((length_q + 32'(DataWidth - 1)) >> LogData) : RunWidth'(Words);
  assign is_key      = verb_q == VerbKey;
  assign is_encrypt  = verb_q == VerbEncrypt;
  assign is_power    = verb_q == VerbPower;
  assign is_multiply = verb_q == VerbMultiply;
  always_comb begin
    look = Done;
    if (!(is_key || is_encrypt || is_power || is_multiply)) look = Unsupported;
    else if (reserved_q || (is_key && (b_q != '0 || c_q != '0))) look = Malformed;
    else if (is_key ? length_q < 32'(LeastKey) || length_q > 32'(Bits / 2)
             : is_power ? length_q == '0 || length_q > 32'(Bits) : length_q != '0) look = WrongLength;
    else if (wrong_address(a_q, first_words)) look = WrongAddress;
    else if (!is_key && (wrong_address(b_q, second_words) || wrong_address(c_q, RunWidth'(Words)))) look = WrongAddress;
    else if (!is_key && !key_valid_q) look = NoKey;
  end

  // A place for the program: the first idle one.
  logic [All-1:0] idle, done, release_place;
  index_t         first_idle;
  always_comb begin
    first_idle = '0;
    for (int unsigned i = All; i > 0; i--) begin
      if (idle[i-1]) first_idle = index_t'(i - 1);
    end
  end

  logic                 run_ready, run, word_valid, word_ready, word_last, read_error, read_clear;
  logic [DataWidth-1:0] word;
  logic [RunWidth-1:0]  run_words;
  assign run = loader_q == LdFirstRun || loader_q == LdSecondRun;
  assign run_words = loader_q == LdFirstRun ? first_words : second_words;
  prim_axi_read #(
    .AddrWidth(AddrWidth), .DataWidth(DataWidth), .RunWidth(RunWidth), .Burst(Burst), .Outstanding(32),
    .Buffer(2 * Burst)
  ) u_read (
    .clk_i, .rst_ni, .clear_i(read_clear), .idle_o(read_idle), .error_o(read_error), .run_valid_i(run),
    .run_ready_o(run_ready), .run_addr_i(loader_q == LdFirstRun ? addr_t'(a_q) : addr_t'(b_q)),
    .run_words_i(run_words), .out_valid_o(word_valid), .out_ready_i(word_ready), .out_data_o(word),
    .out_last_o(word_last), .ar_valid_o(data_ar_valid_o), .ar_ready_i(data_ar_ready_i), .ar_addr_o(data_ar_addr_o),
    .ar_len_o(data_ar_len_o), .ar_size_o(data_ar_size_o), .ar_burst_o(data_ar_burst_o), .r_valid_i(data_r_valid_i),
    .r_ready_o(data_r_ready_o), .r_data_i(data_r_data_i), .r_resp_i(data_r_resp_i), .r_last_i(data_r_last_i)
  );
  // A wrong response is forgotten with the job.
  assign read_clear = clear || (loader_q == LdCheck && read_idle && read_error);

  // The number that is being read. Its words come lowest first, so that a subtraction can follow them.
  logic [Bits-1:0]      number_q, modulus_q, nhat_q, rsquared_q, nr_q, n_q, bound;
  logic [Digit-1:0]     u_q;
  logic [WordWidth-1:0] word_q;
  logic [2:0]           which_q;
  logic                 borrow_q, borrow, large_q, is_exponent, take_word, number_ends, bounded;
  logic [DataWidth-1:0] difference;
  assign is_exponent         = is_power && which_q == 3'd1;
  assign word_ready          = loader_q == LdWords;
  assign take_word           = word_valid && word_ready;
  assign number_ends         = is_exponent ? word_last : word_q == WordWidth'(Words - 1);
  assign bound               = is_encrypt ? n_q : modulus_q;
  assign {borrow, difference} = {1'b0, word} - {1'b0, bound[word_q*DataWidth+:DataWidth]} - (DataWidth + 1)'(borrow_q);
  // The modulus, u and n of a key have no bound.
  assign bounded             = is_key ? which_q inside {3'd1, 3'd2, 3'd3} : !is_exponent;

  logic            stores, loads, load_ready, last_number;
  logic [Cores-1:0] core_load_ready;
  index_t          place_in_core;
  logic            core_of_place;
  assign core_of_place = place_q >= index_t'(Places);
  assign place_in_core = core_of_place ? place_q - index_t'(Places) : place_q;
  assign load_ready    = core_load_ready[core_of_place];
  assign loads         = loader_q == LdStore && !is_key;
  assign stores        = loader_q == LdStore && (is_key || load_ready);
  assign last_number   = which_q == (is_key ? 3'(Numbers - 1) : 3'd1);

  logic ld_done_taken;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      loader_q    <= LdIdle;
      ld_status_q <= '0;
      place_q     <= '0;
      key_valid_q <= 1'b0;
      word_q      <= '0;
      which_q     <= '0;
      borrow_q    <= 1'b0;
      large_q     <= 1'b0;
    end else if (clear || clearing) begin
      loader_q    <= LdIdle;
      key_valid_q <= 1'b0;
    end else begin
      unique case (loader_q)
        LdIdle: if (job_valid) loader_q <= LdLook;
        LdLook: begin
          ld_status_q <= look;
          loader_q    <= look == Done ? LdPlace : LdEnd;
        end
        LdPlace: begin
          place_q  <= first_idle;
          word_q   <= '0;
          which_q  <= '0;
          borrow_q <= 1'b0;
          large_q  <= 1'b0;
          if (is_key ? &idle : |idle) begin
            loader_q <= LdFirstRun;
            if (is_key) key_valid_q <= 1'b0;
          end
        end
        LdFirstRun:  if (run_ready) loader_q <= is_key ? LdWords : LdSecondRun;
        LdSecondRun: if (run_ready) loader_q <= LdWords;
        LdWords: begin
          if (take_word) begin
            word_q   <= word_q + 1'b1;
            borrow_q <= borrow;
            if (number_ends) loader_q <= is_exponent ? LdCheck : LdStore;
          end
        end
        LdStore: begin
          if (stores) begin
            large_q  <= large_q || (bounded && !borrow_q);
            word_q   <= '0;
            borrow_q <= 1'b0;
            which_q  <= which_q + 1'b1;
            loader_q <= last_number ? LdCheck : LdWords;
          end
        end
        LdCheck: begin
          if (read_idle) begin
            if (read_error) ld_status_q <= ReadFailed;
            else if (is_key && !modulus_q[0]) ld_status_q <= EvenModulus;
            else if (large_q) ld_status_q <= LargeOperand;
            if (read_error || (is_key && !modulus_q[0]) || large_q) loader_q <= LdEnd;
            else loader_q <= LdStart;
          end
        end
        LdStart: begin
          if (is_key) key_valid_q <= 1'b1;
          loader_q <= is_key ? LdEnd : LdIdle;
        end
        default: if (ld_done_taken) loader_q <= LdIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      number_q   <= '0;
      modulus_q  <= '0;
      nhat_q     <= '0;
      rsquared_q <= '0;
      nr_q       <= '0;
      u_q        <= '0;
      n_q        <= '0;
    end else if (clear || clearing) begin
      number_q   <= '0;
      modulus_q  <= '0;
      nhat_q     <= '0;
      rsquared_q <= '0;
      nr_q       <= '0;
      u_q        <= '0;
      n_q        <= '0;
    end else begin
      if (take_word) number_q <= Bits'({word, number_q} >> DataWidth);
      if (stores && is_key) begin
        unique case (which_q)
          3'd0:    modulus_q <= number_q;
          3'd1:    nhat_q <= number_q;
          3'd2:    rsquared_q <= number_q;
          3'd3:    nr_q <= number_q;
          3'd4:    u_q <= number_q[Digit-1:0];
          default: n_q <= number_q;
        endcase
      end
    end
  end

  // The length of the key's n, for encryptions.
  length_t key_length_q;
  always_ff @(posedge clk_i) begin
    if (loader_q == LdStart && is_key) key_length_q <= length_t'(length_q);
  end

  // The tag and the result's address of each place, for the writer.
  logic [TagWidth-1:0] tag_of[All];
  addr_t               result_of[All];
  always_ff @(posedge clk_i) begin
    if (loader_q == LdStart) begin
      tag_of[place_q]    <= tag_q;
      result_of[place_q] <= addr_t'(c_q);
    end
  end

  // The cores.
  program_e         start_program;
  length_t          start_length;
  logic [Cores-1:0] core_read_valid;
  logic [Bits-1:0]  core_read_data[Cores];
  logic             reads;
  index_t           writer_place, read_place_in_core;
  logic             core_of_read;
  assign start_program      = is_encrypt ? ProgramEncrypt : is_power ? ProgramPower : ProgramMultiply;
  assign start_length       = is_encrypt ? key_length_q : length_t'(length_q);
  assign core_of_read       = writer_place >= index_t'(Places);
  assign read_place_in_core = core_of_read ? writer_place - index_t'(Places) : writer_place;
  for (genvar c = 0; c < Cores; c++) begin : gen_core
    logic mine, key_word;
    assign mine     = core_of_place == 1'(c);
    assign key_word = is_key && which_q == 3'(Numbers - 1);
    paillier_engine_core #(
      .Bits(Bits), .Rows(Rows), .QuotientPasses(QuotientPasses), .Places(Places), .DataWidth(DataWidth)
    ) u_core (
      .clk_i, .rst_ni, .clear_i(clear), .clearing_o(core_clearing[c]), .modulus_i(modulus_q), .nhat_i(nhat_q),
      .u_i(u_q), .rsquared_i(rsquared_q), .nr_i(nr_q), .load_valid_i(loads && mine),
      .load_ready_o(core_load_ready[c]), .load_place_i(place_t'(place_in_core)),
      .load_entry_i(which_q == '0 ? EntryFirst : EntrySecond), .load_data_i(number_q),
      .exponent_write_i(take_word && (key_word || (is_exponent && mine))),
      .exponent_place_i(key_word ? PlaceKey : place_t'(place_in_core)), .exponent_word_i(word_q),
      .exponent_data_i(word), .start_i(loader_q == LdStart && !is_key && mine),
      .start_place_i(place_t'(place_in_core)), .start_program_i(start_program), .start_length_i(start_length),
      .idle_o(idle[c*Places+:Places]), .done_o(done[c*Places+:Places]),
      .release_i(release_place[c*Places+:Places]), .read_i(reads && core_of_read == 1'(c)),
      .read_place_i(place_t'(read_place_in_core)), .read_valid_o(core_read_valid[c]), .read_data_o(core_read_data[c])
    );
  end

  // The writer: the result of one place at a time goes to memory.
  typedef enum logic [2:0] { WrIdle, WrRead, WrRun, WrWords, WrWait, WrEnd } writer_e;
  writer_e              writer_q;
  logic                 some_done, write_run_ready, out_ready, write_error, write_clear, wr_done_taken;
  index_t               chosen;
  logic [Bits-1:0]      out_q;
  logic [WordWidth-1:0] out_word_q;
  status_t              wr_status_q;
  prim_arbiter #(.Requests(All)) u_choice (
    .clk_i, .rst_ni, .request_i(done), .valid_o(some_done), .index_o(chosen), .serve_i(wr_done_taken)
  );
  assign writer_place = chosen;
  assign reads        = writer_q == WrRead;
  always_comb begin
    release_place = '0;
    if (wr_done_taken) release_place[chosen] = 1'b1;
  end
  prim_axi_write #(
    .AddrWidth(AddrWidth), .DataWidth(DataWidth), .RunWidth(RunWidth), .Burst(Burst), .Outstanding(32)
  ) u_write (
    .clk_i, .rst_ni, .clear_i(write_clear), .idle_o(write_idle), .error_o(write_error),
    .run_valid_i(writer_q == WrRun), .run_ready_o(write_run_ready), .run_addr_i(result_of[chosen]),
    .run_words_i(RunWidth'(Words)), .in_valid_i(writer_q == WrWords), .in_ready_o(out_ready),
    .in_data_i(out_q[DataWidth-1:0]), .in_strobe_i('1), .aw_valid_o(data_aw_valid_o), .aw_ready_i(data_aw_ready_i),
    .aw_addr_o(data_aw_addr_o), .aw_len_o(data_aw_len_o), .aw_size_o(data_aw_size_o), .aw_burst_o(data_aw_burst_o),
    .w_valid_o(data_w_valid_o), .w_ready_i(data_w_ready_i), .w_data_o(data_w_data_o), .w_strb_o(data_w_strb_o),
    .w_last_o(data_w_last_o), .b_valid_i(data_b_valid_i), .b_ready_o(data_b_ready_o), .b_resp_i(data_b_resp_i)
  );
  assign write_clear = clear || (writer_q == WrWait && write_idle && write_error);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      writer_q    <= WrIdle;
      out_word_q  <= '0;
      wr_status_q <= '0;
    end else if (clear || clearing) begin
      writer_q <= WrIdle;
    end else begin
      unique case (writer_q)
        WrIdle: if (some_done) writer_q <= WrRead;
        WrRead: if (core_read_valid[core_of_read]) writer_q <= WrRun;
        WrRun: begin
          out_word_q <= '0;
          if (write_run_ready) writer_q <= WrWords;
        end
        WrWords: begin
          if (out_ready) begin
            out_word_q <= out_word_q + 1'b1;
            if (out_word_q == WordWidth'(Words - 1)) writer_q <= WrWait;
          end
        end
        WrWait: begin
          wr_status_q <= write_error ? WriteFailed : Done;
          if (write_idle) writer_q <= WrEnd;
        end
        default: if (wr_done_taken) writer_q <= WrIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) out_q <= '0;
    else if (clear || clearing) out_q <= '0;
    else if (writer_q == WrRead) out_q <= core_read_data[core_of_read];
    else if (writer_q == WrWords && out_ready) out_q <= out_q >> DataWidth;
  end

  // The ends of jobs: the writer's and the loader's take turns.
  logic [1:0] ends;
  logic       end_of_loader;
  assign ends = {loader_q == LdEnd, writer_q == WrEnd};
  prim_arbiter #(.Requests(2)) u_end (
    .clk_i, .rst_ni, .request_i(ends), .valid_o(done_valid), .index_o(end_of_loader),
    .serve_i(done_valid && done_ready)
  );
  assign done_tag      = end_of_loader ? tag_q : tag_of[chosen];
  assign done_status   = end_of_loader ? ld_status_q : wr_status_q;
  assign ld_done_taken = done_valid && done_ready && end_of_loader;
  assign wr_done_taken = done_valid && done_ready && !end_of_loader;

  // Waiting for memory: words that have not come, or responses.
  assign stalled = (loader_q == LdWords && !word_valid) || (writer_q == WrWords && !out_ready)
                   || (writer_q == WrWait && !write_idle);

  logic unused;
  assign unused = ^{difference, job, place_in_core, read_place_in_core};
endmodule
