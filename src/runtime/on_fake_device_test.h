// With ESPALIER_DEVICE=fake the tests of a binary run in a context whose device is a fake one. What they ask
// of tensors, tapes, functions, fit, save and load must hold there, too.
#pragma once

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/run_context.h"
#include "runtime/fake_device_test.h"

namespace espalier {

// What devices refuse, or do otherwise.
struct NotOnDevice {
  std::string_view tests;   // "Suite.Test", or "Suite.*"
  std::string_view reason;  // as one says it of the test

  bool names(const testing::TestInfo& test) const {
    const std::string suite = test.test_suite_name();
    return tests == cat(suite, ".*") || tests == cat(suite, ".", test.name());
  }
};

inline std::string device_of_tests() {
  const char* named = std::getenv("ESPALIER_DEVICE");
  return named ? named : "";
}

// Each test has a device of its own, so that what it meets there does not depend on the tests before it.
class OnFakeDevice final : public testing::EmptyTestEventListener {
 public:
  explicit OnFakeDevice(std::span<const NotOnDevice> left_out) : left_out_(left_out) {}

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    const std::string named = device_of_tests();
    if (named.empty()) return;
    ASSERT_EQ(named, "fake") << "the device in ESPALIER_DEVICE that tests know";
    for (const NotOnDevice& each : left_out_)
      if (each.names(test)) GTEST_SKIP() << "not on a device: " << each.reason;
    device_ = FakeDevice::create();
    context_ = std::make_unique<RunContext>(
        RunContextOptions{.device = device_.get(), .shares = &RunContext::current()});
    scope_.emplace(*context_);
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (device_ && !test.result()->Skipped() && !device_->was_asked())
      std::cout << "[never asked] " << test.test_suite_name() << "." << test.name() << std::endl;
    scope_.reset();
    context_.reset();
    device_.reset();
  }

  std::span<const NotOnDevice> left_out_;
  FakeDevicePtr device_;
  std::unique_ptr<RunContext> context_;
  std::optional<RunScope> scope_;
};

// For this binary: where it is asked for. `left_out` lives as long as the program.
inline bool run_on_fake_device(std::span<const NotOnDevice> left_out) {
  testing::UnitTest::GetInstance()->listeners().Append(new OnFakeDevice(left_out));
  return true;
}

// That each entry names a test: one that was renamed would be left out by nobody.
inline void expect_tests_of(std::span<const NotOnDevice> left_out) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (const NotOnDevice& each : left_out) {
    bool found = false;
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
      const testing::TestSuite& suite = *all.GetTestSuite(i);
      for (int k = 0; k < suite.total_test_count(); ++k) found = found || each.names(*suite.GetTestInfo(k));
    }
    EXPECT_TRUE(found) << "no test has the name " << each.tests;
  }
}

}  // namespace espalier
