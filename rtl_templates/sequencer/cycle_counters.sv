// SPDX-License-Identifier: Apache-2.0
//
// One 32-bit counter of cycles for each number that records name: add_i adds add_cycles_i to one of them. clear_i empties
// all of them, one a cycle; busy_o until that is done.

module cycle_counters #(
  parameter int unsigned Counters = 128,
  localparam int unsigned AddrWidth = Counters > 1 ? $clog2(Counters) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clear_i,
  output logic                 busy_o,
  input  logic                 add_i,
  input  logic [AddrWidth-1:0] add_addr_i,
  input  logic [31:0]          add_cycles_i,
  input  logic [AddrWidth-1:0] read_addr_i,
  output logic [31:0]          read_o
);

  if (Counters < 2) begin : gen_bad_counters
    $fatal(1, "cycle_counters: Counters must be at least 2");
  end

  logic [31:0]          memory[Counters];
  logic [31:0]          sum;
  logic [AddrWidth-1:0] clear_q;
  logic                 clearing_q;

  assign busy_o = clearing_q;
  assign sum    = memory[add_addr_i] + add_cycles_i;
  assign read_o = memory[read_addr_i];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      clearing_q <= 1'b0;
      clear_q    <= '0;
    end else if (clear_i) begin
      clearing_q <= 1'b1;
      clear_q    <= '0;
    end else if (clearing_q) begin
      clear_q    <= clear_q + AddrWidth'(1);
      clearing_q <= 32'(clear_q) != Counters - 1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (clearing_q) memory[clear_q] <= '0;
    else if (add_i) memory[add_addr_i] <= sum;
  end

endmodule
