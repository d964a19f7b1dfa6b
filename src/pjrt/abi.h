// The C interface of PJRT plugins, of version 0.81: calls that programs on devices need, with the layouts
// that OpenXLA's xla/pjrt/c/pjrt_c_api.h gives them. Layouts only ever grow at their ends, and a plugin takes
// a struct that is longer or older than its own, so one declaration serves all plugins of 0.81 and later.
// abi_test.cc holds it against a layout that was generated from OpenXLA's header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace espalier::pjrt {

// Every struct begins with it. `bytes` is the struct's size.
struct Head {
  size_t bytes = 0;
  void* extensions = nullptr;
};

inline constexpr int kAbiMajor = 0, kAbiMinor = 81;

// What plugins own.
struct AbiError;
struct AbiEvent;
struct AbiClient;
struct AbiDevice;
struct AbiDescription;
struct AbiMemory;
struct AbiBuffer;
struct AbiExecutable;        // what was compiled
struct AbiLoadedExecutable;  // and is ready to run
struct AbiSerialized;
struct AbiTopology;  // devices that are described, and need not be there

struct AbiTable {
  Head head;
  Head version_head;
  int major = 0, minor = 0;
  // The functions follow: each takes a pointer to its struct of arguments, at the place `kSlot` of that
  // struct.
};
// All give an error, null where there is none, but those that handle errors, which give nothing.
using AbiFunction = AbiError* (*)(void* arguments);

enum class AbiType : int {
  kInvalid,
  kBool,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kF32,
  kF64,
  kBF16,
};
// How long the host's bytes of an upload stay as they are.
enum class AbiHostBytes : int { kDuringCall, kUntilTransferred, kZeroCopy, kMutableZeroCopy };
enum class AbiCode : int { kOk, kInvalidArgument = 3, kNotFound = 5, kOutOfMemory = 8, kUnimplemented = 12 };

struct NamedValue {
  enum class Kind : int { kText, kInt, kInts, kFloat, kBool };
  Head head;
  const char* name = nullptr;
  size_t name_size = 0;
  Kind kind = Kind::kText;
  union {
    const char* text;
    int64_t integer;
    const int64_t* integers;
    float number;
    bool truth;
  };
  size_t size = 1;  // of a text or a list
};

