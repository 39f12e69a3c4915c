// SPDX-License-Identifier: Apache-2.0
//
// AXI4 memory for simulation with Verilator: latency, bandwidth, stalls and error responses can be set, and what the
// master does is checked against the protocol. Header only; in order, one ID.
//
// In every cycle: drive_read/drive_write set the design's inputs, the bench evaluates with the clock low,
// sample_read/sample_write look at its outputs before the rising edge, step() ends the cycle. The design's ports are
// called axi_<signal>_i and axi_<signal>_o, as in dma_read.sv and dma_write.sv; a design with other names, or several
// masters, is seen through DSE_AXI_READ_VIEW and DSE_AXI_WRITE_VIEW. An AxiDram made from another one is a second port
// of the same memory; they share its bandwidth, and only the first is stepped.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace dse {

enum Channel : unsigned { kAr, kR, kAw, kW, kB, kChannels };
enum Response : uint8_t { kOkay = 0, kSlvErr = 2, kDecErr = 3 };

/// What the memory does. All zero but `bytes`, `read_latency` and `write_latency` = 1 is an ideal memory.
struct DramConfig {
  uint64_t base;             ///< byte address of the first byte
  uint64_t bytes;            ///< size; outside of it the answer is DECERR
  uint64_t seed;             ///< of the stalls
  uint64_t fault_first;      ///< byte range that answers with fault_response ...
  uint64_t fault_end;        ///< ... empty where not above fault_first
  uint32_t fault_response;   ///< kSlvErr or kDecErr
  uint32_t fault_on;         ///< 1 reads, 2 writes, 3 both
  uint32_t read_latency;     ///< cycles from an accepted read address to its first beat, at least 1
  uint32_t write_latency;    ///< cycles from the last accepted beat to the response, at least 1
  uint32_t bytes_per_kcycle; ///< bytes in 1000 cycles, reads and writes together; 0: every channel at its full rate
  uint32_t max_pending;      ///< accepted bursts of one direction without an answer; 0: any number
  uint32_t stall[kChannels]; ///< chance of a stall in a cycle, in 1/65536
};

class AxiDram {
 public:
  AxiDram(const DramConfig& config, unsigned data_bytes)
      : config_(config), data_bytes_(data_bytes), store_(new Store{}), random_(config.seed | 1) {
    store_->memory.resize(config.bytes);
  }
  AxiDram(const AxiDram& other, uint64_t seed)
      : config_(other.config_), data_bytes_(other.data_bytes_), store_(other.store_), random_(seed | 1) {}

  uint8_t* memory() { return store_->memory.data(); }
  const std::string& violation() const { return violation_; } ///< the first one, empty where there is none
  uint64_t violations() const { return violations_; }
  uint64_t cycle() const { return store_->cycle; }
  uint64_t read_beats() const { return read_beats_; }
  uint64_t write_beats() const { return write_beats_; }
  /// Nothing is under way in either direction.
  bool idle() const { return reads_.empty() && writes_.empty() && beats_.empty() && answers_.empty(); }

  /// Takes another behaviour over; memory contents and size stay.
  void configure(const DramConfig& config) {
    const uint64_t base = config_.base, bytes = config_.bytes;
    config_ = config;
    config_.base = base;
    config_.bytes = bytes;
    random_ = config.seed | 1;
  }

  /// Forgets what is under way, as at a reset of the design; memory contents stay.
  void reset() {
    reads_.clear();
    writes_.clear();
    beats_.clear();
    answers_.clear();
    r_valid_ = b_valid_ = false;
    worst_ = kOkay;
    last_ar_ = last_aw_ = Address{};
    last_w_ = Beat{};
  }

  template <class Top> void drive_read(Top& top) {
    ar_ready_ = !stalls(kAr) && (config_.max_pending == 0 || reads_.size() < config_.max_pending);
    if (!r_valid_ && !reads_.empty() && reads_.front().due <= cycle() && !stalls(kR) && pays()) fetch();
    top.axi_arready_i = ar_ready_;
    top.axi_rvalid_i = r_valid_;
    if (r_valid_) {
      std::memcpy(&top.axi_rdata_i, r_data_.data(), data_bytes_);
      top.axi_rresp_i = r_response_;
      top.axi_rlast_i = reads_.front().beats == 1;
    }
  }

