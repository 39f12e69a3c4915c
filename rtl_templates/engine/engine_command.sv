// SPDX-License-Identifier: Apache-2.0
//
// Word by word, the fields of a command; of each 32-bit word the bits that the field has. Combinational.

module engine_command
  import engine_pkg::*;
(
  input  logic [CommandWords*32-1:0] words_i,
  output command_t                   command_o
);

  logic [CommandWords-1:0][31:0] word;
  assign word = words_i;

  always_comb begin
    command_o.mode                = mode_e'(word[0][1:0]);
    command_o.shift               = word[1][7:0];
    command_o.raw                 = word[2][0];
    command_o.relu                = word[3][0];
    command_o.count[0]            = word[4][IndexWidth-1:0];
    command_o.count[1]            = word[5][IndexWidth-1:0];
    command_o.count[2]            = word[6][IndexWidth-1:0];
    command_o.count[3]            = word[7][IndexWidth-1:0];
    command_o.count[4]            = word[8][IndexWidth-1:0];
    command_o.m_blocks.full       = word[9][IndexWidth-1:0];
    command_o.m_blocks.last       = word[10][IndexWidth-1:0];
    command_o.n_blocks.full       = word[11][IndexWidth-1:0];
    command_o.n_blocks.last       = word[12][IndexWidth-1:0];
    command_o.b_blocks.full       = word[13][IndexWidth-1:0];
    command_o.b_blocks.last       = word[14][IndexWidth-1:0];
    command_o.m_groups.full       = word[15][IndexWidth-1:0];
    command_o.m_groups.last       = word[16][IndexWidth-1:0];
    command_o.n_groups.full       = word[17][IndexWidth-1:0];
    command_o.n_groups.last       = word[18][IndexWidth-1:0];
    command_o.rows.full           = word[19][IndexWidth-1:0];
    command_o.rows.last           = word[20][IndexWidth-1:0];
    command_o.row_steps.full      = word[21][IndexWidth-1:0];
    command_o.row_steps.last      = word[22][IndexWidth-1:0];
    command_o.cols                = word[23][IndexWidth-1:0];
    command_o.col_steps           = word[24][IndexWidth-1:0];
    command_o.row_axis.taps       = word[25][IndexWidth-1:0];
    command_o.row_axis.classes    = word[26][IndexWidth-1:0];
    command_o.row_axis.class_last = word[27][IndexWidth-1:0];
    command_o.row_axis.stride     = word[28][IndexWidth-1:0];
    command_o.row_axis.tap_top    = word[29][IndexWidth-1:0];
    command_o.row_axis.tap_step   = word[30][IndexWidth-1:0];
    command_o.row_axis.tap_class  = word[31][IndexWidth-1:0];
    command_o.row_axis.acc_class  = word[32][IndexWidth-1:0];
    command_o.col_axis.taps       = word[33][IndexWidth-1:0];
    command_o.col_axis.classes    = word[34][IndexWidth-1:0];
    command_o.col_axis.class_last = word[35][IndexWidth-1:0];
    command_o.col_axis.stride     = word[36][IndexWidth-1:0];
    command_o.col_axis.tap_top    = word[37][IndexWidth-1:0];
    command_o.col_axis.tap_step   = word[38][IndexWidth-1:0];
    command_o.col_axis.tap_class  = word[39][IndexWidth-1:0];
    command_o.col_axis.acc_class  = word[40][IndexWidth-1:0];
    command_o.a.base              = word[41][BeatWidth-1:0];
    command_o.a.step[0]           = word[42][BeatWidth-1:0];
    command_o.a.step[1]           = word[43][BeatWidth-1:0];
    command_o.a.step[2]           = word[44][BeatWidth-1:0];
    command_o.a.step[3]           = word[45][BeatWidth-1:0];
    command_o.a.step[4]           = word[46][BeatWidth-1:0];
    command_o.a.outer             = word[47][BeatWidth-1:0];
    command_o.a.inner             = word[48][BeatWidth-1:0];
    command_o.a.row               = word[49][BeatWidth-1:0];
    command_o.a_y                 = word[50][IndexWidth-1:0];
    command_o.a_y_step            = word[51][IndexWidth-1:0];
    command_o.a_x                 = word[52][IndexWidth-1:0];
    command_o.a_rows.full         = word[53][IndexWidth-1:0];
    command_o.a_rows.last         = word[54][IndexWidth-1:0];
    command_o.a_height            = word[55][IndexWidth-1:0];
    command_o.a_width             = word[56][IndexWidth-1:0];
    command_o.a_cells             = word[57][IndexWidth-1:0];
    command_o.a_word_b            = word[58][IndexWidth-1:0];
    command_o.a_word_n            = word[59][IndexWidth-1:0];
    command_o.a_word_q            = word[60][IndexWidth-1:0];
    command_o.a_word_pr           = word[61][IndexWidth-1:0];
    command_o.a_word_pc           = word[62][IndexWidth-1:0];
    command_o.b.base              = word[63][BeatWidth-1:0];
    command_o.b.step[0]           = word[64][BeatWidth-1:0];
    command_o.b.step[1]           = word[65][BeatWidth-1:0];
    command_o.b.step[2]           = word[66][BeatWidth-1:0];
    command_o.b.step[3]           = word[67][BeatWidth-1:0];
    command_o.b.step[4]           = word[68][BeatWidth-1:0];
    command_o.b.outer             = word[69][BeatWidth-1:0];
    command_o.b.inner             = word[70][BeatWidth-1:0];
    command_o.b.row               = word[71][BeatWidth-1:0];
    command_o.b_beats             = word[72][BeatWidth-1:0];
    command_o.b_beats_last        = word[73][BeatWidth-1:0];
    command_o.b_cells             = word[74][IndexWidth-1:0];
    command_o.b_word_m            = word[75][IndexWidth-1:0];
    command_o.b_word_n            = word[76][IndexWidth-1:0];
    command_o.acc_m               = word[77][IndexWidth-1:0];
    command_o.acc_n               = word[78][IndexWidth-1:0];
    command_o.acc_row             = word[79][IndexWidth-1:0];
    command_o.o.base              = word[80][BeatWidth-1:0];
    command_o.o.step[0]           = word[81][BeatWidth-1:0];
    command_o.o.step[1]           = word[82][BeatWidth-1:0];
    command_o.o.step[2]           = word[83][BeatWidth-1:0];
    command_o.o.step[3]           = word[84][BeatWidth-1:0];
    command_o.o.step[4]           = word[85][BeatWidth-1:0];
    command_o.o.outer             = word[86][BeatWidth-1:0];
    command_o.o.inner             = word[87][BeatWidth-1:0];
    command_o.o.row               = word[88][BeatWidth-1:0];
    command_o.o_rows_first        = word[89][IndexWidth-1:0];
    command_o.o_rows_mid          = word[90][IndexWidth-1:0];
    command_o.o_rows_last         = word[91][IndexWidth-1:0];
    command_o.o_beats_first       = word[92][BeatWidth-1:0];
    command_o.o_beats_mid         = word[93][BeatWidth-1:0];
    command_o.o_beats_last        = word[94][BeatWidth-1:0];
    command_o.o_cells             = word[95][IndexWidth-1:0];
    command_o.o_width             = word[96][IndexWidth-1:0];
    command_o.o_row_class         = word[97][IndexWidth-1:0];
    command_o.o_col_class         = word[98][IndexWidth-1:0];
    command_o.mask_m              = word[99][IndexWidth-1:0];
    command_o.mask_n              = word[100][IndexWidth-1:0];
  end

  logic unused; // the upper bits of narrow fields
  assign unused = ^words_i;

endmodule
