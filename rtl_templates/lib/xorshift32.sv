// SPDX-License-Identifier: Apache-2.0
//
// Marsaglia's xorshift generator with the triple (13, 17, 5), as many draws a cycle as there are lanes.
//
//   x ^= x << 13; x ^= x >> 17; x ^= x << 5;   the draw is the new x
// draws_o[i] is draw i counted from the present state; next_i moves on by Draws. load_i sets the state to seed_i, with
// 1 in the place of 0, from which the generator would never leave. Lanes that take their draws in storage order thus
// see the sequence of one generator. A step is linear over bits, and so is any number of them: a draw is the exclusive
// or of a constant word for each bit of the state that is set, and no draw waits for another. A balanced tree of words
// is as few levels as one of bits, and fewer instructions of a simulator.
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

  function automatic logic [31:0] step(logic [31:0] x);
    logic [31:0] y;
    y = x ^ (x << 13);
    y = y ^ (y >> 17);
    return y ^ (y << 5);
  endfunction

  // What each bit of the state adds to draw i.
  typedef logic [31:0][31:0] words_t;

  function automatic words_t columns(int unsigned i);
    words_t found;
    for (int unsigned from = 0; from < 32; from++) begin
      found[from] = 32'd1 << from;
      for (int unsigned n = 0; n <= i; n++) found[from] = step(found[from]);
    end
    return found;
  endfunction

  for (genvar i = 0; i < Draws; i++) begin : gen_draw
    localparam words_t Columns = columns(i);
    words_t words;
    always_comb begin
      for (int unsigned from = 0; from < 32; from++) words[from] = {32{state_q[from]}} & Columns[from];
      for (int unsigned half = 16; half > 0; half /= 2) begin
        for (int unsigned to = 0; to < half; to++) words[to] = words[2*to] ^ words[2*to+1];
      end
    end
    assign draws_o[i] = words[0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= 32'd1;
    else if (load_i) state_q <= seed_i == '0 ? 32'd1 : seed_i;
    else if (next_i) state_q <= draws_o[Draws-1];
  end

endmodule
