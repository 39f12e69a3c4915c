// SPDX-License-Identifier: Apache-2.0
//
// Max and average pooling of feature maps in both directions, one layer a command; see docs/rtl.md.
//
// A cell is a pixel of ChannelBlock channels of UB samples. Rows of cells go through a ring of Depth cells, from which
// each result pixel reads its window, a cell a cycle. Addresses in commands are in beats, DMA addresses in bytes.
// error_o stays until clear_i, which also aborts: a window does not fit the ring, or a row of indexes its queue.

module pool_unit
  import pool_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,    // 8 or 16
  parameter int unsigned UB           = 1,    // samples of a cell
  parameter int unsigned ChannelBlock = 8,    // channels of a cell
  parameter int unsigned Depth        = 1024, // cells of the ring, a power of two
  parameter int unsigned RowDepth     = 256,  // cells of a row with indexes at the most, a power of two
  parameter int unsigned DataWidth    = 64,
  parameter int unsigned AddrWidth    = 32
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    clear_i,
  input  logic                    cmd_valid_i,
  output logic                    cmd_ready_o,
  input  logic [PoolWords*32-1:0] cmd_i,
  output logic                    done_o,  // pulse: the results are in DRAM
  output logic                    error_o,
  output logic [6:0]              scale_o, // bit length of the OR of all magnitudes of wide results; valid from done_o
  // the operand
  output logic                    a_cmd_valid_o,
  input  logic                    a_cmd_ready_i,
  output logic [AddrWidth-1:0]    a_cmd_addr_o,
  output logic [BeatWidth-1:0]    a_cmd_beats_o,
  input  logic                    a_data_valid_i,
  output logic                    a_data_ready_o,
  input  logic [DataWidth-1:0]    a_data_i,
  // indexes
  output logic                    b_cmd_valid_o,
  input  logic                    b_cmd_ready_i,
  output logic [AddrWidth-1:0]    b_cmd_addr_o,
  output logic [BeatWidth-1:0]    b_cmd_beats_o,
  input  logic                    b_data_valid_i,
  output logic                    b_data_ready_o,
  input  logic [DataWidth-1:0]    b_data_i,
  // results
  output logic                    w_cmd_valid_o,
  input  logic                    w_cmd_ready_i,
  output logic [AddrWidth-1:0]    w_cmd_addr_o,
  output logic [BeatWidth-1:0]    w_cmd_beats_o,
  output logic                    w_data_valid_o,
  input  logic                    w_data_ready_i,
  output logic [DataWidth-1:0]    w_data_o,
  input  logic                    w_done_i
);

  if (OperandWidth != 8 && OperandWidth != 16) begin : gen_bad_operand_width
    $fatal(1, "pool_unit: OperandWidth must be 8 or 16");
  end
  if (UB < 1 || ChannelBlock < 1) begin : gen_bad_cell
    $fatal(1, "pool_unit: UB and ChannelBlock must be at least 1");
  end
  if (Depth < 4 || Depth > 32768 || (Depth & (Depth - 1)) != 0) begin : gen_bad_depth
    $fatal(1, "pool_unit: Depth must be a power of two from 4 to 32768");
  end
  if (RowDepth < 4 || RowDepth > 32768 || (RowDepth & (RowDepth - 1)) != 0) begin : gen_bad_row_depth
    $fatal(1, "pool_unit: RowDepth must be a power of two from 4 to 32768");
  end
  if (DataWidth < 32 || DataWidth > 1024 || (DataWidth & (DataWidth - 1)) != 0) begin : gen_bad_data_width
    $fatal(1, "pool_unit: DataWidth must be a power of two from 32 to 1024");
  end
  if (AddrWidth < 12 || AddrWidth > 64) begin : gen_bad_addr_width
    $fatal(1, "pool_unit: AddrWidth must be from 12 to 64");
  end

  localparam int unsigned CellSize  = ChannelBlock * UB;
  localparam int unsigned CellWidth = CellSize * OperandWidth;
  localparam int unsigned WideWidth = 4 * OperandWidth;
  localparam int unsigned RingWidth = $clog2(Depth);
  localparam int unsigned ByteShift = $clog2(DataWidth / 8);

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
  command_t    cmd_q;
  logic        start, finished, overflow, loads, blocked, waits, stores, asks_a_q, asks_b_q;
  logic [15:0] writes_q; // commands of the write DMA not yet done

  assign cmd_ready_o = state_q == Idle && run_q && !error_o;
  assign start       = state_q == Start;
  assign finished    = state_q == Busy && !loads && !stores && writes_q == '0;
  assign overflow    = state_q == Busy &&
                       ((blocked && waits) || (cmd_q.mode == MaxIndexForward && cmd_q.col.outputs > index_t'(RowDepth)));

  always_ff @(posedge clk_i or negedge run_n) begin
    if (!run_n) begin
      state_q  <= Idle;
      done_o   <= 1'b0;
      error_o  <= 1'b0;
      writes_q <= '0;
      asks_a_q <= 1'b0;
      asks_b_q <= 1'b0;
    end else begin
      done_o   <= finished && !error_o;
      writes_q <= writes_q + 16'(w_cmd_valid_o && w_cmd_ready_i) - 16'(w_done_i);
      if (overflow) error_o <= 1'b1;
      case (state_q)
        Idle:    if (cmd_valid_i && cmd_ready_o) state_q <= Start;
        Start:   state_q <= Busy;
        default: if (finished && !error_o) state_q <= Idle;
      endcase
      if (start) begin
        asks_a_q <= 1'b1;
        asks_b_q <= uses_index(cmd_q.mode);
      end else begin
        if (a_cmd_ready_i) asks_a_q <= 1'b0;
        if (b_cmd_ready_i) asks_b_q <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) if (cmd_valid_i && cmd_ready_o) cmd_q <= pool_command(cmd_i);

  beat_t w_beat_addr;
  assign a_cmd_valid_o = asks_a_q;
  assign b_cmd_valid_o = asks_b_q;
  assign a_cmd_beats_o = cmd_q.a_beats;
  assign b_cmd_beats_o = cmd_q.a_beats;
  assign a_cmd_addr_o  = AddrWidth'(64'(cmd_q.a_base) << ByteShift);
  assign b_cmd_addr_o  = AddrWidth'(64'(cmd_q.b_base) << ByteShift);
  assign w_cmd_addr_o  = AddrWidth'(64'(w_beat_addr) << ByteShift);

  // Cells into the ring.
  logic                 a_valid, b_valid, load_valid, load_ready, take, write;
  logic [CellWidth-1:0] a_cell, b_cell;
  logic [RingWidth-1:0] write_addr, read_addr;
  total_t               loaded, keep;

  assign load_valid = a_valid && (b_valid || !uses_index(cmd_q.mode));
  assign take       = load_valid && load_ready;

  stream_unpack #(
    .DataWidth(DataWidth), .ElementWidth(OperandWidth), .SmallCell(CellSize), .LargeCell(CellSize),
    .CountWidth(IndexWidth), .BeatsWidth(BeatWidth)
  ) u_a_unpack (
    .clk_i, .rst_ni(run_n), .large_i(1'b1), .cells_i(cmd_q.col.sources), .row_beats_i(cmd_q.a_row),
    .data_valid_i(a_data_valid_i), .data_ready_o(a_data_ready_o), .data_i(a_data_i),
    .cell_valid_o(a_valid), .cell_ready_i(take), .cell_o(a_cell)
  );
  stream_unpack #(
    .DataWidth(DataWidth), .ElementWidth(OperandWidth), .SmallCell(CellSize), .LargeCell(CellSize),
    .CountWidth(IndexWidth), .BeatsWidth(BeatWidth)
  ) u_b_unpack (
    .clk_i, .rst_ni(run_n), .large_i(1'b1), .cells_i(cmd_q.col.sources), .row_beats_i(cmd_q.a_row),
    .data_valid_i(b_data_valid_i), .data_ready_o(b_data_ready_o), .data_i(b_data_i),
    .cell_valid_o(b_valid), .cell_ready_i(take && uses_index(cmd_q.mode)), .cell_o(b_cell)
  );

  pool_loader #(.Depth(Depth)) u_loader (
    .clk_i, .rst_ni(run_n), .start_i(start), .cmd_i(cmd_q), .keep_i(keep), .loaded_o(loaded), .active_o(loads),
    .blocked_o(blocked), .cell_valid_i(load_valid), .cell_ready_o(load_ready), .write_o(write),
    .write_addr_o(write_addr)
  );

  // Taps.
  logic                 enable, tap_valid, tap_first, tap_last, tap_void;
  index_t               tap;
  logic [CellWidth-1:0] values, indexes;

  pool_walker #(.Depth(Depth)) u_walker (
    .clk_i, .rst_ni(run_n), .start_i(start), .cmd_i(cmd_q), .loaded_i(loaded), .keep_o(keep), .waits_o(waits),
    .en_i(enable), .valid_o(tap_valid), .first_o(tap_first), .last_o(tap_last), .void_o(tap_void), .tap_o(tap),
    .addr_o(read_addr)
  );

  buffer_ram #(.Lanes(2), .LaneWidth(CellWidth), .Depth(Depth)) u_ring (
    .clk_i, .write_i({write && uses_index(cmd_q.mode), write}), .write_addr_i(write_addr),
    .write_data_i({b_cell, a_cell}), .read_en_i(enable), .read_addr_i(read_addr), .read_o({indexes, values})
  );

  // Lanes: tags of the stages after the ring; a result is valid after the last tap of its pixel.
  logic                    valid1_q, first1_q, last1_q, void1_q, sum_q, product_q, result_q, cell_ready;
  logic [OperandWidth-1:0] tap1_q;

  assign enable = !result_q || cell_ready;

  always_ff @(posedge clk_i or negedge run_n) begin
    if (!run_n) {valid1_q, sum_q, product_q, result_q} <= '0;
    else if (enable) {valid1_q, sum_q, product_q, result_q} <= {tap_valid, valid1_q && last1_q, sum_q, product_q};
  end
  always_ff @(posedge clk_i) begin
    if (enable) {first1_q, last1_q, void1_q, tap1_q} <= {tap_first, tap_last, tap_void, OperandWidth'(tap)};
  end

  logic [CellSize-1:0][OperandWidth-1:0] narrow, index;
  logic [CellSize-1:0][WideWidth-1:0]    wide;

  for (genvar e = 0; e < CellSize; e++) begin : gen_lane
    pool_lane #(.OperandWidth(OperandWidth), .SumWidth(OperandWidth + RingWidth)) u_lane (
      .clk_i, .en_i(enable), .mode_i(cmd_q.mode), .reciprocal_i(signed'({1'b0, cmd_q.reciprocal})),
      .valid_i(valid1_q), .first_i(first1_q), .void_i(void1_q), .tap_i(tap1_q),
      .value_i(values[e*OperandWidth+:OperandWidth]), .index_i(indexes[e*OperandWidth+:OperandWidth]),
      .narrow_o(narrow[e]), .index_o(index[e]), .wide_o(wide[e])
    );
  end

  logic unused; // taps above an index
  assign unused = ^tap;

  logic [$clog2(WideWidth+1)-1:0] scale;
  or_tree_scale #(.Lanes(CellSize), .Width(WideWidth)) u_scale (
    .clk_i, .rst_ni(run_n), .en_i(enable), .clear_i(start), .valid_i(result_q && is_wide(cmd_q.mode)), .data_i(wide),
    .bitlen_o(scale)
  );
  always_comb begin
    scale_o = '0;
    scale_o[$bits(scale)-1:0] = scale;
  end

  pool_store #(
    .OperandWidth(OperandWidth), .DataWidth(DataWidth), .CellSize(CellSize), .RowDepth(RowDepth)
  ) u_store (
    .clk_i, .rst_ni(run_n), .start_i(start), .cmd_i(cmd_q), .active_o(stores), .cell_valid_i(result_q),
    .cell_ready_o(cell_ready), .narrow_i(narrow), .index_i(index), .wide_i(wide),
    .dma_valid_o(w_cmd_valid_o), .dma_ready_i(w_cmd_ready_i), .dma_addr_o(w_beat_addr), .dma_beats_o(w_cmd_beats_o),
    .data_valid_o(w_data_valid_o), .data_ready_i(w_data_ready_i), .data_o(w_data_o)
  );

endmodule
