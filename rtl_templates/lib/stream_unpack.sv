// SPDX-License-Identifier: Apache-2.0
//
// Cuts the beats of a stream into cells of SmallCell or LargeCell elements (large_i), element 0 lowest in both.
//
// Cells come in rows of cells_i; a row takes row_beats_i beats, and what is left of its last beat is dropped. The last
// cell of a row may have fewer elements than the others: it is there when the row's beats are. A cell leaves every
// cycle if it has no more elements than a beat, else a beat enters every cycle, across rows too.
// large_i, cells_i and row_beats_i may change only between rows. The cells' upper elements are undefined if small.

module stream_unpack #(
  parameter int unsigned DataWidth    = 64,
  parameter int unsigned ElementWidth = 8,
  parameter int unsigned SmallCell    = 4,
  parameter int unsigned LargeCell    = 8, // at least SmallCell
  parameter int unsigned CountWidth   = 16,
  parameter int unsigned BeatsWidth   = 32
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              large_i,
  input  logic [CountWidth-1:0]             cells_i,
  input  logic [BeatsWidth-1:0]             row_beats_i,
  input  logic                              data_valid_i,
  output logic                              data_ready_o,
  input  logic [DataWidth-1:0]              data_i,
  output logic                              cell_valid_o,
  input  logic                              cell_ready_i,
  output logic [LargeCell*ElementWidth-1:0] cell_o
);

  if (DataWidth % ElementWidth != 0) begin : gen_bad_data_width
    $fatal(1, "stream_unpack: DataWidth must be a multiple of ElementWidth");
  end
  if (SmallCell < 1 || LargeCell < SmallCell) begin : gen_bad_cells
    $fatal(1, "stream_unpack: cells must be 1 <= SmallCell <= LargeCell");
  end

  function automatic int unsigned common_divisor(int unsigned a, int unsigned b);
    common_divisor = a;
    for (int unsigned d = 1; d <= a; d++) if (a % d == 0 && b % d == 0) common_divisor = d;
  endfunction

  // All is counted in units, so that what enters is shifted by whole ones.
  localparam int unsigned Beat      = DataWidth / ElementWidth;
  localparam int unsigned Unit      = common_divisor(common_divisor(Beat, SmallCell), LargeCell);
  localparam int unsigned UnitWidth = Unit * ElementWidth;
  localparam int unsigned Elements  = Beat / Unit;
  localparam int unsigned Small     = SmallCell / Unit;
  localparam int unsigned Large     = LargeCell / Unit;
  localparam int unsigned Capacity  = Elements + Large;
  localparam int unsigned FillWidth = $clog2(Capacity + 1);
  localparam int unsigned HoldWidth = Capacity * UnitWidth;

  logic [HoldWidth-1:0]  held_q, held_d, rest;
  logic [FillWidth-1:0]  fill_q, fill_d, left, size;
  logic [CountWidth-1:0] cell_q;
  logic [BeatsWidth-1:0] beat_q;
  logic                  pop, push, row_end, beats_over;

  assign size         = large_i ? FillWidth'(Large) : FillWidth'(Small);
  assign cell_valid_o = fill_q >= size || (beats_over && fill_q != '0);
  assign cell_o       = held_q[LargeCell*ElementWidth-1:0];
  assign pop          = cell_valid_o && cell_ready_i;
  assign row_end      = pop && cell_q == cells_i - CountWidth'(1);
  assign beats_over   = beat_q == row_beats_i;
  assign data_ready_o = row_end || (!beats_over && left <= FillWidth'(Large));
  assign push         = data_valid_i && data_ready_o;

  always_comb begin
    rest = held_q;
    left = fill_q;
    if (row_end) begin
      rest = '0;
      left = '0;
    end else if (pop) begin
      rest = large_i ? held_q >> (Large * UnitWidth) : held_q >> (Small * UnitWidth);
      left = fill_q - size;
    end
    held_d = rest;
    fill_d = left;
    if (push) begin
      held_d = rest | (HoldWidth'(data_i) << (32'(left) * UnitWidth));
      fill_d = left + FillWidth'(Elements);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fill_q <= '0;
      held_q <= '0;
      cell_q <= '0;
      beat_q <= '0;
    end else begin
      fill_q <= fill_d;
      held_q <= held_d;
      if (pop) cell_q <= row_end ? '0 : cell_q + CountWidth'(1);
      beat_q <= (row_end ? '0 : beat_q) + BeatsWidth'(push);
    end
  end

endmodule
