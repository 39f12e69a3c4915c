// SPDX-License-Identifier: Apache-2.0
//
// The double-buffered feature operand: UR x UC banks of words of UN x UB elements, read one word of every bank a cycle.
//
// Bank (j, k) holds the pixels whose place (pixel div stride) is j modulo UR along the rows, k modulo UC along the columns,
// so that the UR x UC pixels of neighbouring outputs lie in different banks for any tap and stride. The words are
// turned back to lane order; pixels outside the map, and channels that the tile does not have, read as zero.
// Read: 3 cycles from the step to element (ir, ic, in, ib) of a_o. Write: any cycle, a cell or a run of UC neighbours,
// of which those behind the last bank go to bank 0 and on, a word further; in memory 2 cycles later.

module feature_buffer
  import engine_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned UB           = 1,
  parameter int unsigned UN           = 4,
  parameter int unsigned UR           = 2,
  parameter int unsigned UC           = 2,
  parameter int unsigned Parts        = 2,
  parameter int unsigned Run          = 2,   // cells of a run: UC or 1
  parameter int unsigned Depth        = 512, // words of a half
  localparam int unsigned RowWidth  = UR > 1 ? $clog2(UR) : 1,
  localparam int unsigned ColWidth  = UC > 1 ? $clog2(UC) : 1,
  localparam int unsigned PartWidth = Parts > 1 ? $clog2(Parts) : 1,
  localparam int unsigned CellWidth = UN / Parts * UB * OperandWidth,
  localparam int unsigned WordWidth = UN * UB * OperandWidth
) (
  input  logic                                clk_i,
  input  logic                                weight_grad_i,
  input  index_t                              row_stride_i,
  input  index_t                              col_stride_i,
  input  index_t                              height_i,
  input  index_t                              width_i,
  input  index_t                              word_q_i,
  // write
  input  logic                                write_i,
  input  logic                                write_half_i,
  input  logic [RowWidth-1:0]                 write_row_i,
  input  logic [ColWidth-1:0]                 write_col_i,
  input  logic [PartWidth-1:0]                write_part_i,
  input  index_t                              write_addr_i,
  input  logic [Run-1:0]                      write_cell_i,
  input  logic [Run-1:0][CellWidth-1:0]       write_data_i,
  // read
  input  logic                                half_i,
  input  index_t                              row_word_i,
  input  index_t                              col_word_i,
  input  logic [RowWidth-1:0]                 row_bank_i,
  input  logic [ColWidth-1:0]                 col_bank_i,
  input  coord_t                              y_i,
  input  coord_t                              x_i,
  input  index_t                              n_left_i,
  input  index_t                              rows_left_i,
  input  index_t                              cols_left_i,
  input  logic                                void_i,
  output logic [UR-1:0][UC-1:0][WordWidth-1:0] a_o
);

  localparam int unsigned AddrWidth = $clog2(2 * Depth);

  function automatic coord_t spread(index_t stride, int unsigned lane);
    spread = '0;
    for (int unsigned i = 0; i < 8; i++) if (stride[i]) spread += coord_t'(lane << i);
  endfunction

  function automatic logic [AddrWidth-1:0] address(logic upper, index_t offset);
    return AddrWidth'(32'(offset) + (upper ? Depth : 0));
  endfunction

  // Addresses and masks.
  logic [UR-1:0][UC-1:0][AddrWidth-1:0] addr_q;
  logic [UR-1:0]                        row_ok_q, row_ok_q2;
  logic [UC-1:0]                        col_ok_q, col_ok_q2;
  logic [Parts-1:0]                     part_ok_q, part_ok_q2;
  logic [RowWidth-1:0]                  row_bank_q, row_bank_q2;
  logic [ColWidth-1:0]                  col_bank_q, col_bank_q2;
  logic [UR-1:0][UC-1:0][WordWidth-1:0] word, by_row;

  for (genvar r = 0; r < UR; r++) begin : gen_row_mask
    coord_t y;
    assign y = y_i + spread(row_stride_i, r);
    always_ff @(posedge clk_i) begin
      row_ok_q[r] <= !void_i && y >= 0 && index_t'(y) < height_i && (!weight_grad_i || index_t'(r) < rows_left_i);
    end
  end
  for (genvar c = 0; c < UC; c++) begin : gen_col_mask
    coord_t x;
    assign x = x_i + spread(col_stride_i, c);
    always_ff @(posedge clk_i) begin
      col_ok_q[c] <= x >= 0 && index_t'(x) < width_i && (!weight_grad_i || index_t'(c) < cols_left_i);
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < Parts; p++) part_ok_q[p] <= index_t'(p) < n_left_i;
    row_bank_q  <= row_bank_i;
    col_bank_q  <= col_bank_i;
    row_ok_q2   <= row_ok_q;
    col_ok_q2   <= col_ok_q;
    part_ok_q2  <= part_ok_q;
    row_bank_q2 <= row_bank_q;
    col_bank_q2 <= col_bank_q;
  end

  // The cells that are written, turned to the order of the banks.
  logic [UC-1:0]                write_q, write_next_q;
  logic [UC-1:0][CellWidth-1:0] cell_q;
  logic [AddrWidth-1:0]         write_addr_q, next_addr_q;
  logic [RowWidth-1:0]          write_row_q;
  logic [PartWidth-1:0]         write_part_q;

  always_ff @(posedge clk_i) begin
    write_addr_q <= address(write_half_i, write_addr_i);
    next_addr_q  <= address(write_half_i, write_addr_i + index_t'(1));
    write_row_q  <= write_row_i;
    write_part_q <= write_part_i;
  end

  for (genvar c = 0; c < UC; c++) begin : gen_turn
    if (Run > 1) begin : gen_run
      logic                 write, next_word;
      logic [CellWidth-1:0] data;

      always_comb begin
        write     = 1'b0;
        next_word = 1'b0;
        data      = '0;
        for (int unsigned first = 0; first < UC; first++) begin
          if (write_col_i == ColWidth'(first)) begin
            write     = write_cell_i[(c+UC-first)%UC];
            next_word = first > c;
            data      = write_data_i[(c+UC-first)%UC];
          end
        end
      end
      always_ff @(posedge clk_i) begin
        write_q[c]      <= write_i && write;
        write_next_q[c] <= next_word;
        cell_q[c]       <= data;
      end
    end else begin : gen_single
      assign write_next_q[c] = 1'b0;
      always_ff @(posedge clk_i) begin
        write_q[c] <= write_i && write_cell_i[0] && write_col_i == ColWidth'(c);
        cell_q[c]  <= write_data_i;
      end
    end
  end

  // Banks before the first lane's read one place further.
  for (genvar r = 0; r < UR; r++) begin : gen_row
    for (genvar c = 0; c < UC; c++) begin : gen_col
      logic [Parts-1:0] write;
      index_t           row_word, col_word;

      if (r < UR - 1) begin : gen_row_wrap
        assign row_word = RowWidth'(r) < row_bank_i ? row_word_i + word_q_i : row_word_i;
      end else begin : gen_last_row
        assign row_word = row_word_i;
      end
      if (c < UC - 1) begin : gen_col_wrap
        assign col_word = ColWidth'(c) < col_bank_i ? col_word_i + index_t'(1) : col_word_i;
      end else begin : gen_last_col
        assign col_word = col_word_i;
      end

      always_ff @(posedge clk_i) addr_q[r][c] <= address(half_i, row_word + col_word);

      always_comb begin
        write = '0;
        if (write_q[c] && write_row_q == RowWidth'(r)) write[write_part_q] = 1'b1;
      end

      buffer_ram #(
        .Lanes    (Parts),
        .LaneWidth(CellWidth),
        .Depth    (2 * Depth)
      ) u_ram (
        .clk_i,
        .write_i     (write),
        .write_addr_i(write_next_q[c] ? next_addr_q : write_addr_q),
        .write_data_i({Parts{cell_q[c]}}),
        .read_en_i   (1'b1),
        .read_addr_i (addr_q[r][c]),
        .read_o      (word[r][c])
      );
    end
  end

  // Lane ir reads bank (bank of lane 0 + ir) modulo UR; likewise the columns.
  always_comb begin
    for (int unsigned r = 0; r < UR; r++) begin
      by_row[r] = word[(32'(row_bank_q2) + r) % UR];
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned r = 0; r < UR; r++) begin
      for (int unsigned c = 0; c < UC; c++) begin
        for (int unsigned p = 0; p < Parts; p++) begin
          a_o[r][c][p*CellWidth+:CellWidth] <=
            row_ok_q2[r] && col_ok_q2[c] && part_ok_q2[p] ?
            by_row[r][(32'(col_bank_q2) + c) % UC][p*CellWidth+:CellWidth] : '0;
        end
      end
    end
  end

  if (UR == 1) begin : gen_unused_row
    logic unused;
    assign unused = ^{row_bank_i, word_q_i};
  end
  if (UC == 1) begin : gen_unused_col
    logic unused;
    assign unused = ^{col_bank_i, next_addr_q};
  end

endmodule
