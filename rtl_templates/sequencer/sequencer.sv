// SPDX-License-Identifier: Apache-2.0
//
// Runs the schedule of a training iteration, as often as asked: record by record it looks up exponents, computes shifts,
// gives the unit its command, waits until the results are in memory, and notes the scale and the cycles.
//
// The next record is loaded while a unit works. After an error nothing is started until clear_i. A record of unit Host
// stops with waiting_o until resume_i. Cycles while the host works are not counted.

module sequencer
  import sequencer_pkg::*;
#(
  parameter int unsigned OperandWidth  = 8,
  parameter int unsigned PayloadWords  = 101,
  parameter int unsigned ScheduleDepth = 1024,
  parameter int unsigned Slots         = 64,
  parameter int unsigned Counters      = 128,
  parameter logic [Units-1:0] Present  = '1, // units of this accelerator
  localparam int unsigned AddrWidth    = $clog2(ScheduleDepth)
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  // host
  input  logic                          write_i,
  input  logic [AddrWidth-1:0]          write_addr_i,
  input  logic [31:0]                   write_data_i,
  input  logic [31:0]                   length_i,
  input  logic [31:0]                   iterations_i,
  input  logic [5:0]                    rate_shift_i,
  input  logic                          bad_base_i,
  input  logic                          start_i,
  input  logic                          resume_i,
  input  logic                          clear_i,
  output logic                          started_o,   // a start is taken: not while busy or failed, nor with clear_i
  output logic                          busy_o,
  output logic                          done_o,
  output logic                          waiting_o,
  output error_e                        error_o,
  output logic [31:0]                   place_o,     // of the record under way
  output logic [31:0]                   iteration_o, // finished ones
  output logic                          step_o,      // pulse: an iteration is finished
  output logic [63:0]                   cycles_o,
  input  logic [15:0]                   select_i,    // counter or slot to be read
  output logic [31:0]                   counter_o,
  output logic [31:0]                   slot_o,      // bit length, exponent
  // units
  output logic [Units-1:0]              cmd_valid_o,
  input  logic [Units-1:0]              cmd_ready_i,
  output logic [PayloadWords-1:0][31:0] cmd_o,
  output logic signed [7:0]             shift_a_o,
  output logic signed [7:0]             shift_b_o,
  output logic [1:0]                    unit_o,      // whose streams are connected
  output logic [1:0]                    a_base_o,
  output logic [1:0]                    b_base_o,
  output logic [1:0]                    w_base_o,
  input  logic [Units-1:0]              done_i,
  input  logic [Units-1:0][6:0]         scale_i,
  input  logic [6:0]                    weight_scale_i, // of the channel unit
  input  logic [6:0]                    bias_scale_i,
  input  error_e                        fault_i
);

  localparam int unsigned SlotAddr    = Slots > 1 ? $clog2(Slots) : 1;
  localparam int unsigned CounterAddr = Counters > 1 ? $clog2(Counters) : 1;

  typedef enum logic [3:0] {Idle, Empty, Wait, Look, Shift, Issue, Run, Pause, Note, Ended, Failed} state_e;

  state_e  state_q;
  header_t next, header_q;
  error_e  error_q;
  logic    loaded, ended, cut, load, rewind, clearing, first_q, known;
  logic    more_q; // a record is loaded or being loaded
  logic    is_idle, counted, noted;
  logic [AddrWidth:0]              place;
  logic [2:0]                      notes_q; // slots still to be written
  logic [6:0]                      length_q;
  logic signed [ExponentWidth-1:0] a_q, b_q, exponent, exponent_q;
  logic signed [7:0]               shift_a, shift_b;
  logic [31:0]                     elapsed_q, iteration_q, place_q;
  logic [63:0]                     cycles_q;

  // A record is loaded as soon as the unit has taken the command of the one before.
  assign rewind = start_i && is_idle && !clear_i;
  assign load   = !rewind && !ended && (first_q || (state_q == Issue && |(cmd_valid_o & cmd_ready_i)) ||
                                        (state_q == Pause && resume_i));

  schedule_loader #(
    .Depth       (ScheduleDepth),
    .PayloadWords(PayloadWords)
  ) u_loader (
    .clk_i,
    .rst_ni,
    .write_i,
    .write_addr_i,
    .write_data_i,
    .length_i (length_i[AddrWidth:0]),
    .rewind_i (rewind || state_q == Ended),
    .load_i   (load),
    .loaded_o (loaded),
    .ended_o  (ended),
    .cut_o    (cut),
    .place_o  (place),
    .header_o (next),
    .payload_o(cmd_o)
  );

  // Exponents and bit lengths.
  logic [ExponentWidth+6:0] slot_a, slot_b, slot_d;
  logic [SlotAddr-1:0]      slot_addr;
  logic                     unused;
  logic                     slot_write;

  slot_file #(
    .Slots(Slots),
    .Width(ExponentWidth + 7)
  ) u_slots (
    .clk_i,
    .write_i     (slot_write),
    .write_addr_i(slot_addr),
    .write_data_i(slot_d),
    .a_addr_i    (state_q == Look ? SlotAddr'(header_q.a_slot) : SlotAddr'(select_i)),
    .a_o         (slot_a),
    .b_addr_i    (SlotAddr'(header_q.b_slot)),
    .b_o         (slot_b)
  );
  assign slot_o = 32'(slot_a);
  assign unused = ^{slot_b[ExponentWidth+6:ExponentWidth], select_i, header_q.payload};

  shift_rule #(
    .OperandWidth(OperandWidth)
  ) u_rule (
    .shift_i     (header_q.shift),
    .extra_i     (header_q.extra),
    .start_i     (header_q.exponent),
    .shifted_i   (header_q.shifted),
    .addend_i    (header_q.addend),
    .rate_shift_i,
    .bit_length_i(length_q),
    .a_i         (a_q),
    .b_i         (b_q),
    .shift_a_o   (shift_a),
    .shift_b_o   (shift_b),
    .exponent_o  (exponent)
  );

  always_comb begin
    slot_write = state_q == Note && |notes_q;
    slot_addr  = SlotAddr'(header_q.bias_slot);
    slot_d     = {bias_scale_i, ExponentWidth'(0)};
    if (notes_q[1]) begin
      slot_addr = SlotAddr'(header_q.weight_slot);
      slot_d    = {weight_scale_i, ExponentWidth'(0)};
    end
    if (notes_q[0]) begin
      slot_addr = SlotAddr'(header_q.o_slot);
      slot_d    = {scale_i[unit_o], exponent_q};
    end
  end

  cycle_counters #(
    .Counters(Counters)
  ) u_counters (
    .clk_i,
    .rst_ni,
    .clear_i     (rewind),
    .busy_o      (clearing),
    .add_i       (noted),
    .add_addr_i  (CounterAddr'(header_q.counter)),
    .add_cycles_i(elapsed_q + 32'd1),
    .read_addr_i (CounterAddr'(select_i)),
    .read_o      (counter_o)
  );

  // States.
  assign is_idle     = state_q == Idle;
  assign counted     = busy_o && state_q != Empty && state_q != Pause && state_q != Ended;
  assign noted       = state_q == Note && notes_q == '0;
  assign started_o   = rewind;
  assign busy_o      = !is_idle && state_q != Failed;
  assign waiting_o   = state_q == Pause;
  assign error_o     = error_q;
  assign unit_o      = header_q.unit[1:0];
  assign a_base_o    = header_q.a_base;
  assign b_base_o    = header_q.b_base;
  assign w_base_o    = header_q.w_base;
  assign known       = header_q.unit == unit_t'(Host) || (header_q.unit < unit_t'(Host) && Present[unit_o]);
  assign cmd_valid_o = state_q == Issue ? Units'(1) << unit_o : '0;
  assign place_o     = place_q;
  assign cycles_o    = cycles_q;
  assign iteration_o = iteration_q;
  assign step_o      = state_q == Ended;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q     <= Idle;
      error_q     <= NoError;
      done_o      <= 1'b0;
      first_q     <= 1'b0;
      more_q      <= 1'b0;
      notes_q     <= '0;
      elapsed_q   <= '0;
      iteration_q <= '0;
      cycles_q    <= '0;
    end else if (clear_i) begin
      state_q <= Idle;
      error_q <= NoError;
      done_o  <= 1'b0;
      first_q <= 1'b0;
      more_q  <= 1'b0;
    end else begin
      first_q <= 1'b0;
      if (counted) begin
        elapsed_q <= noted ? '0 : elapsed_q + 32'd1;
        cycles_q  <= cycles_q + 64'd1;
      end
      if (load) more_q <= 1'b1;
      else if (state_q == Look) more_q <= 1'b0;
      case (state_q)
        Idle:
          if (rewind) begin
            done_o      <= 1'b0;
            elapsed_q   <= '0;
            iteration_q <= '0;
            cycles_q    <= '0;
            state_q     <= Empty;
          end
        Empty: // the counters
          if (length_i == '0 || iterations_i == '0) begin
            state_q <= Failed;
            error_q <= EmptySchedule;
          end
          else if (length_i > ScheduleDepth) begin
            state_q <= Failed;
            error_q <= CutSchedule;
          end
          else if (bad_base_i) begin
            state_q <= Failed;
            error_q <= BadBase;
          end
          else if (!clearing) begin
            first_q <= 1'b1;
            state_q <= Wait;
          end
        Wait:
          if (loaded && !first_q) state_q <= cut ? Failed : Look;
        Look:  state_q <= known ? Shift : Failed;
        Shift: state_q <= header_q.unit == unit_t'(Host) ? Pause : Issue;
        Issue: if (|(cmd_valid_o & cmd_ready_i)) state_q <= Run;
        Run:
          if (done_i[unit_o]) begin
            state_q <= Note;
            notes_q <= header_q.writes;
          end
        Pause:
          if (resume_i) begin
            state_q <= Note;
            notes_q <= '0;
          end
        Note:
          if (noted) state_q <= more_q ? Wait : Ended;
          else notes_q <= notes_q & (notes_q - 3'd1);
        Ended: begin
          iteration_q <= iteration_q + 32'd1;
          if (iteration_q == iterations_i - 32'd1) begin
            done_o  <= 1'b1;
            state_q <= Idle;
          end else begin
            first_q <= 1'b1;
            state_q <= Wait;
          end
        end
        default: ;
      endcase
      if (state_q == Wait && loaded && !first_q && cut) error_q <= CutSchedule;
      if (state_q == Look && !known) error_q <= UnknownUnit;
      if (busy_o && fault_i != NoError) begin
        state_q <= Failed;
        error_q <= fault_i;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Wait) begin
      header_q <= next;
      place_q  <= 32'(place);
    end
    if (state_q == Look) begin
      {length_q, a_q} <= slot_a;
      b_q             <= signed'(slot_b[ExponentWidth-1:0]);
    end
    if (state_q == Shift) begin
      shift_a_o  <= shift_a;
      shift_b_o  <= shift_b;
      exponent_q <= exponent;
    end
  end

endmodule
