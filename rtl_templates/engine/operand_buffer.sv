// SPDX-License-Identifier: Apache-2.0
//
// The double-buffered second operand: a word has a weight for every (in, im), or in weight_grad an error for every
// (ir, ic, im, ib); both lie in the same memory, from lane 0 on, in these orders.
//
// Cells are put where the lanes want them as they are written: ChannelBlock weights of one n are neighbours along im in
// forward, and along `in`, transposed, in input_grad. Errors come in cells of a pixel, or in runs of a row of lanes.
// Read: 3 cycles from the step to the lanes.

module operand_buffer
  import engine_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned UB           = 1,
  parameter int unsigned UM           = 4,
  parameter int unsigned UN           = 4,
  parameter int unsigned UR           = 1,
  parameter int unsigned UC           = 1,
  parameter int unsigned Block        = 4,
  parameter int unsigned Run          = 1,   // cells of errors that come together: UC or 1
  parameter int unsigned Depth        = 512, // words of a half
  localparam int unsigned Weights   = UM * UN,
  localparam int unsigned Errors    = UR * UC * UM * UB,
  localparam int unsigned Lanes     = Weights > Errors ? Weights : Errors,
  localparam int unsigned CellSize  = Block * UB,
  localparam int unsigned RunSize   = Run * CellSize
) (
  input  logic                                 clk_i,
  input  mode_e                                mode_i,
  input  logic                                 write_i,
  input  logic                                 write_half_i,
  input  index_t                               write_addr_i,
  input  index_t                               sub_m_i,
  input  index_t                               sub_n_i,
  input  index_t                               inner_i,
  input  index_t                               row_lane_i,
  input  index_t                               col_lane_i,
  input  logic [RunSize*OperandWidth-1:0]      write_run_i,
  input  logic                                 half_i,
  input  index_t                               word_i,
  output logic [UN-1:0][UM-1:0][OperandWidth-1:0]                 weight_o,
  output logic [UR-1:0][UC-1:0][UM-1:0][UB-1:0][OperandWidth-1:0] error_o
);

  localparam int unsigned AddrWidth = $clog2(2 * Depth);

  function automatic logic [AddrWidth-1:0] address(logic upper, index_t offset);
    return AddrWidth'(32'(offset) + (upper ? Depth : 0));
  endfunction

  logic                                  write_q, transposed, errors;
  index_t                                sub_m_q, sub_n_q, inner_q, row_lane_q, col_lane_q;
  logic [RunSize-1:0][OperandWidth-1:0]  run_q;
  logic [Lanes-1:0]                      write;
  logic [Lanes-1:0][OperandWidth-1:0]    data, word, word_q;
  logic [AddrWidth-1:0]                  write_addr_q, read_addr_q;

  assign transposed = mode_i == InputGrad;
  assign errors     = mode_i == WeightGrad;

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    localparam int unsigned In     = l / UM;
    localparam int unsigned Im     = l % UM;
    localparam int unsigned Pixel  = l / (UM * UB);
    localparam int unsigned ErrorM = l / UB % UM;
    localparam int unsigned Element = Pixel % UC % Run * CellSize + l % CellSize; // of the run
    logic weight, error;

    if (l < Weights) begin : gen_weight
      assign weight = sub_m_q == index_t'(Im / Block) && sub_n_q == index_t'(In / Block) &&
                      inner_q == (transposed ? index_t'(Im % Block) : index_t'(In % Block));
    end else begin : gen_no_weight
      assign weight = 1'b0;
    end
    if (l < Errors) begin : gen_error
      assign error = row_lane_q == index_t'(Pixel / UC) && (Run > 1 || col_lane_q == index_t'(Pixel % UC)) &&
                     sub_m_q == index_t'(ErrorM / Block);
    end else begin : gen_no_error
      assign error = 1'b0;
    end

    assign write[l] = write_q && (errors ? error : weight);
    assign data[l]  = errors ? run_q[Element] : transposed ? run_q[In%Block] : run_q[Im%Block];
  end

  always_ff @(posedge clk_i) begin
    write_q      <= write_i;
    run_q        <= write_run_i;
    sub_m_q      <= sub_m_i;
    sub_n_q      <= sub_n_i;
    inner_q      <= inner_i;
    row_lane_q   <= row_lane_i;
    col_lane_q   <= col_lane_i;
    write_addr_q <= address(write_half_i, write_addr_i);
    read_addr_q  <= address(half_i, word_i);
    word_q       <= word;
  end

  buffer_ram #(
    .Lanes    (Lanes),
    .LaneWidth(OperandWidth),
    .Depth    (2 * Depth)
  ) u_ram (
    .clk_i,
    .write_i     (write),
    .write_addr_i(write_addr_q),
    .write_data_i(data),
    .read_en_i   (1'b1),
    .read_addr_i (read_addr_q),
    .read_o      (word)
  );

  assign weight_o = word_q[Weights-1:0];
  assign error_o  = word_q[Errors-1:0];

endmodule
