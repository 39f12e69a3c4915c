// SPDX-License-Identifier: Apache-2.0
//
// Joins cells of a stream into beats, element 0 lowest in both; the reverse of stream_unpack.
//
// A cell has size_i elements (1 to MaxCell); those above must be 0. The beat in which a row ends (cell_last_i) is filled
// with zeros. A cell enters every cycle if it has no more elements than a beat, else a beat leaves every cycle.

module stream_pack #(
  parameter int unsigned DataWidth    = 64,
  parameter int unsigned ElementWidth = 8,
  parameter int unsigned MaxCell      = 8,
  localparam int unsigned Elements    = DataWidth / ElementWidth,
  localparam int unsigned Capacity    = Elements + MaxCell,
  localparam int unsigned FillWidth   = $clog2(Capacity + 1)
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            cell_valid_i,
  output logic                            cell_ready_o,
  input  logic                            cell_last_i,
  input  logic [FillWidth-1:0]            size_i,
  input  logic [MaxCell*ElementWidth-1:0] cell_i,
  output logic                            data_valid_o,
  input  logic                            data_ready_i,
  output logic [DataWidth-1:0]            data_o
);

  if (DataWidth % ElementWidth != 0) begin : gen_bad_data_width
    $fatal(1, "stream_pack: DataWidth must be a multiple of ElementWidth");
  end
  if (MaxCell < 1) begin : gen_bad_max_cell
    $fatal(1, "stream_pack: MaxCell must be at least 1");
  end

  localparam int unsigned HoldWidth = Capacity * ElementWidth;
  localparam logic [FillWidth-1:0] Beat = FillWidth'(Elements);

  logic [HoldWidth-1:0] held_q, held_d, rest;
  logic [FillWidth-1:0] fill_q, fill_d, left;
  logic                 ending_q, ending_d, pop, push, emptied;

  assign data_valid_o = fill_q >= Beat || (ending_q && fill_q != '0);
  assign data_o       = held_q[DataWidth-1:0];
  assign pop          = data_valid_o && data_ready_i;
  assign left         = pop ? (fill_q > Beat ? fill_q - Beat : '0) : fill_q;
  assign emptied      = left == '0;
  assign cell_ready_o = ending_q ? emptied : left < Beat;
  assign push         = cell_valid_i && cell_ready_o;

  always_comb begin
    rest     = pop ? held_q >> DataWidth : held_q;
    held_d   = rest;
    fill_d   = left;
    ending_d = ending_q && !emptied;
    if (push) begin
      held_d   = rest | (HoldWidth'(cell_i) << (32'(left) * ElementWidth));
      fill_d   = left + size_i;
      ending_d = cell_last_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fill_q   <= '0;
      held_q   <= '0;
      ending_q <= 1'b0;
    end else begin
      fill_q   <= fill_d;
      held_q   <= held_d;
      ending_q <= ending_d;
    end
  end

endmodule
