// SPDX-License-Identifier: Apache-2.0
//
// Marsaglia's xorshift generator with the triple (13, 17, 5), as many draws a cycle as there are lanes.
//
//   x ^= x << 13; x ^= x >> 17; x ^= x << 5;   the draw is the new x
// draws_o[i] is draw i counted from the present state; next_i moves on by Draws. load_i sets the state to seed_i, with
// 1 in the place of 0, from which the generator would never leave. Lanes that take their draws in storage order thus
// see the sequence of one generator. Source: G. Marsaglia, Xorshift RNGs, J. Stat. Software 8(14), 2003.

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

  function automatic logic [31:0] step(logic [31:0] x);
    logic [31:0] y;
    y = x ^ (x << 13);
    y = y ^ (y >> 17);
    return y ^ (y << 5);
  endfunction

  for (genvar i = 0; i < Draws; i++) begin : gen_draw
    if (i == 0) begin : gen_first
      assign draws_o[i] = step(state_q);
    end else begin : gen_later
      assign draws_o[i] = step(draws_o[i-1]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= 32'd1;
    else if (load_i) state_q <= seed_i == '0 ? 32'd1 : seed_i;
    else if (next_i) state_q <= draws_o[Draws-1];
  end

endmodule
