#include "place/device_place.h"

#include <optional>

#include <gtest/gtest.h>

#include "espalier/array.h"
#include "espalier/function.h"
#include "runtime/fake_device_test.h"

namespace espalier {
namespace {

// Owned by a test, which ends it whatever it has made.
class OwnedDevice final : public Device {
 public:
  const std::string& name() const override { return device_->name(); }
  DeviceMemory memory() const override { return {}; }
  std::shared_ptr<const DeviceProgram> compile(const Graph& graph, const ProgramOptions& options) override {
    ++compiled;
    return device_->compile(graph, options);
  }
  size_t compiled = 0;

 private:
  RemoteArrayPtr keep(std::span<const Literal> values) override { return device_->upload_each(values); }

  const FakeDevicePtr device_ = FakeDevice::create();
};

TEST(DevicePlace, ADeviceInThePlaceOfAnotherHasProgramsOfItsOwn) {
  const auto twice = function([](const Tensor& x) { return x * 2; });
  std::optional<OwnedDevice> device;
  const Device* address = nullptr;
  for (int i = 0; i < 3; ++i) {
    device.emplace();
    EXPECT_TRUE(i == 0 || address == &*device);
    address = &*device;
    const RunContext context({.threads = 1, .device = &*device});
    const RunScope scope(context);
    for (int call = 0; call < 2; ++call)
      EXPECT_EQ(twice(full({2}, i)).to_vector<float>(), std::vector<float>(2, static_cast<float>(2 * i)));
    EXPECT_EQ(device->compiled, 1u) << i;
  }
}

}  // namespace
}  // namespace espalier
