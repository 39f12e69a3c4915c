// SPDX-License-Identifier: Apache-2.0
//
// Write DMA: commands of a byte address and a number of beats take that many beats of one stream into AXI4 INCR bursts.
//
// Bursts are cut by burst_split. Up to MaxOutstanding of them wait for their response, across commands. Data does not
// wait for the address to be accepted. done_valid_o pulses when the last response of a command has come, one pulse a
// command, in order.
//
// Defined stop: a response other than OKAY, a misaligned address or a command of no beats sets error_o. From then on no
// burst is started, no command or data taken, no command reported done. A beat that is on the bus stays until it is
// taken; those still owed to bursts that were started go out with no byte enabled and change nothing. clear_i (one cycle or more, at any time, also without
// an error) drops all commands the same way, resets error_o, and lets cmd_ready_o rise when every response has come.

module dma_write #(
  parameter int unsigned AddrWidth      = 32,
  parameter int unsigned DataWidth      = 64,
  parameter int unsigned LenWidth       = 16,
  parameter int unsigned MaxOutstanding = 8, // bursts, a power of two
  localparam int unsigned StrbWidth     = DataWidth / 8
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clear_i,
  output logic                 error_o,
  input  logic                 cmd_valid_i,
  output logic                 cmd_ready_o,
  input  logic [AddrWidth-1:0] cmd_addr_i,  // bytes, a multiple of DataWidth / 8
  input  logic [LenWidth-1:0]  cmd_beats_i,
  input  logic                 data_valid_i,
  output logic                 data_ready_o,
  input  logic [DataWidth-1:0] data_i,
  output logic                 done_valid_o,
  output logic                 axi_awvalid_o,
  input  logic                 axi_awready_i,
  output logic [AddrWidth-1:0] axi_awaddr_o,
  output logic [7:0]           axi_awlen_o,
  output logic [2:0]           axi_awsize_o,
  output logic [1:0]           axi_awburst_o,
  output logic                 axi_wvalid_o,
  input  logic                 axi_wready_i,
  output logic [DataWidth-1:0] axi_wdata_o,
  output logic [StrbWidth-1:0] axi_wstrb_o,
  output logic                 axi_wlast_o,
  input  logic                 axi_bvalid_i,
  output logic                 axi_bready_o,
  input  logic [1:0]           axi_bresp_i
);

  if (MaxOutstanding < 2 || (MaxOutstanding & (MaxOutstanding - 1)) != 0) begin : gen_bad_outstanding
    $fatal(1, "dma_write: MaxOutstanding must be a power of two and at least 2");
  end

  localparam int unsigned PtrWidth = $clog2(MaxOutstanding);

  logic                 burst_valid, burst_ready, burst_start, burst_final, bad_command, split_ready;
  logic [AddrWidth-1:0] burst_addr;
  logic [7:0]           burst_len;
  logic                 stop, drain_q, error_q;
  logic                 awvalid_q;
  logic [AddrWidth-1:0] awaddr_q;
  logic [7:0]           awlen_q;
  logic [PtrWidth:0]    sent_q, fed_q, done_q; // bursts started, with all data out, answered
  logic [MaxOutstanding-1:0]      final_q;     // per burst under way: the last of its command
  logic [MaxOutstanding-1:0][7:0] len_q;

  assign stop        = error_q || drain_q;
  assign burst_ready = !stop && (!awvalid_q || axi_awready_i) &&
                       (sent_q ^ done_q) != (PtrWidth + 1)'(MaxOutstanding);
  assign burst_start = burst_valid && burst_ready;
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

  // Write data: one register, so that what is on the bus stays when the stream is stopped.
  logic                 wvalid_q, wlast_q, load, free, owed, last_beat;
  logic [DataWidth-1:0] wdata_q;
  logic                 enabled_q;
  logic [7:0]           beat_q; // of the burst that data goes to

  assign free         = !wvalid_q || axi_wready_i;
  assign owed         = sent_q != fed_q;
  assign data_ready_o = free && owed && !stop && !clear_i;
  assign load         = free && owed && (stop || (data_valid_i && !clear_i));
  assign last_beat    = beat_q == len_q[fed_q[PtrWidth-1:0]];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      awvalid_q <= 1'b0;
      wvalid_q  <= 1'b0;
      sent_q    <= '0;
      fed_q     <= '0;
      done_q    <= '0;
      beat_q    <= '0;
    end else begin
      if (burst_start) begin
        awvalid_q <= 1'b1;
        sent_q    <= sent_q + 1'b1;
      end else if (axi_awready_i) begin
        awvalid_q <= 1'b0;
      end
      if (load) begin
        wvalid_q <= 1'b1;
        beat_q   <= last_beat ? '0 : beat_q + 1'b1;
        fed_q    <= fed_q + (PtrWidth + 1)'(last_beat);
      end else if (axi_wready_i) begin
        wvalid_q <= 1'b0;
      end
      if (axi_bvalid_i) done_q <= done_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (burst_start) begin
      awaddr_q                      <= burst_addr;
      awlen_q                       <= burst_len;
      final_q[sent_q[PtrWidth-1:0]] <= burst_final;
      len_q[sent_q[PtrWidth-1:0]]   <= burst_len;
    end
    if (load) begin
      wdata_q   <= data_i;
      wlast_q   <= last_beat;
      enabled_q <= !stop;
    end
  end

  logic bad_response, done_valid_q;

  assign bad_response = axi_bvalid_i && axi_bresp_i != 2'b00;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      error_q      <= 1'b0;
      drain_q      <= 1'b0;
      done_valid_q <= 1'b0;
    end else begin
      done_valid_q <= axi_bvalid_i && !bad_response && final_q[done_q[PtrWidth-1:0]] && !stop && !clear_i;
      if (clear_i) begin
        error_q <= 1'b0;
        drain_q <= 1'b1;
      end else begin
        if (drain_q && sent_q == done_q) drain_q <= 1'b0;
        if (!drain_q && (bad_response || bad_command)) error_q <= 1'b1;
      end
    end
  end

  assign error_o       = error_q;
  assign done_valid_o  = done_valid_q;
  assign axi_awvalid_o = awvalid_q;
  assign axi_awaddr_o  = awaddr_q;
  assign axi_awlen_o   = awlen_q;
  assign axi_awsize_o  = 3'($clog2(DataWidth / 8));
  assign axi_awburst_o = 2'b01; // INCR
  assign axi_wvalid_o  = wvalid_q;
  assign axi_wdata_o   = wdata_q;
  assign axi_wstrb_o   = {StrbWidth{enabled_q}};
  assign axi_wlast_o   = wlast_q;
  assign axi_bready_o  = 1'b1;

endmodule
