// SPDX-License-Identifier: Apache-2.0
//
// AXI4-Lite register file of 32-bit words: NumControl that the bus writes and reads back, then NumStatus that it reads.
//
// Register i is at byte address 4 * i; control registers are 0 after reset and take byte enables. written_o[i] pulses
// in the cycle in which control_o[i] shows a new value. An address beyond the last register, and a write to a status
// register, is answered with SLVERR and changes nothing. One read and one write at a time.

module axi_lite_registers #(
  parameter int unsigned AddrWidth  = 12,
  parameter int unsigned NumControl = 4,
  parameter int unsigned NumStatus  = 4
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        axil_awvalid_i,
  output logic                        axil_awready_o,
  input  logic [AddrWidth-1:0]        axil_awaddr_i,
  input  logic                        axil_wvalid_i,
  output logic                        axil_wready_o,
  input  logic [31:0]                 axil_wdata_i,
  input  logic [3:0]                  axil_wstrb_i,
  output logic                        axil_bvalid_o,
  input  logic                        axil_bready_i,
  output logic [1:0]                  axil_bresp_o,
  input  logic                        axil_arvalid_i,
  output logic                        axil_arready_o,
  input  logic [AddrWidth-1:0]        axil_araddr_i,
  output logic                        axil_rvalid_o,
  input  logic                        axil_rready_i,
  output logic [31:0]                 axil_rdata_o,
  output logic [1:0]                  axil_rresp_o,
  output logic [NumControl-1:0][31:0] control_o,
  output logic [NumControl-1:0]       written_o,
  input  logic [NumStatus-1:0][31:0]  status_i
);

  if (NumControl < 1 || NumStatus < 1) begin : gen_bad_count
    $fatal(1, "axi_lite_registers: NumControl and NumStatus must be at least 1");
  end
  if (AddrWidth > 32 || 64'(NumControl) + 64'(NumStatus) > (64'd1 << AddrWidth) / 4) begin : gen_bad_addr_width
    $fatal(1, "axi_lite_registers: AddrWidth must be at most 32 and reach every register");
  end

  localparam logic [1:0] Okay   = 2'b00;
  localparam logic [1:0] SlvErr = 2'b10;

  logic [NumControl-1:0][31:0] control_q;
  logic [NumControl-1:0]       written_q;
  logic                        write, read, bvalid_q, rvalid_q, write_known, read_known;
  logic [1:0]                  bresp_q, rresp_q;
  logic [31:0]                 rdata_d, rdata_q;
  logic [AddrWidth-3:0]        write_index, read_index;
  logic                        unused_address;

  // A write waits until its address and its data are there and the last response is taken.
  assign write          = axil_awvalid_i && axil_wvalid_i && !bvalid_q;
  assign axil_awready_o = write;
  assign axil_wready_o  = write;
  assign write_index    = axil_awaddr_i[AddrWidth-1:2];
  assign write_known    = 32'(write_index) < NumControl;
  assign axil_arready_o = !rvalid_q;
  assign read           = axil_arvalid_i && axil_arready_o;
  assign read_index     = axil_araddr_i[AddrWidth-1:2];
  assign read_known     = 32'(read_index) < NumControl + NumStatus;
  assign unused_address = ^{axil_awaddr_i[1:0], axil_araddr_i[1:0]};

  always_comb begin
    rdata_d = '0;
    for (int unsigned i = 0; i < NumControl; i++) begin
      if (32'(read_index) == i) rdata_d = control_q[i];
    end
    for (int unsigned i = 0; i < NumStatus; i++) begin
      if (32'(read_index) == NumControl + i) rdata_d = status_i[i];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      control_q <= '0;
      written_q <= '0;
    end else begin
      for (int unsigned i = 0; i < NumControl; i++) begin
        written_q[i] <= write && 32'(write_index) == i;
        for (int unsigned b = 0; b < 4; b++) begin
          if (write && 32'(write_index) == i && axil_wstrb_i[b]) control_q[i][8*b +: 8] <= axil_wdata_i[8*b +: 8];
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
      bresp_q  <= Okay;
      rresp_q  <= Okay;
      rdata_q  <= '0;
    end else begin
      if (write) begin
        bvalid_q <= 1'b1;
        bresp_q  <= write_known ? Okay : SlvErr;
      end else if (axil_bready_i) begin
        bvalid_q <= 1'b0;
      end
      if (read) begin
        rvalid_q <= 1'b1;
        rresp_q  <= read_known ? Okay : SlvErr;
        rdata_q  <= rdata_d;
      end else if (axil_rready_i) begin
        rvalid_q <= 1'b0;
      end
    end
  end

  assign axil_bvalid_o = bvalid_q;
  assign axil_bresp_o  = bresp_q;
  assign axil_rvalid_o = rvalid_q;
  assign axil_rresp_o  = rresp_q;
  assign axil_rdata_o  = rdata_q;
  assign control_o     = control_q;
  assign written_o     = written_q;

endmodule
