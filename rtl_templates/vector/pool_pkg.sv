// SPDX-License-Identifier: Apache-2.0
//
// The command of the pool unit. Every field is a 32-bit word of which the unit keeps the bits it needs; the first field
// is word 0. dse/vector/pool.py computes them.
//
// A result pixel reads a window of the operand: in forward the pixels under the kernel, in backward the output pixels
// whose kernels cover it. Taps count along the kernel: of rows in units of the kernel's columns.

package pool_pkg;

  typedef enum logic [2:0] {
    MaxForward      = 3'd0, // the largest
    MaxIndexForward = 3'd1, // and where it was
    AverageForward  = 3'd2, // Q(sum * reciprocal, 16)
    MaxBackward     = 3'd3, // windows do not overlap: at most one error a pixel, narrow
    MaxSumBackward  = 3'd4, // wide: sum * reciprocal, which is 1
    AverageBackward = 3'd5  // wide: sum * reciprocal
  } mode_e;

  localparam int unsigned PoolWords  = 31;
  localparam int unsigned BeatWidth  = 32; // DRAM addresses and counts in beats
  localparam int unsigned IndexWidth = 16; // coordinates (signed), taps, places in the ring
  localparam int unsigned TotalWidth = 18; // rows counted over all maps, modulo
  localparam int unsigned ScaleWidth = 17; // of the reciprocal, unsigned

  typedef logic [BeatWidth-1:0]         beat_t;
  typedef logic [IndexWidth-1:0]        index_t;
  typedef logic signed [IndexWidth-1:0] coord_t;
  typedef logic [TotalWidth-1:0]        total_t;

  // One axis of the maps.
  typedef struct packed {
    index_t outputs;    // pixels of the result
    index_t sources;    // pixels of the operand
    coord_t first;      // window of the first result pixel, before it is cut to the map
    coord_t last;
    index_t phase;      // backward: steps since the window's end last moved
    index_t stride;
    index_t tap;        // of the first pixel of the window that the map has
    index_t tap_top;    // of the kernel's last element
    index_t tap_unit;   // from an element of the kernel to the next
    index_t tap_stride; // stride elements
  } axis_t;

  typedef struct packed {
    mode_e                 mode;
    logic [ScaleWidth-1:0] reciprocal;
    beat_t                 maps;         // blocks of channels x blocks of samples
    axis_t                 row, col;
    index_t                ring_start;   // cells from a map's first row to the first window's, modulo the ring
    index_t                ring_step;    // from a window to the next that begins further down
    index_t                ring_map;     // from a map to the next
    beat_t                 a_base, b_base, y_base, index_base;
    beat_t                 a_row, a_beats; // of a row, in all
    beat_t                 w_beats;      // of a write: a row with indexes, else all
  } command_t;

  function automatic logic is_backward(mode_e mode);
    return mode == MaxBackward || mode == MaxSumBackward || mode == AverageBackward;
  endfunction

  function automatic logic is_wide(mode_e mode);
    return mode == MaxSumBackward || mode == AverageBackward;
  endfunction

  function automatic logic uses_index(mode_e mode); // reads one
    return mode == MaxBackward || mode == MaxSumBackward;
  endfunction

  function automatic command_t pool_command(logic [PoolWords-1:0][31:0] word);
    command_t c;
    c.mode           = mode_e'(word[0][2:0]);
    c.reciprocal     = word[1][ScaleWidth-1:0];
    c.maps           = word[2];
    c.row.outputs    = word[3][IndexWidth-1:0];
    c.row.sources    = word[4][IndexWidth-1:0];
    c.row.first      = word[5][IndexWidth-1:0];
    c.row.last       = word[6][IndexWidth-1:0];
    c.row.phase      = word[7][IndexWidth-1:0];
    c.row.stride     = word[8][IndexWidth-1:0];
    c.row.tap        = word[9][IndexWidth-1:0];
    c.row.tap_top    = word[10][IndexWidth-1:0];
    c.row.tap_unit   = word[11][IndexWidth-1:0];
    c.row.tap_stride = word[12][IndexWidth-1:0];
    c.col.outputs    = word[13][IndexWidth-1:0];
    c.col.sources    = word[14][IndexWidth-1:0];
    c.col.first      = word[15][IndexWidth-1:0];
    c.col.last       = word[16][IndexWidth-1:0];
    c.col.phase      = word[17][IndexWidth-1:0];
    c.col.stride     = word[18][IndexWidth-1:0];
    c.col.tap        = word[19][IndexWidth-1:0];
    c.col.tap_top    = word[20][IndexWidth-1:0];
    c.col.tap_unit   = IndexWidth'(1);
    c.col.tap_stride = word[18][IndexWidth-1:0];
    c.ring_start     = word[21][IndexWidth-1:0];
    c.ring_step      = word[22][IndexWidth-1:0];
    c.ring_map       = word[23][IndexWidth-1:0];
    c.a_base         = word[24];
    c.b_base         = word[25];
    c.y_base         = word[26];
    c.index_base     = word[27];
    c.a_row          = word[28];
    c.a_beats        = word[29];
    c.w_beats        = word[30];
    return c;
  endfunction

endpackage
