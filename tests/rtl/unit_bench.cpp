// Drives a unit with commands against three streams of a memory with latency and random stalls.
// MODEL is the class that Verilator wrote, WORDS the number of 32-bit words of a command. Ports of errors and of
// steps are used where the unit has them.

#include <deque>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Config {
  uint64_t seed, limit, abort_at, latency;
  uint32_t stall;       // chance of a stall of each signal in a cycle, in 1/65536
  uint32_t hard_reset;  // abort by rst_ni instead of clear_i
  uint32_t fault_at;    // 1 + cycle of an error pulse on port A, 0: never
  uint32_t beat_bytes;
};

struct Outcome {
  uint64_t cycles;      // in all
  uint64_t steps;       // in which the lanes worked
  uint64_t done;        // commands finished
  uint32_t error;
  uint32_t violations;  // requests outside of the memory
  uint32_t unstable;    // valid taken back, or a payload changed before it was taken
  uint32_t early;       // done_o before every beat was read or written and answered
};

struct Record {
  uint64_t taken, ended, scale;     // cycles, and scale_o at the end
  uint64_t scale_weight, scale_bias;  // of units that have them
};

struct Random {
  uint64_t state;
  uint32_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 32;
  }
};

struct Pending {
  uint64_t address, beats, ready;
};

template <class T> void put(T& port, const uint8_t* bytes, unsigned count) { std::memcpy(&port, bytes, count); }
template <class T> void put_fault(T& top, bool fault) {
  if constexpr (requires { top.a_error_i; }) {
    top.a_error_i = fault;
    top.b_error_i = top.w_error_i = 0;
  }
}
template <class T> bool error_of(T& top) {
  if constexpr (requires { top.error_o; }) return top.error_o;
  else return false;
}
template <class T> bool step_of(T& top) {
  if constexpr (requires { top.step_o; }) return top.step_o;
  else return false;
}

template <class T> void put_scales(T& top, Record& record) {
  record.scale = top.scale_o;
  if constexpr (requires { top.scale_weight_o; }) {
    record.scale_weight = top.scale_weight_o;
    record.scale_bias = top.scale_bias_o;
  }
}

// What a valid that was not answered has to keep.
template <class T> struct Held {
  bool waits = false;
  T payload{};
  bool broken(bool valid, bool ready, const T& now) {
    const bool bad = waits && (!valid || std::memcmp(&now, &payload, sizeof(T)) != 0);
    waits = valid && !ready;
    payload = now;
    return bad;
  }
};

struct Bench {
  VerilatedContext context;
  MODEL top{&context};
  Random random{1};
  uint8_t* memory;
  uint64_t memory_bytes;
  std::deque<Pending> reads[2], writes, answers;
  bool data_held[2] = {false, false};
  Held<uint64_t> command_held[3], beats_held[3];
  Held<std::remove_reference_t<decltype(MODEL::w_data_o)>> write_held;
  Config config;
  Outcome outcome;

  bool stalled() { return (random.next() & 0xffff) < config.stall; }
  bool within(uint64_t address, uint64_t beats) {
    return address % config.beat_bytes == 0 && beats > 0 && beats < (1u << 24) &&
           address + beats * config.beat_bytes <= memory_bytes;
  }
  void edge() {
    top.clk_i = 0;
    top.eval();
    top.clk_i = 1;
    top.eval();
  }
  void drop() {
    for (auto& queue : reads) queue.clear();
    writes.clear();
    answers.clear();
    data_held[0] = data_held[1] = false;
    for (auto& held : command_held) held = {};
    for (auto& held : beats_held) held = {};
    write_held = {};
  }
  void quiet() {
    top.cmd_valid_i = top.a_data_valid_i = top.b_data_valid_i = top.w_done_i = 0;
    put_fault(top, false);
  }
  void check_command(int port, bool valid, bool ready, uint64_t address, uint64_t beats) {
    const bool moved = command_held[port].broken(valid, ready, address);
    outcome.unstable += beats_held[port].broken(valid, ready, beats) || moved;
  }
  void take_read(int port, bool valid, bool ready, uint64_t address, uint64_t beats, uint64_t cycle) {
    check_command(port, valid, ready, address, beats);
    if (!valid || !ready) return;
    if (within(address, beats)) reads[port].push_back({address, beats, cycle + 1 + config.latency});
    else outcome.violations++;
  }
  void pop_read(int port, bool valid, bool ready) {
    if (!valid || !ready) return;
    data_held[port] = false;
    Pending& front = reads[port].front();
    front.address += config.beat_bytes;
    if (--front.beats == 0) reads[port].pop_front();
  }
  void write(uint64_t cycle) {
    outcome.unstable += write_held.broken(top.w_data_valid_o, top.w_data_ready_i, top.w_data_o);
    if (top.w_data_ready_i && top.w_data_valid_o) {
      Pending& front = writes.front();
      std::memcpy(memory + front.address, &top.w_data_o, config.beat_bytes);
      front.address += config.beat_bytes;
      if (--front.beats == 0) {
        answers.push_back({0, 0, cycle + 1 + config.latency});
        writes.pop_front();
      }
    }
    check_command(2, top.w_cmd_valid_o, top.w_cmd_ready_i, top.w_cmd_addr_o, top.w_cmd_beats_o);
    if (!top.w_cmd_valid_o || !top.w_cmd_ready_i) return;
    if (within(top.w_cmd_addr_o, top.w_cmd_beats_o)) writes.push_back({top.w_cmd_addr_o, top.w_cmd_beats_o, 0});
    else outcome.violations++;
  }
};

}  // namespace

