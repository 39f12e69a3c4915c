// SPDX-License-Identifier: Apache-2.0
//
// Small memory in LUT RAM: read_o follows read_addr_i at once; a write is seen from the next cycle on.

module channel_ram #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 16,
  localparam int unsigned AddrWidth = Depth > 1 ? $clog2(Depth) : 1
) (
  input  logic                 clk_i,
  input  logic                 write_i,
  input  logic [AddrWidth-1:0] write_addr_i,
  input  logic [Width-1:0]     write_data_i,
  input  logic [AddrWidth-1:0] read_addr_i,
  output logic [Width-1:0]     read_o
);

  if (Width < 1 || Depth < 1) begin : gen_bad_size
    $fatal(1, "channel_ram: Width and Depth must be at least 1");
  end

  (* ram_style = "distributed" *) logic [Width-1:0] memory[Depth];

  always_ff @(posedge clk_i) if (write_i) memory[write_addr_i] <= write_data_i;

  assign read_o = memory[read_addr_i];

endmodule
