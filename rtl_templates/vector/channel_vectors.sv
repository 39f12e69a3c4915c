// SPDX-License-Identifier: Apache-2.0
//
// Totals of a channel block: kept, turned into statistics channel by channel, and stored as rows of wide elements.
//
//   Sum           the sum
//   NormForward   mean, inverse
//   NormBackward  gradients of scale and of offset: E2, E1
// Channels beyond channels_last of the final block are stored as 0. A row is stored once it is its turn in the stream of
// results (turn_i). too_large_o: a gradient passes a wide element.

module channel_vectors
  import channel_pkg::*;
#(
  parameter int unsigned OperandWidth  = 8,
  parameter int unsigned ChannelBlock  = 8,
  parameter int unsigned DataWidth     = 64,
  parameter int unsigned MaxCountWidth = 24,
  localparam int unsigned ChannelWidth = ChannelBlock > 1 ? $clog2(ChannelBlock) : 1,
  localparam int unsigned CoefAddr     = $clog2(2 * ChannelBlock),
  localparam int unsigned WideWidth    = 4 * OperandWidth,
  localparam int unsigned SumWidth     = MaxCountWidth + OperandWidth,
  localparam int unsigned SquareWidth  = MaxCountWidth + 2 * OperandWidth - 1,
  localparam int unsigned MeanWidth    = OperandWidth + 8,
  localparam int unsigned InverseWidth = OperandWidth + 9,
  localparam int unsigned GainWidth    = 2 * OperandWidth + 7,
  localparam int unsigned ScaleWidth   = OperandWidth + 8
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    start_i,          // of a command
  input  op_e                     op_i,
  input  index_t                  channels_last_i,
  input  logic [MaxCountWidth-1:0] count_i,
  // totals
  output logic                    free_o,
  input  logic                    total_valid_i,
  input  logic [ChannelWidth-1:0] total_channel_i,
  input  logic [SumWidth-1:0]     total_sum_i,
  input  logic [SquareWidth-1:0]  total_square_i,
  input  logic                    totals_done_i,
  input  logic                    final_block_i,
  input  logic                    bank_i,
  // vectors loaded, kept for the statistics of NormBackward
  input  logic                    inverse_write_i,
  input  logic                    gain_write_i,
  input  logic [CoefAddr-1:0]     loaded_addr_i,
  input  logic [WideWidth-1:0]    loaded_i,
  // statistics
  output logic                    valid_o,
  output logic [CoefAddr-1:0]     addr_o,
  output logic [MeanWidth-1:0]    mean_o,
  output logic [InverseWidth-1:0] inverse_o,
  output logic [GainWidth-1:0]    gain_o,
  output logic [ScaleWidth-1:0]   scale_o,
  // rows of results
  input  logic                    turn_i,
  output logic                    stored_o,         // pulse
  output logic                    data_valid_o,
  input  logic                    data_ready_i,
  output logic [DataWidth-1:0]    data_o,
  output logic                    too_large_o,
  output logic [1:0][6:0]         bitlen_o          // of each vector
);

  localparam int unsigned CountWidth  = $clog2(ChannelBlock + 1);
  localparam int unsigned BitlenWidth = $clog2(WideWidth + 1);
  localparam int unsigned FillWidth   = $clog2(DataWidth / WideWidth + 2);

  typedef enum logic [2:0] {Idle, Compute, Turn, Store, Flush} state_e;

  state_e                       state_q;
  logic                         bank_q, row_q, row_end, rows_end, start, ready, done, pack_ready, pack_valid, push, write, used;
  logic [CountWidth-1:0]        channel_q, entry_q; // channel that is ready or stored, that enters the statistics
  logic [ChannelWidth-1:0]      read_channel;
  logic [CoefAddr-1:0]          entry_addr;
  index_t                       channels_q;
  logic [ChannelWidth-1:0]      write_addr;
  logic [SumWidth-1:0]          sum, sum_in;
  logic [SquareWidth-1:0]       square, square_in;
  logic [InverseWidth-1:0]      inverse;
  logic signed [OperandWidth-1:0] gain;
  logic [WideWidth-1:0]         element;
  logic signed [SquareWidth-1:0] chosen;

  // Totals; statistics of NormForward take their place.
  assign write      = total_valid_i || (done && op_i == NormForward);
  assign write_addr = total_valid_i ? total_channel_i : channel_q[ChannelWidth-1:0];
  assign sum_in     = total_valid_i ? total_sum_i : SumWidth'(signed'(mean_o));
  assign square_in  = total_valid_i ? total_square_i : SquareWidth'(inverse_o);
  assign read_channel = state_q == Compute ? ChannelWidth'(entry_q) : ChannelWidth'(channel_q);
  channel_ram #(.Width(SumWidth + SquareWidth), .Depth(ChannelBlock)) u_totals (
    .clk_i, .write_i(write), .write_addr_i(write_addr), .write_data_i({square_in, sum_in}),
    .read_addr_i(read_channel), .read_o({square, sum})
  );

  assign addr_o     = CoefAddr'(32'(bank_q) * ChannelBlock + 32'(channel_q));
  assign entry_addr = CoefAddr'(32'(bank_q) * ChannelBlock + 32'(entry_q));
  channel_ram #(.Width(InverseWidth), .Depth(2 * ChannelBlock)) u_inverse (
    .clk_i, .write_i(inverse_write_i), .write_addr_i(loaded_addr_i), .write_data_i(loaded_i[InverseWidth-1:0]),
    .read_addr_i(entry_addr), .read_o(inverse)
  );
  channel_ram #(.Width(OperandWidth), .Depth(2 * ChannelBlock)) u_gain (
    .clk_i, .write_i(gain_write_i), .write_addr_i(loaded_addr_i), .write_data_i(loaded_i[OperandWidth-1:0]),
    .read_addr_i(entry_addr), .read_o(gain)
  );

  assign start = state_q == Compute && ready && index_t'(entry_q) != channels_q;
  channel_statistics #(.OperandWidth(OperandWidth), .MaxCountWidth(MaxCountWidth)) u_statistics (
    .clk_i, .rst_ni, .start_i(start), .ready_o(ready), .backward_i(op_i == NormBackward), .count_i, .sum_i(sum),
    .square_i(square), .inverse_i(inverse), .gain_i(gain), .done_o(done), .mean_o, .inverse_o, .gain_o, .scale_o
  );
  assign valid_o = done;

  // Rows: the one of a sum first, except in NormBackward.
  assign used    = index_t'(channel_q) < channels_q;
  assign chosen  = (row_q ^ (op_i == NormBackward)) ? signed'(square) : SquareWidth'(signed'(sum));
  assign element = used ? WideWidth'(chosen) : '0;
  assign row_end  = channel_q == CountWidth'(ChannelBlock - 1);
  assign rows_end = row_end && (row_q || op_i == Sum);
  assign push     = state_q == Store && pack_ready;

  stream_pack #(.DataWidth(DataWidth), .ElementWidth(WideWidth), .MaxCell(1)) u_pack (
    .clk_i, .rst_ni, .cell_valid_i(state_q == Store), .cell_ready_o(pack_ready), .cell_last_i(row_end),
    .size_i(FillWidth'(1)), .cell_i(element), .data_valid_o(pack_valid), .data_ready_i, .data_o
  );
  assign data_valid_o = pack_valid;
  assign stored_o     = state_q == Flush && !pack_valid;
  assign free_o       = state_q == Idle;

  if (SquareWidth > WideWidth) begin : gen_too_large
    assign too_large_o = push && used && chosen != SquareWidth'(signed'(element));
  end else begin : gen_fits
    assign too_large_o = 1'b0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      case (state_q)
        Idle:    if (totals_done_i) state_q <= op_i == Sum ? Turn : Compute;
        Compute: if (done && index_t'(channel_q) == channels_q - index_t'(1)) state_q <= Turn;
        Turn:    if (turn_i) state_q <= Store;
        Store:   if (push && rows_end) state_q <= Flush;
        default: if (!pack_valid) state_q <= Idle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      channel_q <= '0;
      entry_q   <= '0;
      row_q     <= 1'b0;
      if (totals_done_i) begin
        bank_q     <= bank_i;
        channels_q <= final_block_i ? channels_last_i : index_t'(ChannelBlock);
      end
    end else if (state_q == Compute) begin
      channel_q <= channel_q + CountWidth'(done);
      entry_q   <= entry_q + CountWidth'(start);
    end else if (state_q == Turn) begin
      channel_q <= '0;
    end else if (push) begin
      channel_q <= row_end ? '0 : channel_q + CountWidth'(1);
      if (row_end) row_q <= 1'b1;
    end
  end

  for (genvar r = 0; r < 2; r++) begin : gen_bitlen
    logic [BitlenWidth-1:0] bitlen;
    or_tree_scale #(.Lanes(1), .Width(WideWidth)) u_scale (
      .clk_i, .rst_ni, .en_i(1'b1), .clear_i(start_i), .valid_i(push && row_q == 1'(r)), .data_i(element),
      .bitlen_o(bitlen)
    );
    assign bitlen_o[r] = 7'(bitlen);
  end

  logic unused;
  assign unused = ^loaded_i;

endmodule
