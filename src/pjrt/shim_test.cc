// A real plugin behind one that lets a call fail (tests/plugins/shim_plugin.cc): what is said, what is left.
#include <dlfcn.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json.h"
#include "base/scratch_test.h"
#include "espalier/array.h"
#include "espalier/model.h"
#include "espalier/random.h"
#include "espalier/run_context.h"
#include "ir/sink.h"
#include "pjrt/open.h"
#include "pjrt/plugin_test.h"
#include "text/text.h"

namespace espalier::pjrt {
namespace {

constexpr const char* kTwoResults =
    R"(func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = "stablehlo.add"(%a, %b) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = "stablehlo.multiply"(%a, %0) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  "func.return"(%0, %1) : (tensor<3xf32>, tensor<3xf32>) -> ()
})";

class ThroughShim : public testing::Test {
 protected:
  void SetUp() override {
    ESPALIER_NEEDS_PLUGIN();
    ::setenv("ESPALIER_SHIM_PLUGIN", test_plugin().c_str(), 1);
    const std::string file = build_folder() + "/shim_plugin.so";
    client_ = open_device(file);
    void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(handle, nullptr);
    arm_ = reinterpret_cast<void (*)(const char*)>(::dlsym(handle, "espalier_shim_arm"));
    report_ = reinterpret_cast<const char* (*)()>(::dlsym(handle, "espalier_shim_report"));
    arm_("");
    before_ = living();
  }
  void TearDown() override {
    if (arm_) arm_("");
  }
  nlohmann::ordered_json report() const { return parse_json(report_()); }
  nlohmann::ordered_json living() const {
    client_->wait_for_runs();
    return report().at("living");
  }
  // The error of the call while that fault waits for it: rule and message.
  template <class Call>
  std::string said(const std::string& fault, Call call) {
    arm_(fault.c_str());
    std::string out = "nothing";
    try {
      call();
    } catch (const Error& error) {
      out = cat(error.rule(), ": ", error.message());
    }
    EXPECT_NE(report().at("struck"), "") << fault;
    arm_("");
    return out;
  }
  template <class Call>
  auto there(Call call) {
    const RunContext context({.device = client_.get(), .shares = &RunContext::current()});
    const RunScope scope(context);
    return call();
  }
  // Two results of a program that is compiled anew.
  std::vector<Literal> compute() {
    const auto program = client_->compile(*parse_program(kTwoResults));
    const std::vector<RemoteArrayPtr> inputs = {client_->upload(Literal::of<float>({1, 2, 3})),
                                                client_->upload(Literal::of<float>({10, 2, -30}))};
    std::vector<Literal> out;
    for (const RemoteArrayPtr& result : program->run(inputs, {}, RunContext::current()))
      out.push_back(result->download());
    return out;
  }
  void expect_all_is_well() {
    const std::vector<Literal> results = compute();
    EXPECT_EQ(results.at(0), Literal::of<float>({11, 4, -27}));
    EXPECT_EQ(results.at(1), Literal::of<float>({11, 8, -81}));
    EXPECT_EQ(living(), before_);
    EXPECT_EQ(report().at("strangers"), 0);
  }

  DevicePtr client_;
  void (*arm_)(const char*) = nullptr;
  const char* (*report_)() = nullptr;
  nlohmann::ordered_json before_;
};

TEST_F(ThroughShim, SlowACallThatFailsSaysSoAndLeavesNothing) {
  const std::pair<const char*, const char*> doings[] = {
      {"compile:1", "compile the program"}, {"upload:1", "upload an array"},
      {"upload:2", "upload an array"},      {"execute:1", "run the program"},
      {"download:1", "download an array"},  {"await:1", "upload an array"},
      {"await:4", "download an array"}};
  for (const auto& [call, doing] : doings) {
    SCOPED_TRACE(call);
    // A download whose end is an error: the array cannot be had any more.
    const bool lost = std::string_view(call) == "await:4";
    const auto begins = [&](const std::string& fault, const std::string& wanted) {
      const std::string got = said(cat(fault, "@", call), [&] { compute(); });
      const bool says = got.starts_with(wanted);
      const bool says_lost =
          got.starts_with("device.lost: an array of f32[3] on shim_plugin:0 cannot be had: ") &&
          got.find(wanted.substr(wanted.find(": ") + 2)) != got.npos;
      EXPECT_TRUE(lost ? says_lost : says) << got;
    };
    begins("refuse",
           cat("device.call: cannot ", doing, ": shim refused (code 13 of shim_plugin.so, PJRT 0."));
    begins("memory", cat("device.memory: cannot ", doing, ": shim has no memory left (code 8 of "));
    begins("throws",
           cat("device.call: the plugin threw an exception where it was to ", doing, ": out of the shim"));
    expect_all_is_well();
  }
}

TEST_F(ThroughShim, WhatIsNotGivenBackIsNoError) {
  for (const char* fault : {"refuse@destroy:1", "throws@destroy:2"}) {
    EXPECT_EQ(said(fault, [&] { compute(); }), "nothing");
    expect_all_is_well();
  }
}

TEST_F(ThroughShim, SlowADeviceThatIsSlowIsWaitedFor) {
  for (const char* fault : {"delay@execute:1", "delay@download:2"}) {
    EXPECT_EQ(said(fault, [&] { EXPECT_EQ(compute().at(1), Literal::of<float>({11, 8, -81})); }), "nothing");
    expect_all_is_well();
  }
}

