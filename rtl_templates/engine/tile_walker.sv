// SPDX-License-Identifier: Apache-2.0
//
// Walks the tiles of a command, level 4 fastest, and carries the DRAM address of the present one along.
//
// start_i begins with the first tile; next_i leaves a tile. changed_o is the outermost level whose index changed on the
// way to the present tile (0 at the first); idle at level 0 means the group, 1 the output channels, 2 to 4 depend on the
// mode. next_level_o is what changed_o will be after next_i; at the last tile it is 0. A step that skips back to the
// start of inner levels costs nothing: each level remembers the address at which its present index began.

module tile_walker
  import engine_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               start_i,
  input  logic               next_i,
  input  index_t [Levels-1:0] count_i,
  input  beat_t              base_i,
  input  beat_t [Levels-1:0] step_i,
  output logic               active_o,
  output logic               final_o, // the last tile of the command
  output logic [2:0]         changed_o,
  output logic [2:0]         next_level_o,
  output logic [Levels-1:0]  first_o, // per level: the index is 0
  output logic [Levels-1:0]  last_o,  // per level: the index is the last
  output beat_t              addr_o
);

  logic                active_q;
  logic [2:0]          changed_q;
  index_t [Levels-1:0] index_q;
  beat_t [Levels-1:0]  addr_q;
  beat_t               moved;

  always_comb begin
    next_level_o = '0;
    for (int unsigned l = 0; l < Levels; l++) begin
      first_o[l] = index_q[l] == '0;
      last_o[l]  = index_q[l] == count_i[l] - index_t'(1);
      if (!last_o[l]) next_level_o = 3'(l);
    end
  end

  assign final_o = &last_o;
  assign moved   = addr_q[next_level_o] + step_i[next_level_o];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q  <= 1'b0;
      changed_q <= '0;
      index_q   <= '0;
      addr_q    <= '0;
    end else if (start_i) begin
      active_q  <= 1'b1;
      changed_q <= '0;
      index_q   <= '0;
      addr_q    <= {Levels{base_i}};
    end else if (active_q && next_i) begin
      active_q  <= !final_o;
      changed_q <= next_level_o;
      for (int unsigned l = 0; l < Levels; l++) begin
        if (3'(l) >= next_level_o) addr_q[l] <= moved;
        if (3'(l) > next_level_o) index_q[l] <= '0;
        if (3'(l) == next_level_o) index_q[l] <= index_q[l] + index_t'(1);
      end
    end
  end

  assign active_o  = active_q;
  assign changed_o = changed_q;
  assign addr_o    = addr_q[Levels-1];

endmodule
