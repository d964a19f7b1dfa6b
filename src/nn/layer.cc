#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "eager/trace.h"
#include "espalier/layers.h"
#include "espalier/ops.h"
#include "espalier/random.h"
#include "nn/build_transaction.h"

namespace espalier {
namespace {

std::atomic<uint64_t> process_seed{0};
std::atomic<uint64_t> builds{0};
constexpr uint64_t kTraining = 1;  // of trace_context()

void set_training(bool on) {
  trace_context() = on ? trace_context() | kTraining : trace_context() & ~kTraining;
}

// The names given out in one place, each with the number that its next namesake gets.
struct Names {
  std::mutex mutex;
  std::unordered_map<std::string, int> next;

  // `name`, or name_1, name_2, ...: the first that is free.
  std::string take(const std::string& name) {
    const std::lock_guard lock(mutex);
    std::string out = name;
    while (!next.try_emplace(out, 1).second) out = cat(name, "_", next.at(name)++);
    return out;
  }
  void give_back(const std::string& name, const std::string& taken) {
    const std::lock_guard lock(mutex);
    next.erase(taken);
    // Numbers below may be taken: take() steps over them.
    if (const auto it = next.find(name); it != next.end()) it->second = 1;
  }
};
// Of the layers without a parent, as whole paths.
Names& root_names() {
  static Names names;
  return names;
}

std::string join(const std::string& path, const std::string& name) {
  return path.empty() ? name : cat(path, "/", name);
}

}  // namespace

void set_seed(uint64_t seed) {
  process_seed = seed;
  default_generator().reset(seed);
  const std::lock_guard lock(root_names().mutex);
  root_names().next.clear();
}
uint64_t seed() { return process_seed; }

TrainingScope::TrainingScope(bool value) : before_(current()) { set_training(value); }
TrainingScope::~TrainingScope() { set_training(before_); }
bool TrainingScope::current() { return trace_context() & kTraining; }

struct Layer::State : std::enable_shared_from_this<State> {
  std::string name;
  std::string path;  // empty until a call begins
  DTypePolicy dtype;
  bool casts_input = true;
  uint64_t built = 0;  // which build made the weights; 0: none
  std::vector<std::pair<std::string, Variable>> weights;
  std::unordered_map<std::string, Regularizer> regularizers;  // by weight
  std::vector<std::shared_ptr<State>> children;
  Names child_names;

  void take_path(State* caller);
  void adopt(const std::shared_ptr<State>& child);
  const Variable* find(const std::string& weight) const;
  // Calls f(state) for this layer and those it called, each once, in the order they were built.
  template <class F>
  void each(F f) const;

