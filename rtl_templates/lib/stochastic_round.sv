// SPDX-License-Identifier: Apache-2.0
//
// Stochastic rounding of a number divided by a power of two, clipped to the symmetric range. Combinational.
//
//   shift_i > 0:  value_o = clip((value_i + r) >>> shift_i, -M, M), r = the lowest shift_i bits of random_i, which is
//                 moved up by shift_i - 32 where that is positive
//   shift_i <= 0: value_o = clip(value_i * 2^(-shift_i), -M, M)
// with M = 2^(OutWidth-1) - 1. The expected value is value_i / 2^shift_i up to the clip, for negative numbers too. A
// shift above MaxShift counts as MaxShift.
// Source: weight update of the DarkFPGA journal version (JOS 2020) in its random-add form.

module stochastic_round #(
  parameter int unsigned InWidth  = 32,
  parameter int unsigned OutWidth = 8,
  parameter int unsigned MaxShift = 48,
  localparam int unsigned ShiftWidth = 8
) (
  input  logic signed [InWidth-1:0]    value_i,
  input  logic signed [ShiftWidth-1:0] shift_i,
  input  logic        [31:0]           random_i,
  output logic signed [OutWidth-1:0]   value_o
);

  if (InWidth < 2 || InWidth > 64) begin : gen_bad_in_width
    $fatal(1, "stochastic_round: InWidth must be from 2 to 64");
  end
  if (OutWidth < 2 || OutWidth > InWidth) begin : gen_bad_out_width
    $fatal(1, "stochastic_round: OutWidth must be from 2 to InWidth");
  end
  if (MaxShift < 32 || MaxShift > 64) begin : gen_bad_max_shift
    $fatal(1, "stochastic_round: MaxShift must be from 32 to 64");
  end

  // As in requantise, the value stands Left places above its unit, so that one shifter serves both directions.
  localparam int unsigned Left        = OutWidth - 1;
  localparam int unsigned SumWidth    = (InWidth > MaxShift ? InWidth : MaxShift) + 2;
  localparam int unsigned WideWidth   = SumWidth + Left;
  localparam int unsigned AmountWidth = $clog2(MaxShift + Left + 1);
  localparam logic signed [WideWidth-1:0] Max = WideWidth'({1'b0, {Left{1'b1}}});

  localparam logic signed [ShiftWidth:0] Most = (ShiftWidth + 1)'(MaxShift);

  logic signed [ShiftWidth:0]    shift, amount_wide;
  logic        [AmountWidth-1:0] amount;
  logic        [MaxShift-1:0]    fraction;
  logic signed [SumWidth-1:0]    sum;
  logic signed [WideWidth-1:0]   shifted;

  always_comb begin
    shift       = (ShiftWidth + 1)'(shift_i);
    if (shift > Most) shift = Most;
    amount_wide = shift + signed'((ShiftWidth + 1)'(Left));
    amount      = amount_wide < 0 ? '0 : amount_wide[AmountWidth-1:0];

    if (shift <= 0) fraction = '0;
    else if (shift > 32) fraction = MaxShift'(random_i) << (shift - 9'sd32);
    else fraction = MaxShift'(random_i) & ~({MaxShift{1'b1}} << shift[6:0]);

    sum     = SumWidth'(value_i) + signed'(SumWidth'(fraction));
    shifted = signed'({sum, Left'(0)}) >>> amount;
    if (shifted > Max) value_o = OutWidth'(Max);
    else if (shifted < -Max) value_o = OutWidth'(-Max);
    else value_o = shifted[OutWidth-1:0];
  end

endmodule
