// SPDX-License-Identifier: Apache-2.0
//
// Operations on whole tensors, element by element: requantise, ReLU and its mask, sums and differences of two tensors, the
// update of parameters. A command reads one or two tensors of one layout and writes one; see docs/rtl.md.
//
// A group of elements is a narrow beat. Wide tensors take four beats a group. The unit has three registers between
// its streams, which stand still together. Shifts come with the command and do not change while it runs. A draw of the
// random generator is used for each element of each group of an Update: random_next_o asks for the next ones.

module elementwise_unit
  import elementwise_pkg::*;
#(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned DataWidth    = 64,
  parameter int unsigned AddrWidth    = 32,
  parameter bit          HasMomentum  = 1'b0, // the kind Momentum
  localparam int unsigned Lanes       = DataWidth / OperandWidth
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              clear_i,
  input  logic                              cmd_valid_i,
  output logic                              cmd_ready_o,
  input  logic [ElementwiseWords-1:0][31:0] cmd_i,
  input  logic signed [7:0]                 shift_a_i,
  input  logic signed [7:0]                 shift_b_i,
  output logic                              done_o,
  output logic [6:0]                        scale_o,
  output logic                              random_next_o,
  input  logic [Lanes-1:0][31:0]            random_i,
  output logic                              a_cmd_valid_o,
  input  logic                              a_cmd_ready_i,
  output logic [AddrWidth-1:0]              a_cmd_addr_o,
  output logic [31:0]                       a_cmd_beats_o,
  input  logic                              a_data_valid_i,
  output logic                              a_data_ready_o,
  input  logic [DataWidth-1:0]              a_data_i,
  output logic                              b_cmd_valid_o,
  input  logic                              b_cmd_ready_i,
  output logic [AddrWidth-1:0]              b_cmd_addr_o,
  output logic [31:0]                       b_cmd_beats_o,
  input  logic                              b_data_valid_i,
  output logic                              b_data_ready_o,
  input  logic [DataWidth-1:0]              b_data_i,
  output logic                              w_cmd_valid_o,
  input  logic                              w_cmd_ready_i,
  output logic [AddrWidth-1:0]              w_cmd_addr_o,
  output logic [31:0]                       w_cmd_beats_o,
  output logic                              w_data_valid_o,
  input  logic                              w_data_ready_i,
  output logic [DataWidth-1:0]              w_data_o,
  input  logic                              w_done_i
);

  if (OperandWidth != 8 && OperandWidth != 16) begin : gen_bad_operand_width
    $fatal(1, "elementwise_unit: OperandWidth must be 8 or 16");
  end
  if (DataWidth < 32 || DataWidth > 1024 || (DataWidth & (DataWidth - 1)) != 0) begin : gen_bad_data_width
    $fatal(1, "elementwise_unit: DataWidth must be a power of two from 32 to 1024");
  end

  localparam int unsigned WideWidth = 4 * OperandWidth;
  localparam int unsigned ByteShift = $clog2(DataWidth / 8);

  logic run_q, run_n; // clear_i resets everything but the command
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) run_q <= 1'b0;
    else run_q <= !clear_i;
  end
  assign run_n = run_q;

  elementwise_t      cmd_q;
  logic signed [7:0] shift_in_q, shift_a_q, shift_b_q;
  logic              busy_q, taken, finished, ask_a_q, ask_b_q, ask_w_q, written_q;

  logic signed [8:0] shift_sum; // held to 8 bits
  logic signed [7:0] shift_a;

  assign shift_sum = 9'(shift_in_q) + 9'(cmd_q.shift);
  always_comb begin
    shift_a = shift_sum[7:0];
    if (shift_sum > 9'sd127) shift_a = 8'sd127;
    if (shift_sum < -9'sd128) shift_a = -8'sd128;
  end

  assign cmd_ready_o = !busy_q && run_q;
  assign taken       = cmd_valid_i && cmd_ready_o;

  always_ff @(posedge clk_i) begin
    if (taken) begin
      cmd_q     <= elementwise_command(cmd_i);
      shift_in_q <= shift_a_i;
      shift_b_q <= shift_b_i;
    end
    shift_a_q <= shift_a; // long before the first element
  end

  // One DMA command a stream.
  assign a_cmd_valid_o = ask_a_q;
  assign b_cmd_valid_o = ask_b_q;
  assign w_cmd_valid_o = ask_w_q;
  assign a_cmd_addr_o  = AddrWidth'(cmd_q.a_base) << ByteShift;
  assign b_cmd_addr_o  = AddrWidth'(cmd_q.b_base) << ByteShift;
  assign w_cmd_addr_o  = AddrWidth'(cmd_q.o_base) << ByteShift;
  assign a_cmd_beats_o = cmd_q.a_beats;
  assign b_cmd_beats_o = cmd_q.b_beats;
  assign w_cmd_beats_o = cmd_q.o_beats;

  always_ff @(posedge clk_i or negedge run_n) begin
    if (!run_n) begin
      busy_q    <= 1'b0;
      done_o    <= 1'b0;
      written_q <= 1'b0;
      {ask_a_q, ask_b_q, ask_w_q} <= '0;
    end else begin
      done_o <= finished;
      if (taken) begin
        busy_q    <= 1'b1;
        written_q <= elementwise_command(cmd_i).discards;
        ask_a_q   <= 1'b1;
        ask_b_q   <= elementwise_command(cmd_i).uses_b;
        ask_w_q   <= !elementwise_command(cmd_i).discards;
      end else begin
        if (finished) busy_q <= 1'b0;
        if (w_done_i) written_q <= 1'b1;
        if (a_cmd_ready_i) ask_a_q <= 1'b0;
        if (b_cmd_ready_i) ask_b_q <= 1'b0;
        if (w_cmd_ready_i) ask_w_q <= 1'b0;
      end
    end
  end

  // Operands.
  logic                      a_valid, b_valid, advance, operands, enable, scatter_ready;
  logic [3:0][DataWidth-1:0] a_group, b_group;

  wide_gather #(
    .DataWidth (DataWidth),
    .CountWidth(CountWidth)
  ) u_gather_a (
    .clk_i,
    .rst_ni       (run_n),
    .wide_i       (cmd_q.a_wide),
    .groups_i     (cmd_q.groups),
    .last_beats_i (cmd_q.last_beats),
    .data_valid_i (a_data_valid_i),
    .data_ready_o (a_data_ready_o),
    .data_i       (a_data_i),
    .group_valid_o(a_valid),
    .group_ready_i(advance),
    .group_o      (a_group)
  );

  wide_gather #(
    .DataWidth (DataWidth),
    .CountWidth(CountWidth)
  ) u_gather_b (
    .clk_i,
    .rst_ni       (run_n),
    .wide_i       (cmd_q.b_wide),
    .groups_i     (cmd_q.groups),
    .last_beats_i (cmd_q.last_beats),
    .data_valid_i (b_data_valid_i),
    .data_ready_o (b_data_ready_o),
    .data_i       (b_data_i),
    .group_valid_o(b_valid),
    .group_ready_i(advance && cmd_q.uses_b),
    .group_o      (b_group)
  );

  assign operands = a_valid && (b_valid || !cmd_q.uses_b);
  assign advance  = operands && enable;

  logic [Lanes-1:0][WideWidth-1:0]    a_wide, b_wide, a_q, b_q, y;
  logic [Lanes-1:0][OperandWidth-1:0] a_narrow, b_narrow;
  logic                               valid1_q, valid2_q, valid3_q;

  logic [Lanes-1:0][WideWidth-1:0] wide_lanes, b_wide_lanes;

  assign a_narrow   = a_group[0];
  assign wide_lanes = a_group;
  assign b_narrow     = b_group[0];
  assign b_wide_lanes = b_group;
  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    assign a_wide[i] = cmd_q.a_wide ? wide_lanes[i] : WideWidth'(signed'(a_narrow[i]));
    assign b_wide[i] = cmd_q.b_wide ? b_wide_lanes[i] : WideWidth'(signed'(b_narrow[i]));

    elementwise_lane #(
      .OperandWidth(OperandWidth),
      .HasMomentum (HasMomentum)
    ) u_lane (
      .clk_i,
      .en_i     (enable),
      .kind_i   (cmd_q.kind),
      .o_wide_i (cmd_q.o_wide),
      .masks_i  (cmd_q.masks),
      .relu_i   (cmd_q.relu),
      .shift_a_i(shift_a_q),
      .shift_b_i(shift_b_q),
      .random_i (random_i[i]),
      .a_i      (a_q[i]),
      .b_i      (b_q[i]),
      .y_o      (y[i])
    );
  end

  assign random_next_o = valid1_q && enable && cmd_q.kind == Update;

  always_ff @(posedge clk_i or negedge run_n) begin
    if (!run_n) {valid1_q, valid2_q, valid3_q} <= '0;
    else if (enable) {valid1_q, valid2_q, valid3_q} <= {operands, valid1_q, valid2_q};
  end
  always_ff @(posedge clk_i) begin
    if (advance) begin
      a_q <= a_wide;
      b_q <= b_wide;
    end
  end

  // Results.
  logic [3:0][DataWidth-1:0]          result;
  logic [Lanes-1:0][OperandWidth-1:0] y_narrow;
  logic [$clog2(WideWidth+1)-1:0]     scale;
  count_t                             group_q, row_q;
  logic                               all_through_q, row_ends;
  logic [2:0]                         settle_q; // the scale has taken the last group

  for (genvar i = 0; i < Lanes; i++) begin : gen_narrow
    assign y_narrow[i] = y[i][OperandWidth-1:0];
  end
  assign result   = cmd_q.o_wide ? y : (4 * DataWidth)'(y_narrow);
  assign enable   = !valid3_q || scatter_ready || cmd_q.discards;
  assign row_ends = group_q == cmd_q.groups - 1'b1;
  assign finished = busy_q && all_through_q && settle_q[2] && written_q && !done_o;

  wide_scatter #(
    .DataWidth (DataWidth),
    .CountWidth(CountWidth)
  ) u_scatter (
    .clk_i,
    .rst_ni       (run_n),
    .wide_i       (cmd_q.o_wide),
    .groups_i     (cmd_q.groups),
    .last_beats_i (cmd_q.last_beats),
    .group_valid_i(valid3_q && !cmd_q.discards),
    .group_ready_o(scatter_ready),
    .group_i      (result),
    .data_valid_o (w_data_valid_o),
    .data_ready_i (w_data_ready_i),
    .data_o       (w_data_o)
  );

  or_tree_scale #(
    .Lanes(Lanes),
    .Width(WideWidth)
  ) u_scale (
    .clk_i,
    .rst_ni  (run_n),
    .en_i    (enable),
    .clear_i (taken),
    .valid_i (valid3_q),
    .data_i  (y),
    .bitlen_o(scale)
  );
  assign scale_o = 7'(scale);

  always_ff @(posedge clk_i or negedge run_n) begin
    if (!run_n) begin
      group_q       <= '0;
      row_q         <= '0;
      all_through_q <= 1'b0;
      settle_q      <= '0;
    end else if (taken) begin
      group_q       <= '0;
      row_q         <= '0;
      all_through_q <= 1'b0;
      settle_q      <= '0;
    end else begin
      settle_q <= {settle_q[1:0], all_through_q};
      if (valid3_q && enable) begin
        group_q <= row_ends ? '0 : group_q + 1'b1;
        if (row_ends) row_q <= row_q + 1'b1;
        if (row_ends && row_q == cmd_q.rows - 1'b1) all_through_q <= 1'b1;
      end
    end
  end

endmodule
