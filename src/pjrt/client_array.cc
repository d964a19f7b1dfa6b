#include "pjrt/client_array.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace espalier::pjrt {
namespace {

constexpr std::pair<DType, AbiType> kTypes[] = {
    {DType::kBool, AbiType::kBool}, {DType::kI8, AbiType::kI8},   {DType::kI16, AbiType::kI16},
    {DType::kI32, AbiType::kI32},   {DType::kI64, AbiType::kI64}, {DType::kU8, AbiType::kU8},
    {DType::kU16, AbiType::kU16},   {DType::kU32, AbiType::kU32}, {DType::kU64, AbiType::kU64},
    {DType::kF16, AbiType::kF16},   {DType::kF32, AbiType::kF32}, {DType::kF64, AbiType::kF64},
    {DType::kBF16, AbiType::kBF16},
};

}  // namespace

AbiType abi_type(DType dtype) {
  for (const auto& [ours, theirs] : kTypes)
    if (ours == dtype) return theirs;
  throw InternalError(cat("no PJRT type for ", dtype));
}

ClientArray::ClientArray(DevicePtr device, std::vector<AbiBuffer*> buffers, TensorType type)
    : device_(std::move(device)),
      buffers_(std::move(buffers)),
      type_(std::move(type)),
      generation_(device_->client().generation()) {
  device_->count_bytes(static_cast<int64_t>(type_.bytes()));
}

ClientArray::~ClientArray() {
  donated();
  for (AbiBuffer* const buffer : buffers_)
    device_->client().plugin().destroy(BufferDestroy{.buffer = buffer});
}

void ClientArray::check_valid() const {
  if (generation_ != device_->client().generation())
    throw DeviceError("device.invalid",
                      cat("an array of ", type_, " on ", device_->name(),
                          " is from before initialize_tpu_system(), which begins a TPU anew"),
                      "make or load it behind that call");
}

void ClientArray::donated() const {
  if (!gone_.exchange(true)) device_->count_bytes(-static_cast<int64_t>(type_.bytes()));
}

// A plugin that copies less than all of an array and says that all is well leaves the last byte as it was.
Literal ClientArray::copy_of(size_t replica) const {
  constexpr std::byte kMark{0xA5}, kOther{0x5A};
  check_valid();
  const Buffer bytes = allocate_buffer(type_.bytes());
  device_->count(&Counters::downloads);
  device_->count(&Counters::downloaded_bytes, static_cast<int64_t>(type_.bytes()));
  if (type_.bytes() == 0) return download_to(bytes, replica);
  std::byte& last = bytes[type_.bytes() - 1];
  last = kMark;
  Literal out = download_to(bytes, replica);
  if (last != kMark) return out;
  // Or is that its value?
  last = kOther;
  out = download_to(bytes, replica);
  if (last == kMark) return out;
  throw DeviceError("device.call", "cannot download an array: the plugin gave less than all of its bytes");
}

Literal ClientArray::download_to(const Buffer& bytes, size_t replica) const {
  const Plugin& plugin = device_->client().plugin();
  Dims axes = Dims::range(type_.rank());
  std::reverse(axes.begin(), axes.end());
  AxisLayout layout{.minor_to_major = axes.data(), .axis_count = axes.size()};
  layout.head.bytes = sizeof layout;
  layout.axes_head.bytes = offsetof(AxisLayout, kind) - offsetof(AxisLayout, axes_head);
  BufferToHost arguments{
      .buffer = buffers_[replica], .layout = &layout, .to = bytes.get(), .size = type_.bytes()};
  plugin.call(arguments, "download an array");
  try {
    plugin.wait(arguments.done, "download an array");
  } catch (const DeviceError& error) {
    throw DeviceError("device.lost", cat("an array of ", type_, " on ", device_->name(),
                                         " cannot be had: ", error.message()));
  }
  return Literal(type_, bytes);
}

}  // namespace espalier::pjrt
