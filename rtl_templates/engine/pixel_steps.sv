// SPDX-License-Identifier: Apache-2.0
//
// Where a pixel of the feature operand lies in the feature buffer, along one axis, pixel by pixel.
//
// Pixel y of a window belongs to phase y mod stride and place q = y div stride; places are dealt out to Banks banks in
// turn. A word's address along this axis is (q div Banks) * word_q_i + phase * word_p_i. restart_i goes to pixel 0,
// step_i to the next one, turn_i to the one Banks places further, load_i to the state given. Outputs that are Banks
// neighbours read one pixel of each bank.

module pixel_steps
  import engine_pkg::*;
#(
  parameter int unsigned Banks = 2,
  localparam int unsigned BankWidth = Banks > 1 ? $clog2(Banks) : 1
) (
  input  logic                 clk_i,
  input  logic                 restart_i,
  input  logic                 step_i,
  input  logic                 turn_i,
  input  logic                 load_i,
  input  index_t               stride_i,
  input  index_t               word_q_i,
  input  index_t               word_p_i,
  input  index_t               load_phase_i,
  input  logic [BankWidth-1:0] load_bank_i,
  input  index_t               load_place_i,
  input  index_t               load_addr_i,
  output index_t               phase_o,
  output logic [BankWidth-1:0] bank_o,
  output index_t               place_o, // (q div Banks) * word_q_i
  output index_t               addr_o
);

  index_t               phase_q, place_q, addr_q;
  logic [BankWidth-1:0] bank_q;
  index_t               next_place;
  logic                 next_q, next_word;

  assign next_q     = phase_q == stride_i - index_t'(1);
  assign next_word  = next_q && bank_q == BankWidth'(Banks - 1);
  assign next_place = next_word ? place_q + word_q_i : place_q;

  always_ff @(posedge clk_i) begin
    if (restart_i) begin
      phase_q <= '0;
      bank_q  <= '0;
      place_q <= '0;
      addr_q  <= '0;
    end else if (load_i) begin
      phase_q <= load_phase_i;
      bank_q  <= load_bank_i;
      place_q <= load_place_i;
      addr_q  <= load_addr_i;
    end else if (step_i) begin
      phase_q <= next_q ? '0 : phase_q + index_t'(1);
      if (next_q) bank_q <= next_word ? '0 : bank_q + BankWidth'(1);
      place_q <= next_place;
      addr_q  <= next_q ? next_place : addr_q + word_p_i;
    end else if (turn_i) begin
      place_q <= place_q + word_q_i;
      addr_q  <= addr_q + word_q_i;
    end
  end

  assign phase_o = phase_q;
  assign bank_o  = bank_q;
  assign place_o = place_q;
  assign addr_o  = addr_q;

endmodule
