# Synthesises and implements the accelerator out of context, for this part or the one given as argument:
#   vivado -mode batch -source scripts/vivado.tcl [-tclargs PART]
# Reports go to build/vivado. Written by dse 0.1.0: do not edit.
set root [file normalize [file join [file dirname [info script]] ..]]
set out [file join $root build vivado]
file mkdir $out
set part [expr {$argc > 0 ? [lindex $argv 0] : "xc7z020clg400-1"}]

read_verilog -sv [list \
  [file join $root rtl/channel_pkg.sv] \
  [file join $root rtl/elementwise_pkg.sv] \
  [file join $root rtl/engine_pkg.sv] \
  [file join $root rtl/pool_pkg.sv] \
  [file join $root rtl/sequencer_pkg.sv] \
  [file join $root rtl/accelerator.sv] \
  [file join $root rtl/accelerator_registers.sv] \
  [file join $root rtl/accelerator_units.sv] \
  [file join $root rtl/accumulator_buffer.sv] \
  [file join $root rtl/adder_tree.sv] \
  [file join $root rtl/axi_lite_registers.sv] \
  [file join $root rtl/buffer_ram.sv] \
  [file join $root rtl/burst_split.sv] \
  [file join $root rtl/channel_divider.sv] \
  [file join $root rtl/channel_lanes.sv] \
  [file join $root rtl/channel_loader.sv] \
  [file join $root rtl/channel_positions.sv] \
  [file join $root rtl/channel_ram.sv] \
  [file join $root rtl/channel_requests.sv] \
  [file join $root rtl/channel_root.sv] \
  [file join $root rtl/channel_statistics.sv] \
  [file join $root rtl/channel_streams.sv] \
  [file join $root rtl/channel_sums.sv] \
  [file join $root rtl/channel_sweeps.sv] \
  [file join $root rtl/channel_unit.sv] \
  [file join $root rtl/channel_vectors.sv] \
  [file join $root rtl/channel_walk.sv] \
  [file join $root rtl/channel_wide.sv] \
  [file join $root rtl/compute_sequencer.sv] \
  [file join $root rtl/conv_engine.sv] \
  [file join $root rtl/cycle_counters.sv] \
  [file join $root rtl/dma_read.sv] \
  [file join $root rtl/dma_write.sv] \
  [file join $root rtl/elementwise_lane.sv] \
  [file join $root rtl/elementwise_unit.sv] \
  [file join $root rtl/engine_command.sv] \
  [file join $root rtl/feature_buffer.sv] \
  [file join $root rtl/feature_loader.sv] \
  [file join $root rtl/group_mask.sv] \
  [file join $root rtl/half_flags.sv] \
  [file join $root rtl/lane_cube.sv] \
  [file join $root rtl/loop_offset.sv] \
  [file join $root rtl/memory_streams.sv] \
  [file join $root rtl/operand_buffer.sv] \
  [file join $root rtl/operand_loader.sv] \
  [file join $root rtl/or_tree_scale.sv] \
  [file join $root rtl/pixel_steps.sv] \
  [file join $root rtl/pool_axis.sv] \
  [file join $root rtl/pool_lane.sv] \
  [file join $root rtl/pool_loader.sv] \
  [file join $root rtl/pool_store.sv] \
  [file join $root rtl/pool_unit.sv] \
  [file join $root rtl/pool_walker.sv] \
  [file join $root rtl/ram_slice.sv] \
  [file join $root rtl/requantise.sv] \
  [file join $root rtl/result_store.sv] \
  [file join $root rtl/result_walker.sv] \
  [file join $root rtl/schedule_loader.sv] \
  [file join $root rtl/sequencer.sv] \
  [file join $root rtl/shift_rule.sv] \
  [file join $root rtl/skid_buffer.sv] \
  [file join $root rtl/slot_file.sv] \
  [file join $root rtl/stochastic_round.sv] \
  [file join $root rtl/stream_fifo.sv] \
  [file join $root rtl/stream_pack.sv] \
  [file join $root rtl/stream_switch.sv] \
  [file join $root rtl/stream_unpack.sv] \
  [file join $root rtl/tap_axis.sv] \
  [file join $root rtl/tile_walker.sv] \
  [file join $root rtl/wide_gather.sv] \
  [file join $root rtl/wide_scatter.sv] \
  [file join $root rtl/xorshift32.sv] \
  [file join $root rtl/dse_accelerator.v]]
read_xdc -mode out_of_context [file join $root constraints clock.xdc]

synth_design -top dse_accelerator -part $part -mode out_of_context
report_utilization -hierarchical -file [file join $out utilization_synth.rpt]
opt_design
place_design
phys_opt_design
route_design
report_utilization -hierarchical -file [file join $out utilization.rpt]
report_timing_summary -file [file join $out timing.rpt]
report_power -file [file join $out power.rpt]
write_checkpoint -force [file join $out dse_accelerator.dcp]
