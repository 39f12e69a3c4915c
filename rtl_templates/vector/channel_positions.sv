// SPDX-License-Identifier: Apache-2.0
//
// Which channel and samples the lanes hold, group by group of a row; which of them hold elements and no filling.
//
// Element e of a row is of channel (e / UB) mod ChannelBlock and of sample e mod UB of its block. A span's lanes move on
// by constants: they need no division.

module channel_positions
  import channel_pkg::*;
#(
  parameter int unsigned Lanes        = 8, // a power of two
  parameter int unsigned UB           = 1,
  parameter int unsigned ChannelBlock = 8,
  localparam int unsigned Spans        = spans(Lanes, UB, ChannelBlock),
  localparam int unsigned ChannelWidth = ChannelBlock > 1 ? $clog2(ChannelBlock) : 1
) (
  input  logic                               clk_i,
  input  logic                               restart_i, // the next group is the first of a row
  input  logic                               next_i,
  input  logic                               row_end_i, // the group is the last of its row
  input  index_t                             lanes_last_i,
  input  index_t                             channels_i,
  input  index_t                             samples_i,
  output logic [Spans-1:0][ChannelWidth-1:0] channel_o,
  output logic [Lanes-1:0]                   mask_o
);

  localparam int unsigned Span        = span_lanes(Lanes, UB);
  localparam int unsigned Places      = UB / Span; // of a span among the samples of a channel
  localparam int unsigned PlaceWidth  = Places > 1 ? $clog2(Places) : 1;
  localparam int unsigned Advance     = (Lanes / Span) % (ChannelBlock * Places);
  localparam int unsigned StepChannel = Advance / Places;
  localparam int unsigned StepPlace   = Advance % Places;

  logic [Spans-1:0][PlaceWidth-1:0] place;

  for (genvar u = 0; u < Spans; u++) begin : gen_span
    localparam logic [ChannelWidth-1:0] FirstChannel = ChannelWidth'((u / Places) % ChannelBlock);
    localparam logic [PlaceWidth-1:0]   FirstPlace   = PlaceWidth'(u % Places);

    if (Advance == 0) begin : gen_fixed
      assign channel_o[u] = FirstChannel;
      assign place[u]     = FirstPlace;
    end else begin : gen_moving
      logic [ChannelWidth-1:0] channel_q;
      logic [PlaceWidth-1:0]   place_q;
      logic [PlaceWidth:0]     place_sum;
      logic [ChannelWidth+1:0] channel_sum;
      logic                    carry, wrap;

      assign place_sum   = (PlaceWidth + 1)'(place_q) + (PlaceWidth + 1)'(StepPlace);
      assign carry       = place_sum >= (PlaceWidth + 1)'(Places);
      assign channel_sum = (ChannelWidth + 2)'(channel_q) + (ChannelWidth + 2)'(StepChannel) +
                           (ChannelWidth + 2)'(carry);
      assign wrap        = channel_sum >= (ChannelWidth + 2)'(ChannelBlock);

      always_ff @(posedge clk_i) begin
        if (restart_i) begin
          channel_q <= FirstChannel;
          place_q   <= FirstPlace;
        end else if (next_i) begin
          channel_q <= ChannelWidth'(wrap ? channel_sum - (ChannelWidth + 2)'(ChannelBlock) : channel_sum);
          place_q   <= PlaceWidth'(carry ? place_sum - (PlaceWidth + 1)'(Places) : place_sum);
        end
      end

      assign channel_o[u] = channel_q;
      assign place[u]     = place_q;
    end
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    localparam int unsigned U = span_of(l, Lanes, UB, ChannelBlock);
    assign mask_o[l] = index_t'(channel_o[U]) < channels_i &&
                       index_t'(index_t'(place[U]) * index_t'(Span) + index_t'(l % Span)) < samples_i &&
                       (!row_end_i || index_t'(l) < lanes_last_i);
  end

  if (Advance == 0) begin : gen_no_registers
    logic unused;
    assign unused = clk_i ^ restart_i ^ next_i;
  end

endmodule
