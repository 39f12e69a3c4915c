// SPDX-License-Identifier: Apache-2.0
//
// The way of the units to memory: the streams of the one at work get its DMA engines, two that read and one that writes.
//
// stream_switch adds the base address of a stream. AXI4 master 0 reads the first operand and writes results, master 1
// reads the second operand.

module memory_streams #(
  parameter int unsigned Units      = 4,
  parameter int unsigned DataWidth  = 64,
  parameter int unsigned AddrWidth  = 32,
  localparam int unsigned UnitWidth = Units > 1 ? $clog2(Units) : 1,
  localparam int unsigned StrbWidth = DataWidth / 8
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clear_i,
  input  logic [UnitWidth-1:0] unit_i, // that is connected
  output logic                 a_error_o,
  output logic                 b_error_o,
  output logic                 w_error_o,
  // first operand
  input  logic [AddrWidth-1:0]            a_base_i,
  input  logic [Units-1:0]                a_cmd_valid_i,
  output logic [Units-1:0]                a_cmd_ready_o,
  input  logic [Units-1:0][AddrWidth-1:0] a_cmd_addr_i,
  input  logic [Units-1:0][31:0]          a_cmd_beats_i,
  output logic [Units-1:0]                a_data_valid_o,
  input  logic [Units-1:0]                a_data_ready_i,
  output logic [DataWidth-1:0]            a_data_o,
  // second operand
  input  logic [AddrWidth-1:0]            b_base_i,
  input  logic [Units-1:0]                b_cmd_valid_i,
  output logic [Units-1:0]                b_cmd_ready_o,
  input  logic [Units-1:0][AddrWidth-1:0] b_cmd_addr_i,
  input  logic [Units-1:0][31:0]          b_cmd_beats_i,
  output logic [Units-1:0]                b_data_valid_o,
  input  logic [Units-1:0]                b_data_ready_i,
  output logic [DataWidth-1:0]            b_data_o,
  // results
  input  logic [AddrWidth-1:0]            w_base_i,
  input  logic [Units-1:0]                w_cmd_valid_i,
  output logic [Units-1:0]                w_cmd_ready_o,
  input  logic [Units-1:0][AddrWidth-1:0] w_cmd_addr_i,
  input  logic [Units-1:0][31:0]          w_cmd_beats_i,
  input  logic [Units-1:0]                w_data_valid_i,
  output logic [Units-1:0]                w_data_ready_o,
  input  logic [Units-1:0][DataWidth-1:0] w_data_i,
  output logic [Units-1:0]                w_done_o,
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

  logic                 a_cmd_valid, a_cmd_ready, b_cmd_valid, b_cmd_ready, w_cmd_valid, w_cmd_ready;
  logic [AddrWidth-1:0] a_cmd_addr, b_cmd_addr, w_cmd_addr;
  logic [31:0]          a_cmd_beats, b_cmd_beats, w_cmd_beats;
  logic                 a_valid, b_valid, w_ready, w_done, unused_a_last, unused_b_last;
  logic [Units-1:0]     chosen;

  assign chosen         = Units'(1) << unit_i;
  assign a_data_valid_o = chosen & {Units{a_valid}};
  assign b_data_valid_o = chosen & {Units{b_valid}};
  assign w_data_ready_o = chosen & {Units{w_ready}};
  assign w_done_o       = chosen & {Units{w_done}};

  stream_switch #(
    .Units    (Units),
    .AddrWidth(AddrWidth)
  ) u_a_switch (
    .unit_i,
    .base_i     (a_base_i),
    .cmd_valid_i(a_cmd_valid_i),
    .cmd_ready_o(a_cmd_ready_o),
    .cmd_addr_i (a_cmd_addr_i),
    .cmd_beats_i(a_cmd_beats_i),
    .cmd_valid_o(a_cmd_valid),
    .cmd_ready_i(a_cmd_ready),
    .cmd_addr_o (a_cmd_addr),
    .cmd_beats_o(a_cmd_beats)
  );

  stream_switch #(
    .Units    (Units),
    .AddrWidth(AddrWidth)
  ) u_b_switch (
    .unit_i,
    .base_i     (b_base_i),
    .cmd_valid_i(b_cmd_valid_i),
    .cmd_ready_o(b_cmd_ready_o),
    .cmd_addr_i (b_cmd_addr_i),
    .cmd_beats_i(b_cmd_beats_i),
    .cmd_valid_o(b_cmd_valid),
    .cmd_ready_i(b_cmd_ready),
    .cmd_addr_o (b_cmd_addr),
    .cmd_beats_o(b_cmd_beats)
  );

  stream_switch #(
    .Units    (Units),
    .AddrWidth(AddrWidth)
  ) u_w_switch (
    .unit_i,
    .base_i     (w_base_i),
    .cmd_valid_i(w_cmd_valid_i),
    .cmd_ready_o(w_cmd_ready_o),
    .cmd_addr_i (w_cmd_addr_i),
    .cmd_beats_i(w_cmd_beats_i),
    .cmd_valid_o(w_cmd_valid),
    .cmd_ready_i(w_cmd_ready),
    .cmd_addr_o (w_cmd_addr),
    .cmd_beats_o(w_cmd_beats)
  );

  dma_read #(
    .AddrWidth(AddrWidth),
    .DataWidth(DataWidth),
    .LenWidth (32)
  ) u_a_read (
    .clk_i,
    .rst_ni,
    .clear_i,
    .error_o      (a_error_o),
    .cmd_valid_i  (a_cmd_valid),
    .cmd_ready_o  (a_cmd_ready),
    .cmd_addr_i   (a_cmd_addr),
    .cmd_beats_i  (a_cmd_beats),
    .data_valid_o (a_valid),
    .data_ready_i (a_data_ready_i[unit_i]),
    .data_o       (a_data_o),
    .data_last_o  (unused_a_last),
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
    .LenWidth (32)
  ) u_b_read (
    .clk_i,
    .rst_ni,
    .clear_i,
    .error_o      (b_error_o),
    .cmd_valid_i  (b_cmd_valid),
    .cmd_ready_o  (b_cmd_ready),
    .cmd_addr_i   (b_cmd_addr),
    .cmd_beats_i  (b_cmd_beats),
    .data_valid_o (b_valid),
    .data_ready_i (b_data_ready_i[unit_i]),
    .data_o       (b_data_o),
    .data_last_o  (unused_b_last),
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
    .LenWidth (32)
  ) u_w_write (
    .clk_i,
    .rst_ni,
    .clear_i,
    .error_o      (w_error_o),
    .cmd_valid_i  (w_cmd_valid),
    .cmd_ready_o  (w_cmd_ready),
    .cmd_addr_i   (w_cmd_addr),
    .cmd_beats_i  (w_cmd_beats),
    .data_valid_i (w_data_valid_i[unit_i]),
    .data_ready_o (w_ready),
    .data_i       (w_data_i[unit_i]),
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
