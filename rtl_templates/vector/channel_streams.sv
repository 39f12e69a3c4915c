// SPDX-License-Identifier: Apache-2.0
//
// The DMA commands of an operation: maps on a, vectors and the map of NormBackward on b, vectors and results on w.
// Addresses are in bytes.

module channel_streams
  import channel_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned ChannelBlock = 8,
  parameter int unsigned DataWidth    = 64,
  parameter int unsigned AddrWidth    = 32
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 start_i,
  input  channel_t             cmd_i,
  input  logic                 sums_i,    // there is a pass that sums
  input  logic                 results_i, // there is a pass that gives results
  input  logic [1:0]           loads_i,   // vectors read
  input  logic [1:0]           stores_i,  // vectors written
  output logic                 a_cmd_valid_o,
  input  logic                 a_cmd_ready_i,
  output logic [AddrWidth-1:0] a_cmd_addr_o,
  output logic [BeatWidth-1:0] a_cmd_beats_o,
  output logic                 b_cmd_valid_o,
  input  logic                 b_cmd_ready_i,
  output logic [AddrWidth-1:0] b_cmd_addr_o,
  output logic [BeatWidth-1:0] b_cmd_beats_o,
  output logic                 w_active_o,
  output logic                 w_cmd_valid_o,
  input  logic                 w_cmd_ready_i,
  output logic [AddrWidth-1:0] w_cmd_addr_o,
  output logic [BeatWidth-1:0] w_cmd_beats_o
);

  localparam int unsigned ByteShift   = $clog2(DataWidth / 8);
  localparam beat_t       NarrowBeats = beat_t'((ChannelBlock * OperandWidth + DataWidth - 1) / DataWidth);
  localparam beat_t       WideBeats   = beat_t'((4 * ChannelBlock * OperandWidth + DataWidth - 1) / DataWidth);

  logic        both, backward, wide_in, unused_a_active, unused_b_active;
  beat_t       a_addr, b_addr, w_addr;
  beat_t       read_beats;

  assign both       = sums_i && results_i;
  assign backward   = cmd_i.op == NormBackward;
  assign wide_in    = cmd_i.op == Bias && cmd_i.wide;
  assign read_beats = backward ? WideBeats : NarrowBeats;

  channel_requests u_a (
    .clk_i, .rst_ni, .start_i, .both_i(both), .channel_blocks_i(cmd_i.channel_blocks),
    .sample_blocks_i(cmd_i.sample_blocks), .vectors_i(2'd0), .vector_base_i('0), .long_row_i('0),
    .short_row_i('0), .planes_i(1'b1), .plane_base_i(cmd_i.a_base), .plane_beats_i(wide_in ? cmd_i.wide_plane : cmd_i.narrow_plane),
    .sample_step_i(wide_in ? cmd_i.wide_sample : cmd_i.narrow_sample),
    .block_step_i(wide_in ? cmd_i.wide_block : cmd_i.narrow_block), .active_o(unused_a_active),
    .cmd_valid_o(a_cmd_valid_o), .cmd_ready_i(a_cmd_ready_i), .cmd_addr_o(a_addr), .cmd_beats_o(a_cmd_beats_o)
  );
  channel_requests u_b (
    .clk_i, .rst_ni, .start_i(start_i && loads_i != '0), .both_i(both && backward),
    .channel_blocks_i(cmd_i.channel_blocks), .sample_blocks_i(cmd_i.sample_blocks), .vectors_i(loads_i),
    .vector_base_i(cmd_i.in), .long_row_i(read_beats), .short_row_i(NarrowBeats), .planes_i(backward),
    .plane_base_i(cmd_i.b_base), .plane_beats_i(cmd_i.narrow_plane), .sample_step_i(cmd_i.narrow_sample),
    .block_step_i(cmd_i.narrow_block), .active_o(unused_b_active),
    .cmd_valid_o(b_cmd_valid_o), .cmd_ready_i(b_cmd_ready_i), .cmd_addr_o(b_addr), .cmd_beats_o(b_cmd_beats_o)
  );
  channel_requests u_w (
    .clk_i, .rst_ni, .start_i, .both_i(1'b0), .channel_blocks_i(cmd_i.channel_blocks),
    .sample_blocks_i(cmd_i.sample_blocks), .vectors_i(stores_i), .vector_base_i({beat_t'(0), cmd_i.out}),
    .long_row_i(WideBeats), .short_row_i('0), .planes_i(results_i), .plane_base_i(cmd_i.w_base),
    .plane_beats_i(backward ? cmd_i.wide_plane : cmd_i.narrow_plane),
    .sample_step_i(backward ? cmd_i.wide_sample : cmd_i.narrow_sample),
    .block_step_i(backward ? cmd_i.wide_block : cmd_i.narrow_block), .active_o(w_active_o),
    .cmd_valid_o(w_cmd_valid_o), .cmd_ready_i(w_cmd_ready_i), .cmd_addr_o(w_addr), .cmd_beats_o(w_cmd_beats_o)
  );

  assign a_cmd_addr_o = AddrWidth'(64'(a_addr) << ByteShift);
  assign b_cmd_addr_o = AddrWidth'(64'(b_addr) << ByteShift);
  assign w_cmd_addr_o = AddrWidth'(64'(w_addr) << ByteShift);

  logic unused;
  assign unused = ^{cmd_i, unused_a_active, unused_b_active};

endmodule
