// SPDX-License-Identifier: Apache-2.0
//
// A loop counter with Offsets values that are 0 at its first index and grow by their increments.

module loop_offset
  import engine_pkg::*;
#(
  parameter int unsigned Offsets = 1
) (
  input  logic                 clk_i,
  input  logic                 restart_i,
  input  logic                 step_i,
  input  index_t               count_i,
  input  index_t [Offsets-1:0] increment_i,
  output logic                 first_o,
  output logic                 last_o,
  output index_t [Offsets-1:0] offset_o
);

  index_t               index_q;
  index_t [Offsets-1:0] offset_q;

  assign first_o  = index_q == '0;
  assign last_o   = index_q == count_i - index_t'(1);
  assign offset_o = offset_q;

  always_ff @(posedge clk_i) begin
    if (restart_i || (step_i && last_o)) begin
      index_q  <= '0;
      offset_q <= '0;
    end else if (step_i) begin
      index_q <= index_q + index_t'(1);
      for (int unsigned i = 0; i < Offsets; i++) offset_q[i] <= offset_q[i] + increment_i[i];
    end
  end

endmodule
