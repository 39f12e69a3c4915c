// SPDX-License-Identifier: Apache-2.0
//
// Integer scaling by a power of two: shift, round half up, clip to the symmetric range. Combinational.
//
//   shift_i > 0:  value_o = clip((value_i + 2^(shift_i-1)) >>> shift_i, -M, M)   ties go to +infinity
//   shift_i <= 0: value_o = clip(value_i * 2^(-shift_i), -M, M)
// with M = 2^(OutWidth-1) - 1: the most negative number never comes out. Every value of shift_i is defined.
// Source: Q(x, k, s) of the DarkFPGA journal version (JOS 2020) with its clip bounds the right way round.

module requantise #(
  parameter int unsigned InWidth  = 32,
  parameter int unsigned OutWidth = 8,
  localparam int unsigned ShiftWidth = 8
) (
  input  logic signed [InWidth-1:0]    value_i,
  input  logic signed [ShiftWidth-1:0] shift_i,
  output logic signed [OutWidth-1:0]   value_o
);

  if (InWidth < 2 || InWidth > 64) begin : gen_bad_in_width
    $fatal(1, "requantise: InWidth must be from 2 to 64");
  end
  if (OutWidth < 2 || OutWidth > InWidth) begin : gen_bad_out_width
    $fatal(1, "requantise: OutWidth must be from 2 to InWidth");
  end

  // One shifter to the right serves both directions: the value stands OutWidth - 1 places to the left of its unit, as
  // any number but 0 is clipped when it is moved further. The bit below the unit rounds.
  localparam int unsigned Left      = OutWidth - 1;
  localparam int unsigned WideWidth = InWidth + Left + 1;
  localparam int unsigned AmountWidth = $clog2(InWidth + Left + 1);

  logic signed [ShiftWidth:0]    amount_wide;
  logic        [AmountWidth-1:0] amount;
  logic signed [WideWidth-1:0]   shifted;
  logic signed [WideWidth-1:0]   rounded;
  logic                          over, under;

  localparam logic signed [WideWidth-1:0] Max = WideWidth'({1'b0, {Left{1'b1}}});

  always_comb begin
    amount_wide = (ShiftWidth + 1)'(shift_i) + (ShiftWidth + 1)'(Left);
    if (amount_wide < 0) amount = '0;
    else if (amount_wide > (ShiftWidth + 1)'(InWidth + Left)) amount = AmountWidth'(InWidth + Left);
    else amount = amount_wide[AmountWidth-1:0];

    shifted = signed'({value_i, (Left + 1)'(0)}) >>> amount;
    rounded = (shifted >>> 1) + signed'(WideWidth'(shifted[0])); // signed, or the shift would be logical
    over    = rounded > Max;
    under   = rounded < -Max;
    value_o = over ? OutWidth'(Max) : under ? OutWidth'(-Max) : rounded[OutWidth-1:0];
  end

endmodule
