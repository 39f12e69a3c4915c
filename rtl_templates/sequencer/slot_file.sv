// SPDX-License-Identifier: Apache-2.0
//
// Exponent and bit length of each tensor that has them: two read ports, which answer in the same cycle, and a write port.

module slot_file #(
  parameter int unsigned Slots = 64,
  parameter int unsigned Width = 23,
  localparam int unsigned AddrWidth = Slots > 1 ? $clog2(Slots) : 1
) (
  input  logic                 clk_i,
  input  logic                 write_i,
  input  logic [AddrWidth-1:0] write_addr_i,
  input  logic [Width-1:0]     write_data_i,
  input  logic [AddrWidth-1:0] a_addr_i,
  output logic [Width-1:0]     a_o,
  input  logic [AddrWidth-1:0] b_addr_i,
  output logic [Width-1:0]     b_o
);

  if (Slots < 1) begin : gen_bad_slots
    $fatal(1, "slot_file: Slots must be at least 1");
  end

  logic [Width-1:0] memory[Slots];

  always_ff @(posedge clk_i) if (write_i) memory[write_addr_i] <= write_data_i;
  assign a_o = memory[a_addr_i];
  assign b_o = memory[b_addr_i];

endmodule
