// SPDX-License-Identifier: Apache-2.0
//
// The windows of the result pixels along one axis, one a step; after the last comes the first again.
//
// Forward: a window moves by the stride a step. Backward: its end moves every `stride` steps, its beginning when the
// pixel leaves the kernel of the first window (at tap_top).

module pool_axis
  import pool_pkg::*;
(
  input  logic   clk_i,
  input  logic   start_i,
  input  logic   step_i,
  input  logic   backward_i,
  input  axis_t  axis_i,
  output coord_t first_o, // of the window, cut to the map
  output coord_t last_o,
  output index_t tap_o,   // of the first
  output logic   empty_o, // no pixel of the operand is in the window
  output logic   cut_o,   // the window begins before the map
  output logic   moves_o, // the next window begins further on
  output logic   end_o    // of the last result pixel
);

  coord_t first_q, last_q;
  index_t phase_q, tap_q, place_q;

  assign end_o   = place_q == axis_i.outputs - index_t'(1);
  assign cut_o   = first_q < 0;
  assign moves_o = !backward_i || tap_q == axis_i.tap_top;
  assign first_o = cut_o ? '0 : first_q;
  assign last_o  = last_q >= coord_t'(axis_i.sources) ? coord_t'(axis_i.sources - index_t'(1)) : last_q;
  assign tap_o   = tap_q;
  assign empty_o = first_o > last_o;

  always_ff @(posedge clk_i) begin
    if (start_i || (step_i && end_o)) begin
      place_q <= '0;
      first_q <= axis_i.first;
      last_q  <= axis_i.last;
      phase_q <= axis_i.phase;
      tap_q   <= axis_i.tap;
    end else if (step_i) begin
      place_q <= place_q + index_t'(1);
      if (backward_i) begin
        phase_q <= phase_q == axis_i.stride - index_t'(1) ? '0 : phase_q + index_t'(1);
        if (phase_q == axis_i.stride - index_t'(1)) last_q <= last_q + coord_t'(1);
        if (moves_o) first_q <= first_q + coord_t'(1);
        tap_q <= tap_q + axis_i.tap_unit - (moves_o ? axis_i.tap_stride : '0);
      end else begin
        first_q <= first_q + coord_t'(axis_i.stride);
        last_q  <= last_q + coord_t'(axis_i.stride);
        tap_q   <= tap_q > axis_i.tap_stride ? tap_q - axis_i.tap_stride : '0;
      end
    end
  end

endmodule
