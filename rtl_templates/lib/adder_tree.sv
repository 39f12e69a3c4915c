// SPDX-License-Identifier: Apache-2.0
//
// Sum of NumOperands signed integers, registered at every level of a binary tree; no bit is lost.
//
// Operand i is data_i[i*InWidth +: InWidth]. sum_o follows its operands by Latency = ceil(log2(NumOperands)) enabled
// cycles; one operand passes straight through. An operand without a partner is registered along. en_i = 0 stalls.

module adder_tree #(
  parameter int unsigned NumOperands = 8,
  parameter int unsigned InWidth     = 16,
  localparam int unsigned Latency    = $clog2(NumOperands),
  localparam int unsigned OutWidth   = InWidth + Latency
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           en_i,
  input  logic                           valid_i,
  input  logic [NumOperands*InWidth-1:0] data_i,
  output logic                           valid_o,
  output logic signed [OutWidth-1:0]     sum_o
);

  if (NumOperands < 1 || NumOperands > 256) begin : gen_bad_num_operands
    $fatal(1, "adder_tree: NumOperands must be from 1 to 256");
  end
  if (InWidth < 2 || InWidth > 48) begin : gen_bad_in_width
    $fatal(1, "adder_tree: InWidth must be from 2 to 48");
  end

  for (genvar l = 0; l <= Latency; l++) begin : gen_level
    localparam int unsigned Count = (NumOperands + (1 << l) - 1) >> l;
    localparam int unsigned Width = InWidth + l;
    logic [Count-1:0][Width-1:0] sum;
    logic                        valid;

    if (l == 0) begin : gen_inputs
      assign sum   = data_i;
      assign valid = valid_i;
    end else begin : gen_sums
      localparam int unsigned Below = (NumOperands + (1 << (l - 1)) - 1) >> (l - 1);
      logic [Count-1:0][Width-1:0] sum_d, sum_q;
      logic                        valid_q;

      for (genvar i = 0; i < Count; i++) begin : gen_node
        if (2 * i + 1 < Below) begin : gen_pair
          assign sum_d[i] = Width'(signed'(gen_level[l-1].sum[2*i])) + Width'(signed'(gen_level[l-1].sum[2*i+1]));
        end else begin : gen_single
          assign sum_d[i] = Width'(signed'(gen_level[l-1].sum[2*i]));
        end
      end

      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) valid_q <= 1'b0;
        else if (en_i) valid_q <= gen_level[l-1].valid;
      end

      always_ff @(posedge clk_i) begin
        if (en_i) sum_q <= sum_d;
      end

      assign sum   = sum_q;
      assign valid = valid_q;
    end
  end

  assign valid_o = gen_level[Latency].valid;
  assign sum_o   = gen_level[Latency].sum[0];

  if (Latency == 0) begin : gen_no_registers
    logic unused_clock;
    assign unused_clock = clk_i ^ rst_ni ^ en_i;
  end

endmodule
