// SPDX-License-Identifier: Apache-2.0
//
// Which of the weights of a set of several groups belong to a group: those of output channel m and input channel n
// with m div group_m = n div group_n. group_m_i = 0 says that all do.
//
// Channels of a block are looked at together, one n at a time. Blocks of m come in turn: load_i takes Block cycles (busy_o) to
// find where their groups' input channels begin. restart_i goes back to channel 0, save_i and recall_i keep and fetch
// the block that comes next.

module group_mask
  import engine_pkg::*;
#(
  parameter int unsigned Block = 4
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  index_t           group_m_i,
  input  index_t           group_n_i,
  input  logic             restart_i,
  input  logic             save_i,
  input  logic             recall_i,
  input  logic             load_i,
  output logic             busy_o,
  input  index_t           n_i,
  output logic [Block-1:0] keep_o
);

  localparam int unsigned CountWidth = $clog2(Block + 1);

  index_t                lowest_q, inside_q, saved_lowest_q, saved_inside_q;
  index_t [Block-1:0]    begin_q;
  logic [CountWidth-1:0] left_q;

  assign busy_o = left_q != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= '0;
    else if (load_i) left_q <= group_m_i == '0 ? '0 : CountWidth'(Block);
    else if (busy_o) left_q <= left_q - CountWidth'(1);
  end

  always_ff @(posedge clk_i) begin
    if (restart_i) {lowest_q, inside_q} <= '0;
    else if (recall_i) {lowest_q, inside_q} <= {saved_lowest_q, saved_inside_q};
    else if (busy_o) begin
      begin_q <= (Block * IndexWidth)'({lowest_q, begin_q} >> IndexWidth);
      if (inside_q == group_m_i - index_t'(1)) begin
        inside_q <= '0;
        lowest_q <= lowest_q + group_n_i;
      end else begin
        inside_q <= inside_q + index_t'(1);
      end
    end
    if (save_i) {saved_lowest_q, saved_inside_q} <= {lowest_q, inside_q};
  end

  for (genvar m = 0; m < Block; m++) begin : gen_keep
    assign keep_o[m] = group_m_i == '0 || (n_i >= begin_q[m] && n_i < begin_q[m] + group_n_i);
  end

endmodule
