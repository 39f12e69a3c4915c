// Drives conv_engine with commands against three streams of a memory with latency and random stalls.
// MODEL is the class that Verilator wrote.

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
  uint32_t error, violations;
  uint32_t scale;       // of the last command
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

struct Bench {
  VerilatedContext context;
  MODEL top{&context};
  Random random{1};
  uint8_t* memory;
  uint64_t memory_bytes, cycle = 0;
  std::deque<Pending> reads[2], writes, answers;
  bool data_held[2] = {false, false};
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
    reads[0].clear();
    reads[1].clear();
    writes.clear();
    answers.clear();
    data_held[0] = data_held[1] = false;
  }
};

}  // namespace

EXPORT void* bench_new() {
  Bench* b = new Bench;
  auto& t = b->top;
  t.clear_i = 0;
  t.cmd_valid_i = 0;
  t.rst_ni = 0;
  b->edge();
  b->edge();
  t.rst_ni = 1;
  b->edge();
  b->edge();
  return b;
}

EXPORT void bench_delete(void* p) { delete static_cast<Bench*>(p); }

EXPORT void bench_run(void* p, const uint32_t* words, uint64_t commands, uint8_t* memory, uint64_t memory_bytes,
                      const Config* config, Outcome* outcome, uint64_t* finished_at) {
  Bench& b = *static_cast<Bench*>(p);
  auto& t = b.top;
  b.config = *config;
  b.random.state = config->seed | 1;
  b.memory = memory;
  b.memory_bytes = memory_bytes;
  b.drop();
  *outcome = Outcome{};
  const unsigned beat = config->beat_bytes;
  uint64_t sent = 0, cycle = 0;
  bool cmd_held = false;
  auto offer_read = [&](int port, auto& valid, auto& data) {
    auto& queue = b.reads[port];
    const bool can = !queue.empty() && queue.front().ready <= cycle;
    valid = can && (b.data_held[port] || !b.stalled());
    b.data_held[port] = valid;
    if (valid) put(data, memory + queue.front().address, beat);
  };
  for (; cycle < config->limit && outcome->done < commands; cycle++) {
    const bool abort = config->abort_at && cycle == config->abort_at;
    cmd_held = sent < commands && (cmd_held || !b.stalled());
    t.cmd_valid_i = cmd_held;
    if (cmd_held) std::memcpy(&t.cmd_i, words + sent * WORDS, WORDS * 4);
    t.a_cmd_ready_i = !b.stalled();
    t.b_cmd_ready_i = !b.stalled();
    t.w_cmd_ready_i = !b.stalled();
    t.w_data_ready_i = !b.writes.empty() && !b.stalled();
    t.w_done_i = !b.answers.empty() && b.answers.front().ready <= cycle && !b.stalled();
    t.a_error_i = config->fault_at && cycle + 1 == config->fault_at;
    t.b_error_i = 0;
    t.w_error_i = 0;
    offer_read(0, t.a_data_valid_i, t.a_data_i);
    offer_read(1, t.b_data_valid_i, t.b_data_i);
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
      t.cmd_valid_i = 0;
      t.a_data_valid_i = t.b_data_valid_i = t.w_done_i = 0;
      b.edge();
      b.edge();
      b.drop();
      break;
    }
    if (t.w_done_i) b.answers.pop_front();
    outcome->steps += t.step_o;
    if (t.done_o) {
      finished_at[outcome->done++] = cycle;
      outcome->scale = t.scale_o;
    }
    if (t.cmd_valid_i && t.cmd_ready_o) {
      sent++;
      cmd_held = false;
    }
    auto take_read = [&](int port, bool valid, bool ready, uint64_t address, uint64_t beats) {
      if (!valid || !ready) return;
      if (b.within(address, beats)) b.reads[port].push_back({address, beats, cycle + 1 + config->latency});
      else outcome->violations++;
    };
    auto pop_read = [&](int port, bool valid, bool ready) {
      if (!valid || !ready) return;
      b.data_held[port] = false;
      Pending& front = b.reads[port].front();
      front.address += beat;
      if (--front.beats == 0) b.reads[port].pop_front();
    };
    pop_read(0, t.a_data_valid_i, t.a_data_ready_o);
    pop_read(1, t.b_data_valid_i, t.b_data_ready_o);
    if (t.w_data_ready_i && t.w_data_valid_o) {
      Pending& front = b.writes.front();
      std::memcpy(memory + front.address, &t.w_data_o, beat);
      front.address += beat;
      if (--front.beats == 0) {
        b.answers.push_back({0, 0, cycle + 1 + config->latency});
        b.writes.pop_front();
      }
    }
    take_read(0, t.a_cmd_valid_o, t.a_cmd_ready_i, t.a_cmd_addr_o, t.a_cmd_beats_o);
    take_read(1, t.b_cmd_valid_o, t.b_cmd_ready_i, t.b_cmd_addr_o, t.b_cmd_beats_o);
    if (t.w_cmd_valid_o && t.w_cmd_ready_i) {
      if (b.within(t.w_cmd_addr_o, t.w_cmd_beats_o)) b.writes.push_back({t.w_cmd_addr_o, t.w_cmd_beats_o, 0});
      else outcome->violations++;
    }
    outcome->error |= t.error_o;
    if (outcome->error || outcome->violations) break;
    t.clk_i = 1;
    t.eval();
  }
  outcome->cycles = cycle;
}

EXPORT void bench_clear(void* p) {
  Bench& b = *static_cast<Bench*>(p);
  auto& t = b.top;
  t.cmd_valid_i = t.a_data_valid_i = t.b_data_valid_i = t.w_done_i = t.a_error_i = 0;
  t.clear_i = 1;
  b.edge();
  t.clear_i = 0;
  b.edge();
  b.edge();
  b.drop();
}
