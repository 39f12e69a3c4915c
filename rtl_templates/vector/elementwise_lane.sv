// SPDX-License-Identifier: Apache-2.0
//
// One element of the elementwise unit: shift and round, then combine and clip; two registers, both enabled by en_i.
//
// shift_a_i of Sum and Differ is -8 or more, as is shift_b_i: errors that are added keep 8 bits below the coarser one.
// The result is wide, its upper bits copies of the sign where it is a narrow one.

module elementwise_lane
  import elementwise_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,
  parameter bit          HasMomentum  = 1'b0,
  localparam int unsigned WideWidth   = 4 * OperandWidth
) (
  input  logic                    clk_i,
  input  logic                    en_i,
  input  kind_e                   kind_i,
  input  logic                    o_wide_i,
  input  logic                    masks_i,
  input  logic                    relu_i,
  input  logic signed [7:0]       shift_a_i,
  input  logic signed [7:0]       shift_b_i,
  input  logic [31:0]             random_i,
  input  logic [WideWidth-1:0]    a_i,
  input  logic [WideWidth-1:0]    b_i, // narrow but for Momentum
  output logic [WideWidth-1:0]    y_o
);

  localparam int unsigned Guard     = 8;
  localparam int unsigned GuardWide = OperandWidth + Guard + 1;
  localparam logic signed [OperandWidth-1:0] Max = {1'b0, {(OperandWidth - 1){1'b1}}};

  logic signed [OperandWidth-1:0] pass, step, pass_q, step_q, b_q;
  logic signed [GuardWide-1:0]    guarded_a, guarded_b, guarded_a_q, guarded_b_q;
  logic signed [WideWidth-1:0]    a_q, velocity_q, y;
  logic signed [8:0]              down_a, down_b;

  requantise #(
    .InWidth (WideWidth),
    .OutWidth(OperandWidth)
  ) u_pass (
    .value_i(a_i),
    .shift_i(shift_a_i),
    .value_o(pass)
  );

  stochastic_round #(
    .InWidth (WideWidth),
    .OutWidth(OperandWidth),
    .MaxShift(64)
  ) u_step (
    .value_i (a_i),
    .shift_i (shift_a_i),
    .random_i,
    .value_o (step)
  );

  assign down_a = 9'(shift_a_i) + 9'(Guard);
  assign down_b = 9'(shift_b_i) + 9'(Guard);

  requantise #(
    .InWidth (GuardWide),
    .OutWidth(GuardWide)
  ) u_guarded_a (
    .value_i({a_i[OperandWidth:0], Guard'(0)}),
    .shift_i(down_a > 9'sd127 ? 8'sd127 : down_a[7:0]),
    .value_o(guarded_a)
  );

  requantise #(
    .InWidth (GuardWide),
    .OutWidth(GuardWide)
  ) u_guarded_b (
    .value_i({b_i[OperandWidth:0], Guard'(0)}),
    .shift_i(down_b > 9'sd127 ? 8'sd127 : down_b[7:0]),
    .value_o(guarded_b)
  );

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      pass_q      <= pass;
      step_q      <= step;
      guarded_a_q <= guarded_a;
      guarded_b_q <= guarded_b;
      a_q         <= a_i;
      b_q         <= b_i[OperandWidth-1:0];
    end
  end

  if (HasMomentum) begin : gen_momentum
    logic signed [OperandWidth+VelocityBits-1:0] fine;
    logic signed [WideWidth-1:0]                 lost, velocity;

    requantise #(
      .InWidth (WideWidth),
      .OutWidth(OperandWidth + VelocityBits)
    ) u_fine (
      .value_i(a_i),
      .shift_i(shift_a_i),
      .value_o(fine)
    );
    assign velocity = signed'(b_i);
    assign lost     = (velocity >>> MomentumShift) + signed'(WideWidth'(velocity[MomentumShift-1]));
    always_ff @(posedge clk_i) if (en_i) velocity_q <= velocity - lost + WideWidth'(fine);
  end else begin : gen_no_momentum
    logic unused;
    assign unused     = ^b_i;
    assign velocity_q = '0;
  end

  function automatic logic signed [WideWidth-1:0] clip(logic signed [WideWidth-1:0] value);
    if (value > WideWidth'(Max)) return WideWidth'(Max);
    if (value < -WideWidth'(Max)) return -WideWidth'(Max);
    return value;
  endfunction

  always_comb begin
    case (kind_i)
      Sum:     y = WideWidth'(guarded_a_q) + WideWidth'(guarded_b_q);
      Differ:  y = WideWidth'(guarded_a_q) - WideWidth'(guarded_b_q);
      Update:  y = WideWidth'(b_q) - WideWidth'(step_q);
      Momentum: y = velocity_q;
      default: y = o_wide_i ? a_q : WideWidth'(pass_q);
    endcase
    if (!o_wide_i) y = clip(y);
    if (relu_i && y < 0) y = '0;
    if (masks_i && (b_q <= 0 || b_q == Max)) y = '0;
  end

  always_ff @(posedge clk_i) begin
    if (en_i) y_o <= y;
  end

endmodule
