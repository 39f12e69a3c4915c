// SPDX-License-Identifier: Apache-2.0
//
// Registers of the accelerator on AXI4-Lite, 32 bits each, at these byte addresses:
//   0x00 CONTROL     write: bit 0 start, 1 drop all that is under way and the flags, 2 resume after the host's step
//   0x04 INDEX       of the word of the schedule that DATA writes next
//   0x08 DATA        writes a word of the schedule and moves INDEX on
//   0x0c LENGTH      words of the schedule
//   0x10 ITERATIONS  that a start runs
//   0x14 RATE_SHIFT  the learning rate, as a shift
//   0x18 SEED        a write has the next start begin the random numbers anew
//   0x1c - 0x30      BASE 0 (tensors), 1 (samples), 2 (targets): byte addresses, low word first
//   0x34, 0x38       STEP of BASE 1 and 2 from an iteration to the next, bytes
//   0x3c SELECT      the counter and the slot that COUNTER and SLOT show
// and, to be read,
//   0x40 STATUS      bit 0 busy, 1 done, 2 waiting for the host, 3 a start while busy was ignored, 8 to 11 error_e
//   0x44 PLACE       word of the schedule where the record under way begins
//   0x48, 0x4c       CYCLES since the start without those of the host, low word first
//   0x50 STEPS       of these, those in which the lanes of the engine worked
//   0x54 ITERATION   finished ones since the start
//   0x58 COUNTER     cycles of the selected counter since the start
//   0x5c SLOT        of the selected slot: bits 0 to 15 exponent, 16 to 22 bit length
//   0x60 RANDOM      state of the random numbers
//   0x64 DEPTH       words that the schedule memory has
// irq_o is high while done, waiting, ignored or an error is. A start resets done and ignored.
//
// A start takes LENGTH to STEP as they are; what is written to them while busy is for the next one. DATA is dropped while
// busy. A start while busy only sets ignored, one after an error or together with bit 1 of CONTROL does nothing.

module accelerator_registers
  import sequencer_pkg::*;
#(
  parameter int unsigned AddrWidth     = 32,
  parameter int unsigned RegWidth      = 12,
  parameter int unsigned BeatBytes     = 8,
  parameter int unsigned ScheduleDepth = 1024
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  output logic                      irq_o,
  input  logic                      axil_awvalid_i,
  output logic                      axil_awready_o,
  input  logic [RegWidth-1:0]       axil_awaddr_i,
  input  logic                      axil_wvalid_i,
  output logic                      axil_wready_o,
  input  logic [31:0]               axil_wdata_i,
  input  logic [3:0]                axil_wstrb_i,
  output logic                      axil_bvalid_o,
  input  logic                      axil_bready_i,
  output logic [1:0]                axil_bresp_o,
  input  logic                      axil_arvalid_i,
  output logic                      axil_arready_o,
  input  logic [RegWidth-1:0]       axil_araddr_i,
  output logic                      axil_rvalid_o,
  input  logic                      axil_rready_i,
  output logic [31:0]               axil_rdata_o,
  output logic [1:0]                axil_rresp_o,
  output logic                      start_o,
  output logic                      resume_o,
  output logic                      clear_o,
  output logic                      schedule_write_o,
  output logic [15:0]               schedule_index_o,
  output logic [31:0]               schedule_word_o,
  output logic [31:0]               length_o,
  output logic [31:0]               iterations_o,
  output logic [5:0]                rate_shift_o,
  output logic                      seed_load_o,
  output logic [31:0]               seed_o,
  output logic [2:0][AddrWidth-1:0] base_o,
  output logic                      bad_base_o,
  output logic [15:0]               select_o,
  input  logic                      started_i, // start_o is taken
  input  logic                      busy_i,
  input  logic                      done_i,
  input  logic                      waiting_i,
  input  error_e                    error_i,
  input  logic [31:0]               place_i,
  input  logic [63:0]               cycles_i,
  input  logic                      lanes_work_i,
  input  logic [31:0]               iteration_i,
  input  logic                      step_end_i,
  input  logic [31:0]               counter_i,
  input  logic [31:0]               slot_i,
  input  logic [31:0]               random_i
);

  localparam int unsigned NumControl = 16;
  localparam int unsigned NumStatus  = 10;

  logic [NumControl-1:0][31:0] control;
  logic [NumControl-1:0]       written;
  logic [NumStatus-1:0][31:0]  status;
  logic [15:0]                 index_q;
  logic [31:0]                 steps_q, length_q, iterations_q;
  logic [5:0]                  rate_shift_q;
  logic                        ignored_q, seeds_q; // seeds_q: SEED was written since the last start
  logic [2:0][63:0]            base;
  logic [2:0][AddrWidth-1:0]   base_q;
  logic [2:1][31:0]            step_q;
  logic                        unused;

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

  assign start_o          = written[0] && control[0][0];
  assign clear_o          = written[0] && control[0][1];
  assign resume_o         = written[0] && control[0][2];
  assign schedule_write_o = written[2] && !busy_i;
  assign schedule_index_o = index_q;
  assign schedule_word_o  = control[2];
  assign length_o         = length_q;
  assign iterations_o     = iterations_q;
  assign rate_shift_o     = rate_shift_q;
  assign seed_load_o      = started_i && seeds_q;
  assign seed_o           = control[6];
  assign base             = control[12:7];
  assign select_o         = control[15][15:0];
  assign unused           = ^{control[0][31:3], control[1][31:16], control[5][31:6], control[15][31:16], base, written};

  // Where samples and targets lie moves on with the iterations.
  always_ff @(posedge clk_i) begin
    if (started_i) begin
      length_q     <= control[3];
      iterations_q <= control[4];
      rate_shift_q <= control[5][5:0];
      step_q       <= control[14:13];
    end
    for (int unsigned i = 0; i < 3; i++) begin
      if (started_i) base_q[i] <= base[i][AddrWidth-1:0];
      else if (i > 0 && step_end_i) base_q[i] <= base_q[i] + AddrWidth'(step_q[i]);
    end
  end
  assign base_o = base_q;

  always_comb begin
    bad_base_o = 1'b0;
    for (int unsigned i = 0; i < 3; i++) if (base_q[i] % AddrWidth'(BeatBytes) != '0) bad_base_o = 1'b1;
    for (int unsigned i = 1; i < 3; i++) if (step_q[i] % BeatBytes != '0) bad_base_o = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      index_q   <= '0;
      steps_q   <= '0;
      ignored_q <= 1'b0;
      seeds_q   <= 1'b0;
    end else begin
      if (written[1]) index_q <= control[1][15:0];
      else if (schedule_write_o) index_q <= index_q + 16'd1;
      if (written[6]) seeds_q <= 1'b1;
      else if (started_i) seeds_q <= 1'b0;
      if (started_i) steps_q <= '0;
      else steps_q <= steps_q + 32'(lanes_work_i && busy_i);
      if (clear_o || started_i) ignored_q <= 1'b0;
      else if (start_o && busy_i) ignored_q <= 1'b1;
    end
  end

  assign status[0] = {20'd0, error_i, 4'd0, ignored_q, waiting_i, done_i, busy_i};
  assign status[1] = place_i;
  assign status[2] = cycles_i[31:0];
  assign status[3] = cycles_i[63:32];
  assign status[4] = steps_q;
  assign status[5] = iteration_i;
  assign status[6] = counter_i;
  assign status[7] = slot_i;
  assign status[8] = random_i;
  assign status[9] = ScheduleDepth;
  assign irq_o     = done_i || waiting_i || ignored_q || error_i != NoError;

endmodule
