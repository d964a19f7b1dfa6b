#include "pjrt/compile_options.h"

#include <cstdint>
#include <string_view>

namespace espalier::pjrt {
namespace {

// The two forms of a protobuf's fields that are needed: a number, and bytes with their length before them.
void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void put_number(std::string& out, int field, uint64_t value) {
  put_varint(out, static_cast<uint64_t>(field) << 3);
  put_varint(out, value);
}
void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_varint(out, static_cast<uint64_t>(field) << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}

// Fields of xla.CompileOptionsProto, xla.ExecutableBuildOptionsProto, and of an entry of a map to
// xla.OptionOverrideProto.
enum Field : int {
  kBuildOptions = 3,
  kOverrides = 7,
  kDeviceOrdinal = 1,
  kReplicas = 4,
  kPartitions = 5,
  kAssignment = 9,
  // of xla.DeviceAssignmentProto
  kReplicaCount = 1,
  kComputationCount = 2,
  kComputationDevices = 3,
  kReplicaIds = 1,
  kKey = 1,
  kValue = 2,
  kBool = 2,
  kInt = 3,
};

void put_override(std::string& out, std::string_view name, Field type, uint64_t value) {
  std::string choice, entry;
  put_number(choice, type, value);
  put_bytes(entry, kKey, name);
  put_bytes(entry, kValue, choice);
  put_bytes(out, kOverrides, entry);
}

}  // namespace

std::string encode(const CompileOptions& options) {
  std::string build, out;
  put_number(build, kDeviceOrdinal, ~uint64_t{0});  // -1: whichever
  put_number(build, kReplicas, static_cast<uint64_t>(options.replicas));
  put_number(build, kPartitions, 1);
  if (!options.devices.empty()) {
    std::string assignment, computation, ids;
    for (const int device : options.devices) put_varint(ids, static_cast<uint64_t>(device));
    put_bytes(computation, kReplicaIds, ids);
    put_number(assignment, kReplicaCount, options.devices.size());
    put_number(assignment, kComputationCount, 1);
    put_bytes(assignment, kComputationDevices, computation);
    put_bytes(build, kAssignment, assignment);
  }
  put_bytes(out, kBuildOptions, build);
  if (options.keeps_nan) put_override(out, "xla_cpu_enable_fast_min_max", kBool, false);
  if (options.collective_seconds)
    put_override(out, "xla_cpu_collective_call_terminate_timeout_seconds", kInt,
                 static_cast<uint64_t>(options.collective_seconds));
  if (!options.excess_precision) put_override(out, "xla_allow_excess_precision", kBool, false);
  return out;
}

}  // namespace espalier::pjrt
