// SPDX-License-Identifier: Apache-2.0
//
// Beats of a stream to groups of one beat (narrow) or four beats (wide_i); of the last wide group of a row only
// last_beats_i (1 to 4) beats come, and the rest of it is zero.
//
// A row has groups_i groups. A beat enters every cycle; a narrow group leaves every cycle. The settings may change only
// when no row is under way.

module wide_gather #(
  parameter int unsigned DataWidth  = 64,
  parameter int unsigned CountWidth = 32
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      wide_i,
  input  logic [CountWidth-1:0]     groups_i,
  input  logic [2:0]                last_beats_i,
  input  logic                      data_valid_i,
  output logic                      data_ready_o,
  input  logic [DataWidth-1:0]      data_i,
  output logic                      group_valid_o,
  input  logic                      group_ready_i,
  output logic [3:0][DataWidth-1:0] group_o // a narrow group is the lowest beat
);

  logic [3:0][DataWidth-1:0] group_q;
  logic                      full_q, push, ends;
  logic [1:0]                beat_q;
  logic [CountWidth-1:0]     group_count_q;
  logic                      row_ends;

  assign row_ends      = group_count_q == groups_i - 1'b1;
  assign ends          = !wide_i || 3'(beat_q) == (row_ends ? last_beats_i : 3'd4) - 3'd1;
  assign data_ready_o  = !full_q || group_ready_i;
  assign push          = data_valid_i && data_ready_o;
  assign group_valid_o = full_q;
  assign group_o       = group_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q        <= 1'b0;
      beat_q        <= '0;
      group_count_q <= '0;
    end else begin
      if (push) begin
        full_q <= ends;
        beat_q <= ends ? '0 : beat_q + 2'd1;
        if (ends) group_count_q <= row_ends ? '0 : group_count_q + 1'b1;
      end else if (group_ready_i) begin
        full_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) begin
      if (beat_q == '0) group_q <= (4 * DataWidth)'(data_i);
      else group_q[beat_q] <= data_i;
    end
  end

endmodule
