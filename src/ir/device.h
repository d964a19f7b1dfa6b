// Devices as tensors, variables and functions see them: what holds arrays and runs programs elsewhere than in
// the host's memory. The CPU of this process is none: its arrays are literals, its programs plans. src/pjrt
// has those of plugins.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"

namespace espalier {

class Device;

// An array on a device: computed, or still being computed there. Immutable, until a program is given it for
// good.
class RemoteArray {
 public:
  virtual ~RemoteArray() = default;
  virtual const TensorType& type() const = 0;
  virtual Device& device() const = 0;
  // Waits until it is computed and copies it to the host. Raises DeviceError of the run that should have
  // given it, too.
  virtual Literal download() const = 0;
};
using RemoteArrayPtr = std::shared_ptr<RemoteArray>;

// A program for a device.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  // Starts it; does not wait for its end. donated[i]: the program may take the memory of input i for its
  // results; that array is gone then, also where the run fails later. Raises ShapeError or
  // DTypeError[device.inputs] for an input that is not the program's, DeviceError where the device refuses;
  // every input is as it was then.
  virtual std::vector<RemoteArrayPtr> run(std::span<const RemoteArrayPtr> inputs,
                                          std::span<const char> donated) const = 0;
};

// Input `input` of a program may lie where its output `output` will: an old value and its update.
struct Alias {
  size_t input = 0, output = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  // As a user names it: "gpu:0", "xla-cpu".
  virtual const std::string& name() const = 0;
  // `value` need not outlive the call. Splats are expanded.
  virtual RemoteArrayPtr upload(const Literal& value) = 0;
  // Raises UnsupportedError[device.program] for what the device does not compute as StableHLO says,
  // DeviceError where it refuses. An alias has equal types, and no input or output stands in two.
  virtual std::shared_ptr<const DeviceProgram> compile(const Graph& graph,
                                                       std::span<const Alias> aliases = {}) = 0;
};

}  // namespace espalier
