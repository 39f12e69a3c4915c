// SPDX-License-Identifier: Apache-2.0
//
// Stores finished tiles: reads their cells from the accumulator buffer, requantises them and packs them into beats.
//
// Three stages, which stand still together while the beats are not taken: read, choose the cells, requantise.
// A cell has ChannelBlock x UB elements in forward and input_grad, ChannelBlock in weight_grad; raw elements have four
// times the width of operands. Pixels of neighbouring column lanes may go as a run of UC cells.

module result_store
  import engine_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned AccWidth     = 32,
  parameter int unsigned DataWidth    = 64,
  parameter int unsigned UB           = 1,
  parameter int unsigned UM           = 4,
  parameter int unsigned UN           = 4,
  parameter int unsigned UR           = 1,
  parameter int unsigned UC           = 1,
  parameter int unsigned Block        = 4,
  parameter int unsigned Run          = 1,  // cells of a run: UC or 1
  localparam int unsigned Lanes       = UR * UC * UM * UB
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           start_i,
  input  command_t                       cmd_i,
  input  logic                           half_full_i,
  output logic                           half_done_o,
  output logic                           active_o,
  output logic [6:0]                     scale_o, // bit length of the OR of all magnitudes of the sums stored
  output logic                           read_o,
  output logic                           read_half_o,
  output index_t                         read_addr_o,
  input  logic [Lanes-1:0][AccWidth-1:0] read_i,
  output logic                           dma_valid_o,
  input  logic                           dma_ready_i,
  output beat_t                          dma_addr_o,
  output beat_t                          dma_beats_o,
  output logic                           data_valid_o,
  input  logic                           data_ready_i,
  output logic [DataWidth-1:0]           data_o
);

  localparam int unsigned RawRatio  = 4;
  localparam int unsigned RawWidth  = RawRatio * OperandWidth;
  localparam int unsigned CellSize  = Block * UB;
  localparam int unsigned MParts    = UM / Block;
  localparam int unsigned RunSize   = Run * CellSize;
  localparam int unsigned MaxCell   = RunSize * RawRatio;
  localparam int unsigned FillWidth = $clog2(DataWidth / OperandWidth + MaxCell + 1);
  localparam int unsigned CellWidth = $clog2(Run + 1);
  localparam int unsigned RowWidth  = UR > 1 ? $clog2(UR) : 1;
  localparam int unsigned ColWidth  = UC > 1 ? $clog2(UC) : 1;

  logic                gradient, enable, pack_ready;
  logic                cell_valid, cell_last;
  index_t              cell_sub;
  logic [RowWidth-1:0] cell_row;
  logic [ColWidth-1:0] cell_col;
  logic [Block-1:0]    cell_keep;
  logic                runs;
  index_t              columns_left;

  logic                valid1_q, last1_q, valid2_q, last2_q, valid3_q, last3_q;
  index_t              row1_q, col1_q, sub1_q;
  logic [Block-1:0]    keep1_q;
  logic [CellWidth-1:0] cells, cells1_q, cells2_q, cells3_q; // of the run

  assign gradient = cmd_i.mode == WeightGrad;
  assign enable   = !valid3_q || pack_ready;
  assign read_o   = cell_valid && enable;

  result_walker #(
    .UR    (UR),
    .UC    (UC),
    .UN    (UN),
    .Run   (Run),
    .Block (Block),
    .MParts(MParts),
    .NParts(UN / Block)
  ) u_walker (
    .clk_i,
    .rst_ni,
    .start_i,
    .cmd_i,
    .half_full_i,
    .drained_i   (!valid1_q && !valid2_q && !valid3_q),
    .half_done_o,
    .half_o      (read_half_o),
    .active_o,
    .dma_valid_o,
    .dma_ready_i,
    .dma_addr_o,
    .dma_beats_o,
    .cell_valid_o(cell_valid),
    .cell_ready_i(enable),
    .cell_word_o (read_addr_o),
    .cell_row_o  (cell_row),
    .cell_col_o  (cell_col),
    .cell_sub_o  (cell_sub),
    .runs_o      (runs),
    .columns_left_o(columns_left),
    .cell_keep_o (cell_keep),
    .cell_last_o (cell_last)
  );

  // The cells within the word: those of the row's lanes, of which a single one goes to the front.
  logic [UR-1:0][UC-1:0][MParts-1:0][CellSize-1:0][AccWidth-1:0] pixel_cells;
  logic [UC-1:0][CellSize-1:0][AccWidth-1:0]                     row_cells;
  logic [Run-1:0][CellSize-1:0][AccWidth-1:0]                    run_cells, chosen2_q;
  logic [MParts-1:0][Block-1:0][AccWidth-1:0]                    gradient_cells;
  logic [Block-1:0][AccWidth-1:0]                                gradient_cell;

  assign pixel_cells    = read_i;
  assign gradient_cells = read_i[UM-1:0];
  assign gradient_cell  = gradient_cells[32'(sub1_q)];
  assign cells          = !runs ? CellWidth'(1) : columns_left < index_t'(Run) ? CellWidth'(columns_left) : CellWidth'(Run);

  always_comb begin
    for (int unsigned c = 0; c < UC; c++) row_cells[c] = pixel_cells[32'(row1_q)][c][32'(sub1_q)];
    for (int unsigned c = 0; c < Run; c++) run_cells[c] = row_cells[c];
    if (!runs) run_cells[0] = row_cells[32'(col1_q)];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {valid1_q, valid2_q, valid3_q} <= '0;
    else if (enable) {valid1_q, valid2_q, valid3_q} <= {cell_valid, valid1_q, valid2_q};
  end

  always_ff @(posedge clk_i) begin
    if (enable) begin
      {last1_q, last2_q, last3_q} <= {cell_last, last1_q, last2_q};
      {cells1_q, cells2_q, cells3_q} <= {cells, cells1_q, cells2_q};
      row1_q  <= index_t'(cell_row);
      col1_q  <= index_t'(cell_col);
      sub1_q  <= cell_sub;
      keep1_q <= cell_keep;
      for (int unsigned c = 0; c < Run; c++) begin
        chosen2_q[c] <= !gradient && CellWidth'(c) < cells1_q ? run_cells[c] : '0;
      end
      for (int unsigned e = 0; e < Block; e++) begin
        if (gradient) chosen2_q[0][e] <= keep1_q[e] ? gradient_cell[e] : '0;
      end
    end
  end

  // Requantised, or as sums.
  logic [RunSize-1:0][AccWidth-1:0]      sums;
  logic [RunSize-1:0][OperandWidth-1:0]  narrow;
  logic [RunSize-1:0][RawWidth-1:0]      wide;
  logic [MaxCell*OperandWidth-1:0]       cell3_q;
  logic [FillWidth-1:0]                  size, size_words;

  logic [RunSize-1:0][OperandWidth-1:0] rounded;
  logic [$clog2(AccWidth+1)-1:0]         scale;

  assign sums = chosen2_q;

  for (genvar e = 0; e < RunSize; e++) begin : gen_lane
    requantise #(.InWidth(AccWidth), .OutWidth(OperandWidth)) u_narrow (
      .value_i(sums[e]), .shift_i(cmd_i.shift), .value_o(rounded[e])
    );
    assign narrow[e] = cmd_i.relu && rounded[e][OperandWidth-1] ? '0 : rounded[e];
    if (RawWidth > AccWidth) begin : gen_extend
      assign wide[e] = RawWidth'(signed'(sums[e]));
    end else begin : gen_cut
      assign wide[e] = sums[e][RawWidth-1:0];
    end
  end

  always_ff @(posedge clk_i) begin
    if (enable) cell3_q <= cmd_i.raw ? wide : (MaxCell * OperandWidth)'(narrow);
  end

  or_tree_scale #(
    .Lanes(RunSize),
    .Width(AccWidth)
  ) u_scale (
    .clk_i,
    .rst_ni,
    .en_i    (enable),
    .clear_i (start_i),
    .valid_i (valid2_q),
    .data_i  (sums),
    .bitlen_o(scale)
  );
  assign scale_o = 7'(scale);

  assign size_words = gradient ? FillWidth'(Block) : FillWidth'(32'(cells3_q) * CellSize);
  assign size       = cmd_i.raw ? FillWidth'(32'(size_words) * RawRatio) : size_words;

  stream_pack #(
    .DataWidth   (DataWidth),
    .ElementWidth(OperandWidth),
    .MaxCell     (MaxCell)
  ) u_pack (
    .clk_i,
    .rst_ni,
    .cell_valid_i(valid3_q),
    .cell_ready_o(pack_ready),
    .cell_last_i (last3_q),
    .size_i      (size),
    .cell_i      (cell3_q),
    .data_valid_o,
    .data_ready_i,
    .data_o
  );

endmodule
