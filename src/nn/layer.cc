#include <algorithm>
#include <charconv>
#include <mutex>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "eager/batch_place.h"
#include "eager/row_weight.h"
#include "eager/trace.h"
#include "espalier/layers.h"
#include "espalier/ops.h"
#include "espalier/random.h"
#include "nn/build_transaction.h"
#include "nn/first_weights.h"
#include "nn/layer_observer.h"
#include "nn/seed.h"

namespace espalier {
namespace {

std::atomic<uint64_t> builds{0};

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
    const auto it = next.find(name);
    if (it == next.end()) return;
    // What lies above it may be taken: take() steps over that.
    int number = 0;
    std::from_chars(taken.data() + name.size() + 1, taken.data() + taken.size(), number);
    it->second = std::min(it->second, number);
  }
};
// Of a context: its seed, and the names of the layers without a parent, as whole paths.
struct Roots {
  std::atomic<uint64_t> seed{0};
  Names names;
};
Roots& roots() {
  return RunContext::current().part<Roots>([](const RunContext& context) {
    auto out = std::make_shared<Roots>();
    out->seed = context.seed;
    return out;
  });
}

std::string join(const std::string& path, const std::string& name) {
  return path.empty() ? name : cat(path, "/", name);
}

// What the variable of that path draws from.
uint64_t seed_of(const std::string& path) { return hash_bytes(path.data(), path.size(), seed()); }

}  // namespace

void set_seed(uint64_t seed) {
  Roots& of_context = roots();
  of_context.seed = seed;
  default_generator().reset(seed);
  const std::lock_guard lock(of_context.names.mutex);
  of_context.names.next.clear();
}
void continue_seed(uint64_t seed) { roots().seed = seed; }
uint64_t seed() { return roots().seed; }

TrainingScope::TrainingScope(bool value) : before_(current()) { set_trace_mode(kTrainingMode, value); }
TrainingScope::~TrainingScope() { set_trace_mode(kTrainingMode, before_); }
bool TrainingScope::current() { return trace_mode(kTrainingMode); }

struct Layer::State : std::enable_shared_from_this<State> {
  std::string name;
  std::string path;  // empty until a call begins
  DTypePolicy dtype;
  bool casts_input = true;
  bool keeps_input_count = false;
  bool trainable = true;
  bool couples_rows = false;       // what the layer said at its last call
  uint64_t built = 0;              // which build made the weights; 0: none
  std::vector<TensorType> inputs;  // of the call that built
  struct Weight {
    std::string name;
    Variable variable;
    bool trainable;  // unless the layer is frozen
  };
  std::vector<Weight> weights;
  std::unordered_map<std::string, Regularizer> regularizers;  // by weight
  std::vector<std::shared_ptr<State>> children;
  Names child_names;
  StructurePtr structure = std::make_shared<Structure>();  // of `trainable` and the weights
  std::shared_ptr<FirstValues> first;                      // of the weights of the first call

  void take_path(State* caller);
  void adopt(const std::shared_ptr<State>& child);
  // Variables are called by the path, which a layer has from its first call on.
  void require_path(const std::string& weight) const;
  const Variable* find(const std::string& weight) const;
  void set_trainable(bool value);
  // This state and all below, each once, parents first.
  std::vector<State*> subtree();

  static thread_local State* calling;
};
thread_local Layer::State* Layer::State::calling = nullptr;

void Layer::State::take_path(State* caller) {
  const std::shared_ptr<State> owner = caller ? caller->shared_from_this() : nullptr;
  const std::string wanted = owner ? name : join(NameScope::current(), name);
  Names& names = owner ? owner->child_names : roots().names;
  const std::string taken = names.take(wanted);
  path = owner ? join(owner->path, taken) : taken;
  // `owner` keeps the names; those of a context outlive a call in it.
  BuildTransaction::on_refusal([self = shared_from_this(), owner, &names, wanted, taken] {
    self->path.clear();
    names.give_back(wanted, taken);
  });
}

