// SPDX-License-Identifier: Apache-2.0
//
// Walks the cells of each output tile in the order of DRAM: the words of the accumulator buffer they are in, and the
// DMA commands of their bursts.
//
// Forward and input_grad: [m block][b block][row][column], in input_grad across the classes; a burst per (m, b) block.
// With one class of columns a row may go in runs of UC of them, which a word has side by side; the command says so.
// weight_grad: [m block][n block][tap][n]; a burst per (m, n) block.

module result_walker
  import engine_pkg::*;
#(
  parameter int unsigned UR     = 1,
  parameter int unsigned UC     = 1,
  parameter int unsigned UN     = 4,
  parameter int unsigned Run    = 1, // cells of a run: UC or 1
  parameter int unsigned Block  = 4,
  parameter int unsigned MParts = 1,
  parameter int unsigned NParts = 1,
  localparam int unsigned RowWidth = UR > 1 ? $clog2(UR) : 1,
  localparam int unsigned ColWidth = UC > 1 ? $clog2(UC) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                start_i,
  input  command_t            cmd_i,
  input  logic                half_full_i,
  input  logic                drained_i,   // no cell is under way
  output logic                half_done_o, // pulse
  output logic                half_o,
  output logic                active_o,
  output logic                dma_valid_o,
  input  logic                dma_ready_i,
  output beat_t               dma_addr_o,
  output beat_t               dma_beats_o,
  output logic                cell_valid_o,
  input  logic                cell_ready_i,
  output index_t              cell_word_o,
  output logic [RowWidth-1:0] cell_row_o,
  output logic [ColWidth-1:0] cell_col_o,
  output index_t              cell_sub_o, // block of channels within UM
  output logic                runs_o,
  output index_t              columns_left_o, // of the row, from this cell on
  output logic [Block-1:0]    cell_keep_o,
  output logic                cell_last_o // of a row
);

  typedef enum logic [2:0] {Idle, Prepare, Wait, Mask, Cells, Drain, Next} state_e;

  state_e             state_q;
  logic               active, final_tile, next, gradient;
  logic [2:0]         changed, next_level;
  logic [Levels-1:0]  first, last;
  index_t [Levels-1:0] count;
  beat_t              tile_addr;

  assign gradient = cmd_i.mode == WeightGrad;
  always_comb begin
    count    = cmd_i.count;
    count[4] = index_t'(1); // tiles that add to the same sums
    if (gradient) count[3] = index_t'(1);
  end

  tile_walker u_walker (
    .clk_i,
    .rst_ni,
    .start_i,
    .next_i      (next),
    .count_i     (count),
    .base_i      (cmd_i.o.base),
    .step_i      (cmd_i.o.step),
    .active_o    (active),
    .final_o     (final_tile),
    .changed_o   (changed),
    .next_level_o(next_level),
    .first_o     (first),
    .last_o      (last),
    .addr_o      (tile_addr)
  );

  index_t m_blocks, inner_blocks, rows;

  assign m_blocks     = last[1] ? cmd_i.m_blocks.last : cmd_i.m_blocks.full;
  assign inner_blocks = gradient ? (last[2] ? cmd_i.n_blocks.last : cmd_i.n_blocks.full)
                                 : (last[2] ? cmd_i.b_blocks.last : cmd_i.b_blocks.full);
  assign rows         = first[3] ? cmd_i.o_rows_first : last[3] ? cmd_i.o_rows_last : cmd_i.o_rows_mid;
  assign dma_beats_o  = first[3] ? cmd_i.o_beats_first : last[3] ? cmd_i.o_beats_last : cmd_i.o_beats_mid;

  // Commands.
  index_t issue_m_q, issue_i_q;
  beat_t  issue_m_addr_q, issue_addr_q;
  beat_t  begin_addr_q;
  logic   issuing_q, issue_i_end, issue_end;

  assign issue_i_end = issue_i_q == inner_blocks - index_t'(1);
  assign issue_end   = issue_i_end && issue_m_q == m_blocks - index_t'(1);
  assign dma_valid_o = issuing_q;
  assign dma_addr_o  = issue_addr_q;

  // Cells.
  index_t cell_q, left_q, row_q, i_q, m_q, sub_m_q, sub_i_q, word_m_q, word_i_q, inner_q, tap_word_q, n_word_q;
  logic   take, row_end, block_end, i_end, tile_end, inner_end, sub_m_end, sub_i_end, half_q;

  assign take      = cell_valid_o && cell_ready_i;
  assign row_end   = take && cell_q == cmd_i.o_cells - index_t'(1);
  assign block_end = row_end && row_q == rows - index_t'(1);
  assign i_end     = block_end && i_q == inner_blocks - index_t'(1);
  assign tile_end  = i_end && m_q == m_blocks - index_t'(1);
  assign inner_end = inner_q == index_t'(Block - 1);
  assign sub_m_end = sub_m_q == index_t'(MParts - 1);
  assign sub_i_end = !gradient || sub_i_q == index_t'(NParts - 1);

  // Rows and columns, across the classes. Those of the first tile may begin in another class than the first.
  index_t row_prepare_q, col_prepare_q;
  logic   row_step, col_step;
  index_t row_phase, row_place, row_addr, col_phase, col_place, col_addr;
  index_t saved_row_addr_q, saved_col_addr_q;

  assign row_step = state_q == Prepare && row_prepare_q != '0;
  assign col_step = state_q == Prepare && col_prepare_q != '0;

  pixel_steps #(.Banks(UR)) u_rows (
    .clk_i, .restart_i(state_q == Idle), .step_i(row_step || (row_end && !block_end)), .turn_i(1'b0),
    .load_i(block_end),
    .stride_i(cmd_i.row_axis.classes), .word_q_i(cmd_i.acc_row), .word_p_i(cmd_i.row_axis.acc_class),
    .load_phase_i(first[3] ? cmd_i.o_row_class : '0), .load_bank_i('0), .load_place_i('0),
    .load_addr_i(saved_row_addr_q),
    .phase_o(row_phase), .bank_o(cell_row_o), .place_o(row_place), .addr_o(row_addr)
  );
  pixel_steps #(.Banks(UC)) u_cols (
    .clk_i, .restart_i(state_q == Idle), .step_i(col_step || (take && !runs_o && !row_end)), .turn_i(take && runs_o && !row_end),
    .load_i(row_end),
    .stride_i(cmd_i.col_axis.classes), .word_q_i(index_t'(1)), .word_p_i(cmd_i.col_axis.acc_class),
    .load_phase_i(cmd_i.o_col_class), .load_bank_i('0), .load_place_i('0),
    .load_addr_i(saved_col_addr_q),
    .phase_o(col_phase), .bank_o(cell_col_o), .place_o(col_place), .addr_o(col_addr)
  );

  // Groups.
  index_t n_q, n_begin_q;
  logic   mask_busy;

  group_mask #(.Block(Block)) u_mask (
    .clk_i, .rst_ni, .group_m_i(gradient ? cmd_i.mask_m : '0), .group_n_i(cmd_i.mask_n),
    .restart_i(state_q == Idle && active && changed == 3'd0),
    .save_i   (state_q == Wait && changed != 3'd2),
    .recall_i (state_q == Prepare && changed == 3'd2),
    .load_i   ((state_q == Wait && half_full_i) || (i_end && !tile_end)),
    .busy_o   (mask_busy), .n_i(n_q), .keep_o(cell_keep_o)
  );

  assign next        = state_q == Next;
  assign half_done_o = next;
  assign half_o      = half_q;
  assign active_o    = active;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= Idle;
      issuing_q <= 1'b0;
      half_q    <= 1'b0;
    end else begin
      case (state_q)
        Idle:    if (active) state_q <= Prepare;
        Prepare: if (row_prepare_q == '0 && col_prepare_q == '0) state_q <= Wait;
        Wait:    if (half_full_i) begin
                   state_q   <= Mask;
                   issuing_q <= 1'b1;
                 end
        Mask:    if (!mask_busy) state_q <= Cells;
        Cells:   if (tile_end) state_q <= Drain;
                 else if (i_end && gradient && cmd_i.mask_m != '0) state_q <= Mask;
        Drain:   if (drained_i && !issuing_q) state_q <= Next;
        default: begin
                   state_q <= Idle;
                   half_q  <= !half_q;
                 end
      endcase
      if (issuing_q && dma_ready_i && issue_end) issuing_q <= 1'b0;
    end
  end

  assign cell_valid_o = state_q == Cells;
  assign cell_last_o  = cell_q == cmd_i.o_cells - index_t'(1);
  assign cell_sub_o   = sub_m_q;
  assign runs_o         = Run > 1 && cmd_i.o_cells != cmd_i.o_width;
  assign columns_left_o = left_q;
  assign cell_word_o  = word_i_q + (gradient ? tap_word_q + n_word_q + inner_q : row_addr + col_addr);

  always_ff @(posedge clk_i) begin
    // preparation
    if (state_q == Idle) begin
      row_prepare_q <= first[3] ? cmd_i.o_row_class : '0;
      col_prepare_q <= cmd_i.o_col_class;
      begin_addr_q  <= tile_addr;
    end else begin
      if (row_step) begin
        row_prepare_q <= row_prepare_q - index_t'(1);
        begin_addr_q  <= begin_addr_q + cmd_i.o.row;
      end
      if (col_step) col_prepare_q <= col_prepare_q - index_t'(1);
    end
    if (state_q == Wait) {saved_row_addr_q, saved_col_addr_q} <= {row_addr, col_addr};
    // commands
    if (state_q == Wait) begin
      issue_m_q      <= '0;
      issue_i_q      <= '0;
      issue_addr_q   <= begin_addr_q;
      issue_m_addr_q <= begin_addr_q + cmd_i.o.outer;
    end else if (issuing_q && dma_ready_i) begin
      issue_i_q    <= issue_i_end ? '0 : issue_i_q + index_t'(1);
      issue_addr_q <= issue_i_end ? issue_m_addr_q : issue_addr_q + cmd_i.o.inner;
      if (issue_i_end) begin
        issue_m_q      <= issue_m_q + index_t'(1);
        issue_m_addr_q <= issue_m_addr_q + cmd_i.o.outer;
      end
    end
    // cells
    if (state_q == Wait) begin
      {cell_q, row_q, i_q, m_q, sub_m_q, sub_i_q, word_m_q, word_i_q, inner_q, tap_word_q, n_word_q} <= '0;
      left_q <= cmd_i.o_width;
    end else if (take) begin
      cell_q  <= row_end ? '0 : cell_q + index_t'(1);
      left_q  <= row_end ? cmd_i.o_width : left_q - index_t'(Run);
      inner_q <= inner_end ? '0 : inner_q + index_t'(1);
      if (row_end) tap_word_q <= '0;
      else if (inner_end) tap_word_q <= tap_word_q + index_t'(UN);
      if (row_end) begin
        row_q   <= block_end ? '0 : row_q + index_t'(1);
        inner_q <= '0;
      end
      if (block_end) begin
        i_q      <= i_end ? '0 : i_q + index_t'(1);
        sub_i_q  <= i_end || sub_i_end ? '0 : sub_i_q + index_t'(1);
        n_word_q <= i_end || sub_i_end ? '0 : n_word_q + index_t'(Block);
        if (!i_end && sub_i_end) word_i_q <= word_i_q + cmd_i.acc_n;
      end
      if (i_end) begin
        m_q      <= m_q + index_t'(1);
        sub_m_q  <= sub_m_end ? '0 : sub_m_q + index_t'(1);
        word_m_q <= sub_m_end ? word_m_q + cmd_i.acc_m : word_m_q;
        word_i_q <= sub_m_end ? word_m_q + cmd_i.acc_m : word_m_q;
      end
    end
    // n of the present cell
    if (state_q == Idle) begin
      n_q       <= changed == 3'd2 ? n_begin_q : '0;
      n_begin_q <= changed == 3'd2 ? n_begin_q : '0;
    end else if (take) begin
      if (tile_end && next_level == 3'd2) n_begin_q <= n_q + index_t'(1);
      if (i_end) n_q <= n_begin_q;
      else if (block_end) n_q <= n_q + index_t'(1);
      else n_q <= inner_end ? n_q - index_t'(Block - 1) : n_q + index_t'(1);
    end
  end

  logic unused;
  assign unused = ^{cmd_i, first, last, row_phase, row_place, col_phase, col_place, final_tile};

endmodule
