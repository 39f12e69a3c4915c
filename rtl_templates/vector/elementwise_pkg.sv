// SPDX-License-Identifier: Apache-2.0
//
// The command of the elementwise unit. Every field is a 32-bit word of which the unit keeps the bits it needs; the first
// field is word 0. dse/vector/elementwise.py computes them.

package elementwise_pkg;

  typedef enum logic [2:0] {
    Pass     = 3'd0, // R(a, shift_a), or a as it is where the output is wide
    Sum      = 3'd1, // R(a, shift_a) + R(b, shift_b)
    Differ   = 3'd2, // R(a, shift_a) - R(b, shift_b)
    Update   = 3'd3, // b less a step of a >> shift_a, stochastically rounded
    Momentum = 3'd4  // b - R(b, 3) + R(a, shift_a), all wide; R(a) has VelocityBits more than an operand
  } kind_e;

  localparam int unsigned ElementwiseWords = 12;
  localparam int unsigned VelocityBits     = 8;
  localparam int unsigned MomentumShift    = 3;
  localparam int unsigned CountWidth       = 32;

  typedef logic [CountWidth-1:0] count_t;

  typedef struct packed {
    kind_e      kind;
    logic signed [7:0] shift; // added to shift_a
    logic       a_wide;
    logic       o_wide;
    logic       uses_b;
    logic       masks;      // the result only where 0 < b < M
    logic       relu;
    logic       b_wide;
    logic       discards;   // nothing is written, scale_o is all that is wanted
    logic [2:0] last_beats; // of the last wide group of a row
    count_t     rows, groups;
    count_t     a_base, b_base, o_base;
    count_t     a_beats, b_beats, o_beats;
  } elementwise_t;

  function automatic elementwise_t elementwise_command(logic [ElementwiseWords-1:0][31:0] word);
    elementwise_t c;
    c.kind       = kind_e'(word[0][2:0]);
    c.a_wide     = word[1][0];
    c.o_wide     = word[1][1];
    c.uses_b     = word[1][2];
    c.masks      = word[1][3];
    c.relu       = word[1][4];
    c.discards   = word[1][5];
    c.b_wide     = word[1][6];
    c.last_beats = word[2][2:0];
    c.rows       = word[3];
    c.groups     = word[4];
    c.a_base     = word[5];
    c.b_base     = word[6];
    c.o_base     = word[7];
    c.a_beats    = word[8];
    c.b_beats    = word[9];
    c.o_beats    = word[10];
    c.shift      = word[11][7:0];
    return c;
  endfunction

endpackage
