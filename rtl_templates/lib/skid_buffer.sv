// SPDX-License-Identifier: Apache-2.0
//
// Register in a valid/ready stream that cuts the paths in both directions and still moves a word every cycle.
//
// valid_o, data_o and ready_o come straight from flip-flops. A word that arrives while the output is held goes to the
// second register, and ready_o falls one cycle later. Latency: 1 cycle. clear_i drops what is held.

module skid_buffer #(
  parameter int unsigned Width = 32
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o
);

  if (Width < 1) begin : gen_bad_width
    $fatal(1, "skid_buffer: Width must be at least 1");
  end

  logic             out_valid_q, skid_valid_q;
  logic [Width-1:0] out_q, skid_q;
  logic             take, move;

  assign take = valid_i && ready_o;
  assign move = ready_i || !out_valid_q; // the output register is free at the next edge

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      out_valid_q  <= 1'b0;
      skid_valid_q <= 1'b0;
    end else if (clear_i) begin
      out_valid_q  <= 1'b0;
      skid_valid_q <= 1'b0;
    end else if (move) begin
      out_valid_q  <= take || skid_valid_q;
      skid_valid_q <= 1'b0;
    end else if (take) begin
      skid_valid_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) skid_q <= data_i;
    if (move) out_q <= skid_valid_q ? skid_q : data_i;
  end

  assign ready_o = !skid_valid_q;
  assign valid_o = out_valid_q;
  assign data_o  = out_q;

endmodule
