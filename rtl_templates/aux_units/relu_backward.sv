// SPDX-License-Identifier: Apache-2.0
//
// Errors on the way back through a ReLU, Lanes of them a beat: an error passes where its mask bit is set, else it is 0.
//
// A beat of errors and a beat of masks are taken together: the ready of each waits for the valid of the other. Latency:
// 1 cycle. clear_i drops what is held. Source: docs/training.md; relu_forward makes the masks.

module relu_backward #(
  parameter int unsigned Lanes = 8,
  parameter int unsigned Width = 8
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        clear_i,
  input  logic                        error_valid_i,
  output logic                        error_ready_o,
  input  logic [Lanes-1:0][Width-1:0] error_data_i,
  input  logic                        mask_valid_i,
  output logic                        mask_ready_o,
  input  logic [Lanes-1:0]            mask_data_i,
  output logic                        gated_valid_o,
  input  logic                        gated_ready_i,
  output logic [Lanes-1:0][Width-1:0] gated_data_o
);

  if (Lanes < 1 || Lanes > 256) begin : gen_bad_lanes
    $fatal(1, "relu_backward: Lanes must be from 1 to 256");
  end
  if (Width < 2 || Width > 64) begin : gen_bad_width
    $fatal(1, "relu_backward: Width must be from 2 to 64");
  end

  logic [Lanes-1:0][Width-1:0] gated;
  logic                        ready;

  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) gated[i] = mask_data_i[i] ? error_data_i[i] : '0;
  end

  assign error_ready_o = ready && mask_valid_i;
  assign mask_ready_o  = ready && error_valid_i;

  skid_buffer #(
    .Width(Lanes * Width)
  ) u_gated (
    .clk_i,
    .rst_ni,
    .clear_i,
    .valid_i(error_valid_i && mask_valid_i),
    .ready_o(ready),
    .data_i (gated),
    .valid_o(gated_valid_o),
    .ready_i(gated_ready_i),
    .data_o (gated_data_o)
  );

endmodule
