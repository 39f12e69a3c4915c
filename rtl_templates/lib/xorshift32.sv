// SPDX-License-Identifier: Apache-2.0
//
// Marsaglia's xorshift generator with the triple (13, 17, 5), as many draws a cycle as there are lanes.
//
//   x ^= x << 13; x ^= x >> 17; x ^= x << 5;   the draw is the new x
// draws_o[i] is draw i counted from the present state; next_i moves on by Draws. load_i sets the state to seed_i, with
// 1 in the place of 0, from which the generator would never leave. Lanes that take their draws in storage order thus
// see the sequence of one generator. A step is linear over bits, and so is any number of them: each bit of each draw is
// the exclusive or of bits of the state, as constants say, and no draw waits for another.
// Source: G. Marsaglia, Xorshift RNGs, J. Stat. Software 8(14), 2003.

module xorshift32 #(
  parameter int unsigned Draws = 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   load_i,
  input  logic [31:0]            seed_i,
  input  logic                   next_i,
  output logic [31:0]            state_o, // the last draw that was used
  output logic [Draws-1:0][31:0] draws_o
);

  if (Draws < 1 || Draws > 256) begin : gen_bad_draws
    $fatal(1, "xorshift32: Draws must be from 1 to 256");
  end

  logic [31:0] state_q;
  assign state_o = state_q;

  // The bits of the state whose exclusive or is bit `to` of each draw: for a step later those that the bits themselves
  // come from, which is the step with its shifts turned round and in reverse order.
  typedef logic [Draws-1:0][31:0] taps_t;

  function automatic taps_t taps(int unsigned to);
    taps_t       found;
    logic [31:0] bits;
    bits = 32'd1 << to;
    for (int unsigned i = 0; i < Draws; i++) begin
      bits     = bits ^ (bits >> 5);
      bits     = bits ^ (bits << 17);
      bits     = bits ^ (bits >> 13);
      found[i] = bits;
    end
    return found;
  endfunction

  for (genvar to = 0; to < 32; to++) begin : gen_bit
    localparam taps_t Taps = taps(to);
    for (genvar i = 0; i < Draws; i++) begin : gen_draw
      assign draws_o[i][to] = ^(state_q & Taps[i]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= 32'd1;
    else if (load_i) state_q <= seed_i == '0 ? 32'd1 : seed_i;
    else if (next_i) state_q <= draws_o[Draws-1];
  end

endmodule