void Layer::State::require_path(const std::string& weight) const {
  if (path.empty())
    throw StateError("layer.weight", cat("weight \"", weight, "\" is added before the first call"),
                     "add weights in build");
}

void Layer::State::adopt(const std::shared_ptr<State>& child) {
  if (child.get() == this || std::find(children.begin(), children.end(), child) != children.end()) return;
  children.push_back(child);
  BuildTransaction::on_refusal([self = shared_from_this(), child] { std::erase(self->children, child); });
  if (trainable) return;
  for (State* state : child->subtree()) {
    if (!state->trainable) continue;
    state->set_trainable(false);
    BuildTransaction::on_refusal([kept = state->shared_from_this()] { kept->set_trainable(true); });
  }
}

void Layer::State::set_trainable(bool value) {
  if (trainable != value) structure->bump();
  trainable = value;
  for (Weight& weight : weights) {
    if (weight.trainable) weight.variable.set_trainable(value);
  }
}

std::vector<Layer::State*> Layer::State::subtree() {
  std::vector<State*> out, stack{this};
  std::unordered_set<const State*> seen;
  while (!stack.empty()) {
    State* state = stack.back();
    stack.pop_back();
    if (!seen.insert(state).second) continue;
    out.push_back(state);
    for (size_t i = state->children.size(); i-- > 0;) stack.push_back(state->children[i].get());
  }
  return out;
}

const Variable* Layer::State::find(const std::string& weight) const {
  for (const Weight& kept : weights) {
    if (kept.name == weight) return &kept.variable;
  }
  return nullptr;
}

Layer::Layer(std::string name, DTypePolicy dtype, Location at) : state_(std::make_shared<State>()) {
  const CallScope scope(at);
  if (name.empty()) throw ValueError("layer.name", "the name of a layer must not be empty");
  state_->name = std::move(name);
  state_->dtype = dtype;
}

Tensor Layer::operator()(const TensorList& inputs) {
  const CallScope call_site(inputs.at());
  const BuildTransaction transaction;
  Tensors outputs = apply(inputs);
  if (outputs.size() == 1) return std::move(outputs[0]);
  throw ValueError("layer.outputs",
                   cat("layer \"", path(), "\" gives ", outputs.size(), " tensors where one is needed"),
                   "apply() gives all of them");
}

Tensors Layer::apply(const TensorList& inputs) {
  const Depth depth("a layer");
  const CallScope call_site(inputs.at());
  const BuildTransaction transaction;
  State& state = *state_;
  State* caller = State::calling;
  if (state.path.empty()) state.take_path(caller);
  if (caller) caller->adopt(state_);
  state.couples_rows = couples_rows();
  // By statistics of a part many models are normalized, and learn.
  if (state.couples_rows && !dynamic_cast<const BatchNormalization*>(this))
    note_rows_interact(state.path, false);
  struct Calling {
    State* before;
    explicit Calling(State* now) : before(std::exchange(State::calling, now)) {}
    ~Calling() { State::calling = before; }
  } calling(&state);
  const NameScope scope(std::string_view(state.path).substr(state.path.rfind('/') + 1));
  const FirstWeights weights(state.first.get(), state.path);
  if (inputs.size() == 0) throw ValueError("layer.inputs", cat("layer \"", path(), "\" got no tensor"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined())
      throw StateError("tensor.undefined", cat("input ", i, " of layer \"", path(), "\" holds nothing"),
                       "assign it before use");
  }
  if (state.keeps_input_count && state.built && state.inputs.size() != inputs.size()) {
    throw ValueError("layer.inputs", cat("\"", path(), "\" was built with ",
                                         counted(state.inputs.size(), "tensor"), ", got ", inputs.size()));
  }
  Tensors cast;
  for (const Tensor& x : inputs.tensors())
    cast.push_back(state.casts_input && is_float(x.dtype()) ? convert(x, compute_dtype()) : x);
  LayerObserver::each([&](LayerObserver& observer) { observer.on_begin(state.path); });
  const AutocastScope autocast(compute_dtype());
  if (built_ == 0 || built_ != state.built) {
    std::vector<TensorType> types;
    for (const Tensor& x : cast) types.push_back(x.type());
    build_many(Inputs<TensorType>(types));
    if (state.built == 0) {
      state.built = ++builds;
      state.inputs = std::move(types);
      BuildTransaction::on_refusal([kept = state_] { kept->built = 0; });
    }
    built_ = state.built;
  }
  Tensors outputs = call_many(Inputs<Tensor>(cast));
  if (state.first) {
    state.first->end();
    BuildTransaction::on_refusal(
        [kept = state_, first = std::exchange(state.first, nullptr)] { kept->first = first; });
  }
  LayerObserver::each([&](LayerObserver& observer) {
    std::vector<Variable> own;
    for (const State::Weight& weight : state.weights) own.push_back(weight.variable);
    observer.on_end(own, outputs);
  });
  return outputs;
}

