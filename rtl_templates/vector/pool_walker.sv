// SPDX-License-Identifier: Apache-2.0
//
// Walks the result pixels map by map, row by row, and the cells of the ring that each reads: one a cycle, a pixel without
// any in one. The next pixel's window is ready in registers while the present one is walked.
//
// A pixel waits until the rows that it reads are loaded. Rows before keep_o (counted over all maps) are read no more.

module pool_walker
  import pool_pkg::*;
#(
  parameter int unsigned Depth = 1024,
  localparam int unsigned AddrWidth = $clog2(Depth)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 start_i,
  input  command_t             cmd_i,
  input  total_t               loaded_i, // rows, over all maps
  output total_t               keep_o,
  output logic                 waits_o,  // for rows
  input  logic                 en_i,
  output logic                 valid_o,
  output logic                 first_o,  // of the pixel
  output logic                 last_o,
  output logic                 void_o,   // the pixel reads nothing
  output index_t               tap_o,
  output logic [AddrWidth-1:0] addr_o
);

  typedef logic [AddrWidth-1:0] addr_t;

  logic backward, pending_q, load, step_row;
  assign backward = is_backward(cmd_i.mode);

  // The next pixel.
  coord_t row_first, row_last, col_first, col_last;
  index_t row_tap, col_tap;
  logic   row_empty, row_cut, row_moves, row_end, col_empty, col_end, nothing, map_end;

  pool_axis u_row (
    .clk_i, .start_i, .step_i(step_row), .backward_i(backward), .axis_i(cmd_i.row),
    .first_o(row_first), .last_o(row_last), .tap_o(row_tap), .empty_o(row_empty), .cut_o(row_cut),
    .moves_o(row_moves), .end_o(row_end)
  );
  logic unused_cut, unused_moves;
  pool_axis u_col (
    .clk_i, .start_i, .step_i(load), .backward_i(backward), .axis_i(cmd_i.col),
    .first_o(col_first), .last_o(col_last), .tap_o(col_tap), .empty_o(col_empty), .cut_o(unused_cut),
    .moves_o(unused_moves), .end_o(col_end)
  );

  assign step_row = load && col_end;
  assign map_end  = step_row && row_end;
  assign nothing  = row_empty || col_empty;

  // Its map and rows.
  beat_t  map_q;
  total_t base_q, keep_q, next_keep;
  addr_t  map_addr_q, row_addr_q;
  logic signed [TotalWidth-1:0] ahead; // rows of its map that are loaded
  logic   there;

  assign ahead     = signed'(loaded_i - base_q);
  assign there     = row_empty || ahead > TotalWidth'(row_last);
  assign next_keep = base_q + total_t'(row_first);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pending_q <= 1'b0;
    else if (start_i) pending_q <= 1'b1;
    else if (map_end && map_q == cmd_i.maps - beat_t'(1)) pending_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      map_q      <= '0;
      base_q     <= '0;
      map_addr_q <= '0;
      row_addr_q <= addr_t'(cmd_i.ring_start);
    end else if (map_end) begin
      map_q      <= map_q + beat_t'(1);
      base_q     <= base_q + total_t'(cmd_i.row.sources);
      map_addr_q <= map_addr_q + addr_t'(cmd_i.ring_map);
      row_addr_q <= map_addr_q + addr_t'(cmd_i.ring_map) + addr_t'(cmd_i.ring_start);
    end else if (step_row && row_moves) begin
      row_addr_q <= row_addr_q + addr_t'(cmd_i.ring_step);
    end
  end

  // The present pixel.
  logic   valid_q, begin_q, void_q, line_end, pixel_end, free;
  index_t x_q, x_first_q, x_last_q, lines_q, line_tap_q, tap_q, tap_first_q;
  addr_t  line_q;

  assign line_end  = x_q == x_last_q;
  assign pixel_end = line_end && lines_q == '0;
  assign free      = !valid_q || (pixel_end && en_i);
  assign load      = pending_q && there && free;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (free) valid_q <= load;
  end

  always_ff @(posedge clk_i) begin
    if (start_i) keep_q <= '0;
    else if (free) keep_q <= next_keep;
    if (load) begin
      begin_q     <= 1'b1;
      void_q      <= nothing;
      x_q         <= nothing ? '0 : index_t'(col_first);
      x_first_q   <= index_t'(col_first);
      x_last_q    <= nothing ? '0 : index_t'(col_last);
      lines_q     <= nothing ? '0 : index_t'(row_last - row_first);
      line_q      <= row_cut ? map_addr_q : row_addr_q;
      line_tap_q  <= row_tap;
      tap_q       <= col_tap;
      tap_first_q <= col_tap;
    end else if (valid_q && en_i) begin
      begin_q <= 1'b0;
      if (line_end) begin
        x_q        <= x_first_q;
        tap_q      <= tap_first_q;
        lines_q    <= lines_q - index_t'(1);
        line_q     <= line_q + addr_t'(cmd_i.col.sources);
        line_tap_q <= backward ? line_tap_q - cmd_i.row.tap_stride : line_tap_q + cmd_i.row.tap_unit;
      end else begin
        x_q   <= x_q + index_t'(1);
        tap_q <= backward ? tap_q - cmd_i.col.tap_stride : tap_q + cmd_i.col.tap_unit;
      end
    end
  end

  assign keep_o  = keep_q;
  assign waits_o = pending_q && !there && !valid_q;
  assign valid_o = valid_q;
  assign first_o = begin_q;
  assign last_o  = pixel_end;
  assign void_o  = void_q;
  assign tap_o   = line_tap_q + tap_q;
  assign addr_o  = line_q + addr_t'(x_q);

  logic unused;
  assign unused = ^{cmd_i, unused_cut, unused_moves};

endmodule
