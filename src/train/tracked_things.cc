#include "train/tracked_things.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/format.h"
#include "eager/first_values.h"
#include "espalier/ops.h"
#include "ir/sink.h"
#include "nn/first_weights.h"
#include "nn/seed.h"
#include "optim/loss_scaling.h"
#include "optim/rule.h"
#include "train/dataset_cursor.h"
#include "train/metric.h"

namespace espalier {
namespace {

constexpr const char* kDefaultGenerator = "default_generator";
constexpr const char* kOther = "go on with the program that saved it, or remove the file";

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};

bool is_name(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  });
}

template <class Number>
constexpr bool kIsNumber =
    std::is_same_v<Number, int> || std::is_same_v<Number, int64_t> || std::is_same_v<Number, double>;

std::string slots_of(const std::string& name, const Optimizer& optimizer) {
  return cat(name, "/", optimizer.rule()->name(), "/");
}

// The variables of one of them but for slots, with their names.
NamedVariables own_variables(const Tracked& thing) {
  NamedVariables out;
  std::map<std::string, int> copies;
  const auto add = [&](const std::string& name, const Variable& variable) {
    const int copy = ++copies[name];
    out.emplace_back(copy == 1 ? name : cat(name, "#", copy), variable);
  };
  const std::string& name = thing.name();
  std::visit(Match{[&](const Variable& variable) { add(name, variable); },
                   [&](const Layer& layer) {
                     for (const Variable& variable : layer.variables())
                       add(cat(name, "/", path_below(layer.path(), variable.path())), variable);
                   },
                   [&](const Optimizer& optimizer) {
                     const Optimizer::Rule::Shared& rule = optimizer.rule()->shared();
                     add(cat(name, "/", rule.learning_rate.path()), rule.learning_rate);
                     add(cat(name, "/", rule.step.path()), rule.step);
                     for (const Variable& sum : rule.accumulated) add(cat(name, "/", sum.path()), sum);
                     if (const LossScaling* const scaling = optimizer.loss_scaling())
                       for (const Variable& part : scaling->variables())
                         add(cat(name, "/", part.path()), part);
                   },
                   [&](const Metric& metric) {
                     for (const Variable& variable : metric.variables())
                       add(cat(name, "/", variable.path()), variable);
                   },
                   [&](const Generator& generator) {
                     add(name + "/key", generator.key_variable());
                     add(name + "/step", generator.step_variable());
                   },
                   [](const auto*) {}},
             thing.is());
  return out;
}

// An integer or a floating-point number as a variable has it.
template <class Number>
Tensor tensor_of(Number number) {
  if constexpr (std::is_same_v<Number, double>)
    return Tensor::scalar(number);
  else
    return Tensor::scalar(static_cast<int64_t>(number));
}

}  // namespace

// Of a checkpoint, of what is not made yet.
struct TrackedThings::Values {
  std::string path;  // of the file
  std::map<std::string, Literal> by_name;

  [[noreturn]] void refuse(const std::string& message) const {
    throw ValueError("checkpoint.variable", cat(path, " is of other things: ", message), kOther);
  }
  const Literal* find(const std::string& name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : &found->second;
  }
  void require(const std::string& name, const TensorType& type, const Literal* value) const {
    if (!value) refuse(cat("it has no variable \"", name, "\""));
    if (value->type() != type) refuse(cat("\"", name, "\" is ", value->type(), " there and ", type, " here"));
  }
  // Names behind `prefix`.
  std::vector<std::string> below(const std::string& prefix) const {
    std::vector<std::string> out;
    for (auto it = by_name.lower_bound(prefix); it != by_name.end() && it->first.starts_with(prefix); ++it)
      out.push_back(it->first.substr(prefix.size()));
    return out;
  }
};

// Of the weights of a model, or the sums of a metric.
class TrackedThings::First final : public FirstValues {
 public:
  First(std::shared_ptr<const Values> values, std::string prefix)
      : values_(std::move(values)), prefix_(std::move(prefix)) {}
  void begin() override { taken_.clear(); }
  Tensor of(const std::string& name, const Variable& made) override {
    const Literal* const value = values_->find(prefix_ + name);
    values_->require(prefix_ + name, made.type(), value);
    taken_.insert(name);
    return make_concrete(*value);
  }
  void end() override {
    for (const std::string& name : values_->below(prefix_))
      if (!taken_.contains(name))
        values_->refuse(cat("its variable \"", prefix_, name, "\" is none of this model"));
  }

 private:
  const std::shared_ptr<const Values> values_;
  const std::string prefix_;
  std::set<std::string> taken_;
};