void begin_with(const Layer& layer, std::shared_ptr<FirstValues> first) {
  layer.state_->first = std::move(first);
}

Tensors Layer::call_many(Inputs<Tensor> inputs) {
  if (inputs.size() == 1) return {call(inputs[0])};
  throw ValueError("layer.inputs", cat("layer \"", path(), "\" takes one tensor, got ", inputs.size()));
}

Tensor Layer::call(const Tensor&) {
  if (typeid(*this) == typeid(Layer)) {
    throw UnsupportedError(
        "layer.call",
        cat("layer \"", path(),
            "\" is a Layer and no more, which computes nothing: perhaps it was copied as its "
            "base class, as into a std::vector<Layer> or through a Layer&"),
        "keep the layer as what it was made, or by a pointer");
  }
  throw UnsupportedError("layer.call", cat("layer \"", path(), "\" defines neither call nor call_many"));
}

void Layer::set_trainable(bool trainable) {
  for (State* state : state_->subtree()) state->set_trainable(trainable);
}
bool Layer::trainable() const {
  Trace::depend_on(state_->structure);
  return state_->trainable;
}

bool Layer::rows_are_coupled() const {
  if (state_->path.empty()) return true;
  return std::ranges::any_of(state_->subtree(), [](const State* state) { return state->couples_rows; });
}

bool Layer::computes_in(DType dtype) const {
  return std::ranges::any_of(state_->subtree(),
                             [&](const State* state) { return state->dtype.compute_dtype() == dtype; });
}

Tensor Layer::row_weight(const Tensor& x) const {
  const Tensor& weight = RowWeightScope::current();
  if (!weight.defined() || (x.rank() > 0 && x.size(0) == weight.size(0))) return weight;
  throw ShapeError("layer.row_weight",
                   cat("layer \"", path(), "\" couples the rows of a batch of ", weight.size(0),
                       ", of which some have weight 0, and its input is ", x.type()),
                   "give it the rows of the batch as its first axis, or leave rows of weight 0 out");
}

DTypePolicy Layer::dtype_policy() const { return state_->dtype; }
void Layer::keep_input_dtype() { state_->casts_input = false; }
void Layer::keep_input_count() { state_->keeps_input_count = true; }

void Layer::missing_input(size_t wanted, size_t given) {
  throw ValueError("layer.inputs",
                   cat("\"", State::calling ? State::calling->path : "", "\" reads its input ", wanted,
                       ", counted from 0: it is called with ", counted(given, "tensor")));
}

std::vector<TensorType> Layer::input_types() const {
  return state_->built ? state_->inputs : std::vector<TensorType>();
}

const std::string& Layer::name() const { return state_->name; }
const std::string& Layer::path() const { return state_->path; }

std::vector<Variable> Layer::variables() const {
  std::vector<Variable> out;
  for (const State* state : state_->subtree()) {
    for (const State::Weight& weight : state->weights) out.push_back(weight.variable);
  }
  return out;
}