  template <class Top> void sample_read(Top& top) {
    const Address now{top.axi_arvalid_o != 0, ar_ready_, top.axi_araddr_o, top.axi_arlen_o};
    check_stable(last_ar_, now, "AR");
    if (now.valid) check_burst(now, top.axi_arsize_o, top.axi_arburst_o, "AR");
    if (now.valid && now.ready) reads_.push_back({now.address, now.length + 1u, cycle() + latency(config_.read_latency)});
    last_ar_ = now;
    if (r_valid_ && top.axi_rready_o) {
      r_valid_ = false;
      read_beats_++;
      reads_.front().address += data_bytes_;
      if (--reads_.front().beats == 0) reads_.pop_front();
    }
  }

  template <class Top> void drive_write(Top& top) {
    aw_ready_ = !stalls(kAw) && (config_.max_pending == 0 || writes_.size() + answers_.size() < config_.max_pending);
    w_ready_ = !stalls(kW) && beats_.size() < 16 && can_pay();
    if (!b_valid_ && !answers_.empty() && answers_.front().due <= cycle() && !stalls(kB)) b_valid_ = true;
    top.axi_awready_i = aw_ready_;
    top.axi_wready_i = w_ready_;
    top.axi_bvalid_i = b_valid_;
    if (b_valid_) top.axi_bresp_i = answers_.front().response;
  }

  template <class Top> void sample_write(Top& top) {
    const Address now{top.axi_awvalid_o != 0, aw_ready_, top.axi_awaddr_o, top.axi_awlen_o};
    check_stable(last_aw_, now, "AW");
    if (now.valid) check_burst(now, top.axi_awsize_o, top.axi_awburst_o, "AW");
    if (now.valid && now.ready) writes_.push_back({now.address, now.length + 1u, 0});
    last_aw_ = now;

    Beat beat{};
    beat.valid = top.axi_wvalid_o != 0;
    beat.ready = w_ready_;
    beat.last = top.axi_wlast_o != 0;
    std::memcpy(beat.data.data(), &top.axi_wdata_o, data_bytes_);
    std::memcpy(beat.strobe.data(), &top.axi_wstrb_o, (data_bytes_ + 7) / 8);
    if (last_w_.valid && !last_w_.ready && !(beat.valid && beat.same(last_w_))) violate("W: changed before it was taken");
    last_w_ = beat;
    if (beat.valid && beat.ready) {
      (void)pays();
      write_beats_++;
      beats_.push_back(beat);
    }
    store();
    if (b_valid_ && top.axi_bready_o) {
      b_valid_ = false;
      answers_.pop_front();
    }
  }

  /// Ends the cycle.
  void step() {
    store_->cycle++;
    if (config_.bytes_per_kcycle != 0) {
      const uint64_t most = 2000ull * data_bytes_ + config_.bytes_per_kcycle;
      store_->credit = std::min<uint64_t>(store_->credit + config_.bytes_per_kcycle, most);
    }
  }

 private:
  static constexpr unsigned kMaxBytes = 128; // 1024 bits

  struct Store {
    std::vector<uint8_t> memory;
    uint64_t cycle = 0;
    uint64_t credit = 0; // bytes that may be moved, in 1/1000
  };
  struct Burst {
    uint64_t address;
    unsigned beats; // still to come
    uint64_t due;   // cycle of the first beat
  };
  struct Answer {
    uint8_t response;
    uint64_t due;
  };
  struct Address {
    bool valid, ready;
    uint64_t address;
    unsigned length;
  };
  struct Beat {
    bool valid, ready, last;
    std::array<uint8_t, kMaxBytes> data;
    std::array<uint8_t, kMaxBytes / 8> strobe;
    bool same(const Beat& other) const {
      return last == other.last && data == other.data && strobe == other.strobe;
    }
  };

