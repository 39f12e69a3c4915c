// SPDX-License-Identifier: Apache-2.0
//
// Groups to beats of a stream: one beat a group (narrow) or four (wide_i); of the last wide group of a row only the first
// last_beats_i (1 to 4). The reverse of wide_gather.
//
// A row has groups_i groups. A beat leaves every cycle.

module wide_scatter #(
  parameter int unsigned DataWidth  = 64,
  parameter int unsigned CountWidth = 32
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      wide_i,
  input  logic [CountWidth-1:0]     groups_i,
  input  logic [2:0]                last_beats_i,
  input  logic                      group_valid_i,
  output logic                      group_ready_o,
  input  logic [3:0][DataWidth-1:0] group_i,
  output logic                      data_valid_o,
  input  logic                      data_ready_i,
  output logic [DataWidth-1:0]      data_o
);

  logic [3:0][DataWidth-1:0] group_q;
  logic [2:0]                left_q, beats; // beats of the group still to leave
  logic [CountWidth-1:0]     group_count_q;
  logic                      push, pop, row_ends;

  assign row_ends      = group_count_q == groups_i - 1'b1;
  assign beats         = !wide_i ? 3'd1 : row_ends ? last_beats_i : 3'd4;
  assign data_valid_o  = left_q != '0;
  assign data_o        = group_q[0];
  assign pop           = data_valid_o && data_ready_i;
  assign group_ready_o = left_q == '0 || (left_q == 3'd1 && data_ready_i);
  assign push          = group_valid_i && group_ready_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q        <= '0;
      group_count_q <= '0;
    end else if (push) begin
      left_q        <= beats;
      group_count_q <= row_ends ? '0 : group_count_q + 1'b1;
    end else if (pop) begin
      left_q <= left_q - 3'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) group_q <= group_i;
    else if (pop) group_q <= group_q >> DataWidth;
  end

endmodule
