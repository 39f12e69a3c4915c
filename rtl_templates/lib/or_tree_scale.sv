// SPDX-License-Identifier: Apache-2.0
//
// Scale of a tensor: the position of the leading one in the OR of all magnitudes, plus one; 0 for a tensor of zeros.
//
// The tensor comes as Lanes signed numbers a beat. clear_i, sampled with a valid beat, makes that beat the first of a
// new tensor; clear_i without one makes the scale 0. bitlen_o takes a beat in 2 enabled cycles after it. The OR stands
// for the largest magnitude: its leading one is the same. Source: DarkFPGA journal version (JOS 2020), scale of errors
// and gradients.

module or_tree_scale #(
  parameter int unsigned Lanes = 8,
  parameter int unsigned Width = 32,
  localparam int unsigned BitlenWidth = $clog2(Width + 1)
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        en_i,
  input  logic                        clear_i,
  input  logic                        valid_i,
  input  logic [Lanes-1:0][Width-1:0] data_i,
  output logic [BitlenWidth-1:0]      bitlen_o
);

  if (Lanes < 1) begin : gen_bad_lanes
    $fatal(1, "or_tree_scale: Lanes must be at least 1");
  end
  if (Width < 2 || Width > 64) begin : gen_bad_width
    $fatal(1, "or_tree_scale: Width must be from 2 to 64");
  end

  logic [Width-1:0] beat_d, beat_q; // OR over one beat
  logic [Width-1:0] or_d, or_q;     // OR over the tensor
  logic             clear_q;

  always_comb begin
    beat_d = '0;
    for (int unsigned i = 0; i < Lanes; i++) begin
      // The magnitude of the most negative number is 2^(Width-1), which the unsigned word holds.
      if (valid_i) beat_d |= data_i[i][Width-1] ? -data_i[i] : data_i[i];
    end
    or_d = (clear_q ? '0 : or_q) | beat_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q  <= '0;
      or_q    <= '0;
      clear_q <= 1'b0;
    end else if (en_i) begin
      beat_q  <= beat_d;
      or_q    <= or_d;
      clear_q <= clear_i;
    end
  end

  always_comb begin
    bitlen_o = '0;
    for (int unsigned i = 0; i < Width; i++) begin
      if (or_q[i]) bitlen_o = BitlenWidth'(i + 1);
    end
  end

endmodule