EXPORT void* bench_new() {
  Bench* b = new Bench;
  b->top.clear_i = 0;
  b->quiet();
  b->top.rst_ni = 0;
  b->edge();
  b->edge();
  b->top.rst_ni = 1;
  b->edge();
  b->edge();
  return b;
}

EXPORT void bench_delete(void* p) { delete static_cast<Bench*>(p); }

EXPORT void bench_run(void* p, const uint32_t* words, uint64_t commands, uint8_t* memory, uint64_t memory_bytes,
                      const Config* config, Outcome* result, Record* records) {
  Bench& b = *static_cast<Bench*>(p);
  auto& t = b.top;
  b.config = *config;
  b.random.state = config->seed | 1;
  b.memory = memory;
  b.memory_bytes = memory_bytes;
  b.drop();
  b.outcome = Outcome{};
  Outcome& outcome = b.outcome;
  uint64_t sent = 0, cycle = 0;
  bool cmd_held = false;
  auto offer_read = [&](int port, auto& valid, auto& data) {
    auto& queue = b.reads[port];
    const bool can = !queue.empty() && queue.front().ready <= cycle;
    valid = can && (b.data_held[port] || !b.stalled());
    b.data_held[port] = valid;
    if (valid) put(data, memory + queue.front().address, config->beat_bytes);
  };
  for (; cycle < config->limit && outcome.done < commands; cycle++) {
    cmd_held = sent < commands && (cmd_held || !b.stalled());
    t.cmd_valid_i = cmd_held;
    if (cmd_held) std::memcpy(&t.cmd_i, words + sent * WORDS, WORDS * 4);
    t.a_cmd_ready_i = !b.stalled();
    t.b_cmd_ready_i = !b.stalled();
    t.w_cmd_ready_i = !b.stalled();
    t.w_data_ready_i = !b.writes.empty() && !b.stalled();
    t.w_done_i = !b.answers.empty() && b.answers.front().ready <= cycle && !b.stalled();
    put_fault(t, config->fault_at && cycle + 1 == config->fault_at);
    offer_read(0, t.a_data_valid_i, t.a_data_i);
    offer_read(1, t.b_data_valid_i, t.b_data_i);
    const bool abort = config->abort_at && cycle == config->abort_at;
    if (abort && config->hard_reset) t.rst_ni = 0;
    if (abort && !config->hard_reset) t.clear_i = 1;
    t.clk_i = 0;
    t.eval();
    // what the rising edge will see
    if (abort) {
      t.clk_i = 1;
      t.eval();
      t.rst_ni = 1;
      t.clear_i = 0;
      b.quiet();
      b.edge();
      b.edge();
      b.drop();
      break;
    }
    if (t.w_done_i) b.answers.pop_front();
    outcome.steps += step_of(t);
    if (t.done_o) {
      records[outcome.done].ended = cycle;
      put_scales(t, records[outcome.done++]);
      outcome.early += !b.reads[0].empty() || !b.reads[1].empty() || !b.writes.empty() || !b.answers.empty();
    }
    if (t.cmd_valid_i && t.cmd_ready_o) {
      records[sent++].taken = cycle;
      cmd_held = false;
    }
    b.pop_read(0, t.a_data_valid_i, t.a_data_ready_o);
    b.pop_read(1, t.b_data_valid_i, t.b_data_ready_o);
    b.take_read(0, t.a_cmd_valid_o, t.a_cmd_ready_i, t.a_cmd_addr_o, t.a_cmd_beats_o, cycle);
    b.take_read(1, t.b_cmd_valid_o, t.b_cmd_ready_i, t.b_cmd_addr_o, t.b_cmd_beats_o, cycle);
    b.write(cycle);
    outcome.error |= error_of(t);
    if (outcome.error || outcome.violations || outcome.unstable) break;
    t.clk_i = 1;
    t.eval();
  }
  outcome.cycles = cycle;
  *result = outcome;
}

EXPORT void bench_clear(void* p) {
  Bench& b = *static_cast<Bench*>(p);
  b.quiet();
  b.top.clear_i = 1;
  b.edge();
  b.top.clear_i = 0;
  b.edge();
  b.edge();
  b.drop();
}
