// SPDX-License-Identifier: Apache-2.0
//
// Loads the second operand, tile by tile, into the halves of the operand buffer: weights, or in weight_grad errors.
//
// One burst brings a (m, n) block of weights, ChannelBlock elements a cell, or the tile's rows of a (b, m) block of
// errors, ChannelBlock x UB elements a cell, or in runs of a whole row of lanes (ColLanes = 1). Where a cell goes is
// given as block within a lane group (sub_m, sub_n), n or m within the block (inner), and pixel lane. A tile whose
// operand is that of the tile before it is not loaded again.

module operand_loader
  import engine_pkg::*;
#(
  parameter int unsigned Block    = 4, // ChannelBlock
  parameter int unsigned MParts   = 2, // UM / ChannelBlock
  parameter int unsigned NParts   = 2, // UN / ChannelBlock
  parameter int unsigned RowLanes = 1,
  parameter int unsigned ColLanes = 1, // cells of errors for a row of lanes
  parameter int unsigned Depth    = 512
) (
  input  logic     clk_i,
  input  logic     rst_ni,
  input  logic     start_i,
  input  command_t cmd_i,
  input  logic     half_free_i,
  output logic     half_done_o,
  output logic     overflow_o,
  output logic     dma_valid_o,
  input  logic     dma_ready_i,
  output beat_t    dma_addr_o,
  output beat_t    dma_beats_o,
  input  logic     cell_valid_i,
  output logic     cell_ready_o,
  output logic     write_o,
  output logic     write_half_o,
  output index_t   write_addr_o,
  output index_t   sub_m_o,
  output index_t   sub_n_o,
  output index_t   inner_o,
  output index_t   row_lane_o,
  output index_t   col_lane_o
);

  typedef enum logic [1:0] {Idle, Wait, Load, Next} state_e;

  state_e            state_q;
  logic              active, final_tile, next;
  logic [2:0]        changed, unused_level;
  logic [Levels-1:0] first, last;
  beat_t             tile_addr;

  tile_walker u_walker (
    .clk_i,
    .rst_ni,
    .start_i,
    .next_i      (next),
    .count_i     (cmd_i.count),
    .base_i      (cmd_i.b.base),
    .step_i      (cmd_i.b.step),
    .active_o    (active),
    .final_o     (final_tile),
    .changed_o   (changed),
    .next_level_o(unused_level),
    .first_o     (first),
    .last_o      (last),
    .addr_o      (tile_addr)
  );

  logic   errors, keep, n_last;
  index_t m_blocks, inner_blocks, rows;

  assign errors       = cmd_i.mode == WeightGrad;
  assign n_last       = errors ? last[3] : last[4];
  assign keep         = first[4] && last[4] && (errors ? changed == 3'd2 && first[3] && last[3]
                                                       : changed == 3'd2 || changed == 3'd3);
  assign m_blocks     = last[1] ? cmd_i.m_blocks.last : cmd_i.m_blocks.full;
  assign inner_blocks = errors ? (n_last ? cmd_i.b_blocks.last : cmd_i.b_blocks.full)
                               : (n_last ? cmd_i.n_blocks.last : cmd_i.n_blocks.full);
  assign rows         = !errors ? index_t'(1) : last[4] ? cmd_i.rows.last : cmd_i.rows.full;
  assign dma_beats_o  = errors && last[4] ? cmd_i.b_beats_last : cmd_i.b_beats;

  // Commands.
  index_t issue_m_q, issue_i_q;
  beat_t  issue_m_addr_q, issue_addr_q;
  logic   issuing_q, issue_i_end, issue_end;

  assign issue_i_end = issue_i_q == inner_blocks - index_t'(1);
  assign issue_end   = issue_i_end && issue_m_q == m_blocks - index_t'(1);
  assign dma_valid_o = issuing_q;
  assign dma_addr_o  = issue_addr_q;

  // Cells.
  index_t cell_q, row_q, i_q, m_q, sub_i_q, sub_m_q, word_m_q, word_i_q, word_q, inner_q;
  index_t row_lane_q, col_lane_q, row_word_q, col_word_q;
  logic   take, row_end, block_end, i_end, load_end, inner_end, sub_end, half_q;
  logic   col_lane_end, row_lane_end;

  assign cell_ready_o = state_q == Load;
  assign take         = cell_valid_i && cell_ready_o;
  assign row_end      = take && cell_q == cmd_i.b_cells - index_t'(1);
  assign block_end    = row_end && row_q == rows - index_t'(1);
  assign i_end        = block_end && i_q == inner_blocks - index_t'(1);
  assign load_end     = i_end && m_q == m_blocks - index_t'(1);
  assign inner_end    = inner_q == index_t'(Block - 1);
  assign sub_end      = errors || sub_i_q == index_t'(NParts - 1);
  assign col_lane_end = col_lane_q == index_t'(ColLanes - 1);
  assign row_lane_end = row_lane_q == index_t'(RowLanes - 1);

  assign next        = state_q == Next;
  assign half_done_o = next && !keep;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= Idle;
      issuing_q <= 1'b0;
      half_q    <= 1'b0;
    end else begin
      case (state_q)
        Idle:    if (active) state_q <= keep ? Next : Wait;
        Wait:    if (half_free_i) begin
                   state_q   <= Load;
                   issuing_q <= 1'b1;
                 end
        Load:    if (load_end) state_q <= Next;
        default: begin
                   state_q <= Idle;
                   if (!keep) half_q <= !half_q;
                 end
      endcase
      if (issuing_q && dma_ready_i && issue_end) issuing_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    // commands
    if (state_q == Wait) begin
      issue_m_q      <= '0;
      issue_i_q      <= '0;
      issue_addr_q   <= tile_addr;
      issue_m_addr_q <= tile_addr + cmd_i.b.outer;
    end else if (issuing_q && dma_ready_i) begin
      issue_i_q    <= issue_i_end ? '0 : issue_i_q + index_t'(1);
      issue_addr_q <= issue_i_end ? issue_m_addr_q : issue_addr_q + cmd_i.b.inner;
      if (issue_i_end) begin
        issue_m_q      <= issue_m_q + index_t'(1);
        issue_m_addr_q <= issue_m_addr_q + cmd_i.b.outer;
      end
    end
    // blocks
    if (state_q == Wait) begin
      {cell_q, row_q, i_q, m_q, sub_i_q, sub_m_q, word_m_q, word_i_q} <= '0;
    end else if (take) begin
      cell_q <= row_end ? '0 : cell_q + index_t'(1);
      if (row_end) row_q <= block_end ? '0 : row_q + index_t'(1);
      if (block_end) begin
        i_q     <= i_end ? '0 : i_q + index_t'(1);
        sub_i_q <= i_end || sub_end ? '0 : sub_i_q + index_t'(1);
        if (!i_end && sub_end) word_i_q <= word_i_q + cmd_i.b_word_n;
      end
      if (i_end) begin
        m_q      <= m_q + index_t'(1);
        sub_m_q  <= sub_m_q == index_t'(MParts - 1) ? '0 : sub_m_q + index_t'(1);
        word_m_q <= sub_m_q == index_t'(MParts - 1) ? word_m_q + cmd_i.b_word_m : word_m_q;
        word_i_q <= sub_m_q == index_t'(MParts - 1) ? word_m_q + cmd_i.b_word_m : word_m_q;
      end
    end
    // weights of a block, and pixels of a block
    if (state_q == Wait || block_end) begin
      {word_q, inner_q} <= '0;
    end else if (take) begin
      inner_q <= inner_end ? '0 : inner_q + index_t'(1);
      if (inner_end) word_q <= word_q + index_t'(1);
    end
    if (state_q == Wait || block_end) begin
      {row_lane_q, col_lane_q, row_word_q, col_word_q} <= '0;
    end else if (row_end) begin
      {col_lane_q, col_word_q} <= '0;
      row_lane_q <= row_lane_end ? '0 : row_lane_q + index_t'(1);
      if (row_lane_end) row_word_q <= row_word_q + cmd_i.col_steps;
    end else if (take) begin
      col_lane_q <= col_lane_end ? '0 : col_lane_q + index_t'(1);
      if (col_lane_end) col_word_q <= col_word_q + index_t'(1);
    end
  end

  assign write_o      = take;
  assign write_half_o = half_q;
  assign write_addr_o = word_i_q + (errors ? row_word_q + col_word_q : word_q);
  assign sub_m_o      = sub_m_q;
  assign sub_n_o      = sub_i_q;
  assign inner_o      = inner_q;
  assign row_lane_o   = row_lane_q;
  assign col_lane_o   = col_lane_q;
  assign overflow_o   = write_o && write_addr_o >= index_t'(Depth);

  logic unused;
  assign unused = ^{cmd_i, first, last, final_tile};

endmodule
