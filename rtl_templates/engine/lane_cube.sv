// SPDX-License-Identifier: Apache-2.0
//
// UB x UM x UN x UR x UC multipliers with the two groupings of their sums that training needs.
//
// Forward and input_grad: one tree over `in` and one accumulator for each (ir, ic, im, ib), all handed over at once.
// weight_grad: one tree over (ir, ic, ib) and one accumulator for each (in, im); the sums are copied and leave as UN words,
// word `in` having UM sums in its lowest lanes. tag_i goes along with a sum's last step and comes out with its words.

module lane_cube #(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned AccWidth     = 32,
  parameter int unsigned UB           = 1,
  parameter int unsigned UM           = 4,
  parameter int unsigned UN           = 4,
  parameter int unsigned UR           = 1,
  parameter int unsigned UC           = 1,
  parameter int unsigned TagWidth     = 1,
  localparam int unsigned Sums         = UR * UC * UM * UB,
  localparam int unsigned Terms        = UR * UC * UB,
  localparam int unsigned ProductWidth = 2 * OperandWidth,
  localparam int unsigned CountWidth   = $clog2(UN + 1)
) (
  input  logic                                                       clk_i,
  input  logic                                                       rst_ni,
  input  logic                                                       valid_i,
  input  logic                                                       weight_grad_i, // steady while valid
  input  logic                                                       first_i,
  input  logic                                                       last_i,
  input  logic [TagWidth-1:0]                                        tag_i,
  input  logic [UR-1:0][UC-1:0][UN-1:0][UB-1:0][OperandWidth-1:0]    a_i,
  input  logic [UN-1:0][UM-1:0][OperandWidth-1:0]                    weight_i,
  input  logic [UR-1:0][UC-1:0][UM-1:0][UB-1:0][OperandWidth-1:0]    error_i,
  output logic                                                       word_valid_o,
  output logic [CountWidth-1:0]                                      word_index_o, // in, or 0
  output logic                                                       word_last_o,  // of the sum's words
  output logic [TagWidth-1:0]                                        word_tag_o,
  output logic [Sums-1:0][AccWidth-1:0]                              word_o
);

  localparam int unsigned TreeLatency  = $clog2(UN);
  localparam int unsigned GradLatency  = $clog2(Terms);
  localparam int unsigned MaxLatency   = TreeLatency > GradLatency ? TreeLatency : GradLatency;
  localparam int unsigned TreeWidth    = ProductWidth + TreeLatency;
  localparam int unsigned GradWidth    = ProductWidth + GradLatency;

  if (TreeWidth > AccWidth || GradWidth > AccWidth) begin : gen_bad_acc_width
    $fatal(1, "lane_cube: AccWidth must hold the sum of one step's products");
  end

  // Flags travel beside the products: stage 0 with the products, stage l with level l of the trees.
  logic [MaxLatency:0]               valid_q, first_q, last_q;
  logic [MaxLatency:0][TagWidth-1:0] tag_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= (MaxLatency + 1)'({valid_q, valid_i});
  end
  always_ff @(posedge clk_i) begin
    first_q <= (MaxLatency + 1)'({first_q, first_i});
    last_q  <= (MaxLatency + 1)'({last_q, last_i});
    tag_q   <= ((MaxLatency + 1) * TagWidth)'({tag_q, tag_i});
  end

  // Products, in both orders.
  logic [UR-1:0][UC-1:0][UM-1:0][UB-1:0][UN-1:0][ProductWidth-1:0] product_q;
  logic [UN-1:0][UM-1:0][Terms-1:0][ProductWidth-1:0]              regrouped;

  for (genvar r = 0; r < UR; r++) begin : gen_r
    for (genvar c = 0; c < UC; c++) begin : gen_c
      for (genvar m = 0; m < UM; m++) begin : gen_m
        for (genvar b = 0; b < UB; b++) begin : gen_b
          for (genvar n = 0; n < UN; n++) begin : gen_n
            logic signed [OperandWidth-1:0] a, w;
            assign a = a_i[r][c][n][b];
            assign w = weight_grad_i ? error_i[r][c][m][b] : weight_i[n][m];
            always_ff @(posedge clk_i) product_q[r][c][m][b][n] <= a * w;
            assign regrouped[n][m][(r*UC+c)*UB+b] = product_q[r][c][m][b][n];
          end
        end
      end
    end
  end

  logic sum_step, grad_step;
  assign sum_step  = valid_q[TreeLatency] && !weight_grad_i;
  assign grad_step = valid_q[GradLatency] && weight_grad_i;

  // Sums over `in`.
  logic [Sums-1:0][AccWidth-1:0] sum_acc_q;
  for (genvar s = 0; s < Sums; s++) begin : gen_sum
    localparam int unsigned Ib = s % UB;
    localparam int unsigned Im = s / UB % UM;
    localparam int unsigned Ic = s / (UB * UM) % UC;
    localparam int unsigned Ir = s / (UB * UM * UC);
    logic signed [TreeWidth-1:0] sum;
    logic                        unused_valid;
    adder_tree #(.NumOperands(UN), .InWidth(ProductWidth)) u_tree (
      .clk_i, .rst_ni, .en_i(1'b1), .valid_i(1'b0), .data_i(product_q[Ir][Ic][Im][Ib]),
      .valid_o(unused_valid), .sum_o(sum)
    );
    always_ff @(posedge clk_i) begin
      if (sum_step) sum_acc_q[s] <= (first_q[TreeLatency] ? '0 : sum_acc_q[s]) + AccWidth'(sum);
    end
  end

  // Sums over pixels and samples.
  logic [UN-1:0][UM-1:0][AccWidth-1:0] grad_acc_q, leaving_q;
  for (genvar n = 0; n < UN; n++) begin : gen_grad_n
    for (genvar m = 0; m < UM; m++) begin : gen_grad_m
      logic signed [GradWidth-1:0] sum;
      logic                        unused_valid;
      adder_tree #(.NumOperands(Terms), .InWidth(ProductWidth)) u_tree (
        .clk_i, .rst_ni, .en_i(1'b1), .valid_i(1'b0), .data_i(regrouped[n][m]),
        .valid_o(unused_valid), .sum_o(sum)
      );
      always_ff @(posedge clk_i) begin
        if (grad_step) grad_acc_q[n][m] <= (first_q[GradLatency] ? '0 : grad_acc_q[n][m]) + AccWidth'(sum);
      end
    end
  end

  // Finished sums.
  logic                  sum_done_q, grad_done_q, grad_out_q;
  logic [TagWidth-1:0]   sum_tag_q, grad_tag_q, out_tag_q;
  logic [CountWidth-1:0] out_index_q;
  logic                  out_last;

  assign out_last = out_index_q == CountWidth'(UN - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sum_done_q  <= 1'b0;
      grad_done_q <= 1'b0;
      grad_out_q  <= 1'b0;
    end else begin
      sum_done_q  <= sum_step && last_q[TreeLatency];
      grad_done_q <= grad_step && last_q[GradLatency];
      if (grad_done_q) grad_out_q <= 1'b1;
      else if (out_last) grad_out_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    sum_tag_q  <= tag_q[TreeLatency];
    grad_tag_q <= tag_q[GradLatency];
    if (grad_done_q) begin
      leaving_q   <= grad_acc_q;
      out_tag_q   <= grad_tag_q;
      out_index_q <= '0;
    end else begin
      for (int unsigned n = 1; n < UN; n++) leaving_q[n-1] <= leaving_q[n];
      out_index_q <= out_index_q + CountWidth'(1);
    end
  end

  assign word_valid_o = grad_out_q || sum_done_q;
  assign word_index_o = grad_out_q ? out_index_q : '0;
  assign word_last_o  = !grad_out_q || out_last;
  assign word_tag_o   = grad_out_q ? out_tag_q : sum_tag_q;

  always_comb begin
    word_o = sum_acc_q;
    if (grad_out_q) word_o[UM-1:0] = leaving_q[0];
  end

endmodule
