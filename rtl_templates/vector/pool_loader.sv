// SPDX-License-Identifier: Apache-2.0
//
// Counts the cells that come in, row by row, into the ring, and the rows that are free again.
//
// A row begins when the ring has room for all of it. Rows up to keep_i are freed, one a cycle.

module pool_loader
  import pool_pkg::*;
#(
  parameter int unsigned Depth = 1024,
  localparam int unsigned AddrWidth = $clog2(Depth)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 start_i,
  input  command_t             cmd_i,
  input  total_t               keep_i,
  output total_t               loaded_o,  // rows, over all maps
  output logic                 active_o,
  output logic                 blocked_o, // the ring has no room for a row, and no row can be freed
  input  logic                 cell_valid_i,
  output logic                 cell_ready_o,
  output logic                 write_o,
  output logic [AddrWidth-1:0] write_addr_o
);

  beat_t                map_q;
  index_t               row_q, col_q, space_q, taken, given;
  total_t               loaded_q, freed_q;
  logic [AddrWidth-1:0] addr_q;
  logic                 active_q, room, frees, row_begin, row_end, map_end;

  assign row_begin    = col_q == '0;
  assign room         = space_q >= cmd_i.col.sources;
  assign frees        = freed_q != keep_i && freed_q != loaded_q;
  assign cell_ready_o = active_q && (!row_begin || room);
  assign write_o      = cell_valid_i && cell_ready_o;
  assign write_addr_o = addr_q;
  assign row_end      = write_o && col_q == cmd_i.col.sources - index_t'(1);
  assign map_end      = row_end && row_q == cmd_i.row.sources - index_t'(1);
  assign taken        = write_o && row_begin ? cmd_i.col.sources : '0;
  assign given        = frees ? cmd_i.col.sources : '0;
  assign loaded_o     = loaded_q;
  assign active_o     = active_q;
  assign blocked_o    = active_q && row_begin && !room && !frees;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) active_q <= 1'b0;
    else if (start_i) active_q <= 1'b1;
    else if (map_end && map_q == cmd_i.maps - beat_t'(1)) active_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      {map_q, row_q, col_q, loaded_q, freed_q, addr_q} <= '0;
      space_q <= index_t'(Depth);
    end else begin
      space_q <= space_q - taken + given;
      freed_q <= freed_q + total_t'(frees);
      if (write_o) begin
        addr_q <= addr_q + AddrWidth'(1);
        col_q  <= row_end ? '0 : col_q + index_t'(1);
      end
      if (row_end) begin
        loaded_q <= loaded_q + total_t'(1);
        row_q    <= map_end ? '0 : row_q + index_t'(1);
      end
      if (map_end) map_q <= map_q + beat_t'(1);
    end
  end

  logic unused;
  assign unused = ^cmd_i;

endmodule
