// Drives dma_read or dma_write (DSE_READ = 1 or 0) against the DRAM model; called from test_dma.py.

#include "axi_dram.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Outcome {
  uint64_t cycles, first_beat, last_beat, beats, lasts_wrong, dones;
  uint32_t error, violations;
};

struct Bench {
  Bench(const dse::DramConfig& config, unsigned data_bytes) : dram(config, data_bytes), bytes(data_bytes) {
    random = config.seed * 2654435761u | 1;
    reset();
  }

  VerilatedContext context;
  DSE_TOP top{&context};
  dse::AxiDram dram;
  unsigned bytes;
  uint64_t random;
  uint32_t cmd_stall = 0, data_stall = 0; // in 1/65536
  Outcome out{};

  void edge() {
    top.clk_i = 0;
    top.eval();
    top.clk_i = 1;
    top.eval();
  }

  void reset() {
    top.rst_ni = 0;
    top.clear_i = 0;
    top.cmd_valid_i = 0;
    edge();
    edge();
    top.rst_ni = 1;
    dram.reset();
  }

  bool stalls(uint32_t chance) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return ((random >> 20) & 0xffff) < chance;
  }

  /// Ends a cycle whose inputs are set and evaluated.
  void finish() {
#if DSE_READ
    dram.sample_read(top);
#else
    dram.sample_write(top);
#endif
    dram.step();
    top.clk_i = 1;
    top.eval();
  }

  void begin() {
#if DSE_READ
    dram.drive_read(top);
#else
    dram.drive_write(top);
#endif
    top.clk_i = 0;
    top.eval();
  }

  void pulse_clear() {
    top.clear_i = 1;
    top.cmd_valid_i = 0;
    begin();
    finish();
    top.clear_i = 0;
  }

  bool on_bus() const {
#if DSE_READ
    return top.axi_arvalid_o;
#else
    return top.axi_awvalid_o || top.axi_wvalid_o;
#endif
  }

  /// Runs without commands and data until nothing is under way; false if that does not come.
  bool settle(uint64_t limit) {
    for (uint64_t i = 0; i < limit; i++) {
      begin();
      const bool quiet = dram.idle() && !on_bus();
      finish();
      if (quiet) return true;
    }
    return false;
  }

  void transfer(uint64_t commands, const uint64_t* address, const uint64_t* beats, uint8_t* data, uint64_t limit);
};

void Bench::transfer(uint64_t commands, const uint64_t* address, const uint64_t* beats, uint8_t* data,
                     uint64_t limit) {
  uint64_t next = 0, at = 0, in_command = 0, total = 0;
  bool cmd_valid = false, data_open = false;
  for (uint64_t i = 0; i < commands; i++) total += beats[i];
  out = Outcome{};
  const uint64_t start = dram.cycle();
  for (; out.cycles < limit; out.cycles++) {
    // What is offered stays until it is taken, as a well-behaved neighbour does.
    cmd_valid = next < commands && (cmd_valid || !stalls(cmd_stall));
    top.cmd_valid_i = cmd_valid;
    if (cmd_valid) {
      top.cmd_addr_i = address[next];
      top.cmd_beats_i = beats[next];
    }
#if DSE_READ
    data_open = !stalls(data_stall);
    top.data_ready_i = data_open;
#else
    data_open = out.beats < total && (data_open || !stalls(data_stall));
    top.data_valid_i = data_open;
    if (data_open) std::memcpy(&top.data_i, data + out.beats * bytes, bytes);
#endif
    begin();
#if DSE_READ
    const bool moved = data_open && top.data_valid_o;
    if (moved) {
      if (out.beats < total) std::memcpy(data + out.beats * bytes, &top.data_o, bytes);
      while (at < commands && beats[at] == 0) at++;
      const bool last = at < commands && ++in_command == beats[at];
      if (last != (top.data_last_o != 0)) out.lasts_wrong++;
      if (last) at++, in_command = 0;
    }
#else
    const bool moved = data_open && top.data_ready_o;
    (void)at, (void)in_command;
    if (top.done_valid_o) out.dones++;
    if (moved) data_open = false;
#endif
    if (moved) {
      if (out.beats++ == 0) out.first_beat = dram.cycle() - start;
      out.last_beat = dram.cycle() - start;
    }
    if (cmd_valid && top.cmd_ready_o) next++, cmd_valid = false;
    finish();
#if DSE_READ
    const bool complete = out.beats >= total;
#else
    const bool complete = out.dones >= commands;
#endif
    if ((next == commands && complete) || top.error_o) {
      out.cycles++;
      break;
    }
  }
  top.cmd_valid_i = 0;
#if DSE_READ
  top.data_ready_i = 0;
#else
  top.data_valid_i = 0;
#endif
  out.error = top.error_o;
  out.violations = dram.violations();
}

} // namespace

EXPORT Bench* bench_new(const dse::DramConfig* config, unsigned data_bytes) { return new Bench(*config, data_bytes); }
EXPORT void bench_delete(Bench* bench) { delete bench; }
EXPORT uint8_t* bench_memory(Bench* bench) { return bench->dram.memory(); }
EXPORT const char* bench_violation(Bench* bench) { return bench->dram.violation().c_str(); }
EXPORT void bench_configure(Bench* bench, const dse::DramConfig* config, uint32_t cmd_stall, uint32_t data_stall) {
  bench->dram.configure(*config);
  bench->cmd_stall = cmd_stall;
  bench->data_stall = data_stall;
}
EXPORT void bench_reset(Bench* bench) { bench->reset(); }
EXPORT void bench_clear(Bench* bench) { bench->pulse_clear(); }
EXPORT bool bench_settle(Bench* bench, uint64_t limit) { return bench->settle(limit); }
EXPORT void bench_transfer(Bench* bench, uint64_t commands, const uint64_t* address, const uint64_t* beats,
                           uint8_t* data, uint64_t limit, Outcome* outcome) {
  bench->transfer(commands, address, beats, data, limit);
  *outcome = bench->out;
}