  static uint64_t latency(uint32_t cycles) { return cycles == 0 ? 1 : cycles; }

  bool stalls(Channel channel) {
    if (config_.stall[channel] == 0) return false;
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return ((random_ >> 24) & 0xffff) < config_.stall[channel];
  }

  bool can_pay() const { return config_.bytes_per_kcycle == 0 || store_->credit >= 1000ull * data_bytes_; }
  bool pays() {
    if (!can_pay()) return false;
    if (config_.bytes_per_kcycle != 0) store_->credit -= 1000ull * data_bytes_;
    return true;
  }

  uint8_t response(uint64_t address, unsigned direction) const {
    if (address < config_.base || address + data_bytes_ > config_.base + config_.bytes) return kDecErr;
    const bool hit = address + data_bytes_ > config_.fault_first && address < config_.fault_end;
    return hit && (config_.fault_on & direction) ? static_cast<uint8_t>(config_.fault_response) : kOkay;
  }

  void fetch() {
    const uint64_t address = reads_.front().address;
    r_valid_ = true;
    r_response_ = response(address, 1);
    if (r_response_ == kOkay) std::memcpy(r_data_.data(), &store_->memory[address - config_.base], data_bytes_);
    else r_data_.fill(0xbd);
  }

  void store() {
    while (!writes_.empty() && !beats_.empty()) {
      Burst& burst = writes_.front();
      const Beat& beat = beats_.front();
      if (beat.last != (burst.beats == 1)) violate("W: WLAST is not at the last beat of its burst");
      const uint8_t answer = response(burst.address, 2);
      if (answer > worst_) worst_ = answer;
      for (unsigned i = 0; i < data_bytes_ && answer == kOkay; i++) {
        if (beat.strobe[i / 8] >> (i % 8) & 1) store_->memory[burst.address - config_.base + i] = beat.data[i];
      }
      beats_.pop_front();
      burst.address += data_bytes_;
      if (--burst.beats == 0) {
        answers_.push_back({worst_, cycle() + latency(config_.write_latency)});
        worst_ = kOkay;
        writes_.pop_front();
      }
    }
  }

  void violate(const std::string& text) {
    if (violations_++ == 0) violation_ = "cycle " + std::to_string(cycle()) + ": " + text;
  }

  void check_stable(const Address& before, const Address& now, const char* name) {
    const bool same = now.valid && now.address == before.address && now.length == before.length;
    if (before.valid && !before.ready && !same) violate(std::string(name) + ": changed before it was taken");
  }

  void check_burst(const Address& now, unsigned size, unsigned kind, const char* name) {
    const uint64_t bytes = (now.length + 1ull) * data_bytes_;
    if (now.length > 255) violate(std::string(name) + ": more than 256 beats");
    if (1u << size != data_bytes_) violate(std::string(name) + ": beats narrower or wider than the bus");
    if (kind != 1) violate(std::string(name) + ": is not an INCR burst");
    if (now.address % data_bytes_ != 0) violate(std::string(name) + ": is not aligned to a beat");
    if (now.address / 4096 != (now.address + bytes - 1) / 4096) violate(std::string(name) + ": crosses 4 KiB");
  }

  DramConfig config_;
  unsigned data_bytes_;
  std::shared_ptr<Store> store_;
  uint64_t random_;
  uint64_t read_beats_ = 0, write_beats_ = 0, violations_ = 0;
  std::string violation_;
  std::deque<Burst> reads_, writes_;
  std::deque<Beat> beats_;
  std::deque<Answer> answers_;
  bool ar_ready_ = false, aw_ready_ = false, w_ready_ = false, r_valid_ = false, b_valid_ = false;
  uint8_t r_response_ = kOkay, worst_ = kOkay;
  std::array<uint8_t, kMaxBytes> r_data_{};
  Address last_ar_{}, last_aw_{};
  Beat last_w_{};
};

} // namespace dse

