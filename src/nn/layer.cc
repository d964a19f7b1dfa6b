#include <unordered_map>

#include "base/hash.h"
#include "eager/trace.h"
#include "espalier/layers.h"
#include "espalier/random.h"

namespace espalier {
namespace {

std::atomic<uint64_t> process_seed{0};
constexpr uint64_t kTraining = 1;  // of trace_context()

void set_training(bool on) {
  trace_context() = on ? trace_context() | kTraining : trace_context() & ~kTraining;
}

}  // namespace

void set_seed(uint64_t seed) {
  process_seed = seed;
  default_generator().reset(seed);
}
uint64_t seed() { return process_seed; }

TrainingScope::TrainingScope(bool value) : before_(current()) { set_training(value); }
TrainingScope::~TrainingScope() { set_training(before_); }
bool TrainingScope::current() { return trace_context() & kTraining; }

struct Layer::State {
  std::string name, path;
  bool built = false;
  std::vector<Variable> weights;
  std::vector<std::shared_ptr<State>> children;
  std::unordered_map<std::string, int> child_names;

  static thread_local State* calling;
};
thread_local Layer::State* Layer::State::calling = nullptr;

Layer::Layer(std::string name) : state_(std::make_shared<State>()) { state_->name = std::move(name); }

Tensor Layer::operator()(const Tensor& x) {
  State& state = *state_;
  State* caller = State::calling;
  if (!state.built) {
    std::string name = state.name;
    if (caller) {
      if (const int copies = caller->child_names[name]++) name += cat("_", copies);
      caller->children.push_back(state_);
    }
    state.path = caller && !caller->path.empty() ? cat(caller->path, "/", name) : caller ? name : "";
  }
  struct Calling {
    State* before;
    explicit Calling(State* now) : before(std::exchange(State::calling, now)) {}
    ~Calling() { State::calling = before; }
  } calling(&state);
  const size_t slash = state.path.rfind('/');
  NameScope scope(slash == std::string::npos ? state.path : state.path.substr(slash + 1));
  if (!state.built) {
    build(x.type());
    state.built = true;
  }
  return call(x);
}

const std::string& Layer::path() const { return state_->path; }

std::vector<Variable> Layer::variables() const {
  std::vector<Variable> out;
  std::vector<const State*> stack{state_.get()};
  while (!stack.empty()) {
    const State* state = stack.back();
    stack.pop_back();
    out.insert(out.end(), state->weights.begin(), state->weights.end());
    for (size_t i = state->children.size(); i-- > 0;) stack.push_back(state->children[i].get());
  }
  return out;
}

std::vector<Variable> Layer::trainable_variables() const {
  std::vector<Variable> out = variables();
  std::erase_if(out, [](const Variable& variable) { return !variable.trainable(); });
  return out;
}

Variable Layer::add_weight(const std::string& name, const Shape& shape, const Initializer& initial,
                           bool trainable) {
  const std::string path = state_->path.empty() ? name : cat(state_->path, "/", name);
  EagerScope eager;
  const Tensor value = initial(shape, hash_bytes(path.data(), path.size(), process_seed));
  Variable variable(value, {.name = name, .trainable = trainable});
  state_->weights.push_back(variable);
  return variable;
}

}  // namespace espalier
