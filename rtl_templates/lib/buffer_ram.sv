// SPDX-License-Identifier: Apache-2.0
//
// Memory with one write and one read port, written in lanes; read_o follows read_addr_i by a cycle with read_en_i.
//
// Reading an address in the cycle in which it is written gives what was there before.
//
// Up to 64 words are LUT RAM. More are cut into columns and rows of slices that are one block RAM each, so that any tool
// takes as many as dse.engine.resources counts: a RAMB18 has 512 << shape words of half_width(shape) bits (AMD UG473 and
// UG573), and the shape is the one that takes the fewest, of these the one with the fewest rows. Two RAMB18 side by
// side are a RAMB36. The ninth bit of a byte is used where all lanes are written together, that is with one lane.

module buffer_ram #(
  parameter int unsigned Lanes     = 4,
  parameter int unsigned LaneWidth = 8, // with several lanes a multiple of 8
  parameter int unsigned Depth     = 512,
  localparam int unsigned AddrWidth = Depth > 1 ? $clog2(Depth) : 1
) (
  input  logic                       clk_i,
  input  logic [Lanes-1:0]           write_i,
  input  logic [AddrWidth-1:0]       write_addr_i,
  input  logic [Lanes*LaneWidth-1:0] write_data_i,
  input  logic                       read_en_i,
  input  logic [AddrWidth-1:0]       read_addr_i,
  output logic [Lanes*LaneWidth-1:0] read_o
);

  if (Lanes < 1 || LaneWidth < 1 || Depth < 1) begin : gen_bad_size
    $fatal(1, "buffer_ram: Lanes, LaneWidth and Depth must be at least 1");
  end
  if (Lanes > 1 && LaneWidth % 8 != 0) begin : gen_bad_lane
    $fatal(1, "buffer_ram: LaneWidth must be a multiple of 8 with several lanes");
  end

  localparam int unsigned LutDepth  = 64; // words of a LUT
  localparam int unsigned HalfDepth = 512;
  localparam int unsigned Shapes    = 6;
  localparam int unsigned Width     = Lanes * LaneWidth;

  function automatic int unsigned half_width(int unsigned shape);
    return shape < 3 ? (Lanes > 1 ? 32 : 36) >> shape : 32 >> shape;
  endfunction
  function automatic int unsigned rows_of(int unsigned shape);
    return (Depth - 1) / (HalfDepth << shape) + 1;
  endfunction
  function automatic int unsigned halves_of(int unsigned shape);
    return rows_of(shape) * ((Width - 1) / half_width(shape) + 1);
  endfunction
  function automatic int unsigned best_shape();
    best_shape = 0;
    for (int unsigned s = 1; s < Shapes; s++) begin
      if (halves_of(s) < halves_of(best_shape) ||
          (halves_of(s) == halves_of(best_shape) && rows_of(s) < rows_of(best_shape))) best_shape = s;
    end
  endfunction

  if (Depth <= LutDepth) begin : gen_lut
    ram_slice #(.Bytes(Lanes), .ByteWidth(LaneWidth), .Depth(Depth), .Block(1'b0)) u_slice (
      .clk_i, .write_i, .write_addr_i, .write_data_i, .read_en_i, .read_addr_i, .read_o
    );
  end else begin : gen_block
    localparam int unsigned Shape       = best_shape();
    localparam int unsigned Rows        = rows_of(Shape);
    localparam int unsigned SliceDepth  = HalfDepth << Shape;
    localparam int unsigned SliceAddr   = $clog2(SliceDepth);
    localparam int unsigned ColumnWidth = 2 * half_width(Shape);
    localparam int unsigned RowWidth    = Rows > 1 ? $clog2(Rows) : 1;

    logic [RowWidth-1:0] write_row, read_row, read_row_q;
    assign write_row = RowWidth'(32'(write_addr_i) / SliceDepth);
    assign read_row  = RowWidth'(32'(read_addr_i) / SliceDepth);
    always_ff @(posedge clk_i) if (read_en_i) read_row_q <= read_row;

    logic [Rows-1:0][Width-1:0] read;
    assign read_o = read[read_row_q];

    for (genvar r = 0; r < Rows; r++) begin : gen_row
      for (genvar low = 0; low < Width; low += ColumnWidth) begin : gen_column
        localparam int unsigned Size      = Width - low < ColumnWidth ? Width - low : ColumnWidth;
        localparam int unsigned ByteWidth = Lanes > 1 && Size > 8 ? 8 : Size;
        localparam int unsigned Bytes     = Size / ByteWidth;

        logic [Bytes-1:0] write;
        for (genvar b = 0; b < Bytes; b++) begin : gen_byte
          assign write[b] = write_i[(low+b*ByteWidth)/LaneWidth] && write_row == RowWidth'(r);
        end

        ram_slice #(.Bytes(Bytes), .ByteWidth(ByteWidth), .Depth(SliceDepth)) u_slice (
          .clk_i,
          .write_i     (write),
          .write_addr_i(SliceAddr'(32'(write_addr_i))),
          .write_data_i(write_data_i[low+:Size]),
          .read_en_i,
          .read_addr_i (SliceAddr'(32'(read_addr_i))),
          .read_o      (read[r][low+:Size])
        );
      end
    end
  end

endmodule
