// One device of a client and several as one: what is compiled, run, copied and counted.
#include "pjrt/client_device.h"

#include <algorithm>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "pjrt/client_array.h"
#include "pjrt/compile_options.h"
#include "pjrt/fake_plugin_test.h"

namespace espalier::pjrt {
namespace {

struct ClientDevices : FakePlugin {
  // compiles, loads, executes, uploads, downloads and their bytes.
  static std::vector<int64_t> numbers_of(const Counters& c) {
    return {c.compiles, c.loads, c.executes, c.uploads, c.downloads, c.uploaded_bytes, c.downloaded_bytes};
  }
  static std::vector<int64_t> numbers_of(const DeviceMemory& memory) {
    return {memory.current, memory.peak, memory.limit, memory.program};
  }
};
using Numbers = std::vector<int64_t>;

TEST_F(ClientDevices, CountersAreSubtractedOneByOne) {
  const Counters a{71, 62, 53, 44, 35, 26, 17}, b{1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(numbers_of(a - b), (Numbers{70, 60, 50, 40, 30, 20, 10}));
}

TEST_F(ClientDevices, EachCountsWhatItDid) {
  const ClientPtr client = client_of(3);
  const DevicePtr first = client->device(0), both = client->devices({0, 1});
  const RemoteArrayPtr x = two_numbers(*first), two = two_numbers(*both);
  const auto program = both->compile(*sum_graph());
  const RemoteArrayPtr y = run(*program, {two, two})[0];
  y->download(1);
  y->download(0);
  first->compile(*sum_graph());
  EXPECT_EQ(numbers_of(both->counters()), (Numbers{1, 0, 1, 2, 2, 16, 16}));
  EXPECT_EQ(numbers_of(first->counters()), (Numbers{2, 0, 1, 2, 2, 16, 16}));
  EXPECT_EQ(numbers_of(client->device(1)->counters()), (Numbers{1, 0, 1, 1, 2, 8, 16}));
  EXPECT_EQ(numbers_of(client->device(2)->counters()), (Numbers{0, 0, 0, 0, 0, 0, 0}));
}

TEST_F(ClientDevices, BytesOfArraysAreCountedOnEachOfSeveral) {
  const ClientPtr client = client_of(2);
  const DevicePtr both = client->devices({0, 1});
  const auto memory = [&](size_t i) { return numbers_of(client->device(i)->memory()); };
  {
    const RemoteArrayPtr x = two_numbers(*both), alone = two_numbers(*client->device(1));
    EXPECT_EQ(memory(0), (Numbers{8, 8, 0, 0}));
    EXPECT_EQ(memory(1), (Numbers{16, 16, 0, 0}));
    EXPECT_EQ(numbers_of(both->memory()), (Numbers{8, 8, 0, 0})) << "of several that of the first";
  }
  EXPECT_EQ(memory(0), (Numbers{0, 8, 0, 0}));
  EXPECT_EQ(memory(1), (Numbers{0, 16, 0, 0}));
  two_numbers(*client->device(0));
  EXPECT_EQ(memory(0), (Numbers{0, 8, 0, 0})) << "a peak is the highest one, not the last";
}

TEST_F(ClientDevices, ThePluginsFiguresComeFirst) {
  const ClientPtr client = client_of(2);
  const RemoteArrayPtr x = two_numbers(*client->device(1));
  const auto memory = [&](const DevicePtr& device) { return numbers_of(device->memory()); };
  state_->memory = {.in_use = 100, .peak = {300, true}, .limit = {1000, true}};
  EXPECT_EQ(memory(client->device(0)), (Numbers{100, 300, 1000, 0}));
  EXPECT_EQ(memory(client->device(1)), (Numbers{101, 300, 1000, 0}));
  EXPECT_EQ(memory(client->devices({1, 0})), (Numbers{101, 300, 1000, 0}));
  // What is not known has a number all the same.
  state_->memory = {.in_use = 100, .peak = {300, false}, .limit = {1000, false}};
  EXPECT_EQ(memory(client->device(0)), (Numbers{100, 100, 0, 0}));
  state_->memory.reset();
  EXPECT_EQ(memory(client->device(1)), (Numbers{8, 8, 0, 0}));
}

TEST_F(ClientDevices, TheLargestProgramIsTold) {
  const ClientPtr client = client_of(3);
  const DevicePtr both = client->devices({0, 1});
  const auto programs = [&] {
    Numbers out;
    for (size_t i = 0; i < 3; ++i) out.push_back(client->device(i)->memory().program);
    return out;
  };
  both->compile(*sum_graph());
  EXPECT_EQ(programs(), (Numbers{0, 0, 0})) << "none is told";
  state_->estimate = {.arguments = 100, .outputs = 40, .aliases = 30, .temporary = 7};
  both->compile(*sum_graph());
  EXPECT_EQ(programs(), (Numbers{117, 117, 0}));
  state_->estimate = {.arguments = 50, .temporary = 1};
  both->compile(*sum_graph());
  EXPECT_EQ(programs(), (Numbers{117, 117, 0}));
  state_->estimate = {.arguments = 117, .temporary = 1};
  client->device(1)->compile(*sum_graph());
  EXPECT_EQ(programs(), (Numbers{117, 118, 0}));
  state_->memory = {.in_use = 5};
  EXPECT_EQ(numbers_of(client->device(1)->memory()), (Numbers{6, 6, 0, 118}));
}

TEST_F(ClientDevices, AProgramNamesTheDevicesItRunsOn) {
  const ClientPtr client = client_of(3);
  client->device(0)->compile(*sum_graph());
  client->device(2)->compile(*sum_graph());
  client->devices({2, 1})->compile(*sum_graph());
  EXPECT_EQ(take_options(),
            (Lines{encode({}), encode({.devices = {2}}), encode({.devices = {2, 1}, .replicas = 2})}));
}

TEST_F(ClientDevices, XlaForCpusGetsOptionsOfItsOwn) {
  state_->platform = "cpu";
  const ClientPtr client = client_of(2);
  client->device(0)->compile(*sum_graph());
  client->devices({0, 1})->compile(*sum_graph());
  EXPECT_EQ(
      take_options(),
      (Lines{encode({.keeps_nan = true}),
             encode({.keeps_nan = true, .collective_seconds = 3600, .devices = {0, 1}, .replicas = 2})}));
}

TEST_F(ClientDevices, AVersionWithoutThoseOptionsIsGivenNone) {
  state_->platform = "cpu";
  const ClientPtr client = client_of(2);
  const DevicePtr both = client->devices({0, 1});
  state_->refused_option = "xla_cpu_enable_fast_min_max";
  const std::string without = encode({.devices = {0, 1}, .replicas = 2});
  both->compile(*sum_graph());
  EXPECT_EQ(take_options(),
            (Lines{encode({.keeps_nan = true, .collective_seconds = 3600, .devices = {0, 1}, .replicas = 2}),
                   without}));
  EXPECT_EQ(both->take_notes(),
            Lines{"fake:0-1: this version of XLA takes no option that keeps NaN in a maximum or minimum"});
  both->compile(*sum_graph());
  EXPECT_EQ(take_options(), Lines{without}) << "it is not asked again";
  EXPECT_EQ(both->take_notes(), Lines());
  EXPECT_EQ(both->counters().compiles, 2);
  state_->refused_option = "xla_allow_excess_precision";
  EXPECT_EQ(error_said([&] { both->compile(*sum_graph()); }),
            "device.call: cannot compile the program: No such compile option: 'xla_allow_excess_precision' "
            "(code 3 of fake_plugin.so, PJRT 0.81)");
}

TEST_F(ClientDevices, WhatIsDonatedIsGone) {
  const ClientPtr client = client_of(1);
  const DevicePtr device = client->device(0);
  const auto program = device->compile(*sum_graph());
  const RemoteArrayPtr a = two_numbers(*device), b = two_numbers(*device);
  take_log();
  {
    const auto y = run(*program, {a, b}, {true, false});
    EXPECT_EQ(take_log(), Lines{"run 0.0 on 1 keeping 1"});
    EXPECT_EQ(device->memory().current, 16) << "of b and of the result";
    EXPECT_EQ(device->memory().peak, 16);
  }
  EXPECT_EQ(device->memory().current, 8);
  run(*program, {b, b}, {false, true});
  EXPECT_EQ(take_log(), Lines{"run 0.1 on 1 keeping 0"});
  EXPECT_EQ(device->memory().current, 0);
}

TEST_F(ClientDevices, InputsThatAreNotTheProgramsAreRefused) {
  const ClientPtr client = client_of(2);
  const DevicePtr device = client->device(0);
  const auto program = device->compile(*sum_graph());
  const RemoteArrayPtr a = two_numbers(*device);
  const auto refused = [&](std::vector<RemoteArrayPtr> inputs) {
    return error_said([&] { run(*program, std::move(inputs)); });
  };
  take_log();
  EXPECT_EQ(refused({a}), "device.inputs: sum takes 2 inputs, got 1");
  EXPECT_EQ(refused({a, a, a}), "device.inputs: sum takes 2 inputs, got 3");
  EXPECT_EQ(refused({a, device->upload(Literal::of<float>({1}))}),
            "device.inputs: input 1 of sum is f32[2], got f32[1]");
  const auto integers = [&] { run(*program, {device->upload(Literal::of<int32_t>({1, 2})), a}); };
  EXPECT_EQ(error_said(integers), "device.inputs: input 0 of sum is f32[2], got i32[2]");
  EXPECT_THROW(integers(), DTypeError);
  EXPECT_EQ(refused({a, two_numbers(*client->device(1))}),
            "device.inputs: input 1 of sum lies on fake:1, and the program runs on fake:0");
  for (const std::string& line : take_log()) EXPECT_TRUE(line.starts_with("upload")) << line;
  EXPECT_EQ(device->counters().executes, 0);
}

TEST_F(ClientDevices, ArraysFromBeforeAClientBeganAnewAreRefused) {
  const ClientPtr client = client_of(1);
  const DevicePtr device = client->device(0);
  const auto program = device->compile(*sum_graph());
  const RemoteArrayPtr before = two_numbers(*device);
  client->invalidate_arrays();
  const RemoteArrayPtr after = two_numbers(*device);
  const std::string sentence =
      "device.invalid: an array of f32[2] on fake:0 is from before initialize_tpu_system(), which begins a "
      "TPU anew";
  EXPECT_EQ(error_said([&] { run(*program, {after, before}); }), sentence);
  EXPECT_EQ(error_said([&] { before->download(); }), sentence);
  EXPECT_EQ(run(*program, {after, after})[0]->download(), Literal::of<float>({1, 2}));
}

TEST_F(ClientDevices, ElementsAreOfTheInterfacesTypes) {
  // PJRT_Buffer_Type of OpenXLA's header.
  const std::pair<DType, int> types[] = {
      {DType::kBool, 1}, {DType::kI8, 2},   {DType::kI16, 3},  {DType::kI32, 4}, {DType::kI64, 5},
      {DType::kU8, 6},   {DType::kU16, 7},  {DType::kU32, 8},  {DType::kU64, 9}, {DType::kF16, 10},
      {DType::kF32, 11}, {DType::kF64, 12}, {DType::kBF16, 13}};
  for (const auto& [dtype, number] : types)
    EXPECT_EQ(static_cast<int>(abi_type(dtype)), number) << cat(dtype);
}

TEST_F(ClientDevices, ArraysLieAsTheirShapeSays) {
  const ClientPtr client = client_of(2);
  std::vector<int32_t> numbers(24);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i) - 12;
  const Literal value = Literal::copy({DType::kI32, {2, 3, 4}}, numbers.data());
  const RemoteArrayPtr there = client->device(1)->upload(value);
  EXPECT_EQ(there->download(), value);
  EXPECT_EQ(take_log(), (Lines{"upload 4 [2,3,4] to 1", "download of 96 by 2,1,0"}));
  // A splat is spread out, and an array of nothing is an array.
  EXPECT_EQ(client->device(0)->upload(Literal::splat({DType::kF32, {3}}, 7.0))->download(),
            Literal::of<float>({7, 7, 7}));
  const Literal nothing = Literal::copy({DType::kF32, {0}}, numbers.data());
  EXPECT_EQ(client->device(0)->upload(nothing)->download(), nothing);
  EXPECT_EQ(take_log(),
            (Lines{"upload 11 [3] to 0", "download of 12 by 0", "upload 11 [0] to 0", "download of 0 by 0"}));
}

TEST_F(ClientDevices, EachReplicaHasAValueOfItsOwn) {
  const ClientPtr client = client_of(3);
  const DevicePtr both = client->devices({2, 0});
  const Literal values[] = {Literal::of<float>({1, 2}), Literal::of<float>({3, 4})};
  const RemoteArrayPtr there = both->upload_each(values);
  EXPECT_EQ(take_log(), (Lines{"upload 11 [2] to 2", "upload 11 [2] to 0"}));
  EXPECT_EQ(there->download(0), values[0]);
  EXPECT_EQ(there->download(1), values[1]);
  const RemoteArrayPtr out = run(*both->compile(*sum_graph()), {there, there})[0];
  EXPECT_EQ(out->download(0), values[0]);
  EXPECT_EQ(out->download(1), values[1]);
}

TEST_F(ClientDevices, ADownloadThatLacksItsEndIsAnError) {
  const ClientPtr client = client_of(1);
  // The last of these is what memory holds before the first try, and before the second.
  for (const int last : {0x00, 0xA5, 0x5A, 0xFF}) {
    const Literal value = Literal::of<uint8_t>({1, 2, static_cast<uint8_t>(last)});
    const RemoteArrayPtr there = client->device(0)->upload(value);
    EXPECT_EQ(there->download(), value) << last;
    for (const size_t withheld : {1u, 3u}) {
      state_->withheld = withheld;
      EXPECT_EQ(error_said([&] { there->download(); }),
                "device.call: cannot download an array: the plugin gave less than all of its bytes")
          << last;
    }
    state_->withheld = 0;
  }
}

}  // namespace
}  // namespace espalier::pjrt
