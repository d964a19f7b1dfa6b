// The bytes of the message against protobuf's wire form, with the numbers of fields of XLA's
// compile_options.proto.
#include "pjrt/compile_options.h"

#include <string_view>

#include <gtest/gtest.h>

#include "base/format.h"

namespace espalier::pjrt {
namespace {

using std::literals::operator""sv;

// An entry of env_option_overrides, field 7: the name is its field 1; the value's bytes are an
// OptionOverrideProto, its field 2. REQUIRES: shorter than 128 bytes.
std::string entry_of(std::string_view name, std::string_view value) {
  const auto field = [](char head, std::string_view bytes) {
    return cat(std::string{head, static_cast<char>(bytes.size())}, bytes);
  };
  return field('\x3a', cat(field('\x0a', name), field('\x12', value)));
}
// bool_field = 2.
std::string switched_off(std::string_view name) { return entry_of(name, "\x10\0"sv); }

// executable_build_options, field 3, for a device that is not named, -1, and one partition.
const std::string kOneReplica =
    cat("\x1a\x0f", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x20\x01", "\x28\x01");

TEST(CompileOptions, RoundWhatHasSixteenBitsUnlessTheyAreToldOtherwise) {
  EXPECT_EQ(encode({}), cat(kOneReplica, switched_off("xla_allow_excess_precision")));
  EXPECT_EQ(encode({.excess_precision = true}), kOneReplica);
}

TEST(CompileOptions, KeepNanByAMaximumThatIsNotTheFastOne) {
  EXPECT_EQ(encode({.excess_precision = true, .keeps_nan = true}),
            cat(kOneReplica, switched_off("xla_cpu_enable_fast_min_max")));
}

TEST(CompileOptions, SayHowLongReplicasWait) {
  // int_field = 3; 300 is 2 * 128 + 44.
  EXPECT_EQ(encode({.excess_precision = true, .collective_seconds = 300}),
            cat(kOneReplica, entry_of("xla_cpu_collective_call_terminate_timeout_seconds", "\x18\xac\x02")));
}

// device_assignment, field 9: replica_count 3, computation_count 1, and one computation_devices with the
// packed replica_device_ids. 300 is 2 * 128 + 44.
TEST(CompileOptions, NameTheDeviceOfEachReplica) {
  const std::string ids = "\x0a\x04\x02\x01\xac\x02";
  const std::string assignment =
      cat("\x4a\x0c", "\x08\x03", "\x10\x01", "\x1a", std::string(1, static_cast<char>(ids.size())), ids);
  EXPECT_EQ(
      encode({.excess_precision = true, .devices = {2, 1, 300}, .replicas = 3}),
      cat("\x1a\x1d", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x20\x03", "\x28\x01", assignment));
  EXPECT_EQ(encode({.excess_precision = true, .replicas = 4}),
            cat("\x1a\x0f", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x20\x04", "\x28\x01"));
}

}  // namespace
}  // namespace espalier::pjrt
