// SPDX-License-Identifier: Apache-2.0
//
// The accelerator: registers, the sequencer that runs a schedule, the units that it commands, their way to memory.
//
// AXI4 master 0 reads the first operand and writes results, master 1 reads the second operand; both see one memory.
// accelerator_registers.sv has the registers, docs/rtl.md what a host does with them.

module accelerator
  import engine_pkg::*;
  import sequencer_pkg::*;
#(
  parameter int unsigned UB            = 1, // lanes: samples,
  parameter int unsigned UM            = 4, // produced channels,
  parameter int unsigned UN            = 4, // channels summed over,
  parameter int unsigned UR            = 1, // rows,
  parameter int unsigned UC            = 1, // columns
  parameter int unsigned OperandWidth  = 8,
  parameter int unsigned AccWidth      = 32,
  parameter int unsigned ChannelBlock  = 4, // channels of a DRAM block
  parameter int unsigned FeatureDepth  = 512, // words of a half of the buffers
  parameter int unsigned OperandDepth  = 512,
  parameter int unsigned SumDepth      = 512,
  parameter int unsigned DataWidth     = 64,
  parameter int unsigned AddrWidth     = 32,
  parameter int unsigned PoolDepth     = 1024, // cells of the pool unit's ring, 0 without the unit,
  parameter int unsigned PoolRowDepth  = 256,  // and of a row of indexes
  parameter int unsigned ChannelUnit   = 1,    // 0 without the unit
  parameter int unsigned Momentum      = 0,    // 1 with velocities in the update
  parameter int unsigned ScheduleDepth = 1024, // words
  parameter int unsigned Slots         = 64,   // tensors with an exponent
  parameter int unsigned Counters      = 128,  // of cycles
  localparam int unsigned StrbWidth    = DataWidth / 8,
  localparam int unsigned RegWidth     = 12 // of register addresses
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

  localparam logic [Units-1:0] Present = {ChannelUnit != 0, PoolDepth > 0, 2'b11};

  // Host and sequencer.
  logic                    start, started, resume, clear, busy, done, waiting, step_end, seed_load, schedule_write;
  logic                    bad_base, lanes_work;
  error_e                  sequencer_error, fault;
  logic [15:0]             schedule_index, select;
  logic [31:0]             schedule_word, length, iterations, seed, place, iteration, counter, slot, random_state;
  logic [5:0]              rate_shift;
  logic [63:0]             cycles;
  logic [2:0][AddrWidth-1:0] base;

  accelerator_registers #(
    .AddrWidth    (AddrWidth),
    .RegWidth     (RegWidth),
    .BeatBytes    (StrbWidth),
    .ScheduleDepth(ScheduleDepth)
  ) u_registers (
    .clk_i,
    .rst_ni,
    .irq_o,
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
    .start_o         (start),
    .resume_o        (resume),
    .clear_o         (clear),
    .schedule_write_o(schedule_write),
    .schedule_index_o(schedule_index),
    .schedule_word_o (schedule_word),
    .length_o        (length),
    .iterations_o    (iterations),
    .rate_shift_o    (rate_shift),
    .seed_load_o     (seed_load),
    .seed_o          (seed),
    .base_o          (base),
    .bad_base_o      (bad_base),
    .select_o        (select),
    .started_i       (started),
    .busy_i          (busy),
    .done_i          (done),
    .waiting_i       (waiting),
    .error_i         (sequencer_error),
    .place_i         (place),
    .cycles_i        (cycles),
    .lanes_work_i    (lanes_work),
    .iteration_i     (iteration),
    .step_end_i      (step_end),
    .counter_i       (counter),
    .slot_i          (slot),
    .random_i        (random_state)
  );

  // Commands of the units and their streams, by the numbers of sequencer_pkg.
  logic [Units-1:0]                cmd_valid, cmd_ready, unit_done, unit_error;
  logic [CommandWords-1:0][31:0]   cmd;
  logic [Units-1:0][6:0]           scale;
  logic [6:0]                      weight_scale, bias_scale;
  logic signed [7:0]               shift_a, shift_b;
  logic [1:0]                      unit, a_base, b_base, w_base;
  logic [Units-1:0]                a_cmd_valid, a_cmd_ready, b_cmd_valid, b_cmd_ready, w_cmd_valid, w_cmd_ready;
  logic [Units-1:0][AddrWidth-1:0] a_cmd_addr, b_cmd_addr, w_cmd_addr;
  logic [Units-1:0][31:0]          a_cmd_beats, b_cmd_beats, w_cmd_beats;
  logic [Units-1:0]                a_valid, a_ready, b_valid, b_ready, w_valid, w_ready, w_done;
  logic [DataWidth-1:0]            a_data, b_data;
  logic [Units-1:0][DataWidth-1:0] w_data;
  logic                            a_error, b_error, w_error;

  sequencer #(
    .OperandWidth (OperandWidth),
    .PayloadWords (CommandWords),
    .ScheduleDepth(ScheduleDepth),
    .Slots        (Slots),
    .Counters     (Counters),
    .Present      (Present)
  ) u_sequencer (
    .clk_i,
    .rst_ni,
    .write_i       (schedule_write && 32'(schedule_index) < ScheduleDepth),
    .write_addr_i  ($clog2(ScheduleDepth)'(schedule_index)),
    .write_data_i  (schedule_word),
    .length_i      (length),
    .iterations_i  (iterations),
    .rate_shift_i  (rate_shift),
    .bad_base_i    (bad_base),
    .start_i       (start),
    .resume_i      (resume),
    .clear_i       (clear),
    .started_o     (started),
    .busy_o        (busy),
    .done_o        (done),
    .waiting_o     (waiting),
    .error_o       (sequencer_error),
    .place_o       (place),
    .iteration_o   (iteration),
    .step_o        (step_end),
    .cycles_o      (cycles),
    .select_i      (select),
    .counter_o     (counter),
    .slot_o        (slot),
    .cmd_valid_o   (cmd_valid),
    .cmd_ready_i   (cmd_ready),
    .cmd_o         (cmd),
    .shift_a_o     (shift_a),
    .shift_b_o     (shift_b),
    .unit_o        (unit),
    .a_base_o      (a_base),
    .b_base_o      (b_base),
    .w_base_o      (w_base),
    .done_i        (unit_done),
    .scale_i       (scale),
    .weight_scale_i(weight_scale),
    .bias_scale_i  (bias_scale),
    .fault_i       (fault)
  );

  always_comb begin
    fault = NoError;
    if (|unit_error) fault = UnitError;
    if (w_error) fault = WriteError;
    if (b_error) fault = ReadError1;
    if (a_error) fault = ReadError0;
  end

  accelerator_units #(
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
    .AddrWidth   (AddrWidth),
    .PoolDepth   (PoolDepth),
    .PoolRowDepth(PoolRowDepth),
    .ChannelUnit (ChannelUnit),
    .Momentum    (Momentum)
  ) u_units (
    .clk_i,
    .rst_ni,
    .clear_i       (clear),
    .cmd_valid_i   (cmd_valid),
    .cmd_ready_o   (cmd_ready),
    .cmd_i         (cmd),
    .shift_a_i     (shift_a),
    .shift_b_i     (shift_b),
    .done_o        (unit_done),
    .error_o       (unit_error),
    .scale_o       (scale),
    .weight_scale_o(weight_scale),
    .bias_scale_o  (bias_scale),
    .lanes_work_o  (lanes_work),
    .seed_load_i   (seed_load),
    .seed_i        (seed),
    .random_state_o(random_state),
    .a_cmd_valid_o (a_cmd_valid),
    .a_cmd_ready_i (a_cmd_ready),
    .a_cmd_addr_o  (a_cmd_addr),
    .a_cmd_beats_o (a_cmd_beats),
    .a_data_valid_i(a_valid),
    .a_data_ready_o(a_ready),
    .a_data_i      (a_data),
    .a_error_i     (a_error),
    .b_cmd_valid_o (b_cmd_valid),
    .b_cmd_ready_i (b_cmd_ready),
    .b_cmd_addr_o  (b_cmd_addr),
    .b_cmd_beats_o (b_cmd_beats),
    .b_data_valid_i(b_valid),
    .b_data_ready_o(b_ready),
    .b_data_i      (b_data),
    .b_error_i     (b_error),
    .w_cmd_valid_o (w_cmd_valid),
    .w_cmd_ready_i (w_cmd_ready),
    .w_cmd_addr_o  (w_cmd_addr),
    .w_cmd_beats_o (w_cmd_beats),
    .w_data_valid_o(w_valid),
    .w_data_ready_i(w_ready),
    .w_data_o      (w_data),
    .w_done_i      (w_done),
    .w_error_i     (w_error)
  );

  memory_streams #(
    .Units    (Units),
    .DataWidth(DataWidth),
    .AddrWidth(AddrWidth)
  ) u_memory (
    .clk_i,
    .rst_ni,
    .clear_i       (clear),
    .unit_i        (unit),
    .a_error_o     (a_error),
    .b_error_o     (b_error),
    .w_error_o     (w_error),
    .a_base_i      (base[a_base]),
    .a_cmd_valid_i (a_cmd_valid),
    .a_cmd_ready_o (a_cmd_ready),
    .a_cmd_addr_i  (a_cmd_addr),
    .a_cmd_beats_i (a_cmd_beats),
    .a_data_valid_o(a_valid),
    .a_data_ready_i(a_ready),
    .a_data_o      (a_data),
    .b_base_i      (base[b_base]),
    .b_cmd_valid_i (b_cmd_valid),
    .b_cmd_ready_o (b_cmd_ready),
    .b_cmd_addr_i  (b_cmd_addr),
    .b_cmd_beats_i (b_cmd_beats),
    .b_data_valid_o(b_valid),
    .b_data_ready_i(b_ready),
    .b_data_o      (b_data),
    .w_base_i      (base[w_base]),
    .w_cmd_valid_i (w_cmd_valid),
    .w_cmd_ready_o (w_cmd_ready),
    .w_cmd_addr_i  (w_cmd_addr),
    .w_cmd_beats_i (w_cmd_beats),
    .w_data_valid_i(w_valid),
    .w_data_ready_o(w_ready),
    .w_data_i      (w_data),
    .w_done_o      (w_done),
    .axi0_arvalid_o,
    .axi0_arready_i,
    .axi0_araddr_o,
    .axi0_arlen_o,
    .axi0_arsize_o,
    .axi0_arburst_o,
    .axi0_rvalid_i,
    .axi0_rready_o,
    .axi0_rdata_i,
    .axi0_rresp_i,
    .axi0_rlast_i,
    .axi0_awvalid_o,
    .axi0_awready_i,
    .axi0_awaddr_o,
    .axi0_awlen_o,
    .axi0_awsize_o,
    .axi0_awburst_o,
    .axi0_wvalid_o,
    .axi0_wready_i,
    .axi0_wdata_o,
    .axi0_wstrb_o,
    .axi0_wlast_o,
    .axi0_bvalid_i,
    .axi0_bready_o,
    .axi0_bresp_i,
    .axi1_arvalid_o,
    .axi1_arready_i,
    .axi1_araddr_o,
    .axi1_arlen_o,
    .axi1_arsize_o,
    .axi1_arburst_o,
    .axi1_rvalid_i,
    .axi1_rready_o,
    .axi1_rdata_i,
    .axi1_rresp_i,
    .axi1_rlast_i
  );

endmodule