struct ErrorDestroy {
  static constexpr size_t kSlot = 0;
  Head head = {};
  AbiError* error = nullptr;
};
struct ErrorMessage {
  static constexpr size_t kSlot = 1;
  Head head = {};
  const AbiError* error = nullptr;
  const char* message = nullptr;
  size_t message_size = 0;
};
struct ErrorGetCode {
  static constexpr size_t kSlot = 2;
  Head head = {};
  const AbiError* error = nullptr;
  AbiCode code = AbiCode::kOk;
};
struct PluginInitialize {
  static constexpr size_t kSlot = 3;
  Head head = {};
};
struct EventDestroy {
  static constexpr size_t kSlot = 5;
  Head head = {};
  AbiEvent* event = nullptr;
};
struct EventAwait {
  static constexpr size_t kSlot = 8;
  Head head = {};
  AbiEvent* event = nullptr;
};
struct ClientCreate {
  static constexpr size_t kSlot = 10;
  Head head = {};
  const NamedValue* options = nullptr;
  size_t option_count = 0;
  void *get = nullptr, *get_argument = nullptr, *put = nullptr, *put_argument = nullptr;
  AbiClient* client = nullptr;
  void *try_get = nullptr, *try_get_argument = nullptr;
};
struct ClientDestroy {
  static constexpr size_t kSlot = 11;
  Head head = {};
  AbiClient* client = nullptr;
};
struct ClientPlatformName {
  static constexpr size_t kSlot = 12;
  Head head = {};
  AbiClient* client = nullptr;
  const char* name = nullptr;
  size_t name_size = 0;
};
struct ClientProcessIndex {
  static constexpr size_t kSlot = 13;
  Head head = {};
  AbiClient* client = nullptr;
  int process = 0;
};
struct ClientPlatformVersion {
  static constexpr size_t kSlot = 14;
  Head head = {};
  AbiClient* client = nullptr;
  const char* version = nullptr;
  size_t version_size = 0;
};
struct ClientDevices {
  static constexpr size_t kSlot = 15;
  Head head = {};
  AbiClient* client = nullptr;
  AbiDevice* const* devices = nullptr;
  size_t count = 0;
};
struct ClientAddressableDevices {
  static constexpr size_t kSlot = 16;
  Head head = {};
  AbiClient* client = nullptr;
  AbiDevice* const* devices = nullptr;
  size_t count = 0;
};
struct Program {
  Head head = {};
  const char* code = nullptr;
  size_t code_size = 0;
  const char* format = nullptr;
  size_t format_size = 0;
};
struct ClientCompile {
  static constexpr size_t kSlot = 20;
  Head head = {};
  AbiClient* client = nullptr;
  const Program* program = nullptr;
  const char* options = nullptr;
  size_t options_size = 0;
  AbiLoadedExecutable* executable = nullptr;
};
struct ClientBufferFromHost {
  static constexpr size_t kSlot = 22;
  Head head = {};
  AbiClient* client = nullptr;
  const void* data = nullptr;
  AbiType type = AbiType::kInvalid;
  const int64_t* dims = nullptr;
  size_t rank = 0;
  const int64_t* strides = nullptr;
  size_t stride_count = 0;
  AbiHostBytes host_bytes = AbiHostBytes::kDuringCall;
  AbiDevice* device = nullptr;
  AbiMemory* memory = nullptr;
  void* layout = nullptr;
  AbiEvent* done_with_host = nullptr;
  AbiBuffer* buffer = nullptr;
};
struct DescriptionId {
  static constexpr size_t kSlot = 23;
  Head head = {};
  AbiDescription* description = nullptr;
  int id = 0;
};
struct DescriptionProcessIndex {
  static constexpr size_t kSlot = 24;
  Head head = {};
  AbiDescription* description = nullptr;
  int process = 0;
};
struct DescriptionKind {
  static constexpr size_t kSlot = 26;
  Head head = {};
  AbiDescription* description = nullptr;
  const char* kind = nullptr;
  size_t kind_size = 0;
};
struct DeviceGetDescription {
  static constexpr size_t kSlot = 29;
  Head head = {};
  AbiDevice* device = nullptr;
  AbiDescription* description = nullptr;
};
struct DeviceMemoryStats {
  static constexpr size_t kSlot = 34;
  struct Figure {
    int64_t value = 0;
    bool known = false;
  };
  Head head = {};
  AbiDevice* device = nullptr;
  int64_t in_use = 0;
  Figure peak, allocations, largest, limit, reserved, peak_reserved, reservable, largest_free, pool,
      peak_pool;
};
struct ExecutableDestroy {
  static constexpr size_t kSlot = 40;
  Head head = {};
  AbiExecutable* executable = nullptr;
};
struct ExecutableNumOutputs {
  static constexpr size_t kSlot = 44;
  Head head = {};
  AbiExecutable* executable = nullptr;
  size_t count = 0;
};
struct ExecutableSerialize {
  static constexpr size_t kSlot = 49;
  Head head = {};
  const AbiExecutable* executable = nullptr;
  const char* data = nullptr;
  size_t size = 0;
  AbiSerialized* serialized = nullptr;
  void (*destroy)(AbiSerialized*) = nullptr;
};
struct LoadedDestroy {
  static constexpr size_t kSlot = 50;
  Head head = {};
  AbiLoadedExecutable* executable = nullptr;
};
struct LoadedGetExecutable {
  static constexpr size_t kSlot = 51;
  Head head = {};
  AbiLoadedExecutable* loaded = nullptr;
  AbiExecutable* executable = nullptr;
};
struct ExecuteOptions {
  Head head = {};
  void **sends = nullptr, **receives = nullptr;
  size_t send_count = 0, receive_count = 0;
  int launch = 0;
  const int64_t* kept_inputs = nullptr;  // that are not donated in this call
  size_t kept_count = 0;
  void* context = nullptr;
  const char* call_location = nullptr;
  size_t task_count = 0;
  int* tasks = nullptr;
  int64_t* incarnations = nullptr;
};
struct LoadedExecute {
  static constexpr size_t kSlot = 55;
  Head head = {};
  AbiLoadedExecutable* executable = nullptr;
  ExecuteOptions* options = nullptr;
  AbiBuffer* const* const* arguments = nullptr;  // [device][argument]
  size_t device_count = 0, argument_count = 0;
  AbiBuffer** const* outputs = nullptr;  // [device][output], filled
  AbiEvent** done = nullptr;             // [device], filled
  AbiDevice* device = nullptr;
};
struct ExecutableDeserializeAndLoad {
  static constexpr size_t kSlot = 56;
  Head head = {};
  AbiClient* client = nullptr;
  const char* data = nullptr;
  size_t size = 0;
  AbiLoadedExecutable* loaded = nullptr;
  const char* options = nullptr;
  size_t options_size = 0;
};
struct BufferDestroy {
  static constexpr size_t kSlot = 58;
  Head head = {};
  AbiBuffer* buffer = nullptr;
};
struct BufferElementType {
  static constexpr size_t kSlot = 59;
  Head head = {};
  AbiBuffer* buffer = nullptr;
  AbiType type = AbiType::kInvalid;
};
struct BufferDimensions {
  static constexpr size_t kSlot = 60;
  Head head = {};
  AbiBuffer* buffer = nullptr;
  const int64_t* dims = nullptr;
  size_t rank = 0;
};
struct BufferIsDeleted {
  static constexpr size_t kSlot = 68;
  Head head = {};
  AbiBuffer* buffer = nullptr;
  bool is_deleted = false;
};
// Axes from the one whose elements lie closest on, without tiles. The other form, of strides, CPUs refuse.
struct AxisLayout {
  Head head = {};
  Head axes_head = {};
  const int64_t* minor_to_major = nullptr;
  size_t axis_count = 0;
  const int64_t* tiles = nullptr;
  const size_t* tile_sizes = nullptr;
  size_t tile_count = 0;
  int kind = 0;
};
struct BufferToHost {
  static constexpr size_t kSlot = 70;
  Head head = {};
  AbiBuffer* buffer = nullptr;
  AxisLayout* layout = nullptr;
  void* to = nullptr;
  size_t size = 0;
  AbiEvent* done = nullptr;
};
struct TopologyCreate {
  static constexpr size_t kSlot = 82;
  Head head = {};
  const char* name = nullptr;
  size_t name_size = 0;
  const NamedValue* options = nullptr;
  size_t option_count = 0;
  AbiTopology* topology = nullptr;
};
struct TopologyDestroy {
  static constexpr size_t kSlot = 83;
  Head head = {};
  AbiTopology* topology = nullptr;
};
struct TopologyCompile {
  static constexpr size_t kSlot = 89;
  Head head = {};
  const AbiTopology* topology = nullptr;
  const Program* program = nullptr;
  const char* options = nullptr;
  size_t options_size = 0;
  AbiClient* client = nullptr;  // null where the devices are not there
  AbiExecutable* executable = nullptr;
};
struct ExecutableMemoryStats {
  static constexpr size_t kSlot = 96;
  Head head = {};
  AbiExecutable* executable = nullptr;
  int64_t code = 0, arguments = 0, outputs = 0, aliases = 0, temporary = 0;
  int64_t host_code = 0, host_arguments = 0, host_outputs = 0, host_aliases = 0, host_temporary = 0;
  int64_t peak = 0;
};

}  // namespace espalier::pjrt
