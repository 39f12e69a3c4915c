// SPDX-License-Identifier: Apache-2.0
//
// The elementwise unit with its random numbers; the shifts are two more words of the command.

module elementwise_harness
  import elementwise_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned DataWidth    = 64,
  parameter int unsigned AddrWidth    = 32,
  localparam int unsigned Words       = ElementwiseWords + 2
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   clear_i,
  input  logic                   cmd_valid_i,
  output logic                   cmd_ready_o,
  input  logic [Words-1:0][31:0] cmd_i,
  output logic                   done_o,
  output logic                   error_o,
  output logic [6:0]             scale_o,
  output logic                   a_cmd_valid_o,
  input  logic                   a_cmd_ready_i,
  output logic [AddrWidth-1:0]   a_cmd_addr_o,
  output logic [31:0]            a_cmd_beats_o,
  input  logic                   a_data_valid_i,
  output logic                   a_data_ready_o,
  input  logic [DataWidth-1:0]   a_data_i,
  output logic                   b_cmd_valid_o,
  input  logic                   b_cmd_ready_i,
  output logic [AddrWidth-1:0]   b_cmd_addr_o,
  output logic [31:0]            b_cmd_beats_o,
  input  logic                   b_data_valid_i,
  output logic                   b_data_ready_o,
  input  logic [DataWidth-1:0]   b_data_i,
  output logic                   w_cmd_valid_o,
  input  logic                   w_cmd_ready_i,
  output logic [AddrWidth-1:0]   w_cmd_addr_o,
  output logic [31:0]            w_cmd_beats_o,
  output logic                   w_data_valid_o,
  input  logic                   w_data_ready_i,
  output logic [DataWidth-1:0]   w_data_o,
  input  logic                   w_done_i
);

  localparam int unsigned Lanes = DataWidth / OperandWidth;

  logic                   random_next;
  logic [31:0]            state;
  logic [Lanes-1:0][31:0] draws;
  logic                   unused;

  assign error_o = 1'b0;
  assign unused  = ^{state, cmd_i[Words-1][31:8], cmd_i[Words-2][31:8]};

  // An abort starts the numbers anew, so that every run draws the same.
  xorshift32 #(.Draws(Lanes)) u_random (
    .clk_i, .rst_ni, .load_i(clear_i), .seed_i(32'd1), .next_i(random_next), .state_o(state), .draws_o(draws)
  );

  elementwise_unit #(
    .OperandWidth(OperandWidth), .DataWidth(DataWidth), .AddrWidth(AddrWidth), .HasMomentum(1'b1)
  ) u_unit (
    .clk_i, .rst_ni, .clear_i, .cmd_valid_i, .cmd_ready_o, .cmd_i(cmd_i[ElementwiseWords-1:0]),
    .shift_a_i(cmd_i[Words-2][7:0]), .shift_b_i(cmd_i[Words-1][7:0]), .done_o, .scale_o,
    .random_next_o(random_next), .random_i(draws),
    .a_cmd_valid_o, .a_cmd_ready_i, .a_cmd_addr_o, .a_cmd_beats_o, .a_data_valid_i, .a_data_ready_o, .a_data_i,
    .b_cmd_valid_o, .b_cmd_ready_i, .b_cmd_addr_o, .b_cmd_beats_o, .b_data_valid_i, .b_data_ready_o, .b_data_i,
    .w_cmd_valid_o, .w_cmd_ready_i, .w_cmd_addr_o, .w_cmd_beats_o, .w_data_valid_o, .w_data_ready_i, .w_data_o,
    .w_done_i
  );

endmodule
