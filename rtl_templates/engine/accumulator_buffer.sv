// SPDX-License-Identifier: Apache-2.0
//
// The double-buffered sums of an output tile: words arrive from the lanes and are written or added to what is there,
// while the other half is read for storing.
//
// A word may come every cycle, the same address only every second one. done_o pulses when the word marked last is in
// memory. read_o follows read_i by a cycle and then stays.

module accumulator_buffer
  import engine_pkg::*;
#(
  parameter int unsigned AccWidth = 32,
  parameter int unsigned Lanes    = 4,
  parameter int unsigned Depth    = 512 // words of a half
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           valid_i,
  input  logic                           half_i,
  input  logic                           add_i,
  input  logic                           last_i,
  input  index_t                         addr_i,
  input  logic [Lanes-1:0][AccWidth-1:0] word_i,
  output logic                           done_o,
  output logic                           overflow_o,
  input  logic                           read_i,
  input  logic                           read_half_i,
  input  index_t                         read_addr_i,
  output logic [Lanes-1:0][AccWidth-1:0] read_o
);

  localparam int unsigned AddrWidth = Depth > 1 ? $clog2(Depth) : 1;

  logic                                valid_q, half_q, add_q, last_q, read_half_q;
  logic [AddrWidth-1:0]                addr_q;
  logic [Lanes-1:0][AccWidth-1:0]      word_q, sum;
  logic [1:0][Lanes-1:0][AccWidth-1:0] stored;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      done_o  <= 1'b0;
    end else begin
      valid_q <= valid_i;
      done_o  <= valid_q && last_q;
    end
  end

  always_ff @(posedge clk_i) begin
    half_q <= half_i;
    add_q  <= add_i;
    last_q <= last_i;
    addr_q <= AddrWidth'(addr_i);
    word_q <= word_i;
    if (read_i) read_half_q <= read_half_i;
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    assign sum[l] = word_q[l] + (add_q ? stored[half_q][l] : '0);
  end

  for (genvar h = 0; h < 2; h++) begin : gen_half
    logic mine;
    assign mine = valid_i && half_i == h[0];
    buffer_ram #(
      .Lanes    (1),
      .LaneWidth(Lanes * AccWidth),
      .Depth    (Depth)
    ) u_ram (
      .clk_i,
      .write_i     (valid_q && half_q == h[0]),
      .write_addr_i(addr_q),
      .write_data_i(sum),
      .read_en_i   (mine || (read_i && read_half_i == h[0])),
      .read_addr_i (AddrWidth'(mine ? addr_i : read_addr_i)),
      .read_o      (stored[h])
    );
  end

  assign read_o     = stored[read_half_q];
  assign overflow_o = valid_i && 32'(addr_i) >= Depth;

endmodule
