// SPDX-License-Identifier: Apache-2.0
//
// Two sums per channel, of a and of products, a group a cycle: the terms of a span are added by a tree, then to the
// span's sum of that channel, which is in LUT RAM.
//
// After the last group of a pass, and once totals_free_i, a chain over the spans adds theirs, channel by channel, in
// ChannelBlock + Spans cycles; it leaves zeros behind. start_i leaves zeros alone. free_o: a pass may begin (take_i).

module channel_sums
  import channel_pkg::*;
#(
  parameter int unsigned OperandWidth  = 8,
  parameter int unsigned Lanes         = 8,
  parameter int unsigned UB            = 1,
  parameter int unsigned ChannelBlock  = 8,
  parameter int unsigned MaxCountWidth = 24,
  localparam int unsigned Spans        = spans(Lanes, UB, ChannelBlock),
  localparam int unsigned ChannelWidth = ChannelBlock > 1 ? $clog2(ChannelBlock) : 1,
  localparam int unsigned SumWidth     = MaxCountWidth + OperandWidth,
  localparam int unsigned SquareWidth  = MaxCountWidth + 2 * OperandWidth - 1
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  input  logic                                 start_i,
  input  logic                                 take_i,
  output logic                                 free_o,
  input  logic                                 valid_i,
  input  tag_t                                 tag_i,
  input  logic [Spans-1:0][ChannelWidth-1:0]   channel_i,
  input  logic [Lanes-1:0][OperandWidth-1:0]   a_i,
  input  logic [Lanes-1:0][2*OperandWidth-1:0] product_i,
  input  logic                                 totals_free_i,
  output logic                                 total_valid_o,
  output logic [ChannelWidth-1:0]              total_channel_o,
  output logic [SumWidth-1:0]                  total_sum_o,
  output logic [SquareWidth-1:0]               total_square_o,
  output logic                                 done_o, // pulse: the totals of a block are complete
  output logic                                 final_block_o,
  output logic                                 bank_o
);

  localparam int unsigned Fold     = folds(Lanes, UB, ChannelBlock);
  localparam int unsigned Span     = span_lanes(Lanes, UB);
  localparam int unsigned Terms    = Fold * Span;
  localparam int unsigned Latency  = $clog2(Terms);
  localparam int unsigned RamWidth = SumWidth + SquareWidth;

  typedef enum logic [2:0] {Free, Busy, Wait, Drain, Clear} state_e;

  state_e state_q;
  logic   draining, last_added, chain_end;
  logic [$clog2(ChannelBlock + 1)-1:0] next_q; // channel that enters the chain
  logic   enters;

  // Terms and their channels, through the tree.
  logic                               added_valid, added_last;
  logic [Spans-1:0][ChannelWidth-1:0] added_channel;
  logic [Spans-1:0][SumWidth-1:0]     a_sum;
  logic [Spans-1:0][SquareWidth-1:0]  product_sum;

  if (Latency == 0) begin : gen_no_tree
    assign added_valid   = valid_i;
    assign added_last    = tag_i.last;
    assign added_channel = channel_i;
  end else begin : gen_delay
    logic [Latency-1:0]                              valid_q, last_q;
    logic [Latency-1:0][Spans-1:0][ChannelWidth-1:0] channel_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= '0;
      else valid_q <= Latency'({valid_q, valid_i});
    end
    always_ff @(posedge clk_i) begin
      last_q       <= Latency'({last_q, tag_i.last});
      channel_q[0] <= channel_i;
      for (int unsigned i = 1; i < Latency; i++) channel_q[i] <= channel_q[i-1];
    end
    assign added_valid   = valid_q[Latency-1];
    assign added_last    = last_q[Latency-1];
    assign added_channel = channel_q[Latency-1];
  end

  // The chain: what a span hands on.
  logic [Spans:0]                   link_valid;
  logic [Spans:0][ChannelWidth-1:0] link_channel;
  logic [Spans:0][SumWidth-1:0]     link_sum;
  logic [Spans:0][SquareWidth-1:0]  link_square;

  assign enters          = draining && next_q != ($clog2(ChannelBlock + 1))'(ChannelBlock);
  assign link_valid[0]   = enters;
  assign link_channel[0] = ChannelWidth'(next_q);
  assign link_sum[0]     = '0;
  assign link_square[0]  = '0;

  for (genvar u = 0; u < Spans; u++) begin : gen_span
    logic [Terms-1:0][OperandWidth-1:0]            a_term;
    logic [Terms-1:0][2*OperandWidth-1:0]          product_term;
    logic signed [OperandWidth+Latency-1:0]        a_tree;
    logic signed [2*OperandWidth+Latency-1:0]      product_tree;
    logic [1:0]                                    unused_valid;
    logic [ChannelWidth-1:0]                       addr;
    logic                                          write;
    logic [SumWidth-1:0]                           held_sum, sum;
    logic [SquareWidth-1:0]                        held_square, square;
    logic                                          valid_q;
    logic [ChannelWidth-1:0]                       channel_q;
    logic [SumWidth-1:0]                           sum_q;
    logic [SquareWidth-1:0]                        square_q;

    for (genvar f = 0; f < Fold; f++) begin : gen_fold
      for (genvar j = 0; j < Span; j++) begin : gen_term
        localparam int unsigned Lane = f * (Lanes / Fold) + u * Span + j;
        assign a_term[f*Span+j]       = a_i[Lane];
        assign product_term[f*Span+j] = product_i[Lane];
      end
    end

    adder_tree #(.NumOperands(Terms), .InWidth(OperandWidth)) u_a_tree (
      .clk_i, .rst_ni, .en_i(1'b1), .valid_i, .data_i(a_term), .valid_o(unused_valid[0]), .sum_o(a_tree)
    );
    adder_tree #(.NumOperands(Terms), .InWidth(2 * OperandWidth)) u_product_tree (
      .clk_i, .rst_ni, .en_i(1'b1), .valid_i, .data_i(product_term), .valid_o(unused_valid[1]), .sum_o(product_tree)
    );
    assign a_sum[u]       = SumWidth'(a_tree);
    assign product_sum[u] = SquareWidth'(product_tree);

    // A span's adder serves its running sums and the chain.
    assign addr   = draining ? link_channel[u] : added_channel[u];
    assign write  = draining ? link_valid[u] : added_valid;
    assign sum    = held_sum + (draining ? link_sum[u] : a_sum[u]);
    assign square = held_square + (draining ? link_square[u] : product_sum[u]);

    channel_ram #(.Width(RamWidth), .Depth(ChannelBlock)) u_held (
      .clk_i, .write_i(write), .write_addr_i(addr), .write_data_i(draining ? '0 : {square, sum}), .read_addr_i(addr),
      .read_o({held_square, held_sum})
    );

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= 1'b0;
      else valid_q <= link_valid[u];
    end
    always_ff @(posedge clk_i) begin
      channel_q <= link_channel[u];
      sum_q     <= sum;
      square_q  <= square;
    end
    assign link_valid[u+1]   = valid_q;
    assign link_channel[u+1] = channel_q;
    assign link_sum[u+1]     = sum_q;
    assign link_square[u+1]  = square_q;
  end

  assign draining   = state_q == Drain || state_q == Clear;
  assign last_added = added_valid && added_last;
  assign chain_end  = link_valid[Spans] && link_channel[Spans] == ChannelWidth'(ChannelBlock - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Free;
    end else begin
      case (state_q)
        Free:    if (start_i) state_q <= Clear;
                 else if (take_i) state_q <= Busy;
        Busy:    if (last_added) state_q <= Wait;
        Wait:    if (totals_free_i) state_q <= Drain;
        default: if (chain_end) state_q <= Free;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (!draining) next_q <= '0;
    else if (enters) next_q <= next_q + ($clog2(ChannelBlock + 1))'(1);
    if (valid_i) begin
      final_block_o <= tag_i.final_block;
      bank_o        <= tag_i.bank;
    end
  end

  assign free_o          = state_q == Free;
  assign total_valid_o   = link_valid[Spans] && state_q == Drain;
  assign total_channel_o = link_channel[Spans];
  assign total_sum_o     = link_sum[Spans];
  assign total_square_o  = link_square[Spans];
  assign done_o          = chain_end && state_q == Drain;

  logic unused;
  assign unused = ^{tag_i};

endmodule
