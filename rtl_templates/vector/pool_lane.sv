// SPDX-License-Identifier: Apache-2.0
//
// One element of a result pixel: the largest of the values it reads, or their sum, scaled.
//
// Three registers after the ring: the sum (or largest), its product with the reciprocal, the result. The first of equal
// values is the largest. A value of the operand counts in max backward only where its index is the tap. Source:
// docs/training.md.

module pool_lane
  import pool_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned SumWidth     = 18,
  localparam int unsigned WideWidth   = 4 * OperandWidth
) (
  input  logic                           clk_i,
  input  logic                           en_i,
  input  mode_e                          mode_i,
  input  logic signed [ScaleWidth:0]     reciprocal_i,
  input  logic                           valid_i,
  input  logic                           first_i,
  input  logic                           void_i,
  input  logic        [OperandWidth-1:0] tap_i,
  input  logic signed [OperandWidth-1:0] value_i,
  input  logic        [OperandWidth-1:0] index_i,
  output logic        [OperandWidth-1:0] narrow_o,
  output logic        [OperandWidth-1:0] index_o,
  output logic        [WideWidth-1:0]    wide_o
);

  localparam int unsigned ProductWidth = SumWidth + ScaleWidth + 1;
  localparam int unsigned Fraction     = 16; // bits of the reciprocal

  logic signed [SumWidth-1:0]     sum_q, sum_d, value;
  logic        [OperandWidth-1:0] index_q, index1_q;
  logic                           largest, better, counts;

  assign largest = mode_i == MaxForward || mode_i == MaxIndexForward;
  assign value   = SumWidth'(value_i);
  assign better  = first_i || value > sum_q;
  assign counts  = !void_i && (!uses_index(mode_i) || index_i == tap_i);

  always_comb begin
    if (largest) sum_d = better ? value : sum_q;
    else sum_d = (first_i ? '0 : sum_q) + (counts ? value : '0);
  end

  logic signed [ProductWidth-1:0] product_q;
  logic        [OperandWidth-1:0] narrow1_q, average;

  requantise #(.InWidth(ProductWidth), .OutWidth(OperandWidth)) u_average (
    .value_i(product_q), .shift_i(8'(Fraction)), .value_o(average)
  );

  logic [WideWidth-1:0] wide;
  if (WideWidth > ProductWidth) begin : gen_extend
    assign wide = WideWidth'(product_q);
  end else begin : gen_cut
    assign wide = product_q[WideWidth-1:0];
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      if (valid_i) begin
        sum_q <= sum_d;
        if (better) index_q <= tap_i;
      end
      product_q <= sum_q * reciprocal_i;
      narrow1_q <= sum_q[OperandWidth-1:0];
      index1_q  <= index_q;
      narrow_o  <= mode_i == AverageForward ? average : narrow1_q;
      index_o   <= index1_q;
      wide_o    <= wide;
    end
  end

endmodule
