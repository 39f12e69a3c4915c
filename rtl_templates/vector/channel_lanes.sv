// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of a group of elements: two multiplications a lane, coefficients of its channel, in nine stages that
// stand still together without en_i.
//
//   stage 2  d = (x << 8) - mean                 x is a in NormForward, b in NormBackward
//   stage 5  normal = Q(d * inverse, 19)
//   stage 8  product = (x, a or normal) * (a or gain)
//   stage 9  narrow = Q(product + (offset << k - 2), k - 2)
//            error = R((a << 2F + 8) - (offset << 2F) - product, 2F + 4), F = k - 3
// Bias of narrow elements is a gain of one, 2^(k - 2). The gain is the scale g in NormForward, m2 in NormBackward; the
// offset is o or m1 (docs/training.md).

module channel_lanes
  import channel_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned Lanes        = 8,
  parameter int unsigned UB           = 1,
  parameter int unsigned ChannelBlock = 8,
  localparam int unsigned Spans        = spans(Lanes, UB, ChannelBlock),
  localparam int unsigned ChannelWidth = ChannelBlock > 1 ? $clog2(ChannelBlock) : 1,
  localparam int unsigned CoefAddr     = $clog2(2 * ChannelBlock),
  localparam int unsigned DataWidth    = Lanes * OperandWidth,
  localparam int unsigned MeanWidth    = OperandWidth + 8,
  localparam int unsigned InverseWidth = OperandWidth + 9,
  localparam int unsigned GainWidth    = 2 * OperandWidth + 7,
  localparam int unsigned ErrorWidth   = OperandWidth + 10
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic                               en_i,
  input  op_e                                op_i,
  input  logic                               relu_i,
  // coefficients of a channel; the address has the bank above the channel
  input  logic                               mean_write_i,
  input  logic                               inverse_write_i,
  input  logic [CoefAddr-1:0]                normal_addr_i,
  input  logic [MeanWidth-1:0]               mean_i,
  input  logic [InverseWidth-1:0]            inverse_i,
  input  logic                               gain_write_i,
  input  logic                               offset_write_i,
  input  logic [CoefAddr-1:0]                result_addr_i,
  input  logic [GainWidth-1:0]               gain_i,
  input  logic [MeanWidth-1:0]               offset_i,
  // a group
  input  logic                               valid_i,
  input  tag_t                               tag_i,
  input  logic [Spans-1:0][ChannelWidth-1:0] channel_i,
  input  logic [Lanes-1:0]                   mask_i,
  input  logic [DataWidth-1:0]               a_i,
  input  logic [DataWidth-1:0]               b_i,
  // stage 8: terms of the sums, 0 in filling
  output logic                               valid8_o,
  output tag_t                               tag8_o,
  output logic [Spans-1:0][ChannelWidth-1:0] channel8_o,
  output logic [Lanes-1:0][OperandWidth-1:0] a8_o,
  output logic [Lanes-1:0][2*OperandWidth-1:0] product8_o,
  // stage 9: results, not masked unless narrow
  output logic [1:0]                         busy_o,     // a step of that bank is in a stage
  output logic                               valid9_o,
  output tag_t                               tag9_o,
  output logic [Spans-1:0][ChannelWidth-1:0] channel9_o,
  output logic [Lanes-1:0]                   mask9_o,
  output logic [DataWidth-1:0]               a9_o,
  output logic [Lanes-1:0][OperandWidth-1:0] narrow9_o,
  output logic [Lanes-1:0][OperandWidth-1:0] offset9_o,
  output logic [Lanes-1:0][ErrorWidth-1:0]   error9_o
);

  localparam int unsigned Stages      = 9;
  localparam int unsigned MeanBits    = 8;                    // fraction bits of a mean
  localparam int unsigned NormalShift = 19;                   // MeanBits + k + 8 - (k - 3)
  localparam int unsigned One         = OperandWidth - 2;     // a scale of 1 is 2^One
  localparam int unsigned Fraction    = 2 * OperandWidth - 6; // 2F
  localparam logic [MeanBits-1:0] Half = 8'd8;                // rounds the 2F + 4 bits that the error loses
  localparam int unsigned CentreWidth = OperandWidth + 9;
  localparam int unsigned NormalWidth = CentreWidth + InverseWidth + 1;
  localparam int unsigned ProductWidth = OperandWidth + GainWidth;
  localparam int unsigned ResultWidth = ProductWidth + 1;

  logic [Stages:1]                                         valid_q;
  tag_t [Stages:1]                                         tag_q;
  logic [Stages:1][Spans-1:0][ChannelWidth-1:0]            channel_q;
  logic [Stages:1][Lanes-1:0]                              mask_q;
  logic [Stages:1][Lanes-1:0][OperandWidth-1:0]            a_q;
  logic [Lanes-1:0][OperandWidth-1:0]                      b_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (en_i) valid_q <= {valid_q[Stages-1:1], valid_i};
  end
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      tag_q     <= {tag_q[Stages-1:1], tag_i};
      channel_q <= {channel_q[Stages-1:1], channel_i};
      mask_q    <= {mask_q[Stages-1:1], mask_i};
      a_q       <= {a_q[Stages-1:1], a_i};
      b_q       <= b_i;
    end
  end

  // Coefficients, a copy for every span, read where they are needed.
  logic [Spans-1:0][MeanWidth-1:0]    mean, offset;
  logic [Spans-1:0][InverseWidth-1:0] inverse;
  logic [Spans-1:0][GainWidth-1:0]    gain;

  for (genvar u = 0; u < Spans; u++) begin : gen_span
    logic [CoefAddr-1:0] addr1, addr5, addr8;
    assign addr1 = CoefAddr'(32'(tag_q[1].bank) * ChannelBlock + 32'(channel_q[1][u]));
    assign addr5 = CoefAddr'(32'(tag_q[5].bank) * ChannelBlock + 32'(channel_q[5][u]));
    assign addr8 = CoefAddr'(32'(tag_q[8].bank) * ChannelBlock + 32'(channel_q[8][u]));
    channel_ram #(.Width(MeanWidth), .Depth(2 * ChannelBlock)) u_mean (
      .clk_i, .write_i(mean_write_i), .write_addr_i(normal_addr_i), .write_data_i(mean_i), .read_addr_i(addr1),
      .read_o(mean[u])
    );
    channel_ram #(.Width(InverseWidth), .Depth(2 * ChannelBlock)) u_inverse (
      .clk_i, .write_i(inverse_write_i), .write_addr_i(normal_addr_i), .write_data_i(inverse_i), .read_addr_i(addr1),
      .read_o(inverse[u])
    );
    channel_ram #(.Width(GainWidth), .Depth(2 * ChannelBlock)) u_gain (
      .clk_i, .write_i(gain_write_i), .write_addr_i(result_addr_i), .write_data_i(gain_i), .read_addr_i(addr5),
      .read_o(gain[u])
    );
    channel_ram #(.Width(MeanWidth), .Depth(2 * ChannelBlock)) u_offset (
      .clk_i, .write_i(offset_write_i), .write_addr_i(result_addr_i), .write_data_i(offset_i), .read_addr_i(addr8),
      .read_o(offset[u])
    );
  end

  logic backward, takes_normal;
  assign backward     = op_i == NormBackward;
  assign takes_normal = backward || (op_i == NormForward && tag_q[5].store);

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    localparam int unsigned U = span_of(l, Lanes, UB, ChannelBlock);

    logic signed [OperandWidth-1:0] x, normal, normal5_q, left6_q, narrow;
    logic signed [CentreWidth-1:0]  centre2_q;
    logic signed [InverseWidth:0]   inverse2_q;
    logic signed [NormalWidth-1:0]  wide3_q, wide4_q;
    logic signed [GainWidth-1:0]    right6_q;
    logic signed [ProductWidth-1:0] product7_q, product8_q;
    logic signed [CentreWidth-1:0]  error;
    logic signed [ResultWidth-1:0]  constant, term, sum;

    assign x = backward ? b_q[l] : a_q[1][l];

    requantise #(.InWidth(NormalWidth), .OutWidth(OperandWidth)) u_normal (
      .value_i(wide4_q), .shift_i(8'(NormalShift)), .value_o(normal)
    );
    requantise #(.InWidth(ResultWidth), .OutWidth(OperandWidth)) u_narrow (
      .value_i(sum), .shift_i(8'(One)), .value_o(narrow)
    );
    // One adder serves both directions: offset + product, or error - product with the half that rounds it, whose place
    // in a << 8 is empty.
    assign error    = signed'({a_q[8][l][OperandWidth-1], a_q[8][l], Half}) - CentreWidth'(signed'(offset[U]));
    assign constant = backward ? (ResultWidth'(error) <<< Fraction) : (ResultWidth'(signed'(offset[U])) <<< One);
    assign term     = backward ? ~ResultWidth'(product8_q) : ResultWidth'(product8_q);
    assign sum      = constant + term + ResultWidth'(backward);

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        centre2_q  <= (CentreWidth'(x) <<< MeanBits) - CentreWidth'(signed'(mean[U]));
        inverse2_q <= signed'({1'b0, inverse[U]});
        wide3_q    <= NormalWidth'(centre2_q) * NormalWidth'(inverse2_q);
        wide4_q    <= wide3_q;
        normal5_q  <= normal;
        left6_q    <= takes_normal ? normal5_q : signed'(a_q[5][l]);
        right6_q   <= tag_q[5].sum ? GainWidth'(signed'(a_q[5][l])) : signed'(gain[U]);
        product7_q <= ProductWidth'(left6_q) * ProductWidth'(right6_q);
        product8_q <= product7_q;
        narrow9_o[l] <= !mask_q[8][l] || (relu_i && narrow[OperandWidth-1]) ? '0 : narrow;
        offset9_o[l] <= offset[U][OperandWidth-1:0];
        error9_o[l]  <= ErrorWidth'(sum >>> (Fraction + 4));
      end
    end

    assign a8_o[l]       = mask_q[8][l] ? a_q[8][l] : '0;
    assign product8_o[l] = mask_q[8][l] ? product8_q[2*OperandWidth-1:0] : '0;
  end

  assign valid8_o   = valid_q[8];
  assign tag8_o     = tag_q[8];
  assign channel8_o = channel_q[8];
  always_comb begin
    busy_o = '0;
    for (int unsigned s = 1; s <= Stages; s++) if (valid_q[s]) busy_o[tag_q[s].bank] = 1'b1;
  end
  assign valid9_o   = valid_q[Stages];
  assign tag9_o     = tag_q[Stages];
  assign channel9_o = channel_q[Stages];
  assign mask9_o    = mask_q[Stages];
  assign a9_o       = a_q[Stages];

endmodule
