// SPDX-License-Identifier: Apache-2.0
//
// Square root of an unsigned integer, rounded down, a bit a cycle. done_o pulses RootWidth + 1 cycles after start_i; the
// root stays.

module channel_root #(
  parameter int unsigned RootWidth = 31
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   start_i,
  input  logic [2*RootWidth-1:0] value_i,
  output logic                   done_o,
  output logic [RootWidth-1:0]   root_o
);

  localparam int unsigned CountWidth = $clog2(RootWidth + 1);

  logic [CountWidth-1:0]  left_q;
  logic [2*RootWidth-1:0] value_q; // bits to come
  logic [RootWidth+1:0]   rest_q;
  logic [RootWidth-1:0]   root_q;
  logic [RootWidth+1:0]   next, trial;
  logic                   fits;

  assign next  = {rest_q[RootWidth-1:0], value_q[2*RootWidth-1 -: 2]};
  assign trial = {root_q, 2'b01};
  assign fits  = next >= trial;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q <= '0;
      done_o <= 1'b0;
    end else begin
      done_o <= left_q == CountWidth'(1);
      if (start_i) left_q <= CountWidth'(RootWidth);
      else if (left_q != '0) left_q <= left_q - CountWidth'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      value_q <= value_i;
      rest_q  <= '0;
      root_q  <= '0;
    end else if (left_q != '0) begin
      value_q <= value_q << 2;
      rest_q  <= fits ? next - trial : next;
      root_q  <= {root_q[RootWidth-2:0], fits};
    end
  end

  assign root_o = root_q;

  logic unused;
  assign unused = ^rest_q[RootWidth+1:RootWidth];

endmodule
