// SPDX-License-Identifier: Apache-2.0
//
// Outputs x Inputs integer multiplier-accumulator lanes in the two groupings that training needs.
//
// Lane (m, n) multiplies a_i[n], shared by all outputs, by b_i[m][n] and keeps its own accumulator (weight gradient).
// One adder tree per output sums the products over n, and one more accumulator per output sums the trees' results
// (forward and input gradient). clear_i, sampled with valid operands, starts a new sum in both groupings.
//
// lane_acc_o follows its operands by 2 enabled cycles, tree_acc_o by 2 + ceil(log2(Inputs)). en_i = 0 stalls.

module int_lane_array #(
  parameter int unsigned OperandWidth = 8,
  parameter int unsigned AccWidth     = 32,
  parameter int unsigned Outputs      = 4,
  parameter int unsigned Inputs       = 4,
  localparam int unsigned ProductWidth = 2 * OperandWidth,
  localparam int unsigned TreeLatency  = $clog2(Inputs),
  localparam int unsigned TreeWidth    = ProductWidth + TreeLatency
) (
  input  logic                                               clk_i,
  input  logic                                               rst_ni,
  input  logic                                               en_i,
  input  logic                                               valid_i,
  input  logic                                               clear_i,
  input  logic [Inputs-1:0][OperandWidth-1:0]                a_i,
  input  logic [Outputs-1:0][Inputs-1:0][OperandWidth-1:0]   b_i,
  output logic                                               lane_valid_o,
  output logic [Outputs-1:0][Inputs-1:0][AccWidth-1:0]       lane_acc_o,
  output logic                                               tree_valid_o,
  output logic [Outputs-1:0][AccWidth-1:0]                   tree_acc_o
);

  if (Outputs < 1 || Inputs < 1) begin : gen_bad_shape
    $fatal(1, "int_lane_array: Outputs and Inputs must be at least 1");
  end
  if (TreeWidth > AccWidth) begin : gen_bad_acc_width
    $fatal(1, "int_lane_array: AccWidth must hold the sum of Inputs products");
  end

  // clear_i travels beside the products, then beside the levels of the trees.
  logic [TreeLatency:0] clear_q;

  if (TreeLatency == 0) begin : gen_clear_alone
    always_ff @(posedge clk_i) begin
      if (en_i) clear_q <= clear_i;
    end
  end else begin : gen_clear_line
    always_ff @(posedge clk_i) begin
      if (en_i) clear_q <= {clear_q[TreeLatency-1:0], clear_i};
    end
  end

  logic [Outputs-1:0][Inputs-1:0] product_valid, acc_valid;
  logic [Outputs-1:0]             sum_valid;
  logic                           tree_valid_q;

  for (genvar m = 0; m < Outputs; m++) begin : gen_output
    logic [Inputs-1:0][ProductWidth-1:0] product;
    logic signed [TreeWidth-1:0]         sum;
    logic signed [AccWidth-1:0]          acc_d, acc_q;

    for (genvar n = 0; n < Inputs; n++) begin : gen_lane
      mac_lane #(
        .OperandWidth(OperandWidth),
        .AccWidth    (AccWidth)
      ) u_lane (
        .clk_i,
        .rst_ni,
        .en_i,
        .valid_i,
        .clear_i,
        .a_i            (a_i[n]),
        .b_i            (b_i[m][n]),
        .product_valid_o(product_valid[m][n]),
        .product_o      (product[n]),
        .acc_valid_o    (acc_valid[m][n]),
        .acc_o          (lane_acc_o[m][n])
      );
    end

    adder_tree #(
      .NumOperands(Inputs),
      .InWidth    (ProductWidth)
    ) u_tree (
      .clk_i,
      .rst_ni,
      .en_i,
      .valid_i(product_valid[m][0]),
      .data_i (product),
      .valid_o(sum_valid[m]),
      .sum_o  (sum)
    );

    assign acc_d = (clear_q[TreeLatency] ? '0 : acc_q) + AccWidth'(sum);

    always_ff @(posedge clk_i) begin
      if (en_i && sum_valid[m]) acc_q <= acc_d;
    end

    assign tree_acc_o[m] = acc_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) tree_valid_q <= 1'b0;
    else if (en_i) tree_valid_q <= sum_valid[0];
  end

  assign lane_valid_o = acc_valid[0][0];
  assign tree_valid_o = tree_valid_q;

  // All lanes run in step: one lane's flags stand for all.
  logic unused_flags;
  assign unused_flags = ^{product_valid, acc_valid, sum_valid};

endmodule
