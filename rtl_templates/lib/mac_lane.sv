// SPDX-License-Identifier: Apache-2.0
//
// Signed integer multiplier-accumulator lane.
//
// product_o is the registered product of a_i and b_i: one enabled cycle after its operands.
// acc_o is the running sum of the valid products, modulo 2^AccWidth: two enabled cycles after its operands.
// clear_i, sampled with valid operands, makes their product the first of a new sum, so that no cycle is lost between
// two sums. acc_valid_o says that acc_o took in a product in the last enabled cycle. en_i = 0 stalls everything.
// The data registers have no reset (they could not move into a DSP block): the first operands must come with clear_i.

module mac_lane #(
  parameter int unsigned OperandWidth = 8,  // 8 or 16
  parameter int unsigned AccWidth     = 32, // from 2 * OperandWidth to 48
  localparam int unsigned ProductWidth = 2 * OperandWidth
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           en_i,
  input  logic                           valid_i,
  input  logic                           clear_i,
  input  logic signed [OperandWidth-1:0] a_i,
  input  logic signed [OperandWidth-1:0] b_i,
  output logic                           product_valid_o,
  output logic signed [ProductWidth-1:0] product_o,
  output logic                           acc_valid_o,
  output logic signed [AccWidth-1:0]     acc_o
);

  if (OperandWidth != 8 && OperandWidth != 16) begin : gen_bad_operand_width
    $fatal(1, "mac_lane: OperandWidth must be 8 or 16");
  end
  if (AccWidth < ProductWidth || AccWidth > 48) begin : gen_bad_acc_width
    $fatal(1, "mac_lane: AccWidth must be from 2 * OperandWidth to 48");
  end

  logic                           product_valid_q, acc_valid_q;
  logic                           clear_q;
  logic signed [ProductWidth-1:0] product_q;
  logic signed [AccWidth-1:0]     acc_d, acc_q;

  assign acc_d = (clear_q ? '0 : acc_q) + AccWidth'(product_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      product_valid_q <= 1'b0;
      acc_valid_q     <= 1'b0;
    end else if (en_i) begin
      product_valid_q <= valid_i;
      acc_valid_q     <= product_valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      clear_q   <= clear_i;
      product_q <= a_i * b_i;
      if (product_valid_q) acc_q <= acc_d;
    end
  end

  assign product_valid_o = product_valid_q;
  assign product_o       = product_q;
  assign acc_valid_o     = acc_valid_q;
  assign acc_o           = acc_q;

endmodule