  static thread_local State* calling;
};
thread_local Layer::State* Layer::State::calling = nullptr;

void Layer::State::take_path(State* caller) {
  const std::shared_ptr<State> owner = caller ? caller->shared_from_this() : nullptr;
  const std::string wanted = owner ? name : join(NameScope::current(), name);
  const std::string taken = (owner ? owner->child_names : root_names()).take(wanted);
  path = owner ? join(owner->path, taken) : taken;
  BuildTransaction::on_refusal([self = shared_from_this(), owner, wanted, taken] {
    self->path.clear();
    (owner ? owner->child_names : root_names()).give_back(wanted, taken);
  });
}

void Layer::State::adopt(const std::shared_ptr<State>& child) {
  if (child.get() == this || std::find(children.begin(), children.end(), child) != children.end()) return;
  children.push_back(child);
  BuildTransaction::on_refusal([self = shared_from_this(), child] { std::erase(self->children, child); });
}

const Variable* Layer::State::find(const std::string& weight) const {
  for (const auto& [name, variable] : weights) {
    if (name == weight) return &variable;
  }
  return nullptr;
}

Layer::Layer(std::string name, DTypePolicy dtype, Location at) : state_(std::make_shared<State>()) {
  const CallScope scope(at);
  if (name.empty()) throw ValueError("layer.name", "the name of a layer must not be empty");
  state_->name = std::move(name);
  state_->dtype = dtype;
}

Tensor Layer::operator()(Operand x) {
  const Depth depth("a layer");
  const CallScope call_site(x.at());
  const BuildTransaction transaction;
  State& state = *state_;
  State* caller = State::calling;
  if (state.path.empty()) state.take_path(caller);
  if (caller) caller->adopt(state_);
  struct Calling {
    State* before;
    explicit Calling(State* now) : before(std::exchange(State::calling, now)) {}
    ~Calling() { State::calling = before; }
  } calling(&state);
  const NameScope scope(std::string_view(state.path).substr(state.path.rfind('/') + 1));
  const bool casts = state.casts_input && is_float(x.tensor().dtype());
  const Tensor input = casts ? convert(x.tensor(), compute_dtype()) : x.tensor();
  const AutocastScope autocast(compute_dtype());
  if (built_ == 0 || built_ != state.built) {
    build(input.type());
    if (state.built == 0) {
      state.built = ++builds;
      BuildTransaction::on_refusal([kept = state_] { kept->built = 0; });
    }
    built_ = state.built;
  }
  return call(input);
}

DTypePolicy Layer::dtype_policy() const { return state_->dtype; }
void Layer::keep_input_dtype() { state_->casts_input = false; }

const std::string& Layer::path() const { return state_->path; }

template <class F>
void Layer::State::each(F f) const {
  std::unordered_set<const State*> seen;
  std::vector<const State*> stack{this};
  while (!stack.empty()) {
    const State* state = stack.back();
    stack.pop_back();
    if (!seen.insert(state).second) continue;
    f(*state);
    for (size_t i = state->children.size(); i-- > 0;) stack.push_back(state->children[i].get());
  }
}

std::vector<Variable> Layer::variables() const {
  std::vector<Variable> out;
  state_->each([&](const State& state) {
    for (const auto& [name, variable] : state.weights) out.push_back(variable);
  });
  return out;
}

std::vector<Tensor> Layer::losses() const {
  std::vector<Tensor> out;
  state_->each([&](const State& state) {
    for (const auto& [name, variable] : state.weights) {
      const auto it = state.regularizers.find(name);
      if (it == state.regularizers.end() || !variable.trainable()) continue;
      const Tensor penalty = it->second(convert(variable, DType::kF32));
      if (penalty.type() != TensorType{}) {
        throw ShapeError("layer.regularizer", cat("the regularizer of \"", variable.path(), "\" must give ",
                                                  TensorType{}, ", not ", penalty.type()));
      }
      out.push_back(penalty);
    }
  });
  return out;
}

std::vector<Variable> Layer::trainable_variables() const {
  std::vector<Variable> out = variables();
  std::erase_if(out, [](const Variable& variable) { return !variable.trainable(); });
  return out;
}

Variable Layer::add_weight(const std::string& name, const Shape& shape, const Initializer& initial,
                           bool trainable, bool autocast) {
  State& state = *state_;
  if (state.path.empty()) {
    throw StateError("layer.weight", cat("weight \"", name, "\" is added before the first call"),
                     "add weights in build");
  }
  if (const Variable* known = state.find(name)) {
    if (known->shape() == shape) return *known;
    throw ShapeError("layer.weight", cat("weight \"", known->path(), "\" is ", known->type(),
                                         ", this input needs the shape ", shape));
  }
  const std::string path = join(state.path, name);
  EagerScope eager;
  const Tensor value = initial(shape, hash_bytes(path.data(), path.size(), process_seed));
  return add_variable(name, is_float(value.dtype()) ? convert(value, variable_dtype()) : value, trainable,
                      autocast);
}

Variable Layer::add_variable(const std::string& name, const Tensor& value, bool trainable, bool autocast) {
  State& state = *state_;
  if (const Variable* known = state.find(name)) return *known;
  EagerScope eager;
  Variable variable(value, {.name = name, .trainable = trainable});
  variable.state()->path = join(state.path, name);  // whatever scopes the call stands in
  variable.state()->autocast = autocast;
  state.weights.emplace_back(name, variable);
  BuildTransaction::on_refusal([kept = state_] { kept->weights.pop_back(); });
  return variable;
}

void Layer::regularize(const std::string& name, const Regularizer& regularizer) {
  weight(name);
  if (regularizer) state_->regularizers.insert_or_assign(name, regularizer);
}

Variable Layer::weight(const std::string& name) const {
  if (const Variable* known = state_->find(name)) return *known;
  throw ValueError("layer.weight", cat("layer \"", state_->path, "\" has no weight \"", name, "\""));
}

}  // namespace espalier
