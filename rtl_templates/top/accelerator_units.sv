// SPDX-License-Identifier: Apache-2.0
//
// The units of the accelerator by the numbers of sequencer_pkg, and the random numbers of the update. Those that a network
// does not need are left out: their outputs are zero.

module accelerator_units
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
  parameter int unsigned Momentum      = 0     // 1 with velocities in the update
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                clear_i,
  // commands
  input  logic [Units-1:0]                    cmd_valid_i,
  output logic [Units-1:0]                    cmd_ready_o,
  input  logic [CommandWords-1:0][31:0]       cmd_i,
  input  logic signed [7:0]                   shift_a_i,
  input  logic signed [7:0]                   shift_b_i,
  output logic [Units-1:0]                    done_o,
  output logic [Units-1:0]                    error_o,
  output logic [Units-1:0][6:0]               scale_o,
  output logic [6:0]                          weight_scale_o, // of the channel unit
  output logic [6:0]                          bias_scale_o,
  output logic                                lanes_work_o,   // of the engine
  // random numbers
  input  logic                                seed_load_i,
  input  logic [31:0]                         seed_i,
  output logic [31:0]                         random_state_o,
  // first operand
  output logic [Units-1:0]                    a_cmd_valid_o,
  input  logic [Units-1:0]                    a_cmd_ready_i,
  output logic [Units-1:0][AddrWidth-1:0]     a_cmd_addr_o,
  output logic [Units-1:0][31:0]              a_cmd_beats_o,
  input  logic [Units-1:0]                    a_data_valid_i,
  output logic [Units-1:0]                    a_data_ready_o,
  input  logic [DataWidth-1:0]                a_data_i,
  input  logic                                a_error_i,
  // second operand
  output logic [Units-1:0]                    b_cmd_valid_o,
  input  logic [Units-1:0]                    b_cmd_ready_i,
  output logic [Units-1:0][AddrWidth-1:0]     b_cmd_addr_o,
  output logic [Units-1:0][31:0]              b_cmd_beats_o,
  input  logic [Units-1:0]                    b_data_valid_i,
  output logic [Units-1:0]                    b_data_ready_o,
  input  logic [DataWidth-1:0]                b_data_i,
  input  logic                                b_error_i,
  // results
  output logic [Units-1:0]                    w_cmd_valid_o,
  input  logic [Units-1:0]                    w_cmd_ready_i,
  output logic [Units-1:0][AddrWidth-1:0]     w_cmd_addr_o,
  output logic [Units-1:0][31:0]              w_cmd_beats_o,
  output logic [Units-1:0]                    w_data_valid_o,
  input  logic [Units-1:0]                    w_data_ready_i,
  output logic [Units-1:0][DataWidth-1:0]     w_data_o,
  input  logic [Units-1:0]                    w_done_i,
  input  logic                                w_error_i
);

  localparam int unsigned Lanes = DataWidth / OperandWidth; // of the elementwise unit

  logic [1:0] unused_phase;
  logic       unused_busy;

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
    .clear_i,
    .cmd_valid_i   (cmd_valid_i[Engine]),
    .cmd_ready_o   (cmd_ready_o[Engine]),
    .cmd_i,
    .busy_o        (unused_busy),
    .done_o        (done_o[Engine]),
    .error_o       (error_o[Engine]),
    .phase_o       (unused_phase),
    .step_o        (lanes_work_o),
    .scale_o       (scale_o[Engine]),
    .a_cmd_valid_o (a_cmd_valid_o[Engine]),
    .a_cmd_ready_i (a_cmd_ready_i[Engine]),
    .a_cmd_addr_o  (a_cmd_addr_o[Engine]),
    .a_cmd_beats_o (a_cmd_beats_o[Engine]),
    .a_data_valid_i(a_data_valid_i[Engine]),
    .a_data_ready_o(a_data_ready_o[Engine]),
    .a_data_i,
    .b_cmd_valid_o (b_cmd_valid_o[Engine]),
    .b_cmd_ready_i (b_cmd_ready_i[Engine]),
    .b_cmd_addr_o  (b_cmd_addr_o[Engine]),
    .b_cmd_beats_o (b_cmd_beats_o[Engine]),
    .b_data_valid_i(b_data_valid_i[Engine]),
    .b_data_ready_o(b_data_ready_o[Engine]),
    .b_data_i,
    .w_cmd_valid_o (w_cmd_valid_o[Engine]),
    .w_cmd_ready_i (w_cmd_ready_i[Engine]),
    .w_cmd_addr_o  (w_cmd_addr_o[Engine]),
    .w_cmd_beats_o (w_cmd_beats_o[Engine]),
    .w_data_valid_o(w_data_valid_o[Engine]),
    .w_data_ready_i(w_data_ready_i[Engine]),
    .w_data_o      (w_data_o[Engine]),
    .w_done_i      (w_done_i[Engine]),
    .a_error_i,
    .b_error_i,
    .w_error_i
  );

  logic                   random_next;
  logic [Lanes-1:0][31:0] draws;

  assign error_o[Elementwise] = 1'b0; // it has no buffer that a tensor could be too large for

  elementwise_unit #(
    .OperandWidth(OperandWidth),
    .DataWidth   (DataWidth),
    .AddrWidth   (AddrWidth),
    .HasMomentum (Momentum != 0)
  ) u_elementwise (
    .clk_i,
    .rst_ni,
    .clear_i,
    .cmd_valid_i   (cmd_valid_i[Elementwise]),
    .cmd_ready_o   (cmd_ready_o[Elementwise]),
    .cmd_i         (cmd_i[elementwise_pkg::ElementwiseWords-1:0]),
    .shift_a_i,
    .shift_b_i,
    .done_o        (done_o[Elementwise]),
    .scale_o       (scale_o[Elementwise]),
    .random_next_o (random_next),
    .random_i      (draws),
    .a_cmd_valid_o (a_cmd_valid_o[Elementwise]),
    .a_cmd_ready_i (a_cmd_ready_i[Elementwise]),
    .a_cmd_addr_o  (a_cmd_addr_o[Elementwise]),
    .a_cmd_beats_o (a_cmd_beats_o[Elementwise]),
    .a_data_valid_i(a_data_valid_i[Elementwise]),
    .a_data_ready_o(a_data_ready_o[Elementwise]),
    .a_data_i,
    .b_cmd_valid_o (b_cmd_valid_o[Elementwise]),
    .b_cmd_ready_i (b_cmd_ready_i[Elementwise]),
    .b_cmd_addr_o  (b_cmd_addr_o[Elementwise]),
    .b_cmd_beats_o (b_cmd_beats_o[Elementwise]),
    .b_data_valid_i(b_data_valid_i[Elementwise]),
    .b_data_ready_o(b_data_ready_o[Elementwise]),
    .b_data_i,
    .w_cmd_valid_o (w_cmd_valid_o[Elementwise]),
    .w_cmd_ready_i (w_cmd_ready_i[Elementwise]),
    .w_cmd_addr_o  (w_cmd_addr_o[Elementwise]),
    .w_cmd_beats_o (w_cmd_beats_o[Elementwise]),
    .w_data_valid_o(w_data_valid_o[Elementwise]),
    .w_data_ready_i(w_data_ready_i[Elementwise]),
    .w_data_o      (w_data_o[Elementwise]),
    .w_done_i      (w_done_i[Elementwise])
  );

  xorshift32 #(
    .Draws(Lanes)
  ) u_random (
    .clk_i,
    .rst_ni,
    .load_i (seed_load_i),
    .seed_i,
    .next_i (random_next),
    .state_o(random_state_o),
    .draws_o(draws)
  );

  // A unit that is left out never asks for anything.
  if (PoolDepth > 0) begin : gen_pool
    pool_unit #(
      .OperandWidth(OperandWidth),
      .UB          (UB),
      .ChannelBlock(ChannelBlock),
      .Depth       (PoolDepth),
      .RowDepth    (PoolRowDepth),
      .DataWidth   (DataWidth),
      .AddrWidth   (AddrWidth)
    ) u_pool (
      .clk_i,
      .rst_ni,
      .clear_i,
      .cmd_valid_i   (cmd_valid_i[Pool]),
      .cmd_ready_o   (cmd_ready_o[Pool]),
      .cmd_i         (cmd_i[pool_pkg::PoolWords-1:0]),
      .done_o        (done_o[Pool]),
      .error_o       (error_o[Pool]),
      .scale_o       (scale_o[Pool]),
      .a_cmd_valid_o (a_cmd_valid_o[Pool]),
      .a_cmd_ready_i (a_cmd_ready_i[Pool]),
      .a_cmd_addr_o  (a_cmd_addr_o[Pool]),
      .a_cmd_beats_o (a_cmd_beats_o[Pool]),
      .a_data_valid_i(a_data_valid_i[Pool]),
      .a_data_ready_o(a_data_ready_o[Pool]),
      .a_data_i,
      .b_cmd_valid_o (b_cmd_valid_o[Pool]),
      .b_cmd_ready_i (b_cmd_ready_i[Pool]),
      .b_cmd_addr_o  (b_cmd_addr_o[Pool]),
      .b_cmd_beats_o (b_cmd_beats_o[Pool]),
      .b_data_valid_i(b_data_valid_i[Pool]),
      .b_data_ready_o(b_data_ready_o[Pool]),
      .b_data_i,
      .w_cmd_valid_o (w_cmd_valid_o[Pool]),
      .w_cmd_ready_i (w_cmd_ready_i[Pool]),
      .w_cmd_addr_o  (w_cmd_addr_o[Pool]),
      .w_cmd_beats_o (w_cmd_beats_o[Pool]),
      .w_data_valid_o(w_data_valid_o[Pool]),
      .w_data_ready_i(w_data_ready_i[Pool]),
      .w_data_o      (w_data_o[Pool]),
      .w_done_i      (w_done_i[Pool])
    );
  end else begin : gen_no_pool
    assign {cmd_ready_o[Pool], done_o[Pool], error_o[Pool], scale_o[Pool]} = '0;
    assign {a_cmd_valid_o[Pool], a_cmd_addr_o[Pool], a_cmd_beats_o[Pool], a_data_ready_o[Pool]} = '0;
    assign {b_cmd_valid_o[Pool], b_cmd_addr_o[Pool], b_cmd_beats_o[Pool], b_data_ready_o[Pool]} = '0;
    assign {w_cmd_valid_o[Pool], w_cmd_addr_o[Pool], w_cmd_beats_o[Pool], w_data_valid_o[Pool], w_data_o[Pool]} = '0;
  end

  if (ChannelUnit != 0) begin : gen_channel
    logic unused_channel_busy;

    channel_unit #(
      .OperandWidth(OperandWidth),
      .UB          (UB),
      .ChannelBlock(ChannelBlock),
      .DataWidth   (DataWidth),
      .AddrWidth   (AddrWidth)
    ) u_channel (
      .clk_i,
      .rst_ni,
      .clear_i,
      .cmd_valid_i   (cmd_valid_i[Channel]),
      .cmd_ready_o   (cmd_ready_o[Channel]),
      .cmd_i         (cmd_i[channel_pkg::ChannelWords-1:0]),
      .busy_o        (unused_channel_busy),
      .done_o        (done_o[Channel]),
      .error_o       (error_o[Channel]),
      .scale_o       (scale_o[Channel]),
      .scale_weight_o(weight_scale_o),
      .scale_bias_o  (bias_scale_o),
      .a_cmd_valid_o (a_cmd_valid_o[Channel]),
      .a_cmd_ready_i (a_cmd_ready_i[Channel]),
      .a_cmd_addr_o  (a_cmd_addr_o[Channel]),
      .a_cmd_beats_o (a_cmd_beats_o[Channel]),
      .a_data_valid_i(a_data_valid_i[Channel]),
      .a_data_ready_o(a_data_ready_o[Channel]),
      .a_data_i,
      .b_cmd_valid_o (b_cmd_valid_o[Channel]),
      .b_cmd_ready_i (b_cmd_ready_i[Channel]),
      .b_cmd_addr_o  (b_cmd_addr_o[Channel]),
      .b_cmd_beats_o (b_cmd_beats_o[Channel]),
      .b_data_valid_i(b_data_valid_i[Channel]),
      .b_data_ready_o(b_data_ready_o[Channel]),
      .b_data_i,
      .w_cmd_valid_o (w_cmd_valid_o[Channel]),
      .w_cmd_ready_i (w_cmd_ready_i[Channel]),
      .w_cmd_addr_o  (w_cmd_addr_o[Channel]),
      .w_cmd_beats_o (w_cmd_beats_o[Channel]),
      .w_data_valid_o(w_data_valid_o[Channel]),
      .w_data_ready_i(w_data_ready_i[Channel]),
      .w_data_o      (w_data_o[Channel]),
      .w_done_i      (w_done_i[Channel])
    );
  end else begin : gen_no_channel
    assign {cmd_ready_o[Channel], done_o[Channel], error_o[Channel], scale_o[Channel], weight_scale_o, bias_scale_o} = '0;
    assign {a_cmd_valid_o[Channel], a_cmd_addr_o[Channel], a_cmd_beats_o[Channel], a_data_ready_o[Channel]} = '0;
    assign {b_cmd_valid_o[Channel], b_cmd_addr_o[Channel], b_cmd_beats_o[Channel], b_data_ready_o[Channel]} = '0;
    assign {w_cmd_valid_o[Channel], w_cmd_addr_o[Channel], w_cmd_beats_o[Channel], w_data_valid_o[Channel], w_data_o[Channel]} = '0;
  end

endmodule
