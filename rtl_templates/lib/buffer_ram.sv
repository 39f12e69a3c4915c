// SPDX-License-Identifier: Apache-2.0
//
// Memory with one write and one read port, written in lanes; read_o follows read_addr_i by a cycle with read_en_i.
//
// Reading an address in the cycle in which it is written gives what was there before. Block RAM where it is deep.

module buffer_ram #(
  parameter int unsigned Lanes     = 4,
  parameter int unsigned LaneWidth = 8,
  parameter int unsigned Depth     = 512,
  localparam int unsigned AddrWidth = Depth > 1 ? $clog2(Depth) : 1
) (
  input  logic                       clk_i,
  input  logic [Lanes-1:0]           write_i,
  input  logic [AddrWidth-1:0]       write_addr_i,
  input  logic [Lanes*LaneWidth-1:0] write_data_i,
  input  logic                       read_en_i,
  input  logic [AddrWidth-1:0]       read_addr_i,
  output logic [Lanes*LaneWidth-1:0] read_o
);

  if (Lanes < 1 || LaneWidth < 1 || Depth < 1) begin : gen_bad_size
    $fatal(1, "buffer_ram: Lanes, LaneWidth and Depth must be at least 1");
  end

  logic [Lanes*LaneWidth-1:0] memory[Depth];

  always_ff @(posedge clk_i) begin
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (write_i[l]) memory[write_addr_i][l*LaneWidth+:LaneWidth] <= write_data_i[l*LaneWidth+:LaneWidth];
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_en_i) read_o <= memory[read_addr_i];
  end

endmodule
