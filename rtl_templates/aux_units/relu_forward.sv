// SPDX-License-Identifier: Apache-2.0
//
// ReLU of a stream of signed numbers, Lanes of them a beat, and the mask of where errors pass on the way back.
//
//   y = max(x, 0);   mask bit = 0 < y < M, M = 2^(Width-1) - 1: where y = M the clip before has saturated
// Both results are streams of their own, a beat each for every beat of x, and either may lag behind the other by what
// its register holds (2 beats). Bit i of a mask belongs to element i. Latency: 1 cycle. clear_i drops what is held.
// Source: docs/training.md; the saturated case is that of WAGE (Wu et al., ICLR 2018), section 3.3.2.

module relu_forward #(
  parameter int unsigned Lanes = 8,
  parameter int unsigned Width = 8
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        clear_i,
  input  logic                        x_valid_i,
  output logic                        x_ready_o,
  input  logic [Lanes-1:0][Width-1:0] x_data_i,
  output logic                        y_valid_o,
  input  logic                        y_ready_i,
  output logic [Lanes-1:0][Width-1:0] y_data_o,
  output logic                        mask_valid_o,
  input  logic                        mask_ready_i,
  output logic [Lanes-1:0]            mask_data_o
);

  if (Lanes < 1 || Lanes > 256) begin : gen_bad_lanes
    $fatal(1, "relu_forward: Lanes must be from 1 to 256");
  end
  if (Width < 2 || Width > 64) begin : gen_bad_width
    $fatal(1, "relu_forward: Width must be from 2 to 64");
  end

  localparam logic [Width-1:0] Max = {1'b0, {(Width - 1){1'b1}}};

  logic [Lanes-1:0][Width-1:0] y;
  logic [Lanes-1:0]            mask;
  logic                        y_ready, mask_ready;

  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) begin
      y[i]    = x_data_i[i][Width-1] ? '0 : x_data_i[i];
      mask[i] = y[i] != '0 && y[i] != Max;
    end
  end

  assign x_ready_o = y_ready && mask_ready;

  skid_buffer #(
    .Width(Lanes * Width)
  ) u_y (
    .clk_i,
    .rst_ni,
    .clear_i,
    .valid_i(x_valid_i && mask_ready),
    .ready_o(y_ready),
    .data_i (y),
    .valid_o(y_valid_o),
    .ready_i(y_ready_i),
    .data_o (y_data_o)
  );

  skid_buffer #(
    .Width(Lanes)
  ) u_mask (
    .clk_i,
    .rst_ni,
    .clear_i,
    .valid_i(x_valid_i && y_ready),
    .ready_o(mask_ready),
    .data_i (mask),
    .valid_o(mask_valid_o),
    .ready_i(mask_ready_i),
    .data_o (mask_data_o)
  );

endmodule
