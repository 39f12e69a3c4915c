// SPDX-License-Identifier: Apache-2.0
//
// The emitted accelerator with one DRAM behind both of its masters and a host on its registers, as C functions.
// DSE_TOP is the model's class; its ports are those of dse_accelerator.v.

#include "axi_dram.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

DSE_AXI_READ_VIEW(Read0, DSE_TOP, m0_axi);
DSE_AXI_READ_VIEW(Read1, DSE_TOP, m1_axi);
DSE_AXI_WRITE_VIEW(Write0, DSE_TOP, m0_axi);

struct Bench {
  Bench(const dse::DramConfig& config, unsigned data_bytes)
      : dram0(config, data_bytes), dram1(dram0, config.seed * 6364136223846793005ull) {
    reset();
  }

  VerilatedContext context;
  DSE_TOP top{&context};
  Read0 read0{top};
  Read1 read1{top};
  Write0 write0{top};
  dse::AxiDram dram0, dram1;

  void reset() {
    top.s_axi_awvalid = top.s_axi_wvalid = top.s_axi_bready = 0;
    top.s_axi_arvalid = top.s_axi_rready = 0;
    top.aresetn = 0;
    for (int i = 0; i < 4; i++) {
      top.aclk = i & 1;
      top.eval();
    }
    top.aresetn = 1;
    dram0.reset();
    dram1.reset();
  }

  void begin() {
    dram0.drive_read(read0);
    dram0.drive_write(write0);
    dram1.drive_read(read1);
    top.aclk = 0;
    top.eval();
  }

  void finish() {
    dram0.sample_read(read0);
    dram0.sample_write(write0);
    dram1.sample_read(read1);
    dram0.step();
    top.aclk = 1;
    top.eval();
  }

  /// The response, or -1 if there is none in 1000 cycles.
  int write_register(uint32_t address, uint32_t value) {
    bool address_left = true, data_left = true;
    int response = -1;
    top.s_axi_awaddr = address;
    top.s_axi_wdata = value;
    top.s_axi_wstrb = 15;
    top.s_axi_bready = 1;
    for (int i = 0; i < 1000 && response < 0; i++) {
      top.s_axi_awvalid = address_left;
      top.s_axi_wvalid = data_left;
      begin();
      if (top.s_axi_bvalid) response = top.s_axi_bresp;
      address_left = address_left && !top.s_axi_awready;
      data_left = data_left && !top.s_axi_wready;
      finish();
    }
    top.s_axi_awvalid = top.s_axi_wvalid = top.s_axi_bready = 0;
    return response;
  }

  int read_register(uint32_t address, uint32_t* value) {
    bool left = true;
    int response = -1;
    top.s_axi_araddr = address;
    top.s_axi_rready = 1;
    for (int i = 0; i < 1000 && response < 0; i++) {
      top.s_axi_arvalid = left;
      begin();
      if (top.s_axi_rvalid) {
        response = top.s_axi_rresp;
        *value = top.s_axi_rdata;
      }
      left = left && !top.s_axi_arready;
      finish();
    }
    top.s_axi_arvalid = top.s_axi_rready = 0;
    return response;
  }

  /// Runs until the interrupt, or for `limit` cycles; returns the cycles.
  uint64_t run(uint64_t limit) {
    uint64_t cycles = 0;
    for (bool up = false; cycles < limit && !up; cycles++) {
      begin();
      up = top.irq;
      finish();
    }
    return cycles;
  }

  const std::string& violation() const { return dram0.violations() ? dram0.violation() : dram1.violation(); }
};

} // namespace

EXPORT Bench* bench_new(const dse::DramConfig* config, uint32_t data_bytes) { return new Bench(*config, data_bytes); }
EXPORT void bench_delete(Bench* bench) { delete bench; }
EXPORT uint8_t* bench_memory(Bench* bench) { return bench->dram0.memory(); }
EXPORT void bench_configure(Bench* bench, const dse::DramConfig* config) {
  dse::DramConfig second = *config;
  second.seed = config->seed * 6364136223846793005ull;
  bench->dram0.configure(*config);
  bench->dram1.configure(second);
}
EXPORT void bench_reset(Bench* bench) { bench->reset(); }
EXPORT int bench_write(Bench* bench, uint32_t address, uint32_t value) { return bench->write_register(address, value); }
EXPORT int bench_read(Bench* bench, uint32_t address, uint32_t* value) { return bench->read_register(address, value); }
EXPORT uint64_t bench_run(Bench* bench, uint64_t limit) { return bench->run(limit); }
EXPORT uint64_t bench_beats(Bench* bench, uint32_t writes) {
  return writes ? bench->dram0.write_beats() : bench->dram0.read_beats() + bench->dram1.read_beats();
}
EXPORT const char* bench_violation(Bench* bench) { return bench->violation().c_str(); }
