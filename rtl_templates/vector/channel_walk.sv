// SPDX-License-Identifier: Apache-2.0
//
// Walks the elements of a command: passes over channel blocks, in each planes, rows, groups and steps of a group (one,
// or one for every beat of wide elements). A step goes when its beats are there and the lanes are enabled.
//
// A pass begins, where it is the first over its block, once the vectors are loaded and the sums are free, else once the
// block's statistics are in DRAM (stored_i).

module channel_walk
  import channel_pkg::*;
#(
  parameter int unsigned Lanes        = 8,
  parameter int unsigned UB           = 1,
  parameter int unsigned ChannelBlock = 8,
  localparam int unsigned Spans        = spans(Lanes, UB, ChannelBlock),
  localparam int unsigned ChannelWidth = ChannelBlock > 1 ? $clog2(ChannelBlock) : 1
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic                               start_i,
  input  channel_t                           cmd_i,
  input  logic                               sums_i,       // there is a pass that sums
  input  logic                               results_i,    // there is a pass that gives results
  // vectors, sums, statistics
  output logic                               load_o,       // pulse
  output logic                               load_bank_o,
  input  logic                               load_done_i,  // pulse
  input  logic                               loads_i,      // there are vectors to load
  input  logic [1:0]                         busy_i,       // a step of that bank is under way in the lanes
  input  logic                               sums_free_i,
  output logic                               sums_take_o,  // pulse
  input  logic                               stored_i,
  // beats
  input  logic                               a_valid_i,
  output logic                               a_ready_o,
  input  logic                               b_valid_i,
  output logic                               b_ready_o,
  // to the lanes
  input  logic                               enable_i,
  output logic                               valid_o,
  output tag_t                               tag_o,
  output logic [Spans-1:0][ChannelWidth-1:0] channel_o,
  output logic [Lanes-1:0]                   mask_o
);

  typedef enum logic [1:0] {Idle, Begin, Load, Sweep} state_e;

  state_e     state_q;
  logic       active, second, both, first_pass, wide_in, wide_out, needs_b;
  logic       step, step_last, group_last, row_last, plane_last, group_end, row_end, plane_end, pass_end;
  logic       final_block, ready, begin_sweep;
  index_t     block, group_q, row_q, plane_q, channels, samples;
  logic [2:0] steps;
  logic [1:0] step_q;

  assign both       = sums_i && results_i;
  assign first_pass = sums_i && !second; // the pass that sums
  assign wide_in    = cmd_i.op == Bias && cmd_i.wide;
  assign wide_out   = cmd_i.op == NormBackward && !first_pass;
  assign needs_b    = cmd_i.op == NormBackward;

  channel_sweeps u_sweeps (
    .clk_i,
    .rst_ni,
    .start_i,
    .both_i  (both),
    .blocks_i(cmd_i.channel_blocks),
    .next_i  (pass_end),
    .active_o(active),
    .second_o(second),
    .block_o (block)
  );

  assign final_block = block == cmd_i.channel_blocks - index_t'(1);
  assign channels    = final_block ? cmd_i.channels_last : index_t'(ChannelBlock);
  assign samples     = plane_last ? cmd_i.samples_last : index_t'(UB);

  // Steps.
  assign steps      = !wide_in && !wide_out ? 3'd1 : group_last ? cmd_i.steps_last : 3'd4;
  assign step_last  = 3'(step_q) == steps - 3'd1;
  assign group_last = group_q == cmd_i.groups - index_t'(1);
  assign row_last   = row_q == cmd_i.rows - index_t'(1);
  assign plane_last = plane_q == cmd_i.sample_blocks - index_t'(1);
  assign valid_o    = state_q == Sweep && a_valid_i && (b_valid_i || !needs_b);
  assign step       = valid_o && enable_i;
  assign a_ready_o  = state_q == Sweep && enable_i && (b_valid_i || !needs_b) && (wide_in || step_last);
  assign b_ready_o  = state_q == Sweep && enable_i && a_valid_i && needs_b && step_last;
  assign group_end  = step && step_last;
  assign row_end    = group_end && group_last;
  assign plane_end  = row_end && row_last;
  assign pass_end   = plane_end && plane_last;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      step_q  <= '0;
      group_q <= '0;
      row_q   <= '0;
      plane_q <= '0;
    end else begin
      if (step) step_q <= step_last ? '0 : step_q + 2'd1;
      if (group_end) group_q <= group_last ? '0 : group_q + index_t'(1);
      if (row_end) row_q <= row_last ? '0 : row_q + index_t'(1);
      if (plane_end) plane_q <= plane_last ? '0 : plane_q + index_t'(1);
    end
  end

  assign tag_o = '{
    sum: first_pass,
    store: !first_pass,
    push: !first_pass && (wide_out || step_last),
    last: step_last && group_last && row_last && plane_last,
    final_block: final_block,
    bank: block[0],
    step: step_q
  };

  channel_positions #(
    .Lanes       (Lanes),
    .UB          (UB),
    .ChannelBlock(ChannelBlock)
  ) u_positions (
    .clk_i,
    .restart_i   (start_i || row_end),
    .next_i      (group_end),
    .row_end_i   (group_last),
    .lanes_last_i(cmd_i.lanes_last),
    .channels_i  (channels),
    .samples_i   (samples),
    .channel_o,
    .mask_o
  );

  // A turn of planes in the stream of results is for one block.
  logic taken_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) taken_q <= 1'b0;
    else taken_q <= stored_i && (taken_q || (begin_sweep && second));
  end

  // Passes. The coefficients of a block are written where those of the block before the last one were: these must have
  // been read.
  assign ready       = second ? stored_i && !taken_q : (sums_free_i || !sums_i) && !(loads_i && busy_i[block[0]]);
  assign load_o      = state_q == Begin && active && ready && !second && loads_i;
  assign load_bank_o = block[0];
  assign begin_sweep = (state_q == Begin && active && ready && (second || !loads_i)) ||
                       (state_q == Load && load_done_i);
  assign sums_take_o = begin_sweep && first_pass;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= Idle;
    else begin
      case (state_q)
        Idle:    if (start_i) state_q <= Begin;
        Begin:   if (!active) state_q <= Idle;
                 else if (load_o) state_q <= Load;
                 else if (begin_sweep) state_q <= Sweep;
        Load:    if (begin_sweep) state_q <= Sweep;
        default: if (pass_end) state_q <= Begin;
      endcase
    end
  end

  logic unused;
  assign unused = ^{cmd_i, block};

endmodule
