// SPDX-License-Identifier: Apache-2.0
//
// DMA commands of one stream: in the first pass over a channel block a row of each of its vectors, then, if planes_i, a
// command a plane, that is a block of samples; in the second pass the planes again. One command a cycle.
//
// Rows of a vector and planes of the same samples follow one another in DRAM, block by block of channels.

module channel_requests
  import channel_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,        // with vectors_i or planes_i other than 0
  input  logic        both_i,         // two passes
  input  index_t      channel_blocks_i,
  input  index_t      sample_blocks_i,
  input  logic [1:0]  vectors_i,      // how many
  input  beat_t [2:0] vector_base_i,
  input  beat_t [2:0] vector_beats_i,
  input  logic        planes_i,
  input  beat_t       plane_base_i,
  input  beat_t       plane_beats_i,
  input  beat_t       sample_step_i,
  output logic        active_o,
  output logic        cmd_valid_o,
  input  logic        cmd_ready_i,
  output beat_t       cmd_addr_o,
  output beat_t       cmd_beats_o
);

  logic        active, second, accept, on_vector, vectors_end, planes_end, pass_end;
  index_t      block;
  logic [1:0]  vector_q;
  index_t      sample_q;
  beat_t       offset_q;        // of the plane from that of the first samples
  beat_t [2:0] vector_addr_q;
  beat_t [1:0] plane_addr_q;    // of the first and second pass

  channel_sweeps u_sweeps (
    .clk_i,
    .rst_ni,
    .start_i,
    .both_i,
    .blocks_i(channel_blocks_i),
    .next_i  (pass_end),
    .active_o(active),
    .second_o(second),
    .block_o (block)
  );

  assign on_vector   = !second && vector_q != vectors_i;
  assign accept      = active && cmd_ready_i;
  assign vectors_end = on_vector && !planes_i && vector_q == vectors_i - 2'd1;
  assign planes_end  = !on_vector && sample_q == sample_blocks_i - index_t'(1);
  assign pass_end    = accept && (vectors_end || planes_end);

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      vector_q      <= '0;
      sample_q      <= '0;
      offset_q      <= '0;
      vector_addr_q <= vector_base_i;
      plane_addr_q  <= {2{plane_base_i}};
    end else if (accept) begin
      vector_q <= pass_end ? '0 : vector_q + 2'(on_vector);
      for (int unsigned i = 0; i < 3; i++) begin
        if (on_vector && vector_q == 2'(i)) vector_addr_q[i] <= vector_addr_q[i] + vector_beats_i[i];
      end
      if (!on_vector) begin
        sample_q <= planes_end ? '0 : sample_q + index_t'(1);
        offset_q <= planes_end ? '0 : offset_q + sample_step_i;
        if (planes_end) plane_addr_q[second] <= plane_addr_q[second] + plane_beats_i;
      end
    end
  end

  beat_t vector_addr, vector_beats;
  always_comb begin
    vector_addr  = vector_addr_q[0];
    vector_beats = vector_beats_i[0];
    for (int unsigned i = 1; i < 3; i++) begin
      if (vector_q == 2'(i)) begin
        vector_addr  = vector_addr_q[i];
        vector_beats = vector_beats_i[i];
      end
    end
  end

  assign active_o    = active;
  assign cmd_valid_o = active;
  assign cmd_addr_o  = on_vector ? vector_addr : plane_addr_q[second] + offset_q;
  assign cmd_beats_o = on_vector ? vector_beats : plane_beats_i;

  logic unused;
  assign unused = ^block;

endmodule
