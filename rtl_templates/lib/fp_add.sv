// SPDX-License-Identifier: Apache-2.0
//
// Floating-point adder for numbers of 1 sign bit, ExpWidth exponent bits and ManWidth fraction bits.
//
// IEEE 754 arithmetic, round to nearest, ties to even, with one stated difference: subnormal numbers are zero.
// A subnormal operand counts as zero of the same sign, and a result below the smallest normal number becomes zero of
// the same sign. An exact cancellation gives +0, the sum of two negative zeros -0. Infinity minus infinity is NaN.
// Every NaN result is the positive quiet NaN with only the top fraction bit set.
//
// Latency: LatencyCycles = 5 enabled cycles (order, align, add, normalise, round), one result a cycle. en_i = 0 stalls.

module fp_add #(
  parameter int unsigned ExpWidth = 8,  // 8: bfloat16 and binary32
  parameter int unsigned ManWidth = 23, // 7: bfloat16, 23: binary32
  localparam int unsigned Width         = 1 + ExpWidth + ManWidth,
  localparam int unsigned LatencyCycles = 5
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
    $fatal(1, "fp_add: ExpWidth must be from 4 to 8");
  end
  if (ManWidth < 3 || ManWidth > 23) begin : gen_bad_man_width
    $fatal(1, "fp_add: ManWidth must be from 3 to 23");
  end

  localparam int unsigned SigWidth   = ManWidth + 1;
  localparam int unsigned ExtWidth   = SigWidth + 3; // guard, round and sticky bits below the significand
  localparam int unsigned SumWidth   = ExtWidth + 1; // carry above it
  localparam int unsigned ShiftWidth = $clog2(ExtWidth + 1);
  localparam int unsigned CountWidth = $clog2(SumWidth + 1);
  localparam int unsigned WideExp    = (ExpWidth > CountWidth ? ExpWidth : CountWidth) + 2;
  localparam logic [ExpWidth-1:0] ExpMax = '1;
  localparam logic [Width-1:0] QuietNan = {1'b0, ExpMax, 1'b1, {(ManWidth-1){1'b0}}};

  logic [LatencyCycles-1:0] valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (en_i) valid_q <= {valid_q[LatencyCycles-2:0], valid_i};
  end

  // Stage 1: put the operand of larger magnitude first; limit the distance of the exponents.
  logic                  swap;
  logic                  big_zero, little_zero, big_nan, little_nan, big_inf, little_inf;
  logic [Width-1:0]      big, little; // by magnitude
  logic [ExpWidth-1:0]   distance;
  logic [ShiftWidth-1:0] shift_d, shift_q;
  logic [SigWidth-1:0]   big_sig_q, little_sig_q;
  logic [ExpWidth-1:0]   exp1_q;
  logic                  sign1_q, sub1_q, inf1_q, nan1_q;

  always_comb begin
    swap     = b_i[Width-2:0] > a_i[Width-2:0];
    big    = swap ? b_i : a_i;
    little    = swap ? a_i : b_i;
    big_zero   = big[ManWidth +: ExpWidth] == '0;
    little_zero   = little[ManWidth +: ExpWidth] == '0;
    big_inf    = big[ManWidth +: ExpWidth] == ExpMax && big[ManWidth-1:0] == '0;
    little_inf    = little[ManWidth +: ExpWidth] == ExpMax && little[ManWidth-1:0] == '0;
    big_nan    = big[ManWidth +: ExpWidth] == ExpMax && big[ManWidth-1:0] != '0;
    little_nan    = little[ManWidth +: ExpWidth] == ExpMax && little[ManWidth-1:0] != '0;
    distance = big[ManWidth +: ExpWidth] - little[ManWidth +: ExpWidth];
    shift_d  = 32'(distance) > ExtWidth ? ShiftWidth'(ExtWidth) : ShiftWidth'(distance);
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      big_sig_q <= big_zero ? '0 : {1'b1, big[ManWidth-1:0]};
      little_sig_q <= little_zero ? '0 : {1'b1, little[ManWidth-1:0]};
      shift_q     <= shift_d;
      exp1_q      <= big[ManWidth +: ExpWidth];
      // Two operands of the same magnitude are not swapped: two zeros keep the sign they agree on.
      sign1_q     <= big[Width-1];
      sub1_q      <= big[Width-1] ^ little[Width-1];
      inf1_q      <= big_inf | little_inf;
      nan1_q      <= big_nan | little_nan | (big_inf & little_inf & (big[Width-1] ^ little[Width-1]));
    end
  end

  // Stage 2: align the smaller significand; what is shifted out is gathered in the sticky bit.
  logic [2*ExtWidth-1:0] shifted;
  logic [ExtWidth-1:0]   aligned_d, aligned_q, big_q;
  logic [ExpWidth-1:0]   exp2_q;
  logic                  sign2_q, sub2_q, inf2_q, nan2_q;

  always_comb begin
    shifted   = {little_sig_q, 3'b000, ExtWidth'(0)} >> shift_q;
    aligned_d = {shifted[2*ExtWidth-1:ExtWidth+1], shifted[ExtWidth] | (shifted[ExtWidth-1:0] != '0)};
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      aligned_q <= aligned_d;
      big_q   <= {big_sig_q, 3'b000};
      exp2_q    <= exp1_q;
      sign2_q   <= sign1_q;
      sub2_q    <= sub1_q;
      inf2_q    <= inf1_q;
      nan2_q    <= nan1_q;
    end
  end

  // Stage 3: add or subtract; the result is never negative because the larger magnitude is first.
  logic [SumWidth-1:0] sum_d, sum_q;
  logic [ExpWidth-1:0] exp3_q;
  logic                sign3_q, sub3_q, inf3_q, nan3_q;

  assign sum_d = {1'b0, big_q} + ({1'b0, aligned_q} ^ {SumWidth{sub2_q}}) + SumWidth'(sub2_q);

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      sum_q   <= sum_d;
      exp3_q  <= exp2_q;
      sign3_q <= sign2_q;
      sub3_q  <= sub2_q;
      inf3_q  <= inf2_q;
      nan3_q  <= nan2_q;
    end
  end

  // Stage 4: bring the leading one to the top, in steps of powers of two.
  logic        [SumWidth-1:0]   norm_d, norm_q;
  logic        [CountWidth-1:0] zeros;
  logic signed [WideExp-1:0]    exp4_q;
  logic                         sign4_q, zero4_q, inf4_q, nan4_q;

  always_comb begin
    norm_d = sum_q;
    zeros  = '0;
    for (int k = CountWidth - 1; k >= 0; k--) begin
      if ((1 << k) < SumWidth) begin
        if ((norm_d >> (SumWidth - (1 << k))) == '0) begin
          norm_d   = norm_d << (1 << k);
          zeros[k] = 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      norm_q  <= norm_d;
      exp4_q  <= signed'(WideExp'(exp3_q)) + WideExp'(1) - signed'(WideExp'(zeros));
      zero4_q <= sum_q == '0;
      sign4_q <= (sum_q == '0 && sub3_q) ? 1'b0 : sign3_q;
      inf4_q  <= inf3_q;
      nan4_q  <= nan3_q;
    end
  end

  // Stage 5: the top SigWidth bits are the significand, the four below decide the rounding.
  logic                       round_up;
  logic        [SigWidth:0]   rounded;
  logic signed [WideExp-1:0]  exp_rounded;
  logic        [Width-1:0]    result_d, result_q;

  always_comb begin
    round_up    = norm_q[3] & (norm_q[4] | (norm_q[2:0] != '0));
    rounded     = {1'b0, norm_q[4 +: SigWidth]} + (SigWidth + 1)'(round_up);
    exp_rounded = exp4_q + WideExp'(rounded[SigWidth]);

    if (nan4_q) begin
      result_d = QuietNan;
    end else if (inf4_q) begin
      result_d = {sign4_q, ExpMax, ManWidth'(0)};
    end else if (zero4_q || exp_rounded <= 0) begin
      result_d = {sign4_q, (ExpWidth + ManWidth)'(0)};
    end else if (exp_rounded >= signed'(WideExp'(ExpMax))) begin
      result_d = {sign4_q, ExpMax, ManWidth'(0)};
    end else begin
      result_d = {sign4_q, exp_rounded[ExpWidth-1:0], rounded[ManWidth-1:0]};
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) result_q <= result_d;
  end

  assign valid_o  = valid_q[LatencyCycles-1];
  assign result_o = result_q;

endmodule
