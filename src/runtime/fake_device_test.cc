#include "runtime/fake_device_test.h"

#include <fcntl.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/control.h"
#include "espalier/ops.h"
#include "interp/interpreter.h"
#include "ir/trip_test.h"
#include "tests/random_graph.h"

namespace espalier {
namespace {

const TensorType kFour{DType::kF32, {4}};

Literal four(float first) {
  const float values[] = {first, first + 1, first + 2, first + 3};
  return Literal::copy(kFour, values);
}

// y = 2 a + b, and the update of a, which may lie where a does: a + b.
std::shared_ptr<Graph> sums() {
  GraphBuilder builder("sums");
  const SinkScope scope(builder);
  const Tensor a = builder.argument("a", kFour), b = builder.argument("b", kFour);
  builder.result("y", a * 2 + b);
  builder.result("next", a + b);
  return builder.finish();
}
constexpr Alias kNextIsA[] = {{.input = 0, .output = 1}};
constexpr char kGiveA[] = {true, false};

const void* address_of(const RemoteArrayPtr& array) {
  return dynamic_cast<const FakeArray&>(*array).address();
}

// Whether this process may read there: the system looks, since a look of our own would end the test.
bool may_read(const void* address) {
  int ends[2];
  if (pipe(ends) != 0) throw IoError("test.pipe", "no pipe");
  const ssize_t written = write(ends[1], address, 1);
  const bool forbidden = written < 0 && errno == EFAULT;
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(written, forbidden ? -1 : 1);
  return !forbidden;
}

// Keeps the device from what it was asked for since.
class Busy {
 public:
  explicit Busy(FakeDevice& device) {
    device.then([wait = std::make_shared<std::future<void>>(done_.get_future())] { wait->wait(); });
  }
  ~Busy() { end(); }
  void end() {
    if (!std::exchange(ended_, true)) done_.set_value();
  }

