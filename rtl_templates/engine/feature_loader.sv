// SPDX-License-Identifier: Apache-2.0
//
// Loads the windows of the feature operand, tile by tile, into the halves of the feature buffer.
//
// A tile's window begins at row y (which may lie above the map) and has a_rows rows; the rows inside the map are one
// burst for each block of samples and of channels. Cells (ChannelBlock x UB elements, a pixel each) come from
// stream_unpack and are written one a cycle, or at stride 1 a run of ColBanks neighbours, one to each column bank; the
// command says which. While a half is awaited, the rows inside the map are counted.
// A tile whose window is that of the tile before it (keep) is not loaded again.

module feature_loader
  import engine_pkg::*;
#(
  parameter int unsigned RowBanks = 2,
  parameter int unsigned ColBanks = 2,
  parameter int unsigned Parts    = 2, // cells in a word: UN / ChannelBlock
  parameter int unsigned Run      = 2, // cells of a run: ColBanks or 1
  parameter int unsigned Depth    = 512,
  localparam int unsigned RowWidth  = RowBanks > 1 ? $clog2(RowBanks) : 1,
  localparam int unsigned ColWidth  = ColBanks > 1 ? $clog2(ColBanks) : 1,
  localparam int unsigned PartWidth = Parts > 1 ? $clog2(Parts) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 start_i,
  input  command_t             cmd_i,
  // halves
  input  logic                 half_free_i,
  output logic                 half_done_o, // pulse: the half is full
  output logic                 overflow_o,  // pulse: the window does not fit
  // read DMA
  output logic                 dma_valid_o,
  input  logic                 dma_ready_i,
  output beat_t                dma_addr_o,
  output beat_t                dma_beats_o,
  // cells, or runs of them
  output logic                 runs_o,
  input  logic                 cell_valid_i,
  output logic                 cell_ready_o,
  // buffer
  output logic                 write_o,
  output logic                 write_half_o,
  output logic [RowWidth-1:0]  write_row_o,
  output logic [ColWidth-1:0]  write_col_o, // of the first cell
  output logic [Run-1:0]       write_cell_o, // cells that the row has
  output logic [PartWidth-1:0] write_part_o,
  output index_t               write_addr_o // of the first cell; behind the last bank one more
);

  typedef enum logic [2:0] {Idle, First, Count, Wait, Load, Next} state_e;

  state_e            state_q;
  logic              active, final_tile, next;
  logic [2:0]        changed, next_level;
  logic [Levels-1:0] first, last;
  beat_t             tile_addr;

  tile_walker u_walker (
    .clk_i,
    .rst_ni,
    .start_i,
    .next_i      (next),
    .count_i     (cmd_i.count),
    .base_i      (cmd_i.a.base),
    .step_i      (cmd_i.a.step),
    .active_o    (active),
    .final_o     (final_tile),
    .changed_o   (changed),
    .next_level_o(next_level),
    .first_o     (first),
    .last_o      (last),
    .addr_o      (tile_addr)
  );

  // Position of the tile among the levels.
  logic   weight_grad, keep, row_last, n_last, b_last;
  index_t window_rows, b_blocks, n_blocks;
  logic [2:0] row_level;

  assign weight_grad = cmd_i.mode == WeightGrad;
  assign row_level   = weight_grad ? 3'd4 : 3'd3;
  assign keep        = changed == 3'd1 && (&{first[4:2], last[4:2]});
  assign row_last    = weight_grad ? last[4] : last[3];
  assign b_last      = weight_grad ? last[3] : last[2];
  assign n_last      = weight_grad ? last[2] : last[4];
  assign window_rows = row_last ? cmd_i.a_rows.last : cmd_i.a_rows.full;
  assign b_blocks    = b_last ? cmd_i.b_blocks.last : cmd_i.b_blocks.full;
  assign n_blocks    = n_last ? cmd_i.n_blocks.last : cmd_i.n_blocks.full;

  // Rows of the window that the map has.
  coord_t start_y_q, y_q;
  index_t seen_q, rows_q;
  beat_t  first_addr_q, beats_q;
  logic   above, on_map;

  assign above  = y_q < 0;
  assign on_map = !above && index_t'(y_q) < cmd_i.a_height;

  // Commands.
  index_t issue_b_q, issue_n_q;
  beat_t  issue_b_addr_q, issue_addr_q;
  logic   issuing_q, issue_n_end, issue_end;

  assign issue_n_end = issue_n_q == n_blocks - index_t'(1);
  assign issue_end   = issue_n_end && issue_b_q == b_blocks - index_t'(1);
  assign dma_valid_o = issuing_q;
  assign dma_addr_o  = issue_addr_q;
  assign dma_beats_o = beats_q;

  // Cells. Runs begin with the row's first column, which then lies in the window.
  index_t col_q, left_q, row_q, n_q, b_q, word_b_q, word_n_q;
  logic [PartWidth-1:0] part_q;
  logic take, dropped, row_end, map_end, n_end, load_end, half_q;
  coord_t place_x;

  assign place_x  = coord_t'(col_q) - cmd_i.a_x; // column of the window
  assign dropped  = place_x < 0;
  assign take     = cell_valid_i && cell_ready_o;
  assign row_end  = take && col_q == cmd_i.a_cells - index_t'(1);
  assign map_end  = row_end && row_q == rows_q - index_t'(1);
  assign n_end    = map_end && n_q == n_blocks - index_t'(1);
  assign load_end = n_end && b_q == b_blocks - index_t'(1);
  assign cell_ready_o = state_q == Load;
  assign runs_o       = Run > 1 && cmd_i.a_cells != cmd_i.a_width;

  logic [RowWidth-1:0] row_bank, saved_bank_q;
  logic [ColWidth-1:0] col_bank, left_bank_q;
  index_t row_phase, row_place, row_addr, saved_phase_q, saved_place_q, saved_addr_q;
  index_t col_phase, col_place, col_addr, left_phase_q, left_place_q, left_addr_q;

  // The first row inside the map is found in state Count; every map of the tile starts from it again.
  pixel_steps #(.Banks(RowBanks)) u_rows (
    .clk_i,
    .restart_i   (state_q == First),
    .step_i      ((state_q == Count && seen_q != window_rows && above) || (row_end && !map_end)),
    .turn_i      (1'b0),
    .load_i      (map_end),
    .stride_i    (cmd_i.row_axis.stride),
    .word_q_i    (cmd_i.a_word_q),
    .word_p_i    (cmd_i.a_word_pr),
    .load_phase_i(saved_phase_q),
    .load_bank_i (saved_bank_q),
    .load_place_i(saved_place_q),
    .load_addr_i (saved_addr_q),
    .phase_o     (row_phase),
    .bank_o      (row_bank),
    .place_o     (row_place),
    .addr_o      (row_addr)
  );

  // The first column likewise, in state First, once a command.
  coord_t x_q;
  pixel_steps #(.Banks(ColBanks)) u_cols (
    .clk_i,
    .restart_i   (start_i),
    .step_i      (x_q < 0 || (take && !runs_o && !dropped && !row_end)),
    .turn_i      (take && runs_o && !row_end),
    .load_i      (row_end),
    .stride_i    (cmd_i.col_axis.stride),
    .word_q_i    (index_t'(1)),
    .word_p_i    (cmd_i.a_word_pc),
    .load_phase_i(left_phase_q),
    .load_bank_i (left_bank_q),
    .load_place_i(left_place_q),
    .load_addr_i (left_addr_q),
    .phase_o     (col_phase),
    .bank_o      (col_bank),
    .place_o     (col_place),
    .addr_o      (col_addr)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) x_q <= '0;
    else if (start_i) x_q <= cmd_i.a_x;
    else if (x_q < 0) x_q <= x_q + coord_t'(1);
  end

  always_ff @(posedge clk_i) begin
    if (x_q >= 0 && state_q == First) begin
      {left_phase_q, left_bank_q, left_place_q, left_addr_q} <= {col_phase, col_bank, col_place, col_addr};
    end
    if (state_q == Wait) begin
      {saved_phase_q, saved_bank_q, saved_place_q, saved_addr_q} <= {row_phase, row_bank, row_place, row_addr};
    end
  end

  assign next        = state_q == Next;
  assign half_done_o = state_q == Next && !keep;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= Idle;
      issuing_q <= 1'b0;
      half_q    <= 1'b0;
    end else begin
      case (state_q)
        Idle:    if (active) state_q <= First;
        First:   if (keep) state_q <= Next;
                 else if (x_q >= 0) state_q <= Count;
        Count:   if (seen_q == window_rows) state_q <= Wait;
        Wait:    if (half_free_i) begin
                   state_q   <= rows_q == '0 ? Next : Load;
                   issuing_q <= rows_q != '0;
                 end
        Load:    if (load_end) state_q <= Next;
        default: begin
                   state_q <= final_tile ? Idle : First;
                   if (!keep) half_q <= !half_q;
                 end
      endcase
      if (issuing_q && dma_ready_i && issue_end) issuing_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    // the window
    if (start_i) start_y_q <= cmd_i.a_y;
    else if (next) begin
      if (next_level < row_level) start_y_q <= cmd_i.a_y;
      else if (next_level == row_level) start_y_q <= start_y_q + cmd_i.a_y_step;
    end
    if (state_q == First) begin
      y_q          <= start_y_q;
      seen_q       <= '0;
      rows_q       <= '0;
      beats_q      <= '0;
      first_addr_q <= tile_addr;
    end else if (state_q == Count && seen_q != window_rows) begin
      y_q    <= y_q + coord_t'(1);
      seen_q <= seen_q + index_t'(1);
      if (above) first_addr_q <= first_addr_q + cmd_i.a.row;
      if (on_map) begin
        rows_q  <= rows_q + index_t'(1);
        beats_q <= beats_q + cmd_i.a.row;
      end
    end
    // commands
    if (state_q == Wait) begin
      issue_n_q      <= '0;
      issue_b_q      <= '0;
      issue_addr_q   <= first_addr_q;
      issue_b_addr_q <= first_addr_q + cmd_i.a.outer;
    end else if (issuing_q && dma_ready_i) begin
      issue_n_q    <= issue_n_end ? '0 : issue_n_q + index_t'(1);
      issue_addr_q <= issue_n_end ? issue_b_addr_q : issue_addr_q + cmd_i.a.inner;
      if (issue_n_end) begin
        issue_b_q      <= issue_b_q + index_t'(1);
        issue_b_addr_q <= issue_b_addr_q + cmd_i.a.outer;
      end
    end
    // cells
    if (state_q == Wait) begin
      {col_q, row_q, n_q, b_q, word_b_q, word_n_q, part_q} <= '0;
      left_q <= cmd_i.a_width;
    end else if (take) begin
      col_q  <= row_end ? '0 : col_q + index_t'(1);
      left_q <= row_end ? cmd_i.a_width : left_q - index_t'(Run);
      if (row_end) row_q <= map_end ? '0 : row_q + index_t'(1);
      if (map_end) begin
        n_q    <= n_end ? '0 : n_q + index_t'(1);
        part_q <= n_end || part_q == PartWidth'(Parts - 1) ? '0 : part_q + PartWidth'(1);
        if (n_end) word_n_q <= word_b_q + cmd_i.a_word_b;
        else if (part_q == PartWidth'(Parts - 1)) word_n_q <= word_n_q + cmd_i.a_word_n;
      end
      if (n_end) begin
        b_q      <= b_q + index_t'(1);
        word_b_q <= word_b_q + cmd_i.a_word_b;
      end
    end
  end

  assign write_o      = take && !dropped;
  assign write_half_o = half_q;
  assign write_row_o  = row_bank;
  assign write_col_o  = col_bank;
  assign write_part_o = part_q;
  assign write_addr_o = word_n_q + row_addr + col_addr;
  for (genvar c = 0; c < Run; c++) begin : gen_cell
    assign write_cell_o[c] = c == 0 || (runs_o && left_q > index_t'(c));
  end

  logic   wraps;
  index_t last_addr;
  assign wraps      = runs_o && col_bank != '0 && left_q > index_t'(Run) - index_t'(col_bank);
  assign last_addr  = wraps ? write_addr_o + index_t'(1) : write_addr_o;
  assign overflow_o = write_o && last_addr >= index_t'(Depth);

  logic unused;
  assign unused = ^{cmd_i, first, last, row_phase, row_place, col_phase, col_place};

endmodule
