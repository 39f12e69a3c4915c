// SPDX-License-Identifier: Apache-2.0
//
// The accelerator: convolution engine, its DMA engines, and the registers by which a host runs commands.
//
// AXI4 master 0 reads the feature operand and writes results, master 1 reads weights or errors; both see one memory.
// A command is one phase of one layer (docs/rtl.md). Registers of 32 bits at the byte address
//   0x00 CONTROL   write: bit 0 starts the command, bit 1 drops all that is under way and resets the flags
//   0x04 COMMAND   write: the next word of a command, word 0 first; the last WORDS words written count
//   0x08 STATUS    bit 0 busy, 1 done since the start, 2 engine error, 3 and 4 read error of master 0 and 1,
//                  5 write error, 6 start while busy, which was ignored
//   0x0c, 0x10     CYCLES of the command, low and high word, from the start until all results are in memory
//   0x14 STEPS     cycles of the command in which the lanes worked
//   0x18 COMMANDS  finished since reset
//   0x1c WORDS     of a command
// irq_o is high while done or an error flag is set; a start resets them too. After an error nothing moves until bit 1
// of CONTROL is written.

module accelerator
  import engine_pkg::*;
#(
  parameter int unsigned UB           = 1, // lanes: samples,
  parameter int unsigned UM           = 4, // produced channels,
  parameter int unsigned UN           = 4, // channels summed over,
  parameter int unsigned UR           = 1, // rows,
  parameter int unsigned UC           = 1, // columns
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned AccWidth     = 32,
  parameter int unsigned ChannelBlock = 4, // channels of a DRAM block
  parameter int unsigned FeatureDepth = 512, // words of a half of the buffers
  parameter int unsigned OperandDepth = 512,
  parameter int unsigned SumDepth     = 512,
  parameter int unsigned DataWidth    = 64,
  parameter int unsigned AddrWidth    = 32,
  localparam int unsigned StrbWidth   = DataWidth / 8,
  localparam int unsigned RegWidth    = 12 // of register addresses
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  output logic                 irq_o,
  // AXI4-Lite
  input  logic                 axil_awvalid_i,
  output logic                 axil_awready_o,
  input  logic [RegWidth-1:0]  axil_awaddr_i,
  input  logic                 axil_wvalid_i,
  output logic                 axil_wready_o,
  input  logic [31:0]          axil_wdata_i,
  input  logic [3:0]           axil_wstrb_i,
  output logic                 axil_bvalid_o,
  input  logic                 axil_bready_i,
  output logic [1:0]           axil_bresp_o,
  input  logic                 axil_arvalid_i,
  output logic                 axil_arready_o,
  input  logic [RegWidth-1:0]  axil_araddr_i,
  output logic                 axil_rvalid_o,
  input  logic                 axil_rready_i,
  output logic [31:0]          axil_rdata_o,
  output logic [1:0]           axil_rresp_o,
  // AXI4 master 0
  output logic                 axi0_arvalid_o,
  input  logic                 axi0_arready_i,
  output logic [AddrWidth-1:0] axi0_araddr_o,
  output logic [7:0]           axi0_arlen_o,
  output logic [2:0]           axi0_arsize_o,
  output logic [1:0]           axi0_arburst_o,
  input  logic                 axi0_rvalid_i,
  output logic                 axi0_rready_o,
  input  logic [DataWidth-1:0] axi0_rdata_i,
  input  logic [1:0]           axi0_rresp_i,
  input  logic                 axi0_rlast_i,
  output logic                 axi0_awvalid_o,
  input  logic                 axi0_awready_i,
  output logic [AddrWidth-1:0] axi0_awaddr_o,
  output logic [7:0]           axi0_awlen_o,
  output logic [2:0]           axi0_awsize_o,
  output logic [1:0]           axi0_awburst_o,
  output logic                 axi0_wvalid_o,
  input  logic                 axi0_wready_i,
  output logic [DataWidth-1:0] axi0_wdata_o,
  output logic [StrbWidth-1:0] axi0_wstrb_o,
  output logic                 axi0_wlast_o,
  input  logic                 axi0_bvalid_i,
  output logic                 axi0_bready_o,
  input  logic [1:0]           axi0_bresp_i,
  // AXI4 master 1, reads only
  output logic                 axi1_arvalid_o,
  input  logic                 axi1_arready_i,
  output logic [AddrWidth-1:0] axi1_araddr_o,
  output logic [7:0]           axi1_arlen_o,
  output logic [2:0]           axi1_arsize_o,
  output logic [1:0]           axi1_arburst_o,
  input  logic                 axi1_rvalid_i,
  output logic                 axi1_rready_o,
  input  logic [DataWidth-1:0] axi1_rdata_i,
  input  logic [1:0]           axi1_rresp_i,
  input  logic                 axi1_rlast_i
);

  localparam int unsigned NumControl = 2;
  localparam int unsigned NumStatus  = 6;
  localparam int unsigned LenWidth   = BeatWidth;

  logic [NumControl-1:0][31:0] control;
  logic [NumControl-1:0]       written;
  logic [NumStatus-1:0][31:0]  status;
  logic                        start, clear;
  logic                        unused_control;

  assign start          = written[0] && control[0][0];
  assign clear          = written[0] && control[0][1];
  assign unused_control = ^control[0][31:2];

  axi_lite_registers #(
    .AddrWidth (RegWidth),
    .NumControl(NumControl),
    .NumStatus (NumStatus)
  ) u_registers (
    .clk_i,
    .rst_ni,
    .axil_awvalid_i,
    .axil_awready_o,
    .axil_awaddr_i,
    .axil_wvalid_i,
    .axil_wready_o,
    .axil_wdata_i,
    .axil_wstrb_i,
    .axil_bvalid_o,
    .axil_bready_i,
    .axil_bresp_o,
    .axil_arvalid_i,
    .axil_arready_o,
    .axil_araddr_i,
    .axil_rvalid_o,
    .axil_rready_i,
    .axil_rdata_o,
    .axil_rresp_o,
    .control_o(control),
    .written_o(written),
    .status_i (status)
  );

  logic        offered_q, running_q, done_q, ignored_q; // waiting for the engine, at work, finished, start ignored
  logic        engine_ready, engine_busy, engine_done, engine_error, read0_error, read1_error, write_error, failed;
  logic [63:0] cycles_q;
  logic [31:0] commands_q, steps_q;
  logic        step;
  logic [1:0]  unused_phase;
  logic [6:0]  unused_scale;

  // The command is shifted in word by word and stays for the engine while it is offered.
  logic [CommandWords-1:0][31:0] command_q;

  always_ff @(posedge clk_i) begin
    if (written[1] && !offered_q) command_q <= {control[1], command_q[CommandWords-1:1]};
  end

  assign failed = engine_error || read0_error || read1_error || write_error;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      offered_q  <= 1'b0;
      running_q  <= 1'b0;
      done_q     <= 1'b0;
      ignored_q  <= 1'b0;
      cycles_q   <= '0;
      steps_q    <= '0;
      commands_q <= '0;
    end else if (clear) begin
      offered_q <= 1'b0;
      running_q <= 1'b0;
      done_q    <= 1'b0;
      ignored_q <= 1'b0;
    end else begin
      if (start && !running_q) begin
        offered_q <= 1'b1;
        running_q <= 1'b1;
        done_q    <= 1'b0;
        ignored_q <= 1'b0;
        cycles_q  <= '0;
        steps_q   <= '0;
      end else if (running_q && !failed) begin
        cycles_q <= cycles_q + 64'd1;
        steps_q  <= steps_q + 32'(step);
      end
      if (start && running_q) ignored_q <= 1'b1;
      if (offered_q && engine_ready) offered_q <= 1'b0;
      if (engine_done && running_q) begin
        running_q  <= 1'b0;
        done_q     <= 1'b1;
        commands_q <= commands_q + 32'd1;
      end
    end
  end

  assign status[0] = {25'd0, ignored_q, write_error, read1_error, read0_error, engine_error, done_q,
                      running_q || engine_busy};
  assign status[1] = cycles_q[31:0];
  assign status[2] = cycles_q[63:32];
  assign status[3] = steps_q;
  assign status[4] = commands_q;
  assign status[5] = CommandWords;
  assign irq_o     = done_q || ignored_q || failed;

  // Streams between the engine and its DMA engines.
  logic                 a_cmd_valid, a_cmd_ready, a_valid, a_ready;
  logic                 b_cmd_valid, b_cmd_ready, b_valid, b_ready;
  logic                 w_cmd_valid, w_cmd_ready, w_valid, w_ready, w_done;
  logic [AddrWidth-1:0] a_cmd_addr, b_cmd_addr, w_cmd_addr;
  logic [LenWidth-1:0]  a_cmd_beats, b_cmd_beats, w_cmd_beats;
  logic [DataWidth-1:0] a_data, b_data, w_data;
  logic                 unused_last0, unused_last1;

  conv_engine #(
    .UB          (UB),
    .UM          (UM),
    .UN          (UN),
    .UR          (UR),
    .UC          (UC),
    .OperandWidth(OperandWidth),
    .AccWidth    (AccWidth),
    .ChannelBlock(ChannelBlock),
    .FeatureDepth(FeatureDepth),
    .OperandDepth(OperandDepth),
    .SumDepth    (SumDepth),
    .DataWidth   (DataWidth),
    .AddrWidth   (AddrWidth)
  ) u_engine (
    .clk_i,
    .rst_ni,
    .clear_i       (clear),
    .cmd_valid_i   (offered_q && !clear),
    .cmd_ready_o   (engine_ready),
    .cmd_i         (command_q),
    .busy_o        (engine_busy),
    .done_o        (engine_done),
    .error_o       (engine_error),
    .phase_o       (unused_phase),
    .step_o        (step),
    .scale_o       (unused_scale),
    .a_cmd_valid_o (a_cmd_valid),
    .a_cmd_ready_i (a_cmd_ready),
    .a_cmd_addr_o  (a_cmd_addr),
    .a_cmd_beats_o (a_cmd_beats),
    .a_data_valid_i(a_valid),
    .a_data_ready_o(a_ready),
    .a_data_i      (a_data),
    .a_error_i     (read0_error),
    .b_cmd_valid_o (b_cmd_valid),
    .b_cmd_ready_i (b_cmd_ready),
    .b_cmd_addr_o  (b_cmd_addr),
    .b_cmd_beats_o (b_cmd_beats),
    .b_data_valid_i(b_valid),
    .b_data_ready_o(b_ready),
    .b_data_i      (b_data),
    .b_error_i     (read1_error),
    .w_cmd_valid_o (w_cmd_valid),
    .w_cmd_ready_i (w_cmd_ready),
    .w_cmd_addr_o  (w_cmd_addr),
    .w_cmd_beats_o (w_cmd_beats),
    .w_data_valid_o(w_valid),
    .w_data_ready_i(w_ready),
    .w_data_o      (w_data),
    .w_done_i      (w_done),
    .w_error_i     (write_error)
  );

  dma_read #(
    .AddrWidth(AddrWidth),
    .DataWidth(DataWidth),
    .LenWidth (LenWidth)
  ) u_read0 (
    .clk_i,
    .rst_ni,
    .clear_i      (clear),
    .error_o      (read0_error),
    .cmd_valid_i  (a_cmd_valid),
    .cmd_ready_o  (a_cmd_ready),
    .cmd_addr_i   (a_cmd_addr),
    .cmd_beats_i  (a_cmd_beats),
    .data_valid_o (a_valid),
    .data_ready_i (a_ready),
    .data_o       (a_data),
    .data_last_o  (unused_last0),
    .axi_arvalid_o(axi0_arvalid_o),
    .axi_arready_i(axi0_arready_i),
    .axi_araddr_o (axi0_araddr_o),
    .axi_arlen_o  (axi0_arlen_o),
    .axi_arsize_o (axi0_arsize_o),
    .axi_arburst_o(axi0_arburst_o),
    .axi_rvalid_i (axi0_rvalid_i),
    .axi_rready_o (axi0_rready_o),
    .axi_rdata_i  (axi0_rdata_i),
    .axi_rresp_i  (axi0_rresp_i),
    .axi_rlast_i  (axi0_rlast_i)
  );

  dma_read #(
    .AddrWidth(AddrWidth),
    .DataWidth(DataWidth),
    .LenWidth (LenWidth)
  ) u_read1 (
    .clk_i,
    .rst_ni,
    .clear_i      (clear),
    .error_o      (read1_error),
    .cmd_valid_i  (b_cmd_valid),
    .cmd_ready_o  (b_cmd_ready),
    .cmd_addr_i   (b_cmd_addr),
    .cmd_beats_i  (b_cmd_beats),
    .data_valid_o (b_valid),
    .data_ready_i (b_ready),
    .data_o       (b_data),
    .data_last_o  (unused_last1),
    .axi_arvalid_o(axi1_arvalid_o),
    .axi_arready_i(axi1_arready_i),
    .axi_araddr_o (axi1_araddr_o),
    .axi_arlen_o  (axi1_arlen_o),
    .axi_arsize_o (axi1_arsize_o),
    .axi_arburst_o(axi1_arburst_o),
    .axi_rvalid_i (axi1_rvalid_i),
    .axi_rready_o (axi1_rready_o),
    .axi_rdata_i  (axi1_rdata_i),
    .axi_rresp_i  (axi1_rresp_i),
    .axi_rlast_i  (axi1_rlast_i)
  );

  dma_write #(
    .AddrWidth(AddrWidth),
    .DataWidth(DataWidth),
    .LenWidth (LenWidth)
  ) u_write (
    .clk_i,
    .rst_ni,
    .clear_i      (clear),
    .error_o      (write_error),
    .cmd_valid_i  (w_cmd_valid),
    .cmd_ready_o  (w_cmd_ready),
    .cmd_addr_i   (w_cmd_addr),
    .cmd_beats_i  (w_cmd_beats),
    .data_valid_i (w_valid),
    .data_ready_o (w_ready),
    .data_i       (w_data),
    .done_valid_o (w_done),
    .axi_awvalid_o(axi0_awvalid_o),
    .axi_awready_i(axi0_awready_i),
    .axi_awaddr_o (axi0_awaddr_o),
    .axi_awlen_o  (axi0_awlen_o),
    .axi_awsize_o (axi0_awsize_o),
    .axi_awburst_o(axi0_awburst_o),
    .axi_wvalid_o (axi0_wvalid_o),
    .axi_wready_i (axi0_wready_i),
    .axi_wdata_o  (axi0_wdata_o),
    .axi_wstrb_o  (axi0_wstrb_o),
    .axi_wlast_o  (axi0_wlast_o),
    .axi_bvalid_i (axi0_bvalid_i),
    .axi_bready_o (axi0_bready_o),
    .axi_bresp_i  (axi0_bresp_i)
  );

endmodule
