// SPDX-License-Identifier: Apache-2.0
//
// DMA commands of one stream: in the first pass over a channel block a row of each of its vectors, then, if planes_i, a
// command a plane, that is a block of samples; in the second pass the planes again. One command a cycle.
//
// Rows of a vector follow one another, channel block by channel block. From a plane it is sample_step_i beats to that of
// the next samples, from the last of them block_step_i to the first of the next channel block.

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
  input  beat_t       long_row_i,     // beats of a row of the first two vectors
  input  beat_t       short_row_i,    // of the third
  input  logic        planes_i,
  input  beat_t       plane_base_i,
  input  beat_t       plane_beats_i,
  input  beat_t       sample_step_i,
  input  beat_t       block_step_i,
  output logic        active_o,
  output logic        cmd_valid_o,
  input  logic        cmd_ready_i,
  output beat_t       cmd_addr_o,
  output beat_t       cmd_beats_o
);

  logic        second, accept, on_vector, vectors_end, planes_end, pass_end;
  index_t      block;
  logic [1:0]  vector_q;
  index_t      sample_q;
  beat_t       long_q, short_q; // from the base to the row of this channel block
  beat_t [1:0] plane_q;         // from the base to the next plane of the first and second pass
  beat_t       base, offset;

  channel_sweeps u_sweeps (
    .clk_i,
    .rst_ni,
    .start_i,
    .both_i,
    .blocks_i(channel_blocks_i),
    .next_i  (pass_end),
    .active_o,
    .second_o(second),
    .block_o (block)
  );

  assign on_vector   = !second && vector_q != vectors_i;
  assign accept      = active_o && cmd_ready_i;
  assign vectors_end = on_vector && !planes_i && vector_q == vectors_i - 2'd1;
  assign planes_end  = !on_vector && sample_q == sample_blocks_i - index_t'(1);
  assign pass_end    = accept && (vectors_end || planes_end);

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      vector_q <= '0;
      sample_q <= '0;
      long_q   <= '0;
      short_q  <= '0;
      plane_q  <= '0;
    end else if (accept) begin
      vector_q <= pass_end ? '0 : vector_q + 2'(on_vector);
      if (pass_end && !second) begin
        long_q  <= long_q + long_row_i;
        short_q <= short_q + short_row_i;
      end
      if (!on_vector) begin
        sample_q        <= planes_end ? '0 : sample_q + index_t'(1);
        plane_q[second] <= offset + (planes_end ? block_step_i : sample_step_i);
      end
    end
  end

  always_comb begin
    case (vector_q)
      2'd0:    base = vector_base_i[0];
      2'd1:    base = vector_base_i[1];
      default: base = vector_base_i[2];
    endcase
    if (!on_vector) base = plane_base_i;
    if (!on_vector) offset = plane_q[second];
    else offset = vector_q == 2'd2 ? short_q : long_q;
  end

  assign cmd_valid_o = active_o;
  assign cmd_addr_o  = base + offset;
  assign cmd_beats_o = !on_vector ? plane_beats_i : vector_q == 2'd2 ? short_row_i : long_row_i;

  logic unused;
  assign unused = ^block;

endmodule
