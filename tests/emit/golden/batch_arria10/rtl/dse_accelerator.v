// SPDX-License-Identifier: Apache-2.0
//
// The accelerator with the parameters of one design point: lenet10, batch 4, int8 on arria10_gx1150, batch t_b=4, t_i=16.
//
// Plain Verilog, with port names from which tools infer the buses: a block design, LiteX or Amaranth takes this module
// as it is. Written by dse 0.1.0: do not edit.

module dse_accelerator (
  (* X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF s_axi:m0_axi:m1_axi, ASSOCIATED_RESET aresetn, FREQ_HZ 100000000" *)
  input  wire          aclk,
  input  wire          aresetn,
  output wire          irq,
  // AXI4-Lite: registers, see accelerator.sv
  input  wire          s_axi_awvalid,
  output wire          s_axi_awready,
  input  wire [11:0]   s_axi_awaddr,
  input  wire          s_axi_wvalid,
  output wire          s_axi_wready,
  input  wire [31:0]   s_axi_wdata,
  input  wire [3:0]    s_axi_wstrb,
  output wire          s_axi_bvalid,
  input  wire          s_axi_bready,
  output wire [1:0]    s_axi_bresp,
  input  wire          s_axi_arvalid,
  output wire          s_axi_arready,
  input  wire [11:0]   s_axi_araddr,
  output wire          s_axi_rvalid,
  input  wire          s_axi_rready,
  output wire [31:0]   s_axi_rdata,
  output wire [1:0]    s_axi_rresp,
  // AXI4: features in, results out
  output wire          m0_axi_arvalid,
  input  wire          m0_axi_arready,
  output wire [39:0]   m0_axi_araddr,
  output wire [7:0]    m0_axi_arlen,
  output wire [2:0]    m0_axi_arsize,
  output wire [1:0]    m0_axi_arburst,
  input  wire          m0_axi_rvalid,
  output wire          m0_axi_rready,
  input  wire [511:0]   m0_axi_rdata,
  input  wire [1:0]    m0_axi_rresp,
  input  wire          m0_axi_rlast,
  output wire          m0_axi_arlock,
  output wire [3:0]    m0_axi_arcache,
  output wire [2:0]    m0_axi_arprot,
  output wire [3:0]    m0_axi_arqos,
  output wire          m0_axi_awvalid,
  input  wire          m0_axi_awready,
  output wire [39:0]   m0_axi_awaddr,
  output wire [7:0]    m0_axi_awlen,
  output wire [2:0]    m0_axi_awsize,
  output wire [1:0]    m0_axi_awburst,
  output wire          m0_axi_wvalid,
  input  wire          m0_axi_wready,
  output wire [511:0]   m0_axi_wdata,
  output wire [63:0] m0_axi_wstrb,
  output wire          m0_axi_wlast,
  input  wire          m0_axi_bvalid,
  output wire          m0_axi_bready,
  input  wire [1:0]    m0_axi_bresp,
  output wire          m0_axi_awlock,
  output wire [3:0]    m0_axi_awcache,
  output wire [2:0]    m0_axi_awprot,
  output wire [3:0]    m0_axi_awqos,
  // AXI4: weights or errors in
  output wire          m1_axi_arvalid,
  input  wire          m1_axi_arready,
  output wire [39:0]   m1_axi_araddr,
  output wire [7:0]    m1_axi_arlen,
  output wire [2:0]    m1_axi_arsize,
  output wire [1:0]    m1_axi_arburst,
  input  wire          m1_axi_rvalid,
  output wire          m1_axi_rready,
  input  wire [511:0]   m1_axi_rdata,
  input  wire [1:0]    m1_axi_rresp,
  input  wire          m1_axi_rlast,
  output wire          m1_axi_arlock,
  output wire [3:0]    m1_axi_arcache,
  output wire [2:0]    m1_axi_arprot,
  output wire [3:0]    m1_axi_arqos
);

  accelerator #(
    .OperandWidth (8),
    .AccWidth     (32),
    .UB           (4),
    .UM           (1),
    .UN           (16),
    .UR           (1),
    .UC           (1),
    .ChannelBlock (1),
    .FeatureDepth (512),
    .OperandDepth (512),
    .SumDepth     (512),
    .DataWidth    (512),
    .PoolDepth    (256),
    .PoolRowDepth (16),
    .ChannelUnit  (0),
    .Momentum     (0),
    .AddrWidth    (40),
    .ScheduleDepth(2048),
    .Slots        (64),
    .Counters     (128)
  ) u_accelerator (
    .clk_i         (aclk),
    .rst_ni        (aresetn),
    .irq_o         (irq),
    .axil_awvalid_i(s_axi_awvalid),
    .axil_awready_o(s_axi_awready),
    .axil_awaddr_i (s_axi_awaddr),
    .axil_wvalid_i (s_axi_wvalid),
    .axil_wready_o (s_axi_wready),
    .axil_wdata_i  (s_axi_wdata),
    .axil_wstrb_i  (s_axi_wstrb),
    .axil_bvalid_o (s_axi_bvalid),
    .axil_bready_i (s_axi_bready),
    .axil_bresp_o  (s_axi_bresp),
    .axil_arvalid_i(s_axi_arvalid),
    .axil_arready_o(s_axi_arready),
    .axil_araddr_i (s_axi_araddr),
    .axil_rvalid_o (s_axi_rvalid),
    .axil_rready_i (s_axi_rready),
    .axil_rdata_o  (s_axi_rdata),
    .axil_rresp_o  (s_axi_rresp),
    .axi0_arvalid_o(m0_axi_arvalid),
    .axi0_arready_i(m0_axi_arready),
    .axi0_araddr_o (m0_axi_araddr),
    .axi0_arlen_o  (m0_axi_arlen),
    .axi0_arsize_o (m0_axi_arsize),
    .axi0_arburst_o(m0_axi_arburst),
    .axi0_rvalid_i (m0_axi_rvalid),
    .axi0_rready_o (m0_axi_rready),
    .axi0_rdata_i  (m0_axi_rdata),
    .axi0_rresp_i  (m0_axi_rresp),
    .axi0_rlast_i  (m0_axi_rlast),
    .axi0_awvalid_o(m0_axi_awvalid),
    .axi0_awready_i(m0_axi_awready),
    .axi0_awaddr_o (m0_axi_awaddr),
    .axi0_awlen_o  (m0_axi_awlen),
    .axi0_awsize_o (m0_axi_awsize),
    .axi0_awburst_o(m0_axi_awburst),
    .axi0_wvalid_o (m0_axi_wvalid),
    .axi0_wready_i (m0_axi_wready),
    .axi0_wdata_o  (m0_axi_wdata),
    .axi0_wstrb_o  (m0_axi_wstrb),
    .axi0_wlast_o  (m0_axi_wlast),
    .axi0_bvalid_i (m0_axi_bvalid),
    .axi0_bready_o (m0_axi_bready),
    .axi0_bresp_i  (m0_axi_bresp),
    .axi1_arvalid_o(m1_axi_arvalid),
    .axi1_arready_i(m1_axi_arready),
    .axi1_araddr_o (m1_axi_araddr),
    .axi1_arlen_o  (m1_axi_arlen),
    .axi1_arsize_o (m1_axi_arsize),
    .axi1_arburst_o(m1_axi_arburst),
    .axi1_rvalid_i (m1_axi_rvalid),
    .axi1_rready_o (m1_axi_rready),
    .axi1_rdata_i  (m1_axi_rdata),
    .axi1_rresp_i  (m1_axi_rresp),
    .axi1_rlast_i  (m1_axi_rlast)
  );

  // Bufferable, modifiable, unprivileged data; one priority.
  assign m0_axi_arlock = 1'b0;
  assign m0_axi_arcache = 4'b0011;
  assign m0_axi_arprot = 3'b000;
  assign m0_axi_arqos = 4'b0000;
  assign m0_axi_awlock = 1'b0;
  assign m0_axi_awcache = 4'b0011;
  assign m0_axi_awprot = 3'b000;
  assign m0_axi_awqos = 4'b0000;
  assign m1_axi_arlock = 1'b0;
  assign m1_axi_arcache = 4'b0011;
  assign m1_axi_arprot = 3'b000;
  assign m1_axi_arqos = 4'b0000;

endmodule
