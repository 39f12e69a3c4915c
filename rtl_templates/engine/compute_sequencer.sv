// SPDX-License-Identifier: Apache-2.0
//
// Walks the loop nest of every tile, a step of all lanes a cycle, and gives the addresses and masks of the step.
//
// The loops, outermost first:
//   forward, input_grad: mg, bg, row class, column class, row, column | ng, kr, kc  (sums over those behind the bar)
//   weight_grad:         mg, ng, kr, kc | bg, row, column
// A tile starts when its operands are in their buffers and, if it starts a sum, half of the accumulator buffer is free.
// In weight_grad the UM x UN sums leave in UN words: the end of a sum waits until the sums before it have left.

module compute_sequencer
  import engine_pkg::*;
#(
  parameter int unsigned UN        = 4,
  parameter int unsigned UR        = 1,
  parameter int unsigned UC        = 1,
  parameter int unsigned NParts    = 1, // UN / ChannelBlock
  localparam int unsigned RowWidth = UR > 1 ? $clog2(UR) : 1,
  localparam int unsigned ColWidth = UC > 1 ? $clog2(UC) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                start_i,
  input  command_t            cmd_i,
  // halves of the buffers
  input  logic                a_full_i,
  input  logic                b_full_i,
  input  logic                acc_free_i,
  output logic                a_release_o, // pulses, before the last reads
  output logic                b_release_o,
  output logic                acc_take_o,
  // a step, registered
  output logic                valid_o,
  output logic                a_half_o,
  output index_t              a_row_word_o,
  output index_t              a_col_word_o,
  output logic [RowWidth-1:0] row_bank_o,
  output logic [ColWidth-1:0] col_bank_o,
  output coord_t              y_o,         // pixel of the map at row lane 0
  output coord_t              x_o,
  output index_t              n_left_o,    // blocks of channels of the tile from the present group on
  output index_t              rows_left_o, // rows of the tile from row lane 0 on
  output index_t              cols_left_o,
  output logic                void_o,      // the feature operand is zero
  output logic                b_half_o,
  output index_t              b_word_o,
  output logic                acc_half_o,
  output index_t              acc_word_o,
  output logic                add_o,       // to what the accumulator buffer has
  output logic                sum_first_o, // first step of a sum
  output logic                sum_last_o,
  output logic                tile_last_o  // last step of an output tile
);

  logic              active, final_tile, sums_pixels;
  logic [2:0]        next_level, unused_changed;
  logic [Levels-1:0] first, last;
  beat_t             unused_addr;
  logic              running_q, begin_tile, go, tile_end;

  tile_walker u_walker (
    .clk_i,
    .rst_ni,
    .start_i,
    .next_i      (tile_end),
    .count_i     (cmd_i.count),
    .base_i      ('0),
    .step_i      ('0),
    .active_o    (active),
    .final_o     (final_tile),
    .changed_o   (unused_changed),
    .next_level_o(next_level),
    .first_o     (first),
    .last_o      (last),
    .addr_o      (unused_addr)
  );

  assign sums_pixels = cmd_i.mode == WeightGrad;

  // Sizes of the tile.
  index_t m_groups, n_groups, n_blocks, b_blocks, row_steps, rows;
  logic   b_last, row_last, n_last, sum_starts, sum_ends;

  assign b_last     = sums_pixels ? last[3] : last[2];
  assign row_last   = sums_pixels ? last[4] : last[3];
  assign n_last     = sums_pixels ? last[2] : last[4];
  assign m_groups   = last[1]  ? cmd_i.m_groups.last  : cmd_i.m_groups.full;
  assign n_groups   = n_last   ? cmd_i.n_groups.last  : cmd_i.n_groups.full;
  assign n_blocks   = n_last   ? cmd_i.n_blocks.last  : cmd_i.n_blocks.full;
  assign b_blocks   = b_last   ? cmd_i.b_blocks.last  : cmd_i.b_blocks.full;
  assign row_steps  = row_last ? cmd_i.row_steps.last : cmd_i.row_steps.full;
  assign rows       = row_last ? cmd_i.rows.last      : cmd_i.rows.full;
  assign sum_starts = first[4] && (!sums_pixels || first[3]);
  assign sum_ends   = last[4] && (!sums_pixels || last[3]);

  // What the tile shares with the one before it.
  logic a_shared_q, b_shared_q, a_shared, b_shared, alone;

  assign alone    = first[4] && last[4];
  assign a_shared = next_level == 3'd1 && (&{first[4:2], last[4:2]}) && !final_tile;
  assign b_shared = alone && !final_tile && (sums_pixels ? next_level == 3'd2 && first[3] && last[3]
                                                         : next_level == 3'd2 || next_level == 3'd3);

  assign begin_tile = active && !running_q && (a_full_i || a_shared_q) && (b_full_i || b_shared_q) &&
                      (acc_free_i || !sum_starts);
  assign acc_take_o  = begin_tile && sum_starts;
  assign a_release_o = tile_end && !a_shared;
  assign b_release_o = tile_end && !b_shared;

  // Loops.
  logic kc_first, kc_last, kr_first, kr_last, ng_first, ng_last, ct_first, ct_last, rt_first, rt_last;
  logic bg_first, bg_last, unused_first, mg_last, pr_last, pc_last;
  logic go_taps, go_pixels, taps_end, pixels_end, classes_end;
  logic sum_first, sum_last, hold;

  assign taps_end    = kc_last && kr_last && ng_last;
  assign pixels_end  = ct_last && rt_last;
  assign classes_end = pc_last && pr_last;
  assign sum_first   = sums_pixels ? ct_first && rt_first && bg_first : kc_first && kr_first && ng_first;
  assign sum_last    = sums_pixels ? pixels_end && bg_last : taps_end;
  assign go          = running_q && !hold;
  assign go_taps     = go && (!sums_pixels || sum_last);
  assign go_pixels   = go && (sums_pixels || sum_last);
  assign tile_end    = go && taps_end && pixels_end && classes_end && bg_last && mg_last;

  localparam int unsigned WaitWidth = $clog2(UN + 1);
  logic [WaitWidth-1:0] leaving_q;

  assign hold = sums_pixels && sum_last && leaving_q != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) leaving_q <= '0;
    else if (go && sum_last) leaving_q <= WaitWidth'(UN - 1);
    else if (leaving_q != '0) leaving_q <= leaving_q - WaitWidth'(1);
  end

  function automatic index_t times(index_t value, int unsigned factor);
    times = '0;
    for (int unsigned i = 0; i < 8; i++) if (value[i]) times += index_t'(factor << i);
  endfunction

  index_t [2:0] ct_offset;
  index_t [3:0] rt_offset;
  index_t [2:0] bg_offset;
  index_t [1:0] mg_offset;
  index_t [3:0] ng_offset;

  loop_offset #(.Offsets(3)) u_ct (
    .clk_i, .restart_i(begin_tile), .step_i(go_pixels), .count_i(cmd_i.col_steps),
    .increment_i({index_t'(UC), times(cmd_i.col_axis.stride, UC), index_t'(1)}),
    .first_o(ct_first), .last_o(ct_last), .offset_o(ct_offset)
  );
  loop_offset #(.Offsets(4)) u_rt (
    .clk_i, .restart_i(begin_tile), .step_i(go_pixels && ct_last), .count_i(row_steps),
    .increment_i({index_t'(UR), times(cmd_i.row_axis.stride, UR), cmd_i.a_word_q,
                  sums_pixels ? cmd_i.col_steps : cmd_i.acc_row}),
    .first_o(rt_first), .last_o(rt_last), .offset_o(rt_offset)
  );
  loop_offset #(.Offsets(3)) u_bg (
    .clk_i, .restart_i(begin_tile), .step_i(go_pixels && pixels_end && classes_end), .count_i(b_blocks),
    .increment_i({cmd_i.a_word_b, cmd_i.b_word_n, cmd_i.acc_n}),
    .first_o(bg_first), .last_o(bg_last), .offset_o(bg_offset)
  );
  loop_offset #(.Offsets(4)) u_ng (
    .clk_i, .restart_i(begin_tile), .step_i(go_taps && kc_last && kr_last), .count_i(n_groups),
    .increment_i({index_t'(NParts), cmd_i.a_word_n, cmd_i.b_word_n, cmd_i.acc_n}),
    .first_o(ng_first), .last_o(ng_last), .offset_o(ng_offset)
  );
  loop_offset #(.Offsets(2)) u_mg (
    .clk_i, .restart_i(begin_tile),
    .step_i(go && taps_end && pixels_end && classes_end && bg_last), .count_i(m_groups),
    .increment_i({cmd_i.b_word_m, cmd_i.acc_m}),
    .first_o(unused_first), .last_o(mg_last), .offset_o(mg_offset)
  );

  coord_t kr_position, kc_position, kr_word, kc_word;
  index_t kr_addr, kc_addr, kr_acc, kc_acc;
  logic   kr_void, kc_void;
  logic [RowWidth-1:0] kr_bank;
  logic [ColWidth-1:0] kc_bank;

  tap_axis #(.Banks(UC)) u_kc (
    .clk_i, .restart_i(begin_tile), .step_tap_i(go_taps), .step_class_i(go_pixels && pixels_end),
    .axis_i(cmd_i.col_axis), .word_q_i(index_t'(1)), .word_p_i(cmd_i.a_word_pc),
    .tap_first_o(kc_first), .tap_last_o(kc_last), .class_last_o(pc_last), .void_o(kc_void),
    .position_o(kc_position), .bank_o(kc_bank), .addr_o(kc_addr), .tap_word_o(kc_word), .acc_word_o(kc_acc)
  );
  tap_axis #(.Banks(UR)) u_kr (
    .clk_i, .restart_i(begin_tile), .step_tap_i(go_taps && kc_last),
    .step_class_i(go_pixels && pixels_end && pc_last),
    .axis_i(cmd_i.row_axis), .word_q_i(cmd_i.a_word_q), .word_p_i(cmd_i.a_word_pr),
    .tap_first_o(kr_first), .tap_last_o(kr_last), .class_last_o(pr_last), .void_o(kr_void),
    .position_o(kr_position), .bank_o(kr_bank), .addr_o(kr_addr), .tap_word_o(kr_word), .acc_word_o(kr_acc)
  );

  // Words of the accumulator buffer that the taps before the present one took, in weight_grad.
  index_t tap_acc_q;
  always_ff @(posedge clk_i) begin
    if (begin_tile || (go_taps && kc_last && kr_last)) tap_acc_q <= '0;
    else if (go_taps) tap_acc_q <= tap_acc_q + index_t'(UN);
  end

  // Rows of the map.
  coord_t y_q;
  logic   a_half_q, b_half_q, acc_half_q;
  logic [2:0] row_level;

  assign row_level = sums_pixels ? 3'd4 : 3'd3;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_q  <= 1'b0;
      a_half_q   <= 1'b0;
      b_half_q   <= 1'b0;
      acc_half_q <= 1'b0;
      a_shared_q <= 1'b0;
      b_shared_q <= 1'b0;
      y_q        <= '0;
    end else begin
      if (begin_tile) running_q <= 1'b1;
      if (start_i) y_q <= cmd_i.a_y;
      if (tile_end) begin
        running_q  <= 1'b0;
        a_shared_q <= a_shared;
        b_shared_q <= b_shared;
        a_half_q   <= a_half_q ^ !a_shared;
        b_half_q   <= b_half_q ^ !b_shared;
        acc_half_q <= acc_half_q ^ sum_ends;
        if (next_level < row_level) y_q <= cmd_i.a_y;
        else if (next_level == row_level) y_q <= y_q + cmd_i.a_y_step;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= go;
  end

  always_ff @(posedge clk_i) begin
    a_half_o     <= a_half_q;
    a_row_word_o <= bg_offset[2] + ng_offset[2] + rt_offset[1] + kr_addr;
    a_col_word_o <= ct_offset[0] + kc_addr;
    row_bank_o   <= kr_bank;
    col_bank_o   <= kc_bank;
    y_o          <= y_q + coord_t'(rt_offset[2]) + kr_position;
    x_o          <= cmd_i.a_x + coord_t'(ct_offset[1]) + kc_position;
    n_left_o     <= n_blocks - ng_offset[3];
    rows_left_o  <= rows - rt_offset[3];
    cols_left_o  <= cmd_i.cols - ct_offset[2];
    void_o       <= kr_void || kc_void;
    b_half_o     <= b_half_q;
    b_word_o     <= mg_offset[1] + (sums_pixels ? bg_offset[1] + rt_offset[0] + ct_offset[0]
                                                : ng_offset[1] + index_t'(kr_word) + index_t'(kc_word));
    acc_half_o   <= acc_half_q;
    acc_word_o   <= mg_offset[0] + (sums_pixels ? ng_offset[0] + tap_acc_q
                                                : bg_offset[0] + kr_acc + kc_acc + rt_offset[0] + ct_offset[0]);
    add_o        <= !sum_starts;
    sum_first_o  <= sum_first;
    sum_last_o   <= sum_last;
    tile_last_o  <= tile_end && sum_ends;
  end

  logic unused;
  assign unused = ^{cmd_i, first, last};

endmodule
