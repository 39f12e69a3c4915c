// SPDX-License-Identifier: Apache-2.0
//
// The command of the channel unit, what travels with a group of elements, and how lanes share channels. Every field of a
// command is a 32-bit word of which the unit keeps the bits it needs; the first field is word 0. dse/vector/channel.py
// computes them.

package channel_pkg;

  typedef enum logic [1:0] {
    Sum          = 2'd0, // of every channel
    Bias         = 2'd1, // a + bias, shifted and clipped
    NormForward  = 2'd2, // batch normalisation
    NormBackward = 2'd3
  } op_e;

  localparam int unsigned ChannelWords = 28;
  localparam int unsigned BeatWidth    = 32; // DRAM addresses and strides in beats, modulo 2^32
  localparam int unsigned IndexWidth   = 16;
  localparam int unsigned ShiftWidth   = 6;

  typedef logic [BeatWidth-1:0]  beat_t;
  typedef logic [IndexWidth-1:0] index_t;

  typedef struct packed {
    op_e                   op;
    logic                  wide;          // elements of a (Bias)
    logic                  relu;
    logic                  error;         // the input's error is wanted (NormBackward)
    logic [ShiftWidth-1:0] shift;         // Bias of wide elements, at most 3 OperandWidth
    index_t                channel_blocks;
    index_t                channels_last; // in the last block
    index_t                sample_blocks;
    index_t                samples_last;
    index_t                rows;          // of a plane
    index_t                groups;        // of a row: its beats with narrow elements
    index_t                lanes_last;    // elements of a row's last group
    logic [2:0]            steps_last;    // beats of a row's last group with wide elements
    logic [31:0]           count;         // elements of a channel
    beat_t                 narrow_plane;  // beats of a plane; from a plane to that of the next samples; from the
    beat_t                 narrow_sample; //   plane of the last samples to that of the first of the next block
    beat_t                 narrow_block;
    beat_t                 wide_plane;
    beat_t                 wide_sample;
    beat_t                 wide_block;
    beat_t                 a_base, b_base, w_base;
    beat_t [2:0]           in;            // vectors read, in order
    beat_t [1:0]           out;           // vectors written, in order
  } channel_t;

  // What travels with a step: a group of elements, or a beat of its wide ones.
  typedef struct packed {
    logic       sum;         // counts in the sums
    logic       store;       // gives results
    logic       push;        // the last of a beat of results
    logic       last;        // of its pass over a channel block
    logic       final_block; // of channels
    logic       bank;        // of the coefficients
    logic [1:0] step;        // of the group
  } tag_t;

  function automatic channel_t channel_command(logic [ChannelWords-1:0][31:0] word);
    channel_t c;
    c.op             = op_e'(word[0][1:0]);
    c.wide           = word[1][0];
    c.relu           = word[2][0];
    c.error          = word[3][0];
    c.shift          = word[4][ShiftWidth-1:0];
    c.channel_blocks = word[5][IndexWidth-1:0];
    c.channels_last  = word[6][IndexWidth-1:0];
    c.sample_blocks  = word[7][IndexWidth-1:0];
    c.samples_last   = word[8][IndexWidth-1:0];
    c.rows           = word[9][IndexWidth-1:0];
    c.groups         = word[10][IndexWidth-1:0];
    c.lanes_last     = word[11][IndexWidth-1:0];
    c.steps_last     = word[12][2:0];
    c.count          = word[13];
    c.narrow_plane   = word[14];
    c.narrow_sample  = word[15];
    c.narrow_block   = word[16];
    c.wide_plane     = word[17];
    c.wide_sample    = word[18];
    c.wide_block     = word[19];
    c.a_base         = word[20];
    c.b_base         = word[21];
    c.w_base         = word[22];
    c.in[0]          = word[23];
    c.in[1]          = word[24];
    c.in[2]          = word[25];
    c.out[0]         = word[26];
    c.out[1]         = word[27];
    return c;
  endfunction

  // Neighbouring lanes that always hold the same channel: the greatest common divisor of the samples of a block and of
  // the lanes, which are a power of two.
  function automatic int unsigned span_lanes(int unsigned lanes, int unsigned samples);
    int unsigned low;
    low = samples & (~samples + 1);
    return low < lanes ? low : lanes;
  endfunction

  // Whole cells (ChannelBlock channels of UB samples) in a group, where cells do not lie across groups; else 1.
  function automatic int unsigned folds(int unsigned lanes, int unsigned samples, int unsigned channels);
    return lanes % (samples * channels) == 0 ? lanes / (samples * channels) : 1;
  endfunction

  // Spans: sets of lanes that always hold the same channel.
  function automatic int unsigned spans(int unsigned lanes, int unsigned samples, int unsigned channels);
    return lanes / (folds(lanes, samples, channels) * span_lanes(lanes, samples));
  endfunction

  // The span of a lane.
  function automatic int unsigned span_of(int unsigned lane, int unsigned lanes, int unsigned samples,
                                          int unsigned channels);
    return (lane % (lanes / folds(lanes, samples, channels))) / span_lanes(lanes, samples);
  endfunction

endpackage
