// SPDX-License-Identifier: Apache-2.0
//
// Counts the halves of a double buffer: filled ones that wait to be used (ready_o), and free ones (free_o).
//
// take_i makes a free half busy, fill_i makes it ready, use_i uses a ready half, release_i frees it. take_i may come with
// fill_i, use_i with release_i.

module half_flags (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic take_i,
  input  logic fill_i,
  input  logic use_i,
  input  logic release_i,
  output logic ready_o,
  output logic free_o
);

  logic [1:0] ready_q, held_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ready_q <= '0;
      held_q  <= '0;
    end else begin
      ready_q <= ready_q + 2'(fill_i) - 2'(use_i);
      held_q  <= held_q + 2'(take_i) - 2'(release_i);
    end
  end

  assign ready_o = ready_q != '0;
  assign free_o  = !held_q[1];

endmodule