 private:
  std::promise<void> done_;
  bool ended_ = false;
};

void wait_for(FakeDevice& device) {
  std::promise<void> done;
  device.then([&] { done.set_value(); });
  done.get_future().wait();
}

TEST(FakeDevice, ProgramsGiveTheInterpretersBits) {
  const auto device = FakeDevice::create();
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const RandomGraph random(seed);
    const std::vector<Literal> wanted = interpret(*random.graph, random.inputs, RunContext::current());
    std::vector<Alias> aliases;
    std::vector<char> donated(random.inputs.size(), false);
    for (size_t i = 0; i < random.inputs.size(); ++i) {
      for (size_t k = 0; k < wanted.size(); ++k) {
        const GraphInput& input = random.graph->inputs()[i];
        const GraphOutput& output = random.graph->outputs()[k];
        if (input.kind != InputKind::kVariable || output.kind != OutputKind::kUpdate ||
            input.name != output.name)
          continue;
        aliases.push_back({i, k});
        donated[i] = true;
      }
    }
    const auto program = device->compile(*random.graph, {.aliases = aliases});
    for (const std::vector<char>& given : {std::vector<char>(), donated}) {
      std::vector<RemoteArrayPtr> inputs;
      for (const Literal& input : random.inputs) inputs.push_back(device->upload(input));
      const std::vector<RemoteArrayPtr> outputs = program->run(inputs, given, RunContext::current());
      ASSERT_EQ(outputs.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_EQ(difference(wanted[i], outputs[i]->download()), "") << "output " << i;
    }
  }
}

TEST(FakeDevice, AProgramOfOneOpWithRegionsRuns) {
  GraphBuilder builder("loop");
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", kFour), captured = builder.argument("y", kFour);
    builder.result("z", fori_loop(
                            0, 3, [&](const Tensor&, const Tensor& z) { return z + captured; }, x));
  }
  const auto device = FakeDevice::create();
  const auto program = device->compile(*builder.finish());
  const RemoteArrayPtr inputs[] = {device->upload(four(1)), device->upload(Literal::splat(kFour, 2.0))};
  EXPECT_EQ(program->run(inputs, {}, RunContext::current())[0]->download(), four(7));
}

TEST(FakeDevice, ARunReturnsAtOnceAndADownloadWaits) {
  const auto device = FakeDevice::create();
  const auto program = device->compile(*sums());
  const RemoteArrayPtr inputs[] = {device->upload(four(0)), device->upload(four(10))};
  Busy busy(*device);
  const std::vector<RemoteArrayPtr> outputs = program->run(inputs, {}, RunContext::current());
  // Even what the run needs is not there yet.
  const RemoteArrayPtr more[] = {outputs[1], outputs[0]};
  const RemoteArrayPtr last = program->run(more, {}, RunContext::current())[1];
  std::future<Literal> download = std::async(std::launch::async, [&] { return last->download(); });
  EXPECT_EQ(download.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  busy.end();
  const float wanted[] = {20, 25, 30, 35};
  EXPECT_EQ(download.get(), Literal::copy(kFour, wanted));
}

TEST(FakeDevice, AnUploadIsACopy) {
  const auto device = FakeDevice::create();
  std::vector<float> values{1, 2, 3, 4};
  const RemoteArrayPtr array = device->upload(Literal::borrow({&kFour, values.data()}));
  values.assign(4, 9);
  EXPECT_EQ(array->download(), four(1));
  EXPECT_EQ(array->type(), kFour);
  EXPECT_EQ(&array->device(), device.get());
  const RemoteArrayPtr splat = device->upload(Literal::splat(kFour, 3.0));
  EXPECT_FALSE(splat->download().is_splat());
  const TensorType none{DType::kF64, {3, 0}};
  EXPECT_EQ(device->upload(Literal::splat(none, 1.0))->download().type(), none);
}

TEST(FakeDevice, NobodyReadsAnArrayDirectly) {
  const auto device = FakeDevice::create();
  const auto program = device->compile(*sums());
  const RemoteArrayPtr inputs[] = {device->upload(four(0)), device->upload(four(10))};
  const std::vector<RemoteArrayPtr> outputs = program->run(inputs, {}, RunContext::current());
  outputs[0]->download();
  wait_for(*device);
  for (const RemoteArrayPtr& array : {inputs[0], inputs[1], outputs[0], outputs[1]})
    EXPECT_FALSE(may_read(address_of(array)));
  const Literal here = four(0);
  EXPECT_TRUE(may_read(here.raw()));
}

TEST(FakeDevice, WhoReadsDirectlyIsStopped) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const RemoteArrayPtr array = FakeDevice::create()->upload(four(3));
  const auto read = [&] {
    [[maybe_unused]] const float value = *static_cast<const volatile float*>(address_of(array));
    std::exit(0);
  };
  EXPECT_DEATH(read(), "");
}

TEST(FakeDevice, WhatIsDonatedIsOverwrittenOrTakenAndRefused) {
  const auto device = FakeDevice::create();
  const auto program = device->compile(*sums(), {.aliases = kNextIsA});
  const RemoteArrayPtr b = device->upload(four(1));
  const auto overwritten = Literal::splat({DType::kU8, {16}}, int64_t{FakePages::kDonated}).expanded();
  int taken = 0, poisoned = 0;
  for (int i = 0; i < 20; ++i) {
    const RemoteArrayPtr a = device->upload(four(0)), inputs[] = {a, b};
    const std::vector<RemoteArrayPtr> outputs = program->run(inputs, kGiveA, RunContext::current());
    EXPECT_EQ(rule_of([&] { a->download(); }), "device.donated");
    EXPECT_EQ(rule_of([&] { program->run(inputs, {}, RunContext::current()); }), "device.donated");
    const float wanted[] = {1, 3, 5, 7};
    EXPECT_EQ(outputs[1]->download(), Literal::copy(kFour, wanted));
    wait_for(*device);
    if (address_of(outputs[1]) == address_of(a)) {
      ++taken;
      continue;
    }
    ++poisoned;
    ASSERT_EQ(mprotect(const_cast<void*>(address_of(a)), kFour.bytes(), PROT_READ), 0);
    EXPECT_EQ(std::memcmp(address_of(a), overwritten.raw(), kFour.bytes()), 0);
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(poisoned, 0);
  EXPECT_EQ(b->download(), four(1));
}

// What was asked for before the donation still sees the array.
TEST(FakeDevice, RunsBeforeADonationSeeTheOldValue) {
  const auto device = FakeDevice::create();
  const auto program = device->compile(*sums(), {.aliases = kNextIsA});
  const RemoteArrayPtr inputs[] = {device->upload(four(0)), device->upload(four(1))};
  Busy busy(*device);
  const RemoteArrayPtr before = program->run(inputs, {}, RunContext::current())[1],
                       at = program->run(inputs, kGiveA, RunContext::current())[1];
  busy.end();
  const float wanted[] = {1, 3, 5, 7};
  for (const RemoteArrayPtr& next : {before, at}) EXPECT_EQ(next->download(), Literal::copy(kFour, wanted));
}

TEST(FakeDevice, ARunThatIsRefusedHasChangedNothing) {
  const auto device = FakeDevice::create(), other = FakeDevice::create({.name = "other"});
  const auto program = device->compile(*sums(), {.aliases = kNextIsA});
  const RemoteArrayPtr a = device->upload(four(0)), b = device->upload(four(1));
  const auto rule = [&](const std::vector<RemoteArrayPtr>& inputs) {
    return rule_of([&] { program->run(inputs, kGiveA, RunContext::current()); });
  };
  const auto kind = [&](const RemoteArrayPtr& second) {
    try {
      program->run(std::vector{a, second}, kGiveA, RunContext::current());
    } catch (const Error& error) {
      return cat(error.kind(), " ", error.rule());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(rule({a}), "device.inputs");
  EXPECT_EQ(kind(device->upload(Literal::splat({DType::kF32, {3}}, 1.0))), "ShapeError device.inputs");
  EXPECT_EQ(kind(device->upload(Literal::splat({DType::kI32, {4}}, 1.0))), "DTypeError device.inputs");
  EXPECT_EQ(kind(other->upload(four(0))), "DeviceError device.inputs");
  EXPECT_EQ(kind(a), "DeviceError device.donated");
  EXPECT_EQ(a->download(), four(0));
  EXPECT_EQ(rule({a, b}), "nothing");
}

TEST(FakeDevice, AliasesAreHeldToTheirContract) {
  const auto device = FakeDevice::create();
  const auto refused = [&](const std::vector<Alias>& aliases, const Graph& graph) {
    EXPECT_THROW(device->compile(graph, {.aliases = aliases}), InternalError);
  };
  refused({{0, 0}, {0, 1}}, *sums());
  refused({{0, 1}, {1, 1}}, *sums());
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", kFour);
    builder.result("sum", reduce_sum(x, {0}));
  }
  refused({{0, 0}}, *builder.finish());
}

TEST(FakeDevice, AFailureIsToldWhoeverDownloadsWhatCameOfIt) {
  GraphBuilder builder("fails");
  {
    const SinkScope scope(builder);
    builder.result("y", trip(builder.argument("a", kFour), 0) + builder.argument("b", kFour));
  }
  const auto device = FakeDevice::create();
  const auto fails = device->compile(*builder.finish()), goes_on = device->compile(*sums());
  const RemoteArrayPtr a = device->upload(four(0)), b = device->upload(four(1)), inputs[] = {a, b};
  Trips::arm(0);
  const RemoteArrayPtr failed = fails->run(inputs, kGiveA, RunContext::current())[0];
  const RemoteArrayPtr more[] = {b, failed};
  const RemoteArrayPtr after = goes_on->run(more, {}, RunContext::current())[0];
  for (const RemoteArrayPtr& array : {failed, after, failed}) {
    try {
      array->download();
      ADD_FAILURE() << "it has not failed";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.rule(), "device.run");
      EXPECT_NE(error.message().find("fails failed: "), std::string::npos) << error.message();
      EXPECT_NE(error.message().find("a test wants it so"), std::string::npos) << error.message();
    }
  }
  Trips::disarm();
  EXPECT_EQ(rule_of([&] { a->download(); }), "device.donated");
  EXPECT_EQ(b->download(), four(1));
}

TEST(FakeDevice, WhatItHasMadeKeepsItAlive) {
  auto device = FakeDevice::create();
  RemoteArrayPtr result;
  {
    const auto program = device->compile(*sums());
    const RemoteArrayPtr inputs[] = {device->upload(four(0)), device->upload(four(0))};
    result = program->run(inputs, {}, RunContext::current())[0];
    program->run(inputs, {}, RunContext::current());
  }
  device.reset();
  const float wanted[] = {0, 3, 6, 9};
  EXPECT_EQ(result->download(), Literal::copy(kFour, wanted));
}

TEST(FakeDevice, ItEndsBehindWhatItWasAskedFor) {
  bool done = false;
  auto device = FakeDevice::create();
  device->then([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  device->then([&] { done = true; });
  device.reset();
  EXPECT_TRUE(done);
}

TEST(FakeDevice, SeveralThreadsUseIt) {
  const auto device = FakeDevice::create({.latest = std::chrono::microseconds(20)});
  const auto program = device->compile(*sums(), {.aliases = kNextIsA});
  const RemoteArrayPtr one = device->upload(Literal::splat(kFour, 1.0));
  std::vector<std::future<Literal>> sums_of;
  for (int i = 0; i < 4; ++i)
    sums_of.push_back(std::async(std::launch::async, [&] {
      RemoteArrayPtr sum = device->upload(four(0));
      for (int step = 0; step < 50; ++step) {
        const RemoteArrayPtr inputs[] = {sum, one};
        sum = program->run(inputs, kGiveA, RunContext::current())[1];
      }
      return sum->download();
    }));
  for (auto& sum : sums_of) EXPECT_EQ(sum.get(), four(50));
}

}  // namespace
}  // namespace espalier