class TrackedThings::Owners {
 public:
  explicit Owners(const std::vector<Tracked>& things) {
    for (const Tracked& thing : things)
      if (!std::holds_alternative<Optimizer>(thing.is())) things_.push_back(thing);
    look();
  }
  // Null where nobody tracks it.
  const std::string* name_of(const Variable& variable) {
    if (!names_.contains(variable.state().get())) look();
    const auto found = names_.find(variable.state().get());
    return found == names_.end() ? nullptr : &found->second;
  }

 private:
  void look() {
    for (const Tracked& thing : things_)
      for (const auto& [name, variable] : own_variables(thing)) names_.emplace(variable.state().get(), name);
  }
  std::vector<Tracked> things_;
  std::unordered_map<const VariableState*, std::string> names_;
};

TrackedThings::TrackedThings(std::vector<Tracked> things) : things_(std::move(things)) {
  things_.emplace_back(kDefaultGenerator, default_generator());
  std::set<std::string> names;
  for (const Tracked& thing : things_) {
    if (!is_name(thing.name()))
      throw ValueError("checkpoint.name",
                       cat("a name has letters, digits, '_', '-' and '.', got \"", thing.name(), "\""));
    if (!names.insert(thing.name()).second)
      throw ValueError("checkpoint.name", cat("two things are tracked as \"", thing.name(), "\""));
  }
}

NamedVariables TrackedThings::variables() const {
  NamedVariables out;
  Owners owners(things_);
  for (const Tracked& thing : things_) {
    const NamedVariables own = own_variables(thing);
    out.insert(out.end(), own.begin(), own.end());
    const auto* const optimizer = std::get_if<Optimizer>(&thing.is());
    if (!optimizer) continue;
    const Optimizer::Rule::Shared& rule = optimizer->rule()->shared();
    std::map<size_t, std::string> slots;
    for (const auto& [key, place] : rule.slot_index) slots[place] = key.second;
    for (const auto& [place, slot] : slots) {
      const std::string* const owner = owners.name_of(rule.owners[place]);
      if (!owner)
        throw ValueError(
            "checkpoint.untracked",
            cat("\"", thing.name(), "\" trains \"", rule.owners[place].path(), "\", which is not tracked"),
            "track its model, or the variable");
      out.emplace_back(cat(slots_of(thing.name(), *optimizer), slot, "/", *owner), rule.slots[place]);
    }
  }
  for (const Tracked& thing : things_) {
    std::visit(
        [&]<class T>(const T& is) {
          if constexpr (std::is_pointer_v<T>)
            if constexpr (kIsNumber<std::remove_pointer_t<T>>)
              out.emplace_back(thing.name(),
                               Variable(tensor_of(*is), {.name = thing.name(), .trainable = false}));
        },
        thing.is());
  }
  return out;
}

std::vector<NamedArray> TrackedThings::waiting() const {
  std::vector<NamedArray> out;
  if (!waiting_) return out;
  for (const auto& [name, variable] : variables()) waiting_->by_name.erase(name);
  for (const auto& [name, value] : waiting_->by_name) out.push_back({name, value});
  return out;
}

DataCursor TrackedThings::places() const {
  DataCursor out;
  const auto add = [&](const std::string& name, const DatasetState& state) {
    for (auto& [field, number] : cursor_of(state).numbers) out.numbers[cat(name, "/", field)] = number;
    for (auto& [field, bytes] : cursor_of(state).bytes) out.bytes[cat(name, "/", field)] = bytes;
  };
  for (const Tracked& thing : things_) {
    if (const auto* const iterator = std::get_if<DatasetIterator*>(&thing.is()))
      add(thing.name(), (*iterator)->save());
    if (const auto* const batches = std::get_if<DistributedDataset*>(&thing.is()))
      add(thing.name(), (*batches)->save());
  }
  return out;
}

// Datasets first, one after another: each says itself whether it is of this one.
void TrackedThings::restore_places(const DataCursor& cursor, const std::string& path) {
  std::map<std::string, DataCursor> places;
  for (const auto& [name, number] : cursor.numbers) {
    const size_t slash = name.find('/');
    places[name.substr(0, slash)].numbers[name.substr(slash + 1)] = number;
  }
  for (const auto& [name, bytes] : cursor.bytes) {
    const size_t slash = name.find('/');
    places[name.substr(0, slash)].bytes[name.substr(slash + 1)] = bytes;
  }
  std::vector<std::pair<std::function<void(const DatasetState&)>, DatasetState>> goes, before;
  for (const Tracked& thing : things_) {
    const auto add = [&](auto* data) {
      const auto found = places.find(thing.name());
      if (found == places.end())
        throw ValueError("checkpoint.place", cat(path, " has no place in the data \"", thing.name(), "\""),
                         kOther);
      goes.emplace_back([data](const DatasetState& state) { data->restore(state); }, state_of(found->second));
      before.emplace_back(goes.back().first, data->save());
      places.erase(found);
    };
    if (const auto* const iterator = std::get_if<DatasetIterator*>(&thing.is())) add(*iterator);
    if (const auto* const batches = std::get_if<DistributedDataset*>(&thing.is())) add(*batches);
  }
  if (!places.empty())
    throw ValueError(
        "checkpoint.place",
        cat(path, " has a place in the data \"", places.begin()->first, "\", which are not tracked"), kOther);
  for (size_t i = 0; i < goes.size(); ++i) {
    try {
      goes[i].first(goes[i].second);
    } catch (...) {
      for (size_t k = 0; k < i; ++k) before[k].first(before[k].second);
      throw;
    }
  }
}

