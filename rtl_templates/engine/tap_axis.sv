// SPDX-License-Identifier: Apache-2.0
//
// The kernel taps along one axis, and in input_grad the classes of output pixels, with what the addresses need of them.
//
// In forward and weight_grad there is one class. In input_grad, class p of the output pixels meets the weights
// p, p + stride, ...: taps_i of them for classes up to class_last, one less for the others, walked from the last to the first
// so that the feature operand is read upwards. A class without any weight takes one tap, marked void.

module tap_axis
  import engine_pkg::*;
#(
  parameter int unsigned Banks = 2,
  localparam int unsigned BankWidth = Banks > 1 ? $clog2(Banks) : 1
) (
  input  logic                 clk_i,
  input  logic                 restart_i, // to the first class, first tap
  input  logic                 step_tap_i,
  input  logic                 step_class_i, // with step_tap_i, at the last tap
  input  axis_t                axis_i,
  input  index_t               word_q_i,
  input  index_t               word_p_i,
  output logic                 tap_first_o,
  output logic                 tap_last_o,
  output logic                 class_last_o,
  output logic                 void_o,
  output coord_t               position_o, // pixels of the feature operand from the first tap's
  output logic [BankWidth-1:0] bank_o,
  output index_t               addr_o,
  output coord_t               tap_word_o,
  output index_t               acc_word_o
);

  index_t tap_q, class_q, next_class, first_tap_q, acc_q;
  coord_t class_word_q, next_class_word, tap_word_q;
  logic   to_next, reload, short_class;

  assign tap_first_o  = tap_q == first_tap_q;
  assign tap_last_o   = tap_q == axis_i.taps - index_t'(1);
  assign class_last_o = class_q == axis_i.classes - index_t'(1);
  assign void_o       = axis_i.taps == index_t'(1) && class_q > axis_i.class_last;

  always_comb begin
    to_next         = step_class_i && !class_last_o;
    next_class      = class_q;
    next_class_word = class_word_q;
    if (restart_i || (step_class_i && class_last_o)) begin
      next_class      = '0;
      next_class_word = axis_i.tap_top;
    end else if (to_next) begin
      next_class      = class_q + index_t'(1);
      next_class_word = class_word_q + axis_i.tap_class;
    end
    short_class = next_class > axis_i.class_last && axis_i.taps != index_t'(1);
  end

  assign reload = restart_i || (step_tap_i && tap_last_o);

  always_ff @(posedge clk_i) begin
    class_q      <= next_class;
    class_word_q <= next_class_word;
    if (restart_i || (step_class_i && class_last_o)) acc_q <= '0;
    else if (to_next) acc_q <= acc_q + axis_i.acc_class;
    if (reload) begin
      first_tap_q <= index_t'(short_class);
      tap_q       <= index_t'(short_class);
      tap_word_q  <= short_class ? next_class_word + axis_i.tap_step : next_class_word;
    end else if (step_tap_i) begin
      tap_q      <= tap_q + index_t'(1);
      tap_word_q <= tap_word_q + axis_i.tap_step;
    end
  end

  // The window's pixel under the present tap. Only input_grad, whose stride here is 1, begins at pixel 1.
  index_t unused_phase, unused_place;
  pixel_steps #(.Banks(Banks)) u_pixel (
    .clk_i,
    .restart_i   (1'b0),
    .step_i      (step_tap_i),
    .turn_i      (1'b0),
    .load_i      (reload),
    .stride_i    (axis_i.stride),
    .word_q_i,
    .word_p_i,
    .load_phase_i('0),
    .load_bank_i (Banks > 1 && short_class ? BankWidth'(1) : '0),
    .load_place_i(Banks == 1 && short_class ? word_q_i : '0),
    .load_addr_i (Banks == 1 && short_class ? word_q_i : '0),
    .phase_o     (unused_phase),
    .bank_o,
    .place_o     (unused_place),
    .addr_o
  );

  assign position_o = coord_t'(tap_q);
  assign tap_word_o = tap_word_q;
  assign acc_word_o = acc_q;

endmodule