std::vector<Tensor> Layer::losses() const {
  std::vector<Tensor> out;
  for (const Regularized& one : regularized()) {
    if (one.weight.trainable()) out.push_back(one.penalty(convert(one.weight, DType::kF32)));
  }
  return out;
}

Tensor Layer::Regularized::penalty(const Tensor& value) const {
  const Tensor out = regularizer(value);
  if (out.type() == TensorType{}) return out;
  throw ShapeError("layer.regularizer", cat("the regularizer of \"", weight.path(), "\" must give ",
                                            TensorType{}, ", not ", out.type()));
}

std::vector<Layer::Regularized> Layer::regularized() const {
  std::vector<Regularized> out;
  for (const State* state : state_->subtree()) {
    for (const State::Weight& weight : state->weights) {
      const auto it = state->regularizers.find(weight.name);
      if (it != state->regularizers.end()) out.push_back({weight.variable, it->second});
    }
  }
  return out;
}

std::vector<Variable> Layer::made_trainable() const {
  std::vector<Variable> out;
  for (const State* state : state_->subtree()) {
    for (const State::Weight& weight : state->weights) {
      if (weight.trainable) out.push_back(weight.variable);
    }
  }
  return out;
}

std::vector<Variable> Layer::trainable_variables() const {
  std::vector<Variable> out = variables();
  std::erase_if(out, [](const Variable& variable) { return !variable.trainable(); });
  return out;
}

Variable Layer::add_weight(const std::string& name, const Shape& shape, const Initializer& initial,
                           bool trainable, bool autocast, Location at) {
  const CallScope scope(at);
  State& state = *state_;
  state.require_path(name);
  if (const Variable* known = state.find(name)) {
    if (known->shape() == shape) return *known;
    throw ShapeError("layer.weight", cat("weight \"", known->path(), "\" is ", known->type(),
                                         ", this input needs the shape ", shape));
  }
  EagerScope eager;
  const Tensor value =
      BuildTransaction::forgets() ? full(shape, 0) : initial(shape, seed_of(join(state.path, name)));
  return add_variable(name, is_float(value.dtype()) ? convert(value, variable_dtype()) : value, trainable,
                      autocast, at);
}

Variable Layer::add_variable(const std::string& name, const Tensor& value, bool trainable, bool autocast,
                             Location at) {
  const CallScope scope(at);
  State& state = *state_;
  if (const Variable* known = state.find(name)) return *known;
  EagerScope eager;
  Variable variable(value, {.name = name, .trainable = trainable && state.trainable});
  variable.state()->path = join(state.path, name);  // whatever scopes the call stands in
  variable.state()->autocast = autocast;
  variable.state()->structure = state.structure;
  FirstWeights::give(variable);
  state.weights.push_back({name, variable, trainable});
  BuildTransaction::on_refusal([kept = state_] { kept->weights.pop_back(); });
  return variable;
}

Generator Layer::add_generator(const std::string& name, std::optional<uint64_t> seed, Location at) {
  const CallScope scope(at);
  state_->require_path(name);
  const uint64_t key = seed ? *seed : seed_of(join(state_->path, name));
  return {add_variable(name + "/key", Tensor::scalar(key), false),
          add_variable(name + "/step", Tensor::scalar(uint64_t{0}), false)};
}

Generator Layer::generator(const std::string& name, Location at) const {
  return {weight(name + "/key", at), weight(name + "/step", at)};
}

void Layer::regularize(const std::string& name, const Regularizer& regularizer, Location at) {
  weight(name, at);
  if (regularizer) state_->regularizers.insert_or_assign(name, regularizer);
}

Variable Layer::weight(const std::string& name, Location at) const {
  const CallScope scope(at);
  if (const Variable* known = state_->find(name)) return *known;
  std::vector<std::string> known;
  for (const State::Weight& weight : state_->weights) known.push_back(weight.name);
  throw_unknown("layer.weight", cat("weight of layer \"", state_->path, "\":"), name, known);
}

}  // namespace espalier
