// SPDX-License-Identifier: Apache-2.0
//
// Records of a schedule: a header of HeaderWords words of 32 bits, then the command of a unit. dse/schedule/record.py
// writes them.

package sequencer_pkg;

  localparam int unsigned HeaderWords   = 4;
  localparam int unsigned Units         = 4;
  localparam int unsigned SlotWidth     = 8;
  localparam int unsigned CounterWidth  = 16;
  localparam int unsigned ExponentWidth = 16;

  // Who does it. Host: stop until the host says resume.
  localparam int unsigned Engine      = 0;
  localparam int unsigned Elementwise = 1;
  localparam int unsigned Pool        = 2;
  localparam int unsigned Channel     = 3;
  localparam int unsigned Host        = 4;

  typedef logic [2:0] unit_t;

  // Where shift_a comes from (shift_b is 0 but for Align). bl is the bit length in slot a, x an exponent, k the width of
  // an operand.
  typedef enum logic [1:0] {
    Zero      = 2'd0,
    Normalise = 2'd1, // bl - (k - 1), or 0 where bl = 0
    Step      = 2'd2, // bl + rate shift + extra - (k - 1)
    Align     = 2'd3  // shift_a = X - 8 - x_a, shift_b = X - 8 - x_b with X the larger exponent
  } shift_e;

  // The exponent of the result: a start, the shift if `shifted`, and an addend.
  typedef enum logic [1:0] {
    FromZero = 2'd0,
    FromA    = 2'd1,
    FromMax  = 2'd2 // of a and b
  } exponent_e;

  typedef struct packed {
    unit_t                           unit;
    logic [7:0]                      payload; // words
    logic [CounterWidth-1:0]         counter;
    logic [1:0]                      a_base, b_base, w_base;
    shift_e                          shift;
    logic                            extra;
    exponent_e                       exponent;
    logic                            shifted;
    logic [2:0]                      writes;  // slots out, of the weights', of the biases' gradient
    logic [SlotWidth-1:0]            a_slot, b_slot, o_slot, weight_slot, bias_slot;
    logic signed [ExponentWidth-1:0] addend;
  } header_t;

  function automatic header_t header(logic [HeaderWords-1:0][31:0] word);
    header_t h;
    h.unit        = word[0][2:0];
    h.payload     = word[0][15:8];
    h.counter     = word[0][31:16];
    h.a_base      = word[1][1:0];
    h.b_base      = word[1][3:2];
    h.w_base      = word[1][5:4];
    h.shift       = shift_e'(word[1][9:8]);
    h.extra       = word[1][10];
    h.exponent    = exponent_e'(word[1][13:12]);
    h.shifted     = word[1][14];
    h.writes      = word[1][18:16];
    h.a_slot      = word[2][7:0];
    h.b_slot      = word[2][15:8];
    h.o_slot      = word[2][23:16];
    h.addend      = word[3][15:0];
    h.weight_slot = word[3][23:16];
    h.bias_slot   = word[3][31:24];
    return h;
  endfunction

  typedef enum logic [3:0] {
    NoError       = 4'd0,
    ReadError0    = 4'd1, // a response other than OKAY, or a misaligned address, on master 0
    ReadError1    = 4'd2,
    WriteError    = 4'd3,
    UnitError     = 4'd4, // a unit refused its command: a size is beyond a buffer
    EmptySchedule = 4'd5,
    CutSchedule   = 4'd6, // it ends within a record, or is longer than the memory
    UnknownUnit   = 4'd7,
    BadBase       = 4'd8  // a base address is no multiple of a beat
  } error_e;

endpackage
