// SPDX-License-Identifier: Apache-2.0
//
// Everything with one number per channel, an operation on a map a command: sums, biases, batch normalisation in both
// directions; see docs/rtl.md. Maps and vectors are read on a and b, results written on w.
//
// A command is taken when the results of the one before it are in DRAM. error_o stays until clear_i, which also aborts:
// a channel has no elements or 2^MaxCountWidth and more, or a gradient passes a wide element. DMA addresses are in bytes.

module channel_unit
  import channel_pkg::*;
#(
  parameter int unsigned OperandWidth  = 8,  // 8 or 16
  parameter int unsigned UB            = 1,  // samples of a block
  parameter int unsigned ChannelBlock  = 8,  // channels of a block
  parameter int unsigned MaxCountWidth = 24, // of the number of elements of a channel
  parameter int unsigned DataWidth     = 64, // of a beat
  parameter int unsigned AddrWidth     = 32
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       clear_i,
  input  logic                       cmd_valid_i,
  output logic                       cmd_ready_o,
  input  logic [ChannelWords*32-1:0] cmd_i,
  output logic                       busy_o,
  output logic                       done_o,         // pulse: the command's results are in DRAM
  output logic                       error_o,
  output logic [6:0]                 scale_o,        // bit lengths; valid from done_o: the sums or the input's error,
  output logic [6:0]                 scale_weight_o, // and the first and the second vector written
  output logic [6:0]                 scale_bias_o,
  // the map, or the error
  output logic                       a_cmd_valid_o,
  input  logic                       a_cmd_ready_i,
  output logic [AddrWidth-1:0]       a_cmd_addr_o,
  output logic [BeatWidth-1:0]       a_cmd_beats_o,
  input  logic                       a_data_valid_i,
  output logic                       a_data_ready_o,
  input  logic [DataWidth-1:0]       a_data_i,
  // vectors, and the map that belongs to the error
  output logic                       b_cmd_valid_o,
  input  logic                       b_cmd_ready_i,
  output logic [AddrWidth-1:0]       b_cmd_addr_o,
  output logic [BeatWidth-1:0]       b_cmd_beats_o,
  input  logic                       b_data_valid_i,
  output logic                       b_data_ready_o,
  input  logic [DataWidth-1:0]       b_data_i,
  // results
  output logic                       w_cmd_valid_o,
  input  logic                       w_cmd_ready_i,
  output logic [AddrWidth-1:0]       w_cmd_addr_o,
  output logic [BeatWidth-1:0]       w_cmd_beats_o,
  output logic                       w_data_valid_o,
  input  logic                       w_data_ready_i,
  output logic [DataWidth-1:0]       w_data_o,
  input  logic                       w_done_i
);

  if (OperandWidth != 8 && OperandWidth != 16) begin : gen_bad_operand_width
    $fatal(1, "channel_unit: OperandWidth must be 8 or 16");
  end
  if (UB < 1 || UB > 256 || ChannelBlock < 1 || ChannelBlock > 256) begin : gen_bad_block
    $fatal(1, "channel_unit: UB and ChannelBlock must be from 1 to 256");
  end
  if (MaxCountWidth < 10 || MaxCountWidth > 24) begin : gen_bad_count_width
    $fatal(1, "channel_unit: MaxCountWidth must be from 10 to 24");
  end
  if (DataWidth < 4 * OperandWidth || (DataWidth & (DataWidth - 1)) != 0 || DataWidth > 1024) begin : gen_bad_data_width
    $fatal(1, "channel_unit: DataWidth must be a power of two from a wide element (4 OperandWidth) to 1024");
  end
  if (AddrWidth < 12 || AddrWidth > 64) begin : gen_bad_addr_width
    $fatal(1, "channel_unit: AddrWidth must be from 12 to 64");
  end

  localparam int unsigned Lanes        = DataWidth / OperandWidth;
  localparam int unsigned Spans        = spans(Lanes, UB, ChannelBlock);
  localparam int unsigned ChannelWidth = ChannelBlock > 1 ? $clog2(ChannelBlock) : 1;
  localparam int unsigned CoefAddr     = $clog2(2 * ChannelBlock);
  localparam int unsigned WideWidth    = 4 * OperandWidth;
  localparam int unsigned SumWidth     = MaxCountWidth + OperandWidth;
  localparam int unsigned SquareWidth  = MaxCountWidth + 2 * OperandWidth - 1;
  localparam int unsigned MeanWidth    = OperandWidth + 8;
  localparam int unsigned InverseWidth = OperandWidth + 9;
  localparam int unsigned GainWidth    = 2 * OperandWidth + 7;
  localparam int unsigned ErrorWidth   = OperandWidth + 10;

  // clear_i resets everything, through one register.
  logic run_n;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) run_n <= 1'b0;
    else run_n <= !clear_i;
  end

  // The command.
  typedef enum logic [1:0] {Unused, Start, Busy} state_e;
  state_e      state_q;
  channel_t    cmd_q;
  logic        start, start_sums, w_active, finished, bad_count, too_large, sums, results, backward, forward;
  logic [1:0]  loads, stores;
  logic [31:0] writes_q; // commands of the write DMA not yet done

  assign backward    = cmd_q.op == NormBackward;
  assign forward     = cmd_q.op == NormForward;
  assign sums        = cmd_q.op != Bias;
  assign results     = cmd_q.op == Bias || forward || (backward && cmd_q.error);
  assign loads       = backward ? 2'd3 : forward ? 2'd2 : 2'(cmd_q.op == Bias);
  assign stores      = backward || forward ? 2'd2 : 2'(cmd_q.op == Sum);
  assign cmd_ready_o = state_q == Unused && run_n && !error_o;
  assign start       = state_q == Start && !bad_count;
  assign start_sums  = start && sums;
  assign finished    = state_q == Busy && !w_active && writes_q == '0;
  assign busy_o      = state_q != Unused;
  assign bad_count   = cmd_q.count == '0 || (cmd_q.count >> MaxCountWidth) != '0;

  always_ff @(posedge clk_i or negedge run_n) begin
    if (!run_n) begin
      state_q  <= Unused;
      done_o   <= 1'b0;
      error_o  <= 1'b0;
      writes_q <= '0;
    end else begin
      done_o   <= finished && !error_o && !too_large;
      writes_q <= writes_q + 32'(w_cmd_valid_o && w_cmd_ready_i) - 32'(w_done_i);
      if ((state_q == Start && bad_count) || too_large) error_o <= 1'b1;
      case (state_q)
        Unused:  if (cmd_valid_i && cmd_ready_o) state_q <= Start;
        Start:   state_q <= Busy;
        default: if (finished && !error_o) state_q <= Unused;
      endcase
    end
  end
  always_ff @(posedge clk_i) if (cmd_valid_i && cmd_ready_o) cmd_q <= channel_command(cmd_i);

  // DMA commands.
  logic wide_in;
  assign wide_in = cmd_q.op == Bias && cmd_q.wide;
  channel_streams #(
    .OperandWidth(OperandWidth), .ChannelBlock(ChannelBlock), .DataWidth(DataWidth), .AddrWidth(AddrWidth)
  ) u_streams (
    .clk_i, .rst_ni(run_n), .start_i(start), .cmd_i(cmd_q), .sums_i(sums), .results_i(results), .loads_i(loads),
    .stores_i(stores), .a_cmd_valid_o, .a_cmd_ready_i, .a_cmd_addr_o, .a_cmd_beats_o, .b_cmd_valid_o, .b_cmd_ready_i,
    .b_cmd_addr_o, .b_cmd_beats_o, .w_active_o(w_active), .w_cmd_valid_o, .w_cmd_ready_i, .w_cmd_addr_o, .w_cmd_beats_o
  );

  // Vectors.
  logic                    load, load_bank, load_done, loading, load_ready, walk_b_ready, loaded, loaded_bank;
  logic [1:0]              loaded_vector;
  logic [ChannelWidth-1:0] loaded_channel;
  logic [WideWidth-1:0]    loaded_value;
  logic [CoefAddr-1:0]     loaded_addr, statistics_addr;

  channel_loader #(.OperandWidth(OperandWidth), .ChannelBlock(ChannelBlock), .DataWidth(DataWidth)) u_loader (
    .clk_i, .rst_ni(run_n), .start_i(load), .op_i(cmd_q.op), .bank_i(load_bank), .done_o(load_done),
    .active_o(loading), .data_valid_i(b_data_valid_i && loading), .data_ready_o(load_ready), .data_i(b_data_i),
    .valid_o(loaded), .bank_o(loaded_bank), .vector_o(loaded_vector), .channel_o(loaded_channel),
    .value_o(loaded_value)
  );
  assign loaded_addr    = CoefAddr'(32'(loaded_bank) * ChannelBlock + 32'(loaded_channel));
  assign b_data_ready_o = loading ? load_ready : walk_b_ready;

  // Elements.
  logic                               result_ready;
  logic [1:0]                         lanes_busy, wide_busy; // a step of a bank is under way
  logic                               enable, valid, sums_free, sums_take, turn_q;
  tag_t                               tag, tag8, tag9, tag12;
  logic [Spans-1:0][ChannelWidth-1:0] channel, channel8, channel9;
  logic [Lanes-1:0]                   mask, mask9;

  channel_walk #(.Lanes(Lanes), .UB(UB), .ChannelBlock(ChannelBlock)) u_walk (
    .clk_i, .rst_ni(run_n), .start_i(start), .cmd_i(cmd_q), .sums_i(sums), .results_i(results),
    .load_o(load), .load_bank_o(load_bank), .load_done_i(load_done), .loads_i(loads != '0), .busy_i(lanes_busy | wide_busy),
    .sums_free_i(sums_free), .sums_take_o(sums_take), .stored_i(turn_q),
    .a_valid_i(a_data_valid_i), .a_ready_o(a_data_ready_o), .b_valid_i(b_data_valid_i), .b_ready_o(walk_b_ready),
    .enable_i(enable), .valid_o(valid), .tag_o(tag), .channel_o(channel), .mask_o(mask)
  );

  logic                                 statistics, valid8, valid9, valid12;
  logic [MeanWidth-1:0]                 mean;
  logic [InverseWidth-1:0]              inverse;
  logic [GainWidth-1:0]                 gain;
  logic [MeanWidth-1:0]                 scale;
  logic [Lanes-1:0][OperandWidth-1:0]   a8, narrow9, offset9;
  logic [Lanes-1:0][2*OperandWidth-1:0] product8;
  logic [DataWidth-1:0]                 a9, data12;
  logic [6:0]                           wide_scale;
  logic [Lanes-1:0][ErrorWidth-1:0]     error9;

  // Coefficients: vectors loaded, and statistics. Bias of narrow elements multiplies them by 1.
  channel_lanes #(.OperandWidth(OperandWidth), .Lanes(Lanes), .UB(UB), .ChannelBlock(ChannelBlock)) u_lanes (
    .clk_i, .rst_ni(run_n), .en_i(enable), .op_i(cmd_q.op), .relu_i(cmd_q.relu),
    .mean_write_i(backward ? loaded && loaded_vector == 2'd0 : statistics && forward),
    .inverse_write_i(backward ? loaded && loaded_vector == 2'd1 : statistics && forward),
    .normal_addr_i(backward ? loaded_addr : statistics_addr),
    .mean_i(backward ? loaded_value[MeanWidth-1:0] : mean),
    .inverse_i(backward ? loaded_value[InverseWidth-1:0] : inverse),
    .gain_write_i(backward ? statistics : loaded && loaded_vector == 2'd0),
    .offset_write_i(backward ? statistics : loaded && (loaded_vector == 2'd1 || !forward)),
    .result_addr_i(backward ? statistics_addr : loaded_addr),
    .gain_i(backward ? gain : forward ? loaded_value[GainWidth-1:0] : GainWidth'(1) << (OperandWidth - 2)),
    .offset_i(backward ? mean : loaded_value[MeanWidth-1:0]),
    .valid_i(valid), .tag_i(tag), .channel_i(channel), .mask_i(mask), .a_i(a_data_i), .b_i(b_data_i),
    .valid8_o(valid8), .tag8_o(tag8), .channel8_o(channel8), .a8_o(a8), .product8_o(product8),
    .busy_o(lanes_busy), .valid9_o(valid9), .tag9_o(tag9), .channel9_o(channel9), .mask9_o(mask9), .a9_o(a9),
    .narrow9_o(narrow9), .offset9_o(offset9), .error9_o(error9)
  );
  channel_wide #(.OperandWidth(OperandWidth), .Lanes(Lanes), .UB(UB), .ChannelBlock(ChannelBlock)) u_wide (
    .clk_i, .rst_ni(run_n), .en_i(enable), .clear_i(start), .backward_i(backward), .relu_i(cmd_q.relu),
    .shift_i(cmd_q.shift), .scale_write_i(statistics && backward), .scale_addr_i(statistics_addr), .scale_i(scale),
    .valid_i(valid9), .tag_i(tag9), .channel_i(channel9), .mask_i(mask9), .a_i(a9), .offset_i(offset9),
    .error_i(error9), .busy_o(wide_busy), .valid_o(valid12), .tag_o(tag12), .data_o(data12), .scale_o(wide_scale)
  );

  // Sums.
  logic                    totals_free, total_valid, totals_done, final_block, bank, stored, row_valid;
  logic [ChannelWidth-1:0] total_channel;
  logic [SumWidth-1:0]     total_sum;
  logic [SquareWidth-1:0]  total_square;
  logic [DataWidth-1:0]    row;
  logic [1:0][6:0]         vector_scale;

  channel_sums #(
    .OperandWidth(OperandWidth), .Lanes(Lanes), .UB(UB), .ChannelBlock(ChannelBlock), .MaxCountWidth(MaxCountWidth)
  ) u_sums (
    .clk_i, .rst_ni(run_n), .start_i(start_sums), .take_i(sums_take), .free_o(sums_free),
    .valid_i(valid8 && enable && tag8.sum), .tag_i(tag8), .channel_i(channel8), .a_i(a8), .product_i(product8),
    .totals_free_i(totals_free), .total_valid_o(total_valid), .total_channel_o(total_channel),
    .total_sum_o(total_sum), .total_square_o(total_square), .done_o(totals_done), .final_block_o(final_block),
    .bank_o(bank)
  );
  channel_vectors #(
    .OperandWidth(OperandWidth), .ChannelBlock(ChannelBlock), .DataWidth(DataWidth), .MaxCountWidth(MaxCountWidth)
  ) u_vectors (
    .clk_i, .rst_ni(run_n), .start_i(start), .op_i(cmd_q.op), .channels_last_i(cmd_q.channels_last),
    .count_i(cmd_q.count[MaxCountWidth-1:0]), .free_o(totals_free), .total_valid_i(total_valid),
    .total_channel_i(total_channel), .total_sum_i(total_sum), .total_square_i(total_square),
    .totals_done_i(totals_done), .final_block_i(final_block), .bank_i(bank),
    .inverse_write_i(loaded && loaded_vector == 2'd1), .gain_write_i(loaded && loaded_vector == 2'd2),
    .loaded_addr_i(loaded_addr), .loaded_i(loaded_value), .valid_o(statistics), .addr_o(statistics_addr),
    .mean_o(mean), .inverse_o(inverse), .gain_o(gain), .scale_o(scale), .turn_i(!turn_q), .stored_o(stored),
    .data_valid_o(row_valid), .data_ready_i(result_ready && !turn_q), .data_o(row), .too_large_o(too_large),
    .bitlen_o(vector_scale)
  );

  // Results: of every block first its vectors, then its planes (turn_q).
  logic                 result_valid, plane_valid, plane_last, wide_result;
  logic [DataWidth-1:0] plane;

  assign wide_result = backward || wide_in;
  assign plane_valid = wide_result ? valid12 && tag12.push : valid9 && tag9.push;
  assign plane_last  = wide_result ? tag12.last : tag9.last;
  assign plane       = wide_result ? data12 : narrow9;
  assign enable      = !plane_valid || result_ready;

  always_ff @(posedge clk_i or negedge run_n) begin
    if (!run_n) turn_q <= 1'b0;
    else if (start) turn_q <= !sums;
    else if (stored) turn_q <= results;
    else if (plane_valid && result_ready && plane_last) turn_q <= !sums;
  end

  assign result_valid = turn_q ? plane_valid : row_valid;
  skid_buffer #(.Width(DataWidth)) u_results (
    .clk_i, .rst_ni(run_n), .clear_i(1'b0), .valid_i(result_valid), .ready_o(result_ready),
    .data_i(turn_q ? plane : row), .valid_o(w_data_valid_o), .ready_i(w_data_ready_i), .data_o(w_data_o)
  );

  assign scale_weight_o = vector_scale[0];
  assign scale_bias_o   = vector_scale[1];
  assign scale_o        = cmd_q.op == Sum ? vector_scale[0] : backward && results ? wide_scale : '0;

  logic unused;
  assign unused = ^{tag9, tag12};

endmodule
