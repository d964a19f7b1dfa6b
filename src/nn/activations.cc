#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

using Function = Tensor (*)(const Tensor&);
constexpr std::pair<const char*, Function> kActivations[] = {
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
  std::vector<std::string> known;
  for (const auto& [word, function] : kActivations) {
    if (name == word) return function;
    known.emplace_back(word);
  }
  throw_unknown("activation.name", "activation", name, known);
}

}  // namespace espalier
