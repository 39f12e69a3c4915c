// SPDX-License-Identifier: Apache-2.0
//
// Outputs x Inputs floating-point lanes of one multiplier and one adder each; the adders serve both groupings.
//
// Lane (m, n) multiplies a_i[n], shared by all outputs, by b_i[m][n].
// tree_i = 0: adder n adds partial_i[m][n] to the product of lane (m, n) (weight gradient).
// tree_i = 1: adders 1 to Inputs-1 sum the products over n, adder 0 adds partial_i[m][0] to their sum (forward, input
// gradient). Adder k takes operands 2k and 2k+1: below Inputs the results of those adders, else products less Inputs.
// partial_i is taken when it meets its addend: 3 enabled cycles (the multiplier's latency) after the operands in lane
// mode, 3 + 5 * log2(Inputs) after them in tree mode; result_o follows 5 enabled cycles later. Whoever changes tree_i
// drains the pipeline first. In tree mode only result_o[m][0] is meaningful. en_i = 0 stalls.

module fp_lane_array #(
  parameter int unsigned ExpWidth = 8,
  parameter int unsigned ManWidth = 7,
  parameter int unsigned Outputs  = 4,
  parameter int unsigned Inputs   = 4, // a power of two
  localparam int unsigned Width   = 1 + ExpWidth + ManWidth
) (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,
  input  logic                                      en_i,
  input  logic                                      tree_i,
  input  logic                                      valid_i,
  input  logic [Inputs-1:0][Width-1:0]              a_i,
  input  logic [Outputs-1:0][Inputs-1:0][Width-1:0] b_i,
  input  logic [Outputs-1:0][Inputs-1:0][Width-1:0] partial_i,
  output logic                                      valid_o,
  output logic [Outputs-1:0][Inputs-1:0][Width-1:0] result_o
);

  if (Outputs < 1 || Inputs < 1 || (Inputs & (Inputs - 1)) != 0) begin : gen_bad_shape
    $fatal(1, "fp_lane_array: Outputs must be at least 1 and Inputs a power of two");
  end

  logic [Outputs-1:0][Inputs-1:0] product_valid, sum_valid;

  for (genvar m = 0; m < Outputs; m++) begin : gen_output
    // node[k]: result of adder k below Inputs, product k - Inputs from there on.
    logic [2*Inputs-1:0][Width-1:0] node;
    logic [2*Inputs-1:0]            node_valid;

    for (genvar n = 0; n < Inputs; n++) begin : gen_lane
      logic [Width-1:0] addend_a, addend_b;
      logic             addend_valid;

      fp_mul #(
        .ExpWidth(ExpWidth),
        .ManWidth(ManWidth)
      ) u_mul (
        .clk_i,
        .rst_ni,
        .en_i,
        .valid_i,
        .a_i     (a_i[n]),
        .b_i     (b_i[m][n]),
        .valid_o (product_valid[m][n]),
        .result_o(node[Inputs+n])
      );
      assign node_valid[Inputs+n] = product_valid[m][n];

      if (n == 0) begin : gen_last_adder
        // node[1] is the root of the tree, or the only product.
        assign addend_a     = tree_i ? node[1] : node[Inputs];
        assign addend_b     = partial_i[m][0];
        assign addend_valid = tree_i ? node_valid[1] : node_valid[Inputs];
      end else begin : gen_tree_adder
        assign addend_a     = tree_i ? node[2*n] : node[Inputs+n];
        assign addend_b     = tree_i ? node[2*n+1] : partial_i[m][n];
        assign addend_valid = tree_i ? node_valid[2*n] : node_valid[Inputs+n];
      end

      fp_add #(
        .ExpWidth(ExpWidth),
        .ManWidth(ManWidth)
      ) u_add (
        .clk_i,
        .rst_ni,
        .en_i,
        .valid_i (addend_valid),
        .a_i     (addend_a),
        .b_i     (addend_b),
        .valid_o (sum_valid[m][n]),
        .result_o(node[n])
      );
      assign node_valid[n]  = sum_valid[m][n];
      assign result_o[m][n] = node[n];
    end
  end

  assign valid_o = sum_valid[0][0];

  // All lanes run in step: one lane's flags stand for all.
  logic unused_flags;
  assign unused_flags = ^{product_valid, sum_valid};

endmodule