void TrackedThings::restore(Checkpoint checkpoint, const std::string& path) {
  auto values = std::make_shared<Values>(Values{path, {}});
  for (NamedArray& array : checkpoint.variables) values->by_name.emplace(array.name, std::move(array.value));
  std::vector<std::pair<Variable, Tensor>> assigned;
  std::map<std::string, Tensor> numbers;
  std::map<std::string, TensorType> types;  // of all that is made
  for (const auto& [name, variable] : variables()) {
    const Literal* const value = values->find(name);
    values->require(name, variable.type(), value);
    assigned.emplace_back(variable, make_concrete(*value));
    numbers[name] = assigned.back().second;
    types.emplace(name, variable.type());
    values->by_name.erase(name);
  }
  // What is left waits: of a model without variables, of a metric without sums, of an optimizer's slots.
  const auto waits = [&](const std::string& name) {
    for (const Tracked& thing : things_) {
      if (!name.starts_with(thing.name() + "/")) continue;
      if (const auto* const layer = std::get_if<Layer>(&thing.is())) return layer->variables().empty();
      if (const auto* const metric = std::get_if<Metric>(&thing.is())) return metric->variables().empty();
      const auto* const optimizer = std::get_if<Optimizer>(&thing.is());
      const std::string slots = optimizer ? slots_of(thing.name(), *optimizer) : "";
      const size_t behind = optimizer ? name.find('/', slots.size()) : name.npos;
      if (behind == name.npos || !name.starts_with(slots)) return false;
      const std::string owner = name.substr(behind + 1);
      const auto made = types.find(owner);
      if (made == types.end()) return values->find(owner) != nullptr;
      const TensorType& there = values->find(name)->type();
      values->require(name, {there.dtype, made->second.shape}, values->find(name));
      return true;
    }
    return false;
  };
  for (const auto& [name, value] : values->by_name)
    if (!waits(name)) values->refuse(cat("its variable \"", name, "\" is none of what is tracked"));
  restore_places(checkpoint.cursor, path);
  for (auto& [variable, value] : assigned) variable.assign(value);
  for (const Tracked& thing : things_) {
    std::visit(
        [&]<class T>(const T& is) {
          if constexpr (std::is_pointer_v<T>) {
            using Number = std::remove_pointer_t<T>;
            using Kept = std::conditional_t<std::is_same_v<Number, double>, double, int64_t>;
            if constexpr (kIsNumber<Number>)
              *is = static_cast<Number>(numbers.at(thing.name()).template item<Kept>());
          }
        },
        thing.is());
  }
  continue_seed(checkpoint.seed);
  waiting_ = values;
  begin_later(values);
}

void TrackedThings::begin_later(const std::shared_ptr<Values>& values) const {
  const auto owners = std::make_shared<Owners>(things_);
  for (const Tracked& thing : things_) {
    const std::string prefix = thing.name() + "/";
    const bool any = !values->below(prefix).empty();
    const auto first = any ? std::make_shared<First>(values, prefix) : nullptr;
    if (const auto* const layer = std::get_if<Layer>(&thing.is())) begin_with(*layer, first);
    if (const auto* const metric = std::get_if<Metric>(&thing.is())) metric->rule()->first = first;
    const auto* const optimizer = std::get_if<Optimizer>(&thing.is());
    if (!optimizer) continue;
    optimizer->rule()->shared().first_slot = [values, owners, slots = slots_of(thing.name(), *optimizer)](
                                                 const std::string& slot, const Variable& variable,
                                                 const TensorType& type) -> Tensor {
      const std::string* const owner = owners->name_of(variable);
      if (!owner) return {};
      const std::string name = cat(slots, slot, "/", *owner);
      const Literal* const value = values->find(name);
      // It may keep nothing of one that it has not trained before, or all.
      if (!value && std::ranges::none_of(values->below(slots), [&](const std::string& other) {
            return other.ends_with("/" + *owner) && other.find('/') == other.size() - owner->size() - 1;
          }))
        return {};
      values->require(name, type, value);
      return make_concrete(*value);
    };
  }
}

}  // namespace espalier
