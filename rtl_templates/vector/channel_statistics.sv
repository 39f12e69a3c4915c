// SPDX-License-Identifier: Apache-2.0
//
// What batch normalisation needs of one channel, from its two sums; docs/training.md has the formulas.
//
//   forward   mean = D(S1 << 8, n), inverse = floor((n << k + 8) / max(isqrt(n S2 - S1^2), n))
//   backward  mean_o = m1 = D(E1 << 8, n), gain_o = m2 = D(E2 << 8, n), scale_o = R(g * inverse, k)
// The products are made by shifts and additions beside the first division. Inputs stay from start_i to done_o (a pulse);
// outputs stay until start_i.

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
  input  logic                           start_i,
  input  logic                           backward_i,
  input  logic [MaxCountWidth-1:0]       count_i,
  input  logic signed [SumWidth-1:0]     sum_i,     // S1, E1
  input  logic signed [SquareWidth-1:0]  square_i,  // S2, E2
  input  logic [InverseWidth-1:0]        inverse_i, // backward
  input  logic signed [OperandWidth-1:0] gain_i,    // g, backward
  output logic                           done_o,
  output logic [MeanWidth-1:0]           mean_o,
  output logic [InverseWidth-1:0]        inverse_o,
  output logic [GainWidth-1:0]           gain_o,
  output logic [ScaleWidth-1:0]          scale_o
);

  localparam int unsigned RootWidth     = SumWidth - 1; // of a deviation times n, and of the magnitude of a sum
  localparam int unsigned QuotientWidth = GainWidth;
  localparam int unsigned NumeratorWidth = QuotientWidth + RootWidth;
  localparam int unsigned Offset        = 2 * OperandWidth - 2; // n * 2^Offset makes any of the two sums positive
  localparam int unsigned ProductWidth  = 2 * RootWidth + 2;
  localparam int unsigned StepWidth     = $clog2(RootWidth + 1);

  typedef enum logic [2:0] {Idle, Products, Root, Inverse, Second} state_e;

  state_e                       state_q;
  logic                         divide, divided, divided_q, root_start, root_done, multiplied;
  logic [NumeratorWidth-1:0]    numerator, shifted;
  logic [RootWidth-1:0]         divisor, root, deviation;
  logic [QuotientWidth-1:0]     quotient;
  logic signed [SquareWidth-1:0] dividend;

  // value = count * square - sum * sum, or inverse * gain: from the highest bit of the multipliers down.
  logic [StepWidth-1:0]           left_q;
  logic [RootWidth-1:0]           upper_q, lower_q, magnitude;
  logic signed [ProductWidth-1:0] value_q, added, taken;
  logic signed [SquareWidth-1:0]  multiplicand;

  assign magnitude    = RootWidth'(sum_i < 0 ? -sum_i : sum_i);
  assign multiplicand = backward_i ? SquareWidth'(gain_i) : square_i;
  assign added        = upper_q[RootWidth-1] ? ProductWidth'(multiplicand) : '0;
  assign taken        = lower_q[RootWidth-1] ? signed'(ProductWidth'(magnitude)) : '0;
  assign multiplied   = left_q == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= '0;
    else if (start_i) left_q <= StepWidth'(RootWidth);
    else if (!multiplied) left_q <= left_q - StepWidth'(1);
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      upper_q <= backward_i ? RootWidth'(inverse_i) : RootWidth'(count_i);
      lower_q <= backward_i ? '0 : magnitude;
      value_q <= '0;
    end else if (!multiplied) begin
      upper_q <= upper_q << 1;
      lower_q <= lower_q << 1;
      value_q <= (value_q <<< 1) + added - taken;
    end
  end

  channel_root #(.RootWidth(RootWidth)) u_root (
    .clk_i, .rst_ni, .start_i(root_start), .value_i(value_q[2*RootWidth-1:0]), .done_o(root_done), .root_o(root)
  );

  // D(a << 8, n) is floor(((a + n 2^Offset) << 9) + n) / (2 n)) less 2^(Offset + 8).
  assign deviation = root < RootWidth'(count_i) ? RootWidth'(count_i) : root;
  assign dividend  = state_q == Products && backward_i ? square_i : SquareWidth'(sum_i);
  assign shifted   = NumeratorWidth'(dividend) + (NumeratorWidth'(count_i) << Offset);
  always_comb begin
    if (state_q == Root) numerator = NumeratorWidth'(count_i) << (OperandWidth + 8);
    else numerator = (shifted << 9) + NumeratorWidth'(count_i);
    divisor = state_q == Inverse ? deviation : RootWidth'({count_i, 1'b0});
  end

  channel_divider #(.QuotientWidth(QuotientWidth), .DivisorWidth(RootWidth)) u_divider (
    .clk_i, .rst_ni, .start_i(divide), .numerator_i(numerator), .divisor_i(divisor), .done_o(divided),
    .quotient_o(quotient)
  );

  logic first_done, to_root, to_inverse, to_second;
  assign first_done = divided || divided_q; // the division beside the products
  assign to_root    = state_q == Products && multiplied && !backward_i;
  assign to_second  = state_q == Products && multiplied && first_done && backward_i;
  assign to_inverse = state_q == Root && root_done; // by then the first division is done
  assign root_start = to_root;
  assign divide     = start_i || to_second || to_inverse;
  assign done_o     = divided && (state_q == Inverse || state_q == Second);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= Idle;
      divided_q <= 1'b0;
    end else begin
      divided_q <= !start_i && first_done;
      if (start_i) state_q <= Products;
      else if (to_root) state_q <= Root;
      else if (to_second) state_q <= Second;
      else if (to_inverse) state_q <= Inverse;
      else if (done_o) state_q <= Idle;
    end
  end

  logic [MeanWidth-1:0] mean_q;
  always_ff @(posedge clk_i) if (divided && (state_q == Products || state_q == Root)) mean_q <= quotient[MeanWidth-1:0];

  assign mean_o    = mean_q;
  assign inverse_o = quotient[InverseWidth-1:0];
  assign gain_o    = quotient[GainWidth-1:0] - (GainWidth'(1) << (Offset + 8));
  assign scale_o   = ScaleWidth'((value_q + (ProductWidth'(1) <<< (OperandWidth - 1))) >>> OperandWidth);

endmodule