/// struct Name: the read channels of the design Top whose ports are called prefix_arvalid and so on.
#define DSE_AXI_READ_VIEW(Name, Top, prefix)\
  struct Name {                                                         \
    explicit Name(Top& top)                                             \
        : axi_arvalid_o(top.prefix##_arvalid),                          \
          axi_arready_i(top.prefix##_arready),                          \
          axi_araddr_o(top.prefix##_araddr),                            \
          axi_arlen_o(top.prefix##_arlen),                              \
          axi_arsize_o(top.prefix##_arsize),                            \
          axi_arburst_o(top.prefix##_arburst),                          \
          axi_rvalid_i(top.prefix##_rvalid),                            \
          axi_rready_o(top.prefix##_rready),                            \
          axi_rdata_i(top.prefix##_rdata),                              \
          axi_rresp_i(top.prefix##_rresp),                              \
          axi_rlast_i(top.prefix##_rlast) {}                            \
    decltype(Top::prefix##_arvalid) axi_arvalid_o;                      \
    decltype(Top::prefix##_arready) axi_arready_i;                      \
    decltype(Top::prefix##_araddr) axi_araddr_o;                        \
    decltype(Top::prefix##_arlen) axi_arlen_o;                          \
    decltype(Top::prefix##_arsize) axi_arsize_o;                        \
    decltype(Top::prefix##_arburst) axi_arburst_o;                      \
    decltype(Top::prefix##_rvalid) axi_rvalid_i;                        \
    decltype(Top::prefix##_rready) axi_rready_o;                        \
    decltype(Top::prefix##_rdata) axi_rdata_i;                          \
    decltype(Top::prefix##_rresp) axi_rresp_i;                          \
    decltype(Top::prefix##_rlast) axi_rlast_i;                          \
  }

/// Likewise the write channels.
#define DSE_AXI_WRITE_VIEW(Name, Top, prefix)\
  struct Name {                                                         \
    explicit Name(Top& top)                                             \
        : axi_awvalid_o(top.prefix##_awvalid),                          \
          axi_awready_i(top.prefix##_awready),                          \
          axi_awaddr_o(top.prefix##_awaddr),                            \
          axi_awlen_o(top.prefix##_awlen),                              \
          axi_awsize_o(top.prefix##_awsize),                            \
          axi_awburst_o(top.prefix##_awburst),                          \
          axi_wvalid_o(top.prefix##_wvalid),                            \
          axi_wready_i(top.prefix##_wready),                            \
          axi_wdata_o(top.prefix##_wdata),                              \
          axi_wstrb_o(top.prefix##_wstrb),                              \
          axi_wlast_o(top.prefix##_wlast),                              \
          axi_bvalid_i(top.prefix##_bvalid),                            \
          axi_bready_o(top.prefix##_bready),                            \
          axi_bresp_i(top.prefix##_bresp) {}                            \
    decltype(Top::prefix##_awvalid) axi_awvalid_o;                      \
    decltype(Top::prefix##_awready) axi_awready_i;                      \
    decltype(Top::prefix##_awaddr) axi_awaddr_o;                        \
    decltype(Top::prefix##_awlen) axi_awlen_o;                          \
    decltype(Top::prefix##_awsize) axi_awsize_o;                        \
    decltype(Top::prefix##_awburst) axi_awburst_o;                      \
    decltype(Top::prefix##_wvalid) axi_wvalid_o;                        \
    decltype(Top::prefix##_wready) axi_wready_i;                        \
    decltype(Top::prefix##_wdata) axi_wdata_o;                          \
    decltype(Top::prefix##_wstrb) axi_wstrb_o;                          \
    decltype(Top::prefix##_wlast) axi_wlast_o;                          \
    decltype(Top::prefix##_bvalid) axi_bvalid_i;                        \
    decltype(Top::prefix##_bready) axi_bready_o;                        \
    decltype(Top::prefix##_bresp) axi_bresp_i;                          \
  }
