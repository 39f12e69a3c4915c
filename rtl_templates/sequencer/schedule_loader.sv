// SPDX-License-Identifier: Apache-2.0
//
// The schedule memory, and the next record in it: header and command, a word a cycle, while the record before runs.
//
// load_i takes the record at the present place; loaded_o rises when all of it is there and falls with the next load_i.
// rewind_i goes back to the first record. ended_o: the place is the end. cut_o: the record goes beyond it.

module schedule_loader
  import sequencer_pkg::*;
#(
  parameter int unsigned Depth        = 1024, // words, a power of two
  parameter int unsigned PayloadWords = 101,
  localparam int unsigned AddrWidth   = $clog2(Depth)
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          write_i,
  input  logic [AddrWidth-1:0]          write_addr_i,
  input  logic [31:0]                   write_data_i,
  input  logic [AddrWidth:0]            length_i, // words
  input  logic                          rewind_i,
  input  logic                          load_i,
  output logic                          loaded_o,
  output logic                          ended_o,
  output logic                          cut_o,
  output logic [AddrWidth:0]            place_o,  // of the record that is or was loaded last
  output header_t                       header_o,
  output logic [PayloadWords-1:0][31:0] payload_o
);

  if (Depth < 16 || (Depth & (Depth - 1)) != 0) begin : gen_bad_depth
    $fatal(1, "schedule_loader: Depth must be a power of two and at least 16");
  end
  if (PayloadWords < 1 || PayloadWords > 255) begin : gen_bad_payload
    $fatal(1, "schedule_loader: PayloadWords must be from 1 to 255");
  end

  localparam logic [7:0] Header = 8'(HeaderWords);

  logic [AddrWidth:0] next_q, place_q; // next record, this one
  logic [7:0]         asked_q, came_q; // words of this record
  logic               loading_q, coming_q, loaded_q;
  logic [31:0]        word;
  logic [HeaderWords-1:0][31:0]  header_q;
  logic [PayloadWords-1:0][31:0] payload_q;
  logic [8:0]         total;
  logic               last;

  buffer_ram #(
    .Lanes    (1),
    .LaneWidth(32),
    .Depth    (Depth)
  ) u_memory (
    .clk_i,
    .write_i,
    .write_addr_i,
    .write_data_i,
    .read_en_i   (loading_q),
    .read_addr_i (AddrWidth'(place_q + (AddrWidth + 1)'(asked_q))),
    .read_o      (word)
  );

  assign header_o  = header(header_q);
  assign payload_o = payload_q;
  assign loaded_o  = loaded_q;
  assign place_o   = place_q;
  assign ended_o   = next_q >= length_i;
  assign total     = 9'(Header) + 9'(came_q == '0 ? word[15:8] : header_q[0][15:8]);
  assign last      = coming_q && 9'(came_q) == total - 9'd1;
  assign cut_o     = loaded_q && (32'(next_q) > 32'(length_i) || 32'(header_o.payload) > PayloadWords);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      next_q    <= '0;
      place_q   <= '0;
      loading_q <= 1'b0;
      coming_q  <= 1'b0;
      loaded_q  <= 1'b0;
      asked_q   <= '0;
      came_q    <= '0;
    end else if (rewind_i) begin
      next_q    <= '0;
      loading_q <= 1'b0;
      coming_q  <= 1'b0;
      loaded_q  <= 1'b0;
    end else if (load_i) begin
      place_q   <= next_q;
      loading_q <= 1'b1;
      coming_q  <= 1'b0;
      loaded_q  <= 1'b0;
      asked_q   <= '0;
      came_q    <= '0;
    end else if (loading_q) begin
      asked_q  <= asked_q + 8'd1;
      coming_q <= 1'b1;
      came_q   <= came_q + 8'(coming_q);
      if (last) begin
        loading_q <= 1'b0;
        loaded_q  <= 1'b1;
        next_q    <= place_q + (AddrWidth + 1)'(total);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (loading_q && coming_q) begin
      for (int unsigned i = 0; i < HeaderWords; i++) if (32'(came_q) == i) header_q[i] <= word;
      for (int unsigned i = 0; i < PayloadWords; i++) if (32'(came_q) == i + HeaderWords) payload_q[i] <= word;
    end
  end

endmodule
