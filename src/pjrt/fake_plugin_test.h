// A plugin without devices, which answers as a test says (tests/plugins/fake_plugin.cc).
#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error_said_test.h"
#include "base/scratch_test.h"
#include "espalier/ops.h"
#include "espalier/run_context.h"
#include "ir/builder.h"
#include "ir/sink.h"
#include "pjrt/client_device.h"
#include "pjrt/fake_plugin_state_test.h"
#include "pjrt/plugin_test.h"

namespace espalier::pjrt {

class FakePlugin : public testing::Test {
 protected:
  using Lines = std::vector<std::string>;

  FakePlugin() {
    const std::string file = build_folder() + "/fake_plugin.so";
    plugin_ = &Plugin::load(file);
    void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
    state_ = reinterpret_cast<fake::State* (*)()>(::dlsym(handle, "espalier_fake_state"))();
    *state_ = {};
  }

  // Of so many devices of this process, numbered from 0 on.
  ClientPtr client_of(int devices) {
    state_->devices.clear();
    for (int i = 0; i < devices; ++i) state_->devices.push_back({.id = i});
    return client();
  }
  ClientPtr client() {
    ClientPtr out = Client::create(*plugin_, "fake");
    take_log();
    return out;
  }
  Lines take_log() { return std::exchange(state_->log, {}); }
  Lines take_options() { return std::exchange(state_->options, {}); }

  static GraphPtr sum_graph(const std::string& name = "sum") {
    GraphBuilder builder(name);
    {
      const SinkScope scope(builder);
      const TensorType type{DType::kF32, {2}};
      const Tensor a = builder.argument("a", type);
      builder.result("y", add(a, builder.argument("b", type)));
    }
    return builder.finish();
  }
  static RemoteArrayPtr two_numbers(Device& on) { return on.upload(Literal::of<float>({1, 2})); }
  static std::vector<RemoteArrayPtr> run(const DeviceProgram& program, std::vector<RemoteArrayPtr> inputs,
                                         std::vector<char> donated = {}) {
    return program.run(inputs, donated, RunContext::current());
  }

  const Plugin* plugin_ = nullptr;
  fake::State* state_ = nullptr;
};

}  // namespace espalier::pjrt
