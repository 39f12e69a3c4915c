// SPDX-License-Identifier: Apache-2.0
//
// Wide elements, a beat of them a step: the error of NormBackward and the operand of Bias. Three stages behind the
// lanes, which stand still with them without en_i.
//
//   stage 12  error * scale of the channel, or Q(a + (bias << s), s), collected to a group of narrow elements

module channel_wide
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
  localparam int unsigned WideWidth    = 4 * OperandWidth,
  localparam int unsigned Parts        = Lanes / 4, // wide elements of a beat
  localparam int unsigned ScaleWidth   = OperandWidth + 8,
  localparam int unsigned ErrorWidth   = OperandWidth + 10
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic                               en_i,
  input  logic                               clear_i,    // a new tensor for scale_o
  input  logic                               backward_i,
  input  logic                               relu_i,
  input  logic [ShiftWidth-1:0]              shift_i,
  input  logic                               scale_write_i,
  input  logic [CoefAddr-1:0]                scale_addr_i,
  input  logic [ScaleWidth-1:0]              scale_i,
  input  logic                               valid_i,
  input  tag_t                               tag_i,
  input  logic [Spans-1:0][ChannelWidth-1:0] channel_i,
  input  logic [Lanes-1:0]                   mask_i,
  input  logic [DataWidth-1:0]               a_i,
  input  logic [Lanes-1:0][OperandWidth-1:0] offset_i,
  input  logic [Lanes-1:0][ErrorWidth-1:0]   error_i,
  output logic [1:0]                         busy_o,     // a step of that bank is in one of the stages
  output logic                               valid_o,
  output tag_t                               tag_o,
  output logic [DataWidth-1:0]               data_o,
  output logic [6:0]                         scale_o     // bit length of the OR of all magnitudes of the errors
);

  localparam int unsigned SumWidth     = WideWidth < 64 ? WideWidth + 1 : 64;
  localparam int unsigned FactorWidth  = ErrorWidth + ScaleWidth;
  localparam int unsigned ProductWidth = FactorWidth < WideWidth ? FactorWidth : WideWidth;
  localparam int unsigned BitlenWidth  = $clog2(WideWidth + 1);

  logic [2:0]                        valid_q;
  tag_t [2:0]                        tag_q;
  logic [Parts-1:0]                  keep10_q, keep11_q;
  logic [Parts-1:0][WideWidth-1:0]   a, error12_q;
  logic [Parts-1:0][OperandWidth-1:0] narrow11_q;
  logic [3:0][Parts*OperandWidth-1:0] group12_q;
  logic [BitlenWidth-1:0]            bitlen;

  assign a = a_i;

  for (genvar p = 0; p < Parts; p++) begin : gen_part
    logic [3:0][ErrorWidth-1:0]      error;
    logic [3:0][OperandWidth-1:0]    offset;
    logic [3:0][ChannelWidth-1:0]    channel;
    logic [3:0]                      keep;
    logic [ScaleWidth-1:0]           scale;
    logic [CoefAddr-1:0]             addr;
    logic signed [ErrorWidth-1:0]    error10_q;
    logic signed [ScaleWidth-1:0]    scale10_q;
    logic signed [SumWidth-1:0]      sum10_q;
    logic signed [ProductWidth-1:0]  product11_q;
    logic signed [OperandWidth-1:0]  narrow;

    for (genvar q = 0; q < 4; q++) begin : gen_step
      localparam int unsigned Lane = q * Parts + p;
      assign error[q]   = error_i[Lane];
      assign offset[q]  = offset_i[Lane];
      assign keep[q]    = mask_i[Lane];
      assign channel[q] = channel_i[span_of(Lane, Lanes, UB, ChannelBlock)];
    end

    assign addr = CoefAddr'(32'(tag_i.bank) * ChannelBlock + 32'(channel[tag_i.step]));
    channel_ram #(.Width(ScaleWidth), .Depth(2 * ChannelBlock)) u_scale (
      .clk_i, .write_i(scale_write_i), .write_addr_i(scale_addr_i), .write_data_i(scale_i), .read_addr_i(addr),
      .read_o(scale)
    );
    requantise #(.InWidth(SumWidth), .OutWidth(OperandWidth)) u_narrow (
      .value_i(sum10_q), .shift_i(8'(shift_i)), .value_o(narrow)
    );

    always_ff @(posedge clk_i) begin
      if (en_i) begin
        error10_q     <= error[tag_i.step];
        scale10_q     <= scale;
        keep10_q[p]   <= keep[tag_i.step];
        sum10_q       <= SumWidth'(signed'(a[p])) + (SumWidth'(signed'(offset[tag_i.step])) <<< shift_i);
        product11_q   <= ProductWidth'(FactorWidth'(error10_q) * FactorWidth'(scale10_q));
        narrow11_q[p] <= !keep10_q[p] || (relu_i && narrow[OperandWidth-1]) ? '0 : narrow;
        keep11_q[p]   <= keep10_q[p];
        error12_q[p]  <= keep11_q[p] ? WideWidth'(product11_q) : '0;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (en_i) valid_q <= {valid_q[1:0], valid_i};
  end
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      tag_q <= {tag_q[1:0], tag_i};
      if (valid_q[1]) begin
        for (int unsigned q = 0; q < 4; q++) begin
          if (tag_q[1].step == 2'(q)) group12_q[q] <= narrow11_q;
          else if (tag_q[1].step == '0) group12_q[q] <= '0;
        end
      end
    end
  end

  or_tree_scale #(
    .Lanes(Parts),
    .Width(WideWidth)
  ) u_scale (
    .clk_i,
    .rst_ni,
    .en_i    (1'b1),
    .clear_i,
    .valid_i (en_i && valid_q[2] && tag_q[2].store),
    .data_i  (error12_q),
    .bitlen_o(bitlen)
  );

  always_comb begin
    busy_o = '0;
    for (int unsigned s = 0; s < 3; s++) if (valid_q[s]) busy_o[tag_q[s].bank] = 1'b1;
  end
  assign valid_o = valid_q[2];
  assign tag_o   = tag_q[2];
  assign data_o  = backward_i ? error12_q : group12_q;
  assign scale_o = 7'(bitlen);

endmodule
