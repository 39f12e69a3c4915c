// SPDX-License-Identifier: Apache-2.0
//
// Packs result cells into beats and commands the write DMA.
//
// Narrow cells pass queues. With indexes a row of results is followed by its row of indexes, so that one stream serves
// both: each row is a write of its own, else there is one write for everything.

module pool_store
  import pool_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned DataWidth    = 64,
  parameter int unsigned CellSize     = 8,
  parameter int unsigned RowDepth     = 256,
  localparam int unsigned CellWidth   = CellSize * OperandWidth
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   start_i,
  input  command_t               cmd_i,
  output logic                   active_o,  // writes are still to be commanded
  input  logic                   cell_valid_i,
  output logic                   cell_ready_o,
  input  logic [CellWidth-1:0]   narrow_i,
  input  logic [CellWidth-1:0]   index_i,
  input  logic [4*CellWidth-1:0] wide_i,
  output logic                   dma_valid_o,
  input  logic                   dma_ready_i,
  output beat_t                  dma_addr_o,
  output beat_t                  dma_beats_o,
  output logic                   data_valid_o,
  input  logic                   data_ready_i,
  output logic [DataWidth-1:0]   data_o
);

  localparam int unsigned MaxCell   = 4 * CellSize;
  localparam int unsigned FillWidth = $clog2(DataWidth / OperandWidth + MaxCell + 1);

  logic wide, indexed;
  assign wide    = is_wide(cmd_i.mode);
  assign indexed = cmd_i.mode == MaxIndexForward;

  // Writes.
  logic   asks_q, ask_index_q, ask_end;
  index_t ask_row_q;
  beat_t  ask_map_q, y_addr_q, index_addr_q;

  assign dma_valid_o = asks_q;
  assign dma_addr_o  = ask_index_q ? index_addr_q : y_addr_q;
  assign dma_beats_o = cmd_i.w_beats;
  assign active_o    = asks_q;
  assign ask_end     = ask_row_q == cmd_i.row.outputs - index_t'(1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) asks_q <= 1'b0;
    else if (start_i) asks_q <= 1'b1;
    else if (dma_ready_i) begin
      if (!indexed || (ask_index_q && ask_end && ask_map_q == cmd_i.maps - beat_t'(1))) asks_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      {ask_index_q, ask_row_q, ask_map_q} <= '0;
      y_addr_q     <= cmd_i.y_base;
      index_addr_q <= cmd_i.index_base;
    end else if (asks_q && dma_ready_i) begin
      ask_index_q <= !ask_index_q;
      if (!ask_index_q) y_addr_q <= y_addr_q + cmd_i.w_beats;
      else begin
        index_addr_q <= index_addr_q + cmd_i.w_beats;
        ask_row_q    <= ask_end ? '0 : ask_row_q + index_t'(1);
        if (ask_end) ask_map_q <= ask_map_q + beat_t'(1);
      end
    end
  end

  // Queues.
  logic                 y_ready, y_valid, y_pop, index_ready, index_valid, index_pop, take;
  logic [CellWidth-1:0] y_cell, index_cell;

  assign take = cell_valid_i && cell_ready_o;

  stream_fifo #(.Width(CellWidth), .Depth(RowDepth)) u_y (
    .clk_i, .rst_ni, .clear_i(start_i), .valid_i(take && !wide), .ready_o(y_ready), .data_i(narrow_i),
    .valid_o(y_valid), .ready_i(y_pop), .data_o(y_cell)
  );
  stream_fifo #(.Width(CellWidth), .Depth(RowDepth)) u_index (
    .clk_i, .rst_ni, .clear_i(start_i), .valid_i(take && indexed), .ready_o(index_ready), .data_i(index_i),
    .valid_o(index_valid), .ready_i(index_pop), .data_o(index_cell)
  );

  // Into beats.
  logic                   turn_q, pack_valid, pack_ready, row_end; // turn_q: a row of indexes
  index_t                 col_q;
  logic [4*CellWidth-1:0] pack_cell;

  assign cell_ready_o = wide ? pack_ready : y_ready && (index_ready || !indexed);
  assign pack_valid   = wide ? cell_valid_i : turn_q ? index_valid : y_valid;
  assign pack_cell    = wide ? wide_i : (4 * CellWidth)'(turn_q ? index_cell : y_cell);
  assign y_pop        = !wide && !turn_q && pack_ready;
  assign index_pop    = !wide && turn_q && pack_ready;
  assign row_end      = col_q == cmd_i.col.outputs - index_t'(1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      turn_q <= 1'b0;
      col_q  <= '0;
    end else if (start_i) begin
      turn_q <= 1'b0;
      col_q  <= '0;
    end else if (pack_valid && pack_ready) begin
      col_q <= row_end ? '0 : col_q + index_t'(1);
      if (row_end && indexed) turn_q <= !turn_q;
    end
  end

  stream_pack #(
    .DataWidth   (DataWidth),
    .ElementWidth(OperandWidth),
    .MaxCell     (MaxCell)
  ) u_pack (
    .clk_i,
    .rst_ni,
    .cell_valid_i(pack_valid),
    .cell_ready_o(pack_ready),
    .cell_last_i (row_end),
    .size_i      (wide ? FillWidth'(MaxCell) : FillWidth'(CellSize)),
    .cell_i      (pack_cell),
    .data_valid_o,
    .data_ready_i,
    .data_o
  );

  logic unused;
  assign unused = ^cmd_i;

endmodule