TEST_F(ThroughShim, SlowAnErrorThatComesLateIsThatOfWhatNeedsIt) {
  for (const char* fault : {"late@upload:1", "late@upload:2", "late@execute:1", "late@download:1"}) {
    const std::string got = said(fault, [&] { compute(); });
    EXPECT_NE(got.find("shim failed late (code 13 of "), std::string::npos) << fault << ": " << got;
    expect_all_is_well();
  }
}

TEST_F(ThroughShim, SlowAnAnswerThatLacksSomethingIsRefused) {
  for (const char* fault : {"truncate@compile:1", "truncate@upload:1", "truncate@upload:2",
                            "truncate@execute:1", "truncate@download:1", "truncate@download:2"}) {
    const std::string got = said(fault, [&] { compute(); });
    // Of a program that ran nobody knows what is left of its inputs.
    const bool ran = std::string_view(fault).find("execute") != std::string_view::npos;
    EXPECT_TRUE(got.starts_with(ran ? "device.lost: " : "device.") &&
                got.find(": the plugin gave ") != got.npos)
        << fault << ": " << got;
    expect_all_is_well();
  }
}

TEST_F(ThroughShim, AClientThatFailsHasNoDevice) {
  const auto create = [&] { Client::create(client_->client().plugin(), "shim"); };
  const std::string file = cat("device.client: ", client_->client().plugin().path(), " has no device");
  EXPECT_TRUE(
      said("refuse@client:1", create).starts_with(file + ": cannot begin: shim refused (code 13 of "));
  EXPECT_TRUE(said("memory@client:1", create).starts_with(file + ": cannot begin: shim has no memory left "));
  EXPECT_TRUE(said("throws@client:1", create).find("out of the shim") != std::string::npos);
  EXPECT_TRUE(said("refuse@client:2", create).find("shim refused (code 13 of ") != std::string::npos);
  EXPECT_TRUE(said("truncate@client:1", create).starts_with(file));
  // Behind the platform's name and version comes the list of devices.
  EXPECT_TRUE(said("truncate@client:4", create).starts_with(file));
  // Three calls describe each; then come this process's number and the devices of all.
  const size_t listing = 4 + 3 * client_->client().size() + 2;
  EXPECT_TRUE(said(cat("truncate@client:", listing), create).find("lists 0 devices of all processes") !=
              std::string::npos);
  expect_all_is_well();
}

struct FewRows {
  Tensor x, y;
};
FewRows few_rows() {
  Generator random(3);
  FewRows out;
  out.x = random.normal({16, 4});
  out.y = sum(out.x * out.x, 1, true);
  return out;
}
Sequential small_network() {
  set_seed(4);
  Sequential model(Dense({.units = 8, .activation = "relu"}), Dense({.units = 1}));
  model.compile({.optimizer = Adam{.learning_rate = 0.01}, .loss = MeanSquaredError()});
  return model;
}
const FitOptions kOneBatch{.batch_size = 16, .shuffle = false};

std::vector<Literal> values_of(Model& model) {
  std::vector<Literal> out;
  for (const Variable& variable : model.variables()) out.push_back(variable.read().node()->literal());
  for (const Variable& variable : model.optimizer().variables())
    out.push_back(variable.read().node()->literal());
  return out;
}

TEST_F(ThroughShim, SlowVariablesAreTheOldOnesAfterARunThatWasRefused) {
  const FewRows rows = few_rows();
  const auto step = [&](Sequential& of) { there([&] { of.fit(rows.x, rows.y, kOneBatch); }); };
  // A model draws its weights when it first sees rows.
  Sequential wanted = small_network();
  step(wanted);
  Sequential model = small_network();
  step(model);
  ASSERT_TRUE(values_of(model) == values_of(wanted));
  for (const char* fault : {"refuse@execute:1", "memory@execute:1", "throws@execute:1", "refuse@upload:1",
                            "late@upload:1", "refuse@upload:2"}) {
    const std::string got = said(fault, [&] { step(model); });
    EXPECT_NE(got.find("shim"), std::string::npos) << fault << ": " << got;
    const bool names =
        got.find(
            "; the largest tensors it needs: argument 0 f32[16,4] (0.0 MiB), sequential/dense/kernel ") !=
        got.npos;
    EXPECT_EQ(names, std::string_view(fault) == "memory@execute:1") << got;
    EXPECT_TRUE(values_of(model) == values_of(wanted)) << fault;
    step(wanted);
    step(model);
    EXPECT_TRUE(values_of(model) == values_of(wanted)) << fault;
  }
}

TEST_F(ThroughShim, SlowStateThatALateFailureTookIsNotReadCalmly) {
  const FewRows rows = few_rows();
  const auto step = [&](Sequential& of) { there([&] { of.fit(rows.x, rows.y, kOneBatch); }); };
  // A model draws its weights when it first sees rows.
  Sequential wanted = small_network();
  step(wanted);
  Sequential model = small_network();
  step(model);
  ASSERT_TRUE(values_of(model) == values_of(wanted));
  const std::vector<Literal> old = values_of(model);
  const std::string got = said("late@execute:1", [&] { step(model); });
  EXPECT_NE(got.find("shim failed late (code 13 of "), std::string::npos) << got;
  EXPECT_THROW(values_of(model), DeviceError);
  EXPECT_THROW(step(model), DeviceError);
  // The device goes on, with state that was kept elsewhere. What layers draw from had been there, too.
  set_seed(4);
  Sequential again = small_network();
  step(again);
  size_t i = 0;
  for (Variable variable : again.variables()) variable.assign(make_concrete(old[i++]));
  for (Variable variable : again.optimizer().variables()) variable.assign(make_concrete(old[i++]));
  step(wanted);
  step(again);
  EXPECT_TRUE(values_of(again) == values_of(wanted));
}

}  // namespace
}  // namespace espalier::pjrt
