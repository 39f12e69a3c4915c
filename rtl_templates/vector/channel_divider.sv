// SPDX-License-Identifier: Apache-2.0
//
// Division of unsigned integers, a bit of the quotient a cycle: floor(numerator_i / divisor_i) for quotients of at most
// QuotientWidth bits. done_o pulses QuotientWidth + 1 cycles after start_i; the quotient stays. The divisor must stay.

module channel_divider #(
  parameter int unsigned QuotientWidth = 24,
  parameter int unsigned DivisorWidth  = 31
) (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,
  input  logic                                  start_i,
  input  logic [QuotientWidth+DivisorWidth-1:0] numerator_i, // less than divisor_i * 2^QuotientWidth
  input  logic [DivisorWidth-1:0]               divisor_i,
  output logic                                  done_o,
  output logic [QuotientWidth-1:0]              quotient_o
);

  localparam int unsigned CountWidth = $clog2(QuotientWidth + 1);

  logic [CountWidth-1:0]    left_q;
  logic [DivisorWidth-1:0]  rest_q;
  logic [QuotientWidth-1:0] low_q; // bits of the numerator to come, then those of the quotient
  logic [DivisorWidth:0]    next, differs;

  assign next    = {rest_q, low_q[QuotientWidth-1]};
  assign differs = next - (DivisorWidth + 1)'(divisor_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q <= '0;
      done_o <= 1'b0;
    end else begin
      done_o <= left_q == CountWidth'(1);
      if (start_i) left_q <= CountWidth'(QuotientWidth);
      else if (left_q != '0) left_q <= left_q - CountWidth'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      {rest_q, low_q} <= numerator_i;
    end else if (left_q != '0) begin
      // Below the divisor the difference wraps: the top bit tells, as the rest is less than the divisor.
      rest_q <= differs[DivisorWidth] ? next[DivisorWidth-1:0] : differs[DivisorWidth-1:0];
      low_q  <= {low_q[QuotientWidth-2:0], !differs[DivisorWidth]};
    end
  end

  assign quotient_o = low_q;

endmodule
