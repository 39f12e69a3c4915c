// SPDX-License-Identifier: Apache-2.0
//
// Floating-point multiplier for numbers of 1 sign bit, ExpWidth exponent bits and ManWidth fraction bits.
//
// IEEE 754 arithmetic, round to nearest, ties to even, with one stated difference: subnormal numbers are zero.
// A subnormal operand counts as zero of the same sign. A result is rounded to ManWidth bits as if the exponent had no
// lower end; if it is then below the smallest normal number it becomes zero of the same sign. Infinity times zero (or
// times a subnormal) is NaN. Every NaN result is the positive quiet NaN with only the top fraction bit set.
//
// Latency: LatencyCycles = 3 enabled cycles (operands, product, rounded result), one result a cycle. en_i = 0 stalls.

module fp_mul #(
  parameter int unsigned ExpWidth = 8,  // 8: bfloat16 and binary32
  parameter int unsigned ManWidth = 23, // 7: bfloat16, 23: binary32
  localparam int unsigned Width         = 1 + ExpWidth + ManWidth,
  localparam int unsigned LatencyCycles = 3
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             en_i,
  input  logic             valid_i,
  input  logic [Width-1:0] a_i,
  input  logic [Width-1:0] b_i,
  output logic             valid_o,
  output logic [Width-1:0] result_o
);

  if (ExpWidth < 4 || ExpWidth > 8) begin : gen_bad_exp_width
    $fatal(1, "fp_mul: ExpWidth must be from 4 to 8");
  end
  if (ManWidth < 3 || ManWidth > 23) begin : gen_bad_man_width
    $fatal(1, "fp_mul: ManWidth must be from 3 to 23");
  end

  localparam int unsigned SigWidth   = ManWidth + 1;
  localparam int unsigned SumWidth   = ExpWidth + 2; // signed sums of two exponents
  localparam logic [ExpWidth-1:0] ExpMax = '1;
  localparam logic signed [SumWidth-1:0] Bias = SumWidth'((1 << (ExpWidth - 1)) - 1);
  localparam logic [Width-1:0] QuietNan = {1'b0, ExpMax, 1'b1, {(ManWidth-1){1'b0}}};

  logic [LatencyCycles-1:0] valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (en_i) valid_q <= {valid_q[LatencyCycles-2:0], valid_i};
  end

  // Stage 1: operands.
  logic [Width-1:0] a_q, b_q;

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      a_q <= a_i;
      b_q <= b_i;
    end
  end

  // Stage 2: product of the significands, sum of the exponents, special cases.
  logic [ExpWidth-1:0] a_exp, b_exp;
  logic [ManWidth-1:0] a_man, b_man;
  logic                a_zero, b_zero, a_inf, b_inf, a_nan, b_nan;

  assign a_exp  = a_q[ManWidth +: ExpWidth];
  assign b_exp  = b_q[ManWidth +: ExpWidth];
  assign a_man  = a_q[ManWidth-1:0];
  assign b_man  = b_q[ManWidth-1:0];
  assign a_zero = a_exp == '0;
  assign b_zero = b_exp == '0;
  assign a_inf  = a_exp == ExpMax && a_man == '0;
  assign b_inf  = b_exp == ExpMax && b_man == '0;
  assign a_nan  = a_exp == ExpMax && a_man != '0;
  assign b_nan  = b_exp == ExpMax && b_man != '0;

  logic                         sign_q, zero_q, inf_q, nan_q;
  logic signed [SumWidth-1:0]   exp_q;
  logic        [2*SigWidth-1:0] product_q;

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      product_q <= {1'b1, a_man} * {1'b1, b_man};
      exp_q     <= signed'({2'b00, a_exp}) + signed'({2'b00, b_exp}) - Bias;
      sign_q    <= a_q[Width-1] ^ b_q[Width-1];
      zero_q    <= a_zero | b_zero;
      inf_q     <= a_inf | b_inf;
      nan_q     <= a_nan | b_nan | (a_inf & b_zero) | (b_inf & a_zero);
    end
  end

  // Stage 3: the product is in [1, 4): shift it by at most one place, round, select.
  logic                         high, round_up, round_bit, sticky;
  logic        [SigWidth-1:0]   sig;
  logic        [SigWidth:0]     rounded;
  logic signed [SumWidth-1:0]   exp_rounded;
  logic        [Width-1:0]      result_d, result_q;

  always_comb begin
    high      = product_q[2*SigWidth-1];
    sig       = high ? product_q[SigWidth +: SigWidth] : product_q[SigWidth-1 +: SigWidth];
    round_bit = high ? product_q[SigWidth-1] : product_q[SigWidth-2];
    sticky    = (product_q[SigWidth-3:0] != '0) | (high & product_q[SigWidth-2]);
    round_up  = round_bit & (sticky | sig[0]);
    rounded   = {1'b0, sig} + (SigWidth + 1)'(round_up);
    // A carry out of the rounding leaves a fraction of zeros: only the exponent needs correcting.
    exp_rounded = exp_q + SumWidth'(high) + SumWidth'(rounded[SigWidth]);

    if (nan_q) begin
      result_d = QuietNan;
    end else if (inf_q) begin
      result_d = {sign_q, ExpMax, ManWidth'(0)};
    end else if (zero_q || exp_rounded <= 0) begin
      result_d = {sign_q, (ExpWidth + ManWidth)'(0)};
    end else if (exp_rounded >= signed'({2'b00, ExpMax})) begin
      result_d = {sign_q, ExpMax, ManWidth'(0)};
    end else begin
      result_d = {sign_q, exp_rounded[ExpWidth-1:0], rounded[ManWidth-1:0]};
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) result_q <= result_d;
  end

  assign valid_o  = valid_q[LatencyCycles-1];
  assign result_o = result_q;

endmodule
