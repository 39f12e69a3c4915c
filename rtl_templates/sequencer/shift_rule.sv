// SPDX-License-Identifier: Apache-2.0
//
// Shifts and the exponent of a result from those of its operands, as the record says. Combinational.
//
// Shifts are held to what the units need: -128 to 127, at least -8 for Align.

module shift_rule
  import sequencer_pkg::*;
#(
  parameter int unsigned OperandWidth = 8
) (
  input  shift_e                          shift_i,
  input  logic                            extra_i,
  input  exponent_e                       start_i,
  input  logic                            shifted_i,
  input  logic signed [ExponentWidth-1:0] addend_i,
  input  logic [5:0]                      rate_shift_i,
  input  logic [6:0]                      bit_length_i, // of a
  input  logic signed [ExponentWidth-1:0] a_i,
  input  logic signed [ExponentWidth-1:0] b_i,
  output logic signed [7:0]               shift_a_o,
  output logic signed [7:0]               shift_b_o,
  output logic signed [ExponentWidth-1:0] exponent_o
);

  localparam int unsigned Wide  = ExponentWidth + 2;
  localparam int unsigned Guard = 8;
  localparam logic signed [Wide-1:0] Bits = Wide'(OperandWidth - 1);

  logic signed [Wide-1:0] a, b, most, length, shift_a, shift_b, start;

  function automatic logic signed [7:0] held(logic signed [Wide-1:0] shift);
    if (shift > Wide'(127)) return 8'sd127;
    if (shift < -Wide'(128)) return -8'sd128;
    return shift[7:0];
  endfunction

  always_comb begin
    a       = Wide'(a_i);
    b       = Wide'(b_i);
    most    = a > b ? a : b;
    length  = signed'(Wide'(bit_length_i));
    shift_b = '0;
    case (shift_i)
      Normalise: shift_a = bit_length_i == '0 ? '0 : length - Bits;
      Step:      shift_a = length + signed'(Wide'(rate_shift_i)) + signed'(Wide'(extra_i)) - Bits;
      Align: begin
        shift_a = most - Wide'(Guard) - a;
        shift_b = most - Wide'(Guard) - b;
      end
      default:   shift_a = '0;
    endcase
    case (start_i)
      FromA:   start = a;
      FromMax: start = most;
      default: start = '0;
    endcase
    shift_a_o  = held(shift_a);
    shift_b_o  = held(shift_b);
    exponent_o = ExponentWidth'(start + (shifted_i ? shift_a : '0) + Wide'(addend_i));
  end

endmodule
