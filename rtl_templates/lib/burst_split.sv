// SPDX-License-Identifier: Apache-2.0
//
// Cuts a transfer of any number of beats into AXI4 INCR bursts: at most 256 beats, none across a 4 KiB boundary.
//
// A command is a beat-aligned byte address and a number of beats. Bursts end at multiples of 256 beats or 4 KiB,
// whichever is less, so that all but the first and last are full. One burst a cycle, the next command's first burst in
// the cycle after the last of the one before. A command that is not aligned or has no beats is dropped and
// bad_command_o pulses. clear_i drops the command at work; none is taken in that cycle.

module burst_split #(
  parameter int unsigned AddrWidth = 32,
  parameter int unsigned DataWidth = 64,
  parameter int unsigned LenWidth  = 16
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clear_i,
  input  logic                 cmd_valid_i,
  output logic                 cmd_ready_o,
  input  logic [AddrWidth-1:0] cmd_addr_i,  // bytes
  input  logic [LenWidth-1:0]  cmd_beats_i,
  output logic                 bad_command_o,
  output logic                 burst_valid_o,
  input  logic                 burst_ready_i,
  output logic [AddrWidth-1:0] burst_addr_o, // bytes
  output logic [7:0]           burst_len_o,  // beats - 1
  output logic                 burst_final_o // the last of its command
);

  if (DataWidth < 32 || DataWidth > 1024 || (DataWidth & (DataWidth - 1)) != 0) begin : gen_bad_data_width
    $fatal(1, "burst_split: DataWidth must be a power of two from 32 to 1024");
  end
  if (AddrWidth < 13 || AddrWidth > 64) begin : gen_bad_addr_width
    $fatal(1, "burst_split: AddrWidth must be from 13 to 64");
  end
  if (LenWidth < 1 || LenWidth > 32) begin : gen_bad_len_width
    $fatal(1, "burst_split: LenWidth must be from 1 to 32");
  end

  localparam int unsigned ByteBits  = $clog2(DataWidth / 8);
  localparam int unsigned PageBeats = 4096 / (DataWidth / 8);
  localparam int unsigned MaxBeats  = PageBeats < 256 ? PageBeats : 256;
  localparam int unsigned BeatBits  = $clog2(MaxBeats);
  localparam int unsigned WordWidth = AddrWidth - ByteBits;
  localparam int unsigned CmpWidth  = (LenWidth > BeatBits + 1 ? LenWidth : BeatBits + 1) + 1;

  logic                 active_q;
  logic [WordWidth-1:0] word_q; // address in beats
  logic [LenWidth-1:0]  left_q; // beats
  logic [BeatBits:0]    room;   // beats up to the next boundary
  logic [BeatBits:0]    beats;
  logic                 take, good, burst_taken;

  assign room          = (BeatBits + 1)'(MaxBeats) - (BeatBits + 1)'(word_q[BeatBits-1:0]);
  assign burst_final_o = CmpWidth'(left_q) <= CmpWidth'(room);
  assign beats         = burst_final_o ? (BeatBits + 1)'(left_q) : room;
  assign burst_valid_o = active_q;
  assign burst_addr_o  = {word_q, ByteBits'(0)};
  assign burst_len_o   = 8'(beats - 1'b1);
  assign burst_taken   = burst_valid_o && burst_ready_i;

  assign cmd_ready_o   = !clear_i && (!active_q || (burst_taken && burst_final_o));
  assign take          = cmd_valid_i && cmd_ready_o;
  assign good          = cmd_addr_i[ByteBits-1:0] == '0 && cmd_beats_i != '0;
  assign bad_command_o = take && !good;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) active_q <= 1'b0;
    else if (clear_i) active_q <= 1'b0;
    else if (take) active_q <= good;
    else if (burst_taken && burst_final_o) active_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      word_q <= cmd_addr_i[AddrWidth-1:ByteBits];
      left_q <= cmd_beats_i;
    end else if (burst_taken) begin
      word_q <= word_q + WordWidth'(beats);
      left_q <= left_q - LenWidth'(beats);
    end
  end

endmodule
