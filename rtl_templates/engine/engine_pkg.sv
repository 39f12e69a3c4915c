// SPDX-License-Identifier: Apache-2.0
//
// The command of the convolution engine: one phase of one layer. Every field is a 32-bit word of which the engine keeps
// the bits it needs; the first field is word 0. docs/rtl.md explains them; dse/engine/command.py computes them.

package engine_pkg;

  typedef enum logic [1:0] {
    Forward    = 2'd0,
    InputGrad  = 2'd1,
    WeightGrad = 2'd2
  } mode_e;

  localparam int unsigned Levels       = 5;  // of tile loops
  localparam int unsigned CommandWords = 101;
  localparam int unsigned BeatWidth    = 32; // DRAM addresses and strides in beats, modulo 2^32
  localparam int unsigned IndexWidth   = 16; // counts, buffer addresses and coordinates (these signed)

  typedef logic [BeatWidth-1:0]         beat_t;
  typedef logic [IndexWidth-1:0]        index_t;
  typedef logic signed [IndexWidth-1:0] coord_t;

  // One axis (rows or columns) of the loop nest.
  typedef struct packed {
    index_t taps;       // kernel taps, or the most that a class of input_grad has
    index_t classes;    // 1, or the stride in input_grad
    index_t class_last; // the last class that has `taps` taps (the others have one less)
    index_t stride;     // pixels of the feature operand from one output to the next
    coord_t tap_top;    // weight of the first tap, in words of the operand buffer
    coord_t tap_step;   // from a tap to the next
    coord_t tap_class;  // from a class to the next
    index_t acc_class;  // words of the accumulator buffer from a class to the next
  } axis_t;

  // A size in full tiles and in the last one along its dimension.
  typedef struct packed {
    index_t full;
    index_t last;
  } size_pair_t;

  typedef struct packed {
    beat_t              base;
    beat_t [Levels-1:0] step;    // between tiles, per level
    beat_t              outer;   // between the blocks of a tile
    beat_t              inner;
    beat_t              row;     // beats of a row
  } stream_t;

  typedef struct packed {
    mode_e              mode;
    logic signed [7:0]  shift;
    logic               raw;
    logic               relu;    // of requantised results
    index_t [Levels-1:0] count;  // tiles per level; level 0 is the outermost
    size_pair_t m_blocks, n_blocks, b_blocks; // ChannelBlock channels, ChannelBlock channels, UB samples
    size_pair_t m_groups, n_groups;           // UM and UN channels
    size_pair_t rows, row_steps;              // rows of the nest, and UR rows
    index_t     cols, col_steps;
    axis_t      row_axis, col_axis;
    stream_t    a;
    coord_t     a_y, a_y_step, a_x;           // the map's pixel under the window's first; per tile of rows
    size_pair_t a_rows;                       // rows of the window
    index_t     a_height, a_width;
    index_t     a_cells;                      // of a row: columns, or fewer where they come in runs
    index_t     a_word_b, a_word_n, a_word_q, a_word_pr, a_word_pc; // words of the feature buffer
    stream_t    b;
    beat_t      b_beats, b_beats_last;        // of a burst
    index_t     b_cells;                      // of a row
    index_t     b_word_m, b_word_n;           // words of the operand buffer per UM channels; per UN channels or UB samples
    index_t     acc_m, acc_n, acc_row;        // words of the accumulator buffer; acc_n per UB samples or UN channels
    stream_t    o;
    index_t     o_rows_first, o_rows_mid, o_rows_last;
    beat_t      o_beats_first, o_beats_mid, o_beats_last;
    index_t     o_cells;                      // of a row, as a_cells
    index_t     o_width;                      // columns of a row of pixels, cells of one of gradients
    index_t     o_row_class, o_col_class;     // class of the first row and column
    index_t     mask_m, mask_n;               // channels of a group where a set holds several, else 0
  } command_t;

endpackage
