// SPDX-License-Identifier: Apache-2.0
//
// Connects one of several units with a DMA engine's command port and adds the base address. Combinational.

module stream_switch #(
  parameter int unsigned Units     = 4,
  parameter int unsigned AddrWidth = 32,
  localparam int unsigned SelectWidth = Units > 1 ? $clog2(Units) : 1
) (
  input  logic [SelectWidth-1:0]          unit_i,
  input  logic [AddrWidth-1:0]            base_i,
  input  logic [Units-1:0]                cmd_valid_i,
  output logic [Units-1:0]                cmd_ready_o,
  input  logic [Units-1:0][AddrWidth-1:0] cmd_addr_i,
  input  logic [Units-1:0][31:0]          cmd_beats_i,
  output logic                            cmd_valid_o,
  input  logic                            cmd_ready_i,
  output logic [AddrWidth-1:0]            cmd_addr_o,
  output logic [31:0]                     cmd_beats_o
);

  always_comb begin
    cmd_ready_o         = '0;
    cmd_ready_o[unit_i] = cmd_ready_i;
    cmd_valid_o         = cmd_valid_i[unit_i];
    cmd_addr_o          = cmd_addr_i[unit_i] + base_i;
    cmd_beats_o         = cmd_beats_i[unit_i];
  end

endmodule
