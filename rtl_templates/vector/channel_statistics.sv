// SPDX-License-Identifier: Apache-2.0
//
// What batch normalisation needs of a channel, from its two sums; docs/training.md has the formulas.
//
//   forward   mean = D(S1 << 8, n), inverse = floor((n << k + 8) / max(isqrt(n S2 - S1^2), n))
//   backward  mean_o = m1 = D(E1 << 8, n), gain_o = m2 = D(E2 << 8, n), scale_o = R(g * inverse, k)
// A pipeline of three units that take a bit a cycle: products and divisions by n, square root, division by it. A channel
// enters every Steps cycles (ready_o), in backward it leaves after the first unit. Outputs hold with done_o (a pulse).

module channel_statistics #(
  parameter int unsigned OperandWidth  = 8,
  parameter int unsigned MaxCountWidth = 24,
  localparam int unsigned SumWidth     = MaxCountWidth + OperandWidth,
  localparam int unsigned SquareWidth  = MaxCountWidth + 2 * OperandWidth - 1,
  localparam int unsigned MeanWidth    = OperandWidth + 8,
  localparam int unsigned InverseWidth = OperandWidth + 9,
  localparam int unsigned GainWidth    = 2 * OperandWidth + 7,
  localparam int unsigned ScaleWidth   = OperandWidth + 8
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           start_i,    // with ready_o
  output logic                           ready_o,
  input  logic                           backward_i,
  input  logic [MaxCountWidth-1:0]       count_i,
  input  logic signed [SumWidth-1:0]     sum_i,      // S1, E1
  input  logic signed [SquareWidth-1:0]  square_i,   // S2, E2
  input  logic [InverseWidth-1:0]        inverse_i,  // backward
  input  logic signed [OperandWidth-1:0] gain_i,     // g, backward
  output logic                           done_o,
  output logic [MeanWidth-1:0]           mean_o,
  output logic [InverseWidth-1:0]        inverse_o,
  output logic [GainWidth-1:0]           gain_o,
  output logic [ScaleWidth-1:0]          scale_o
);

  localparam int unsigned RootWidth      = SumWidth - 1; // of a deviation times n, and of the magnitude of a sum
  localparam int unsigned QuotientWidth  = GainWidth;
  localparam int unsigned NumeratorWidth = QuotientWidth + RootWidth;
  localparam int unsigned Offset         = 2 * OperandWidth - 2; // n * 2^Offset makes any of the two sums positive
  localparam int unsigned ProductWidth   = 2 * RootWidth + 2;
  localparam int unsigned Steps          = (RootWidth > QuotientWidth ? RootWidth : QuotientWidth) + 1;
  localparam int unsigned StepWidth      = $clog2(Steps + 1);

  // A channel in the first unit.
  logic [StepWidth-1:0] left_q;
  logic                 first_done;

  assign first_done = left_q == StepWidth'(1);
  assign ready_o    = left_q <= StepWidth'(1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= '0;
    else if (start_i) left_q <= StepWidth'(Steps);
    else if (left_q != '0) left_q <= left_q - StepWidth'(1);
  end

  // value = count * square - sum * sum, or inverse * gain: from the highest bit of the multipliers down.
  logic                           multiplies;
  logic [RootWidth-1:0]           upper_q, lower_q, magnitude, magnitude_q;
  logic signed [ProductWidth-1:0] value_q, added, taken;
  logic signed [SquareWidth-1:0]  multiplicand_q;

  assign multiplies = left_q > StepWidth'(Steps - RootWidth);
  assign magnitude  = backward_i ? '0 : RootWidth'(sum_i < 0 ? -sum_i : sum_i);
  assign added      = upper_q[RootWidth-1] ? ProductWidth'(multiplicand_q) : '0;
  assign taken      = lower_q[RootWidth-1] ? signed'(ProductWidth'(magnitude_q)) : '0;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      upper_q        <= backward_i ? RootWidth'(inverse_i) : RootWidth'(count_i);
      lower_q        <= magnitude;
      magnitude_q    <= magnitude;
      multiplicand_q <= backward_i ? SquareWidth'(gain_i) : square_i;
      value_q        <= '0;
    end else if (multiplies) begin
      upper_q <= upper_q << 1;
      lower_q <= lower_q << 1;
      value_q <= (value_q <<< 1) + added - taken;
    end
  end

  // D(a << 8, n) is floor((((a + n 2^Offset) << 9) + n) / 2 n) less 2^(Offset + 8).
  logic [NumeratorWidth-1:0] sum_numerator, second_numerator;
  logic [RootWidth-1:0]      divisor, twice;
  logic [QuotientWidth-1:0]  sum_quotient, second_quotient;
  logic                      root_done, divided, unused_done;
  logic [RootWidth-1:0]      root, deviation_q;
  logic [MeanWidth-1:0]      mean2_q, mean3_q;

  function automatic logic [NumeratorWidth-1:0] numerator(logic signed [SquareWidth-1:0] a,
                                                          logic [MaxCountWidth-1:0] n);
    return ((NumeratorWidth'(a) + (NumeratorWidth'(n) << Offset)) << 9) + NumeratorWidth'(n);
  endfunction

  assign twice            = RootWidth'({count_i, 1'b0});
  assign sum_numerator    = numerator(SquareWidth'(sum_i), count_i);
  assign second_numerator = backward_i ? numerator(square_i, count_i) : NumeratorWidth'(count_i) << (OperandWidth + 8);
  assign divisor          = backward_i ? twice : deviation_q;

  channel_divider #(.QuotientWidth(QuotientWidth), .DivisorWidth(RootWidth)) u_divider (
    .clk_i, .rst_ni, .start_i(start_i), .numerator_i(sum_numerator), .divisor_i(twice), .done_o(unused_done),
    .quotient_o(sum_quotient)
  );
  channel_root #(.RootWidth(RootWidth)) u_root (
    .clk_i, .rst_ni, .start_i(first_done && !backward_i), .value_i(value_q[2*RootWidth-1:0]), .done_o(root_done),
    .root_o(root)
  );
  channel_divider #(.QuotientWidth(QuotientWidth), .DivisorWidth(RootWidth)) u_second_divider (
    .clk_i, .rst_ni, .start_i(backward_i ? start_i : root_done), .numerator_i(second_numerator), .divisor_i(divisor),
    .done_o(divided), .quotient_o(second_quotient)
  );

  always_ff @(posedge clk_i) begin
    if (first_done) mean2_q <= sum_quotient[MeanWidth-1:0];
    if (root_done) begin
      mean3_q     <= mean2_q;
      deviation_q <= root < RootWidth'(count_i) ? RootWidth'(count_i) : root;
    end
  end

  assign done_o    = backward_i ? first_done : divided;
  assign mean_o    = backward_i ? sum_quotient[MeanWidth-1:0] : mean3_q;
  assign inverse_o = second_quotient[InverseWidth-1:0];
  assign gain_o    = second_quotient - (GainWidth'(1) << (Offset + 8));
  assign scale_o   = ScaleWidth'((value_q + (ProductWidth'(1) <<< (OperandWidth - 1))) >>> OperandWidth);

  logic unused;
  assign unused = ^{unused_done, sum_quotient};

endmodule
