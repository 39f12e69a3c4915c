// SPDX-License-Identifier: Apache-2.0
//
// The double-buffered second operand: a word has a weight for every (in, im), or in weight_grad an error for every
// (ir, ic, im, ib); both lie in the same memory, from lane 0 on, in these orders.
//
// Cells are put where the lanes want them as they are written: ChannelBlock weights of one n are neighbours along im in
// forward, and along `in`, transposed, in input_grad. Read: 3 cycles from the step to the lanes.

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
  parameter int unsigned Depth        = 512, // words of a half
  localparam int unsigned Weights   = UM * UN,
  localparam int unsigned Errors    = UR * UC * UM * UB,
  localparam int unsigned Lanes     = Weights > Errors ? Weights : Errors,
  localparam int unsigned CellSize  = Block * UB
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
  input  logic [CellSize*OperandWidth-1:0]     write_cell_i,
  input  logic                                 half_i,
  input  index_t                               word_i,
  output logic [UN-1:0][UM-1:0][OperandWidth-1:0]                 weight_o,
  output logic [UR-1:0][UC-1:0][UM-1:0][UB-1:0][OperandWidth-1:0] error_o
);

  localparam int unsigned AddrWidth = $clog2(2 * Depth);

  function automatic logic [AddrWidth-1:0] address(logic half, index_t word);
    return AddrWidth'(32'(word) + (half ? Depth : 0));
  endfunction

  logic [CellSize-1:0][OperandWidth-1:0] cell_in;
  logic [Lanes-1:0]                      write_q;
  logic [Lanes-1:0][OperandWidth-1:0]    data_q, word, word_q;
  logic [AddrWidth-1:0]                  write_addr_q, read_addr_q;

  assign cell_in = write_cell_i;

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    localparam int unsigned In = l / UM;
    localparam int unsigned Im = l % UM;
    localparam int unsigned Pixel = l / (UM * UB);
    localparam int unsigned ErrorM = l / UB % UM;
    logic weight, transposed, error;

    if (l < Weights) begin : gen_weight
      assign weight = sub_m_i == index_t'(Im / Block) && sub_n_i == index_t'(In / Block) &&
                      inner_i == index_t'(In % Block);
      assign transposed = sub_m_i == index_t'(Im / Block) && inner_i == index_t'(Im % Block) &&
                          sub_n_i == index_t'(In / Block);
    end else begin : gen_no_weight
      assign weight     = 1'b0;
      assign transposed = 1'b0;
    end
    if (l < Errors) begin : gen_error
      assign error = row_lane_i == index_t'(Pixel / UC) && col_lane_i == index_t'(Pixel % UC) &&
                     sub_m_i == index_t'(ErrorM / Block);
    end else begin : gen_no_error
      assign error = 1'b0;
    end

    always_ff @(posedge clk_i) begin
      unique case (mode_i)
        InputGrad: begin
          write_q[l] <= write_i && transposed;
          data_q[l]  <= cell_in[In % Block];
        end
        WeightGrad: begin
          write_q[l] <= write_i && error;
          data_q[l]  <= cell_in[l % CellSize];
        end
        default: begin
          write_q[l] <= write_i && weight;
          data_q[l]  <= cell_in[Im % Block];
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
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
    .write_i     (write_q),
    .write_addr_i(write_addr_q),
    .write_data_i(data_q),
    .read_en_i   (1'b1),
    .read_addr_i (read_addr_q),
    .read_o      (word)
  );

  assign weight_o = word_q[Weights-1:0];
  assign error_o  = word_q[Errors-1:0];

endmodule
