#include "base/find_named.h"
#include "base/format.h"
#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

struct KnownActivation {
  const char* name;
  Tensor (*function)(const Tensor&);
};
constexpr KnownActivation kActivations[] = {
    {"linear", [](const Tensor& x) { return x; }},
    {"relu", [](const Tensor& x) { return relu(x); }},
    {"relu6", [](const Tensor& x) { return relu6(x); }},
    {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }},
    {"elu", [](const Tensor& x) { return elu(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); }},
    {"silu", [](const Tensor& x) { return silu(x); }},
    {"softplus", [](const Tensor& x) { return softplus(x); }},
    {"sigmoid", [](const Tensor& x) { return logistic(x); }},
    {"softmax", [](const Tensor& x) { return softmax(x); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }},
    {"exponential", [](const Tensor& x) { return exponential(x); }},
};

}  // namespace

std::function<Tensor(const Tensor&)> activation(const std::string& name, Location at) {
  const CallScope scope(at);
  if (name.empty()) {
    std::string known;
    for (const KnownActivation& each : kActivations) known += cat(known.empty() ? "" : ", ", each.name);
    throw ValueError("activation.name", cat("the activation has no name: known are ", known),
                     "write \"linear\" for none");
  }
  return find_named("activation.name", "activation", name, kActivations).function;
}

}  // namespace espalier
