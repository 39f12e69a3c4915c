// SPDX-License-Identifier: Apache-2.0
//
// Takes a row of each vector that a pass needs from stream b, an element a cycle: the bias; scale and offset; mean,
// inverse and scale. Rows are filled to whole beats, the first two of NormBackward have wide elements.

module channel_loader
  import channel_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned ChannelBlock = 8,
  parameter int unsigned DataWidth    = 64,
  localparam int unsigned WideWidth    = 4 * OperandWidth,
  localparam int unsigned ChannelWidth = ChannelBlock > 1 ? $clog2(ChannelBlock) : 1
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    start_i,
  input  op_e                     op_i,
  input  logic                    bank_i,    // with start_i
  output logic                    done_o,    // pulse
  output logic                    active_o,
  input  logic                    data_valid_i,
  output logic                    data_ready_o,
  input  logic [DataWidth-1:0]    data_i,
  output logic                    valid_o,
  output logic                    bank_o,
  output logic [1:0]              vector_o,
  output logic [ChannelWidth-1:0] channel_o,
  output logic [WideWidth-1:0]    value_o
);

  localparam int unsigned CountWidth  = $clog2(ChannelBlock + 1);
  localparam int unsigned NarrowBeats = (ChannelBlock * OperandWidth + DataWidth - 1) / DataWidth;
  localparam int unsigned WideBeats   = (ChannelBlock * WideWidth + DataWidth - 1) / DataWidth;
  localparam int unsigned MostBeats   = 2 * WideBeats + 2 * NarrowBeats;
  localparam int unsigned BeatsWidth  = $clog2(MostBeats + 1);

  logic                  active_q, is_wide, offered, ready, row_end;
  logic [1:0]            vector_q, final_vector;
  logic [CountWidth-1:0] channel_q;
  logic [BeatsWidth-1:0] left_q; // beats
  logic [WideWidth-1:0]  element;

  assign is_wide        = op_i == NormBackward && vector_q != 2'd2;
  assign final_vector = op_i == NormBackward ? 2'd2 : op_i == NormForward ? 2'd1 : 2'd0;
  assign offered      = data_valid_i && left_q != '0;
  assign data_ready_o = ready && left_q != '0;

  stream_unpack #(
    .DataWidth   (DataWidth),
    .ElementWidth(OperandWidth),
    .SmallCell   (1),
    .LargeCell   (4),
    .CountWidth  (CountWidth),
    .BeatsWidth  (BeatsWidth)
  ) u_unpack (
    .clk_i,
    .rst_ni,
    .large_i     (is_wide),
    .cells_i     (CountWidth'(ChannelBlock)),
    .row_beats_i (is_wide ? BeatsWidth'(WideBeats) : BeatsWidth'(NarrowBeats)),
    .data_valid_i(offered),
    .data_ready_o(ready),
    .data_i,
    .cell_valid_o(valid_o),
    .cell_ready_i(1'b1),
    .cell_o      (element)
  );

  assign row_end = valid_o && channel_q == CountWidth'(ChannelBlock - 1);
  assign done_o  = row_end && vector_q == final_vector;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      left_q   <= '0;
    end else if (start_i) begin
      active_q <= 1'b1;
      left_q   <= op_i == NormBackward ? BeatsWidth'(2 * WideBeats + NarrowBeats)
                : op_i == NormForward ? BeatsWidth'(2 * NarrowBeats) : BeatsWidth'(NarrowBeats);
    end else begin
      if (done_o) active_q <= 1'b0;
      if (offered && ready) left_q <= left_q - BeatsWidth'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      bank_o    <= bank_i;
      vector_q  <= '0;
      channel_q <= '0;
    end else if (valid_o) begin
      channel_q <= row_end ? '0 : channel_q + CountWidth'(1);
      if (row_end) vector_q <= vector_q + 2'd1;
    end
  end

  assign active_o  = active_q;
  assign vector_o  = vector_q;
  assign channel_o = channel_q[ChannelWidth-1:0];
  assign value_o   = is_wide ? element : WideWidth'(signed'(element[OperandWidth-1:0]));

endmodule
