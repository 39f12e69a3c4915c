// SPDX-License-Identifier: Apache-2.0
//
// Read DMA: commands of a byte address and a number of beats become AXI4 INCR bursts, and their data one stream.
//
// Bursts are cut by burst_split. Up to MaxOutstanding of them are under way, across commands, so that a memory whose
// latency they cover delivers a beat every cycle. data_last_o marks the last beat of a command.
//
// Defined stop: a response other than OKAY, a misaligned address or a command of no beats sets error_o. The beat that
// carried it and all after it are taken from the bus and dropped, no burst is started, no command taken, and a read
// address already on the bus stays until it is accepted. clear_i (one cycle or more, at any time, also without an
// error) drops all commands and data, resets error_o, and lets cmd_ready_o rise when the bus owes nothing more.

module dma_read #(
  parameter int unsigned AddrWidth      = 32,
  parameter int unsigned DataWidth      = 64,
  parameter int unsigned LenWidth       = 16,
  parameter int unsigned MaxOutstanding = 8 // bursts, a power of two
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clear_i,
  output logic                 error_o,
  input  logic                 cmd_valid_i,
  output logic                 cmd_ready_o,
  input  logic [AddrWidth-1:0] cmd_addr_i,  // bytes, a multiple of DataWidth / 8
  input  logic [LenWidth-1:0]  cmd_beats_i,
  output logic                 data_valid_o,
  input  logic                 data_ready_i,
  output logic [DataWidth-1:0] data_o,
  output logic                 data_last_o,
  output logic                 axi_arvalid_o,
  input  logic                 axi_arready_i,
  output logic [AddrWidth-1:0] axi_araddr_o,
  output logic [7:0]           axi_arlen_o,
  output logic [2:0]           axi_arsize_o,
  output logic [1:0]           axi_arburst_o,
  input  logic                 axi_rvalid_i,
  output logic                 axi_rready_o,
  input  logic [DataWidth-1:0] axi_rdata_i,
  input  logic [1:0]           axi_rresp_i,
  input  logic                 axi_rlast_i
);

  if (MaxOutstanding < 2 || (MaxOutstanding & (MaxOutstanding - 1)) != 0) begin : gen_bad_outstanding
    $fatal(1, "dma_read: MaxOutstanding must be a power of two and at least 2");
  end

  localparam int unsigned PtrWidth = $clog2(MaxOutstanding);

  logic                 burst_valid, burst_ready, burst_final, bad_command, split_ready;
  logic [AddrWidth-1:0] burst_addr;
  logic [7:0]           burst_len;
  logic                 stop, drain_q, error_q, bad_beat, beat_taken;
  logic                 arvalid_q;
  logic [AddrWidth-1:0] araddr_q;
  logic [7:0]           arlen_q;
  logic [PtrWidth:0]    sent_q, done_q; // bursts, modulo twice MaxOutstanding
  logic [MaxOutstanding-1:0] final_q;   // per burst under way: the last of its command

  assign stop        = error_q || drain_q;
  assign burst_ready = !stop && (!arvalid_q || axi_arready_i) &&
                       (sent_q ^ done_q) != (PtrWidth + 1)'(MaxOutstanding);
  assign cmd_ready_o = split_ready && !stop;

  burst_split #(
    .AddrWidth(AddrWidth),
    .DataWidth(DataWidth),
    .LenWidth (LenWidth)
  ) u_split (
    .clk_i,
    .rst_ni,
    .clear_i      (clear_i || stop),
    .cmd_valid_i  (cmd_valid_i && !stop),
    .cmd_ready_o  (split_ready),
    .cmd_addr_i,
    .cmd_beats_i,
    .bad_command_o(bad_command),
    .burst_valid_o(burst_valid),
    .burst_ready_i(burst_ready),
    .burst_addr_o (burst_addr),
    .burst_len_o  (burst_len),
    .burst_final_o(burst_final)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      arvalid_q <= 1'b0;
      sent_q    <= '0;
      done_q    <= '0;
    end else begin
      if (burst_valid && burst_ready) begin
        arvalid_q <= 1'b1;
        sent_q    <= sent_q + 1'b1;
      end else if (axi_arready_i) begin
        arvalid_q <= 1'b0;
      end
      if (beat_taken && axi_rlast_i) done_q <= done_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (burst_valid && burst_ready) begin
      araddr_q                      <= burst_addr;
      arlen_q                       <= burst_len;
      final_q[sent_q[PtrWidth-1:0]] <= burst_final;
    end
  end

  assign bad_beat     = axi_rresp_i != 2'b00;
  assign data_valid_o = axi_rvalid_i && !stop && !bad_beat;
  assign axi_rready_o = data_ready_i || stop || bad_beat;
  assign beat_taken   = axi_rvalid_i && axi_rready_o;
  assign data_o       = axi_rdata_i;
  assign data_last_o  = axi_rlast_i && final_q[done_q[PtrWidth-1:0]];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      error_q <= 1'b0;
      drain_q <= 1'b0;
    end else if (clear_i) begin
      error_q <= 1'b0;
      drain_q <= 1'b1;
    end else begin
      if (drain_q && sent_q == done_q) drain_q <= 1'b0;
      if (!drain_q && ((beat_taken && bad_beat) || bad_command)) error_q <= 1'b1;
    end
  end

  assign error_o       = error_q;
  assign axi_arvalid_o = arvalid_q;
  assign axi_araddr_o  = araddr_q;
  assign axi_arlen_o   = arlen_q;
  assign axi_arsize_o  = 3'($clog2(DataWidth / 8));
  assign axi_arburst_o = 2'b01; // INCR

endmodule
