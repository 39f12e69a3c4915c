// SPDX-License-Identifier: Apache-2.0
//
// The convolution engine: forward, input_grad or weight_grad of one layer a command, through two read DMAs (features;
// weights or errors) and a write DMA. UB x UM x UN x UR x UC multipliers; see docs/rtl.md.
//
// A command is taken when the one before it is written back. error_o stays until clear_i, which also aborts. A DMA
// address is in bytes.

module conv_engine
  import engine_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,     // 8 or 16
  parameter int unsigned AccWidth     = OperandWidth == 8 ? 32 : 48,
  parameter int unsigned UB           = 1,     // samples in parallel
  parameter int unsigned UM           = 8,     // channels produced in parallel
  parameter int unsigned UN           = 8,     // channels summed over in parallel
  parameter int unsigned UR           = 1,     // rows in parallel
  parameter int unsigned UC           = 1,     // columns in parallel
  parameter int unsigned ChannelBlock = 8,     // of the DRAM layout; divides UM and UN
  parameter int unsigned FeatureDepth = 1024,  // words of half a buffer
  parameter int unsigned OperandDepth = 512,
  parameter int unsigned SumDepth     = 512,
  parameter int unsigned DataWidth    = 64,    // of a beat
  parameter int unsigned AddrWidth    = 32
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       clear_i,
  input  logic                       cmd_valid_i,
  output logic                       cmd_ready_o,
  input  logic [CommandWords*32-1:0] cmd_i,
  output logic                       busy_o,
  output logic                       done_o,  // pulse: the command's results are in DRAM
  output logic                       error_o,
  output logic [1:0]                 phase_o, // of the command under way
  output logic                       step_o,  // the lanes work in this cycle
  output logic [6:0]                 scale_o, // bit length of the OR of all magnitudes of the sums; valid from done_o
  // features
  output logic                       a_cmd_valid_o,
  input  logic                       a_cmd_ready_i,
  output logic [AddrWidth-1:0]       a_cmd_addr_o,
  output logic [BeatWidth-1:0]       a_cmd_beats_o,
  input  logic                       a_data_valid_i,
  output logic                       a_data_ready_o,
  input  logic [DataWidth-1:0]       a_data_i,
  input  logic                       a_error_i,
  // weights or errors
  output logic                       b_cmd_valid_o,
  input  logic                       b_cmd_ready_i,
  output logic [AddrWidth-1:0]       b_cmd_addr_o,
  output logic [BeatWidth-1:0]       b_cmd_beats_o,
  input  logic                       b_data_valid_i,
  output logic                       b_data_ready_o,
  input  logic [DataWidth-1:0]       b_data_i,
  input  logic                       b_error_i,
  // results
  output logic                       w_cmd_valid_o,
  input  logic                       w_cmd_ready_i,
  output logic [AddrWidth-1:0]       w_cmd_addr_o,
  output logic [BeatWidth-1:0]       w_cmd_beats_o,
  output logic                       w_data_valid_o,
  input  logic                       w_data_ready_i,
  output logic [DataWidth-1:0]       w_data_o,
  input  logic                       w_done_i,
  input  logic                       w_error_i
);

  if (OperandWidth != 8 && OperandWidth != 16) begin : gen_bad_operand_width
    $fatal(1, "conv_engine: OperandWidth must be 8 or 16");
  end
  if (AccWidth < 32 || AccWidth > 64) begin : gen_bad_acc_width
    $fatal(1, "conv_engine: AccWidth must be from 32 to 64");
  end
  if (UB < 1 || UM < 1 || UN < 1 || UR < 1 || UC < 1) begin : gen_bad_unroll
    $fatal(1, "conv_engine: unroll factors must be at least 1");
  end
  if (UN > 256 || UB * UR * UC > 256) begin : gen_wide_tree
    $fatal(1, "conv_engine: UN and UB * UR * UC must be at most 256");
  end
  if (ChannelBlock < 1 || UM % ChannelBlock != 0 || UN % ChannelBlock != 0) begin : gen_bad_block
    $fatal(1, "conv_engine: ChannelBlock must divide UM and UN");
  end
  if (FeatureDepth < 2 || OperandDepth < 2 || SumDepth < 2 || FeatureDepth > 32768 || OperandDepth > 32768 ||
      SumDepth > 32768) begin : gen_bad_depth
    $fatal(1, "conv_engine: buffers must be 2 to 32768 words deep");
  end
  if (DataWidth < 32 || (DataWidth & (DataWidth - 1)) != 0 || DataWidth > 1024) begin : gen_bad_data_width
    $fatal(1, "conv_engine: DataWidth must be a power of two from 32 to 1024");
  end
  if (AddrWidth < 12 || AddrWidth > 64) begin : gen_bad_addr_width
    $fatal(1, "conv_engine: AddrWidth must be from 12 to 64");
  end

  localparam int unsigned NParts     = UN / ChannelBlock;
  localparam int unsigned MParts     = UM / ChannelBlock;
  localparam int unsigned CellSize   = ChannelBlock * UB;
  localparam int unsigned CellWidth  = CellSize * OperandWidth;
  localparam int unsigned WordWidth  = UN * UB * OperandWidth;
  localparam int unsigned Run        = 2 * CellWidth <= DataWidth ? UC : 1; // columns that are moved together
  localparam int unsigned Lanes      = UR * UC * UM * UB;
  localparam int unsigned ByteShift  = $clog2(DataWidth / 8);
  localparam int unsigned RowWidth   = UR > 1 ? $clog2(UR) : 1;
  localparam int unsigned ColWidth   = UC > 1 ? $clog2(UC) : 1;
  localparam int unsigned PartWidth  = NParts > 1 ? $clog2(NParts) : 1;
  localparam int unsigned CountWidth = $clog2(UN + 1);
  localparam int unsigned ReadDelay  = 3; // from a step's registers to the lanes

  // clear_i resets all but the flags of the command, through one register.
  logic run_q, run_n;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) run_q <= 1'b0;
    else run_q <= !clear_i;
  end
  assign run_n = run_q;

  // The command.
  typedef enum logic [1:0] {Idle, Start, Busy} state_e;
  state_e      state_q;
  command_t    cmd_q, cmd_d;
  logic        start, store_active, finished, error_d, overflow;
  logic [15:0] writes_q; // commands of the write DMA not yet done

  engine_command u_command (.words_i(cmd_i), .command_o(cmd_d));

  assign cmd_ready_o = state_q == Idle && run_q && !error_o;
  assign start       = state_q == Start;
  assign finished    = state_q == Busy && !store_active && writes_q == '0;
  assign busy_o      = state_q != Idle;
  assign phase_o     = cmd_q.mode;
  assign error_d     = a_error_i || b_error_i || w_error_i || overflow;

  always_ff @(posedge clk_i or negedge run_n) begin
    if (!run_n) begin
      state_q  <= Idle;
      done_o   <= 1'b0;
      error_o  <= 1'b0;
      writes_q <= '0;
    end else begin
      done_o   <= finished && !error_o;
      writes_q <= writes_q + 16'(w_cmd_valid_o && w_cmd_ready_i) - 16'(w_done_i);
      if (error_d && busy_o) error_o <= 1'b1;
      case (state_q)
        Idle:    if (cmd_valid_i && cmd_ready_o) state_q <= Start;
        Start:   state_q <= Busy;
        default: if (finished && !error_o) state_q <= Idle;
      endcase
    end
  end
  always_ff @(posedge clk_i) if (cmd_valid_i && cmd_ready_o) cmd_q <= cmd_d;

  // Features.
  logic                 a_cell_valid, a_cell_ready, a_fill, a_free, a_ready, a_use, a_overflow;
  logic                 a_write, a_write_half;
  logic [RowWidth-1:0]  a_write_row;
  logic [ColWidth-1:0]  a_write_col;
  logic [PartWidth-1:0] a_write_part;
  logic                 a_runs;
  logic [Run-1:0]       a_write_cell;
  logic [Run-1:0][CellWidth-1:0] a_run;
  index_t               a_write_addr;
  beat_t                a_beat_addr, b_beat_addr, w_beat_addr;

  stream_unpack #(
    .DataWidth(DataWidth), .ElementWidth(OperandWidth), .SmallCell(CellSize), .LargeCell(Run * CellSize),
    .CountWidth(IndexWidth), .BeatsWidth(BeatWidth)
  ) u_a_unpack (
    .clk_i, .rst_ni(run_n), .large_i(a_runs), .cells_i(cmd_q.a_cells), .row_beats_i(cmd_q.a.row),
    .data_valid_i(a_data_valid_i), .data_ready_o(a_data_ready_o), .data_i(a_data_i),
    .cell_valid_o(a_cell_valid), .cell_ready_i(a_cell_ready), .cell_o(a_run)
  );

  feature_loader #(
    .RowBanks(UR), .ColBanks(UC), .Parts(NParts), .Run(Run), .Depth(FeatureDepth)
  ) u_feature_loader (
    .clk_i, .rst_ni(run_n), .start_i(start), .cmd_i(cmd_q),
    .half_free_i(a_free), .half_done_o(a_fill), .overflow_o(a_overflow),
    .dma_valid_o(a_cmd_valid_o), .dma_ready_i(a_cmd_ready_i), .dma_addr_o(a_beat_addr), .dma_beats_o(a_cmd_beats_o),
    .runs_o(a_runs), .cell_valid_i(a_cell_valid), .cell_ready_o(a_cell_ready),
    .write_o(a_write), .write_half_o(a_write_half), .write_row_o(a_write_row), .write_col_o(a_write_col),
    .write_cell_o(a_write_cell), .write_part_o(a_write_part), .write_addr_o(a_write_addr)
  );

  // Weights or errors.
  logic                 b_cell_valid, b_cell_ready, b_fill, b_free, b_ready, b_use, b_overflow;
  logic                 b_write, b_write_half;
  logic [Run*CellWidth-1:0] b_run;
  index_t               b_write_addr, b_sub_m, b_sub_n, b_inner, b_row_lane, b_col_lane;

  stream_unpack #(
    .DataWidth(DataWidth), .ElementWidth(OperandWidth), .SmallCell(ChannelBlock), .LargeCell(Run * CellSize),
    .CountWidth(IndexWidth), .BeatsWidth(BeatWidth)
  ) u_b_unpack (
    .clk_i, .rst_ni(run_n), .large_i(cmd_q.mode == WeightGrad), .cells_i(cmd_q.b_cells), .row_beats_i(cmd_q.b.row),
    .data_valid_i(b_data_valid_i), .data_ready_o(b_data_ready_o), .data_i(b_data_i),
    .cell_valid_o(b_cell_valid), .cell_ready_i(b_cell_ready), .cell_o(b_run)
  );

  operand_loader #(
    .Block(ChannelBlock), .MParts(MParts), .NParts(NParts), .RowLanes(UR), .ColLanes(UC / Run),
    .Depth(OperandDepth)
  ) u_operand_loader (
    .clk_i, .rst_ni(run_n), .start_i(start), .cmd_i(cmd_q),
    .half_free_i(b_free), .half_done_o(b_fill), .overflow_o(b_overflow),
    .dma_valid_o(b_cmd_valid_o), .dma_ready_i(b_cmd_ready_i), .dma_addr_o(b_beat_addr), .dma_beats_o(b_cmd_beats_o),
    .cell_valid_i(b_cell_valid), .cell_ready_o(b_cell_ready),
    .write_o(b_write), .write_half_o(b_write_half), .write_addr_o(b_write_addr), .sub_m_o(b_sub_m),
    .sub_n_o(b_sub_n), .inner_o(b_inner), .row_lane_o(b_row_lane), .col_lane_o(b_col_lane)
  );

  // Compute.
  logic                a_half, b_half, acc_half, valid, nothing, add, sum_first, sum_last, tile_last;
  logic                acc_take, acc_done, acc_free, acc_ready, store_done;
  index_t              row_word, col_word, n_left, rows_left, cols_left, b_word, acc_word;
  logic [RowWidth-1:0] row_bank;
  logic [ColWidth-1:0] col_bank;
  coord_t              y, x;

  compute_sequencer #(.UN(UN), .UR(UR), .UC(UC), .NParts(NParts)) u_sequencer (
    .clk_i, .rst_ni(run_n), .start_i(start), .cmd_i(cmd_q),
    .a_full_i(a_ready), .b_full_i(b_ready), .acc_free_i(acc_free),
    .a_release_o(a_use), .b_release_o(b_use), .acc_take_o(acc_take),
    .valid_o(valid), .a_half_o(a_half), .a_row_word_o(row_word), .a_col_word_o(col_word),
    .row_bank_o(row_bank), .col_bank_o(col_bank), .y_o(y), .x_o(x), .n_left_o(n_left), .rows_left_o(rows_left),
    .cols_left_o(cols_left), .void_o(nothing), .b_half_o(b_half), .b_word_o(b_word),
    .acc_half_o(acc_half), .acc_word_o(acc_word), .add_o(add),
    .sum_first_o(sum_first), .sum_last_o(sum_last), .tile_last_o(tile_last)
  );
  assign step_o = valid;

  // A half is free when its last words have been read.
  logic [ReadDelay-1:0] a_release_q, b_release_q;
  always_ff @(posedge clk_i or negedge run_n) begin
    if (!run_n) {a_release_q, b_release_q} <= '0;
    else begin
      a_release_q <= {a_release_q[ReadDelay-2:0], a_use};
      b_release_q <= {b_release_q[ReadDelay-2:0], b_use};
    end
  end
  half_flags u_a_flags (
    .clk_i, .rst_ni(run_n), .take_i(a_fill), .fill_i(a_fill), .use_i(a_use), .release_i(a_release_q[ReadDelay-1]),
    .ready_o(a_ready), .free_o(a_free)
  );
  half_flags u_b_flags (
    .clk_i, .rst_ni(run_n), .take_i(b_fill), .fill_i(b_fill), .use_i(b_use), .release_i(b_release_q[ReadDelay-1]),
    .ready_o(b_ready), .free_o(b_free)
  );

  logic [UR-1:0][UC-1:0][WordWidth-1:0]                           a_word;
  logic [UN-1:0][UM-1:0][OperandWidth-1:0]                        weight;
  logic [UR-1:0][UC-1:0][UM-1:0][UB-1:0][OperandWidth-1:0]        errors;

  feature_buffer #(
    .OperandWidth(OperandWidth), .UB(UB), .UN(UN), .UR(UR), .UC(UC), .Parts(NParts), .Run(Run),
    .Depth(FeatureDepth)
  ) u_features (
    .clk_i, .weight_grad_i(cmd_q.mode == WeightGrad), .row_stride_i(cmd_q.row_axis.stride),
    .col_stride_i(cmd_q.col_axis.stride), .height_i(cmd_q.a_height), .width_i(cmd_q.a_width),
    .word_q_i(cmd_q.a_word_q),
    .write_i(a_write), .write_half_i(a_write_half), .write_row_i(a_write_row), .write_col_i(a_write_col),
    .write_part_i(a_write_part), .write_addr_i(a_write_addr), .write_cell_i(a_write_cell), .write_data_i(a_run),
    .half_i(a_half), .row_word_i(row_word), .col_word_i(col_word), .row_bank_i(row_bank), .col_bank_i(col_bank),
    .y_i(y), .x_i(x), .n_left_i(n_left), .rows_left_i(rows_left), .cols_left_i(cols_left), .void_i(nothing),
    .a_o(a_word)
  );

  operand_buffer #(
    .OperandWidth(OperandWidth), .UB(UB), .UM(UM), .UN(UN), .UR(UR), .UC(UC), .Block(ChannelBlock),
    .Run(Run), .Depth(OperandDepth)
  ) u_operands (
    .clk_i, .mode_i(cmd_q.mode), .write_i(b_write), .write_half_i(b_write_half), .write_addr_i(b_write_addr),
    .sub_m_i(b_sub_m), .sub_n_i(b_sub_n), .inner_i(b_inner), .row_lane_i(b_row_lane), .col_lane_i(b_col_lane),
    .write_run_i(b_run), .half_i(b_half), .word_i(b_word), .weight_o(weight), .error_o(errors)
  );

  typedef struct packed {
    logic   half, add, last;
    index_t word;
  } tag_t;

  logic [ReadDelay-1:0] valid_q, first_q, last_q;
  tag_t [ReadDelay-1:0] tag_q;
  tag_t                 word_tag;
  logic                 word_valid, word_last;
  logic [CountWidth-1:0]          word_index;
  logic [Lanes-1:0][AccWidth-1:0] word, stored;

  always_ff @(posedge clk_i or negedge run_n) begin
    if (!run_n) valid_q <= '0;
    else valid_q <= {valid_q[ReadDelay-2:0], valid};
  end
  always_ff @(posedge clk_i) begin
    first_q <= {first_q[ReadDelay-2:0], sum_first};
    last_q  <= {last_q[ReadDelay-2:0], sum_last};
    tag_q   <= {tag_q[ReadDelay-2:0], acc_half, add, tile_last, acc_word};
  end

  lane_cube #(
    .OperandWidth(OperandWidth), .AccWidth(AccWidth), .UB(UB), .UM(UM), .UN(UN), .UR(UR), .UC(UC),
    .TagWidth($bits(tag_t))
  ) u_lanes (
    .clk_i, .rst_ni(run_n), .valid_i(valid_q[ReadDelay-1]), .weight_grad_i(cmd_q.mode == WeightGrad),
    .first_i(first_q[ReadDelay-1]), .last_i(last_q[ReadDelay-1]), .tag_i(tag_q[ReadDelay-1]),
    .a_i(a_word), .weight_i(weight), .error_i(errors),
    .word_valid_o(word_valid), .word_index_o(word_index), .word_last_o(word_last), .word_tag_o(word_tag), .word_o(word)
  );

  // Sums.
  logic   read, read_half, acc_overflow;
  index_t read_addr;

  half_flags u_acc_flags (
    .clk_i, .rst_ni(run_n), .take_i(acc_take), .fill_i(acc_done), .use_i(store_done), .release_i(store_done),
    .ready_o(acc_ready), .free_o(acc_free)
  );

  accumulator_buffer #(.AccWidth(AccWidth), .Lanes(Lanes), .Depth(SumDepth)) u_sums (
    .clk_i, .rst_ni(run_n), .valid_i(word_valid), .half_i(word_tag.half), .add_i(word_tag.add),
    .last_i(word_tag.last && word_last), .addr_i(word_tag.word + index_t'(word_index)), .word_i(word),
    .done_o(acc_done), .overflow_o(acc_overflow),
    .read_i(read), .read_half_i(read_half), .read_addr_i(read_addr), .read_o(stored)
  );
  assign overflow = a_overflow || b_overflow || acc_overflow;

  result_store #(
    .OperandWidth(OperandWidth), .AccWidth(AccWidth), .DataWidth(DataWidth), .UB(UB), .UM(UM), .UN(UN), .UR(UR),
    .UC(UC), .Block(ChannelBlock), .Run(Run)
  ) u_store (
    .clk_i, .rst_ni(run_n), .start_i(start), .cmd_i(cmd_q), .half_full_i(acc_ready), .half_done_o(store_done),
    .active_o(store_active), .scale_o, .read_o(read), .read_half_o(read_half), .read_addr_o(read_addr), .read_i(stored),
    .dma_valid_o(w_cmd_valid_o), .dma_ready_i(w_cmd_ready_i), .dma_addr_o(w_beat_addr), .dma_beats_o(w_cmd_beats_o),
    .data_valid_o(w_data_valid_o), .data_ready_i(w_data_ready_i), .data_o(w_data_o)
  );

  assign a_cmd_addr_o = AddrWidth'(64'(a_beat_addr) << ByteShift);
  assign b_cmd_addr_o = AddrWidth'(64'(b_beat_addr) << ByteShift);
  assign w_cmd_addr_o = AddrWidth'(64'(w_beat_addr) << ByteShift);

endmodule
