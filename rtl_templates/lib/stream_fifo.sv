// SPDX-License-Identifier: Apache-2.0
//
// First-in first-out queue of a valid/ready stream on a buffer_ram, whose read port is a register.
//
// Holds Depth words in the memory and one in the output register. A word can enter and one can leave in every cycle.
// Latency of an empty queue: 2 cycles. clear_i drops what is held.

module stream_fifo #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 16, // a power of two
  localparam int unsigned PtrWidth = $clog2(Depth)
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
    $fatal(1, "stream_fifo: Width must be at least 1");
  end
  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_bad_depth
    $fatal(1, "stream_fifo: Depth must be a power of two and at least 2");
  end

  logic [PtrWidth:0] write_q, read_q; // one bit more than an address tells full from empty
  logic              push, pop, out_valid_q;

  assign ready_o = (write_q ^ read_q) != (PtrWidth + 1)'(Depth);
  assign push    = valid_i && ready_o;
  assign pop     = write_q != read_q && (ready_i || !out_valid_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q     <= '0;
      read_q      <= '0;
      out_valid_q <= 1'b0;
    end else if (clear_i) begin
      write_q     <= '0;
      read_q      <= '0;
      out_valid_q <= 1'b0;
    end else begin
      write_q     <= write_q + (PtrWidth + 1)'(push);
      read_q      <= read_q + (PtrWidth + 1)'(pop);
      out_valid_q <= pop || (out_valid_q && !ready_i);
    end
  end

  buffer_ram #(
    .Lanes    (1),
    .LaneWidth(Width),
    .Depth    (Depth)
  ) u_memory (
    .clk_i,
    .write_i     (push),
    .write_addr_i(write_q[PtrWidth-1:0]),
    .write_data_i(data_i),
    .read_en_i   (pop),
    .read_addr_i (read_q[PtrWidth-1:0]),
    .read_o      (data_o)
  );

  assign valid_o = out_valid_q;

endmodule
