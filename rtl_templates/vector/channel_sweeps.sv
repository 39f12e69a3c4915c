// SPDX-License-Identifier: Apache-2.0
//
// The order of passes over the channel blocks. With both_i the second pass over a block follows the first one over the
// next block, so that statistics are computed while elements stream; else there is one pass a block.

module channel_sweeps
  import channel_pkg::*;
(
  input  logic   clk_i,
  input  logic   rst_ni,
  input  logic   start_i,
  input  logic   both_i,
  input  index_t blocks_i,
  input  logic   next_i,   // the pass is over
  output logic   active_o,
  output logic   second_o, // pass over block_o
  output index_t block_o
);

  logic   active_q, second_q;
  index_t first_q, later_q; // block of the first pass, of the second
  logic   more;             // first passes

  assign more = first_q != blocks_i - index_t'(1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) active_q <= 1'b0;
    else if (start_i) active_q <= 1'b1;
    else if (next_i && !more && (!both_i || (second_q && later_q == first_q))) active_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      second_q <= 1'b0;
      first_q  <= '0;
      later_q  <= '0;
    end else if (next_i) begin
      if (second_q) later_q <= later_q + index_t'(1);
      if (!both_i || ((second_q || first_q == '0) && more)) begin
        first_q  <= first_q + index_t'(1);
        second_q <= 1'b0;
      end else begin
        second_q <= 1'b1;
      end
    end
  end

  assign active_o = active_q;
  assign second_o = second_q;
  assign block_o  = second_q ? later_q : first_q;

endmodule
