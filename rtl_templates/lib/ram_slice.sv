// SPDX-License-Identifier: Apache-2.0
//
// A memory with one write and one read port, written in bytes: one block RAM, or LUT RAM. buffer_ram is made of these.
//
// Reading an address in the cycle in which it is written gives what was there before.

module ram_slice #(
  parameter int unsigned Bytes     = 4,
  parameter int unsigned ByteWidth = 8,
  parameter int unsigned Depth     = 512,
  parameter bit          Block     = 1'b1, // block RAM, else LUT RAM
  localparam int unsigned AddrWidth = Depth > 1 ? $clog2(Depth) : 1,
  localparam int unsigned Width     = Bytes * ByteWidth
) (
  input  logic                 clk_i,
  input  logic [Bytes-1:0]     write_i,
  input  logic [AddrWidth-1:0] write_addr_i,
  input  logic [Width-1:0]     write_data_i,
  input  logic                 read_en_i,
  input  logic [AddrWidth-1:0] read_addr_i,
  output logic [Width-1:0]     read_o
);

  if (Bytes < 1 || ByteWidth < 1 || Depth < 1) begin : gen_bad_size
    $fatal(1, "ram_slice: Bytes, ByteWidth and Depth must be at least 1");
  end

  // verilator lint_off UNUSEDPARAM
  localparam Style = Block ? "block" : "distributed"; // synthesis reads it in the attribute
  // verilator lint_on UNUSEDPARAM
  (* ram_style = Style *) logic [Width-1:0] memory[Depth];

  always_ff @(posedge clk_i) begin
    for (int unsigned b = 0; b < Bytes; b++) begin
      if (write_i[b]) memory[write_addr_i][b*ByteWidth+:ByteWidth] <= write_data_i[b*ByteWidth+:ByteWidth];
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_en_i) read_o <= memory[read_addr_i];
  end

endmodule
