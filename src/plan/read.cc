#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/format.h"
#include "base/shortest.h"
#include "format/toml.h"
#include "plan/text.h"

namespace espalier {
namespace {

class Reader {
 public:
  explicit Reader(const TomlDocument& document) : document_(document) {}

  void plan(TrainPlan& to) {
    images_ = to.data.label.empty();
    table(document_.root(), fields_of(to), "", {});
  }

  void places(const toml::node& node, const std::string& path,
              std::map<std::string, std::string>& out) const {
    out[path] = document_.place(node.source().begin);
    if (const toml::table* table = node.as_table()) {
      for (const auto& [key, value] : *table)
        places(value, path.empty() ? std::string(key.str()) : cat(path, ".", key.str()), out);
    } else if (const toml::array* array = node.as_array()) {
      for (size_t i = 0; i < array->size(); ++i) places((*array)[i], cat(path, "[", i, "]"), out);
    }
  }

 private:
  using Node = toml::node;

  [[noreturn]] void fail(const char* rule, const Node& at, const std::string& message) const {
    document_.fail(rule, at, message);
  }
  [[noreturn]] void wrong_type(const Node& at, const std::string& path, const Field& field) const {
    fail("plan.type", at, cat(path, " is ", allowed(field), ", not ", toml_type(at)));
  }

  // `tag`: the key beside those of `fields`, if there is one.
  void table(const toml::table& from, Fields fields, const std::string& path, const std::string& tag) {
    std::vector<std::string> known;
    if (!tag.empty()) known.push_back(tag);
    for (const Field& field : fields) known.push_back(field.key);
    document_.check_keys(
        from, path.empty() ? "table" : cat("key of ", path, images_ ? ", without a label," : ""), known);
    for (Field& field : fields) {
      const std::string name = path.empty() ? field.key : cat(path, ".", field.key);
      if (const Node* node = from.get(field.key))
        value(*node, field, name);
      else if (field.required)
        fail("plan.required", from, cat(path, " needs ", field.key, ", ", allowed(field)));
    }
  }

  void value(const Node& node, Field& field, const std::string& path) {
    std::visit([&](auto& target) { take(node, field, path, target); }, field.target);
  }

  void in_range(const Node& node, const Field& field, const std::string& path, double number) const {
    if (!field.range.holds(number))
      fail("plan.range", node, cat(path, " is ", allowed(field), ", not ", shortest(number)));
  }
  double number(const Node& node, const Field& field, const std::string& path) const {
    if (!node.is_number()) wrong_type(node, path, field);
    const double out =
        node.is_integer() ? static_cast<double>(**node.as_integer()) : **node.as_floating_point();
    // An infinity where that is the default says "no limit".
    const auto* target = std::get_if<double*>(&field.target);
    if (std::isinf(out) && !(target && std::isinf(**target)))
      fail("plan.range", node, cat(path, " is ", allowed(field), ", not ", shortest(out)));
    in_range(node, field, path, out);
    return out;
  }
  int64_t whole(const Node& node, const Field& field, const std::string& path) const {
    if (!node.is_integer()) wrong_type(node, path, field);
    const int64_t out = **node.as_integer();
    in_range(node, field, path, static_cast<double>(out));
    return out;
  }
  std::string word(const Node& node, const Field& field, const std::string& path) const {
    if (!node.is_string()) wrong_type(node, path, field);
    std::string out = **node.as_string();
    if (!field.choices.empty() && std::ranges::find(field.choices, out) == field.choices.end()) {
      const auto* target = std::get_if<std::string*>(&field.target);
      if (out.empty() && target)
        document_.fail("plan.choice", node, cat(path, " is ", allowed(field), ", not \"\""),
                       cat("did you mean \"", **target, "\", as it is when left out?"));
      document_.unknown("plan.choice", node.source().begin, path, out, field.choices);
    }
    if (!field.range.holds(static_cast<double>(out.size())))
      fail("plan.range", node, cat(path, " is ", allowed(field), ", not \"", out, "\""));
    return out;
  }
  template <class F>
  void each(const Node& node, const Field& field, const std::string& path, F f) const {
    const toml::array* array = node.as_array();
    if (!array) wrong_type(node, path, field);
    for (size_t i = 0; i < array->size(); ++i) f((*array)[i], cat(path, "[", i, "]"));
  }

  void take(const Node& node, const Field& field, const std::string& path, bool* to) const {
    if (!node.is_boolean()) wrong_type(node, path, field);
    *to = **node.as_boolean();
  }
  void take(const Node& node, const Field& field, const std::string& path, int* to) const {
    const int64_t out = whole(node, field, path);
    if (out != static_cast<int>(out)) fail("plan.range", node, cat(path, ": ", out, " is too large"));
    *to = static_cast<int>(out);
  }
  void take(const Node& node, const Field& field, const std::string& path, int64_t* to) const {
    *to = whole(node, field, path);
  }
  void take(const Node& node, const Field& field, const std::string& path, uint64_t* to) const {
    if (const auto* integer = node.as_integer()) {
      if (**integer < 0) fail("plan.range", node, cat(path, " is ", allowed(field), ", not ", **integer));
      *to = static_cast<uint64_t>(**integer);
      return;
    }
    const std::string digits = word(node, field, path);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *to);
    if (error != std::errc() || end != digits.data() + digits.size())
      fail("plan.range", node, cat(path, " is ", allowed(field), ", not \"", digits, "\""));
  }
  void take(const Node& node, const Field& field, const std::string& path, double* to) const {
    *to = number(node, field, path);
  }
  void take(const Node& node, const Field& field, const std::string& path, std::optional<double>* to) const {
    if (const auto* text = node.as_string(); text && **text == "none")
      to->reset();
    else
      *to = number(node, field, path);
  }
  void take(const Node& node, const Field& field, const std::string& path, char* to) const {
    const std::string text = word(node, field, path);
    if (text.size() != 1) fail("plan.range", node, cat(path, " is ", allowed(field), ", not \"", text, "\""));
    *to = text[0];
  }
  void take(const Node& node, const Field& field, const std::string& path, std::string* to) const {
    *to = word(node, field, path);
  }
  void take(const Node& node, const Field& field, const std::string& path, Dims* to) const {
    std::vector<int64_t> sizes;
    take(node, field, path, &sizes);
    *to = sizes;
  }
  void take(const Node& node, const Field& field, const std::string& path, std::vector<int64_t>* to) const {
    to->clear();
    each(node, field, path,
         [&](const Node& x, const std::string& name) { to->push_back(whole(x, field, name)); });
  }
  void take(const Node& node, const Field& field, const std::string& path, std::vector<double>* to) const {
    to->clear();
    each(node, field, path,
         [&](const Node& x, const std::string& name) { to->push_back(number(x, field, name)); });
  }
  void take(const Node& node, const Field& field, const std::string& path,
            std::vector<std::string>* to) const {
    to->clear();
    each(node, field, path,
         [&](const Node& x, const std::string& name) { to->push_back(word(x, field, name)); });
  }
  void take(const Node& node, const Field& field, const std::string& path, ClassWeights* to) const {
    if (const toml::table* table = node.as_table()) {
      auto& weights = to->emplace<1>();
      for (const auto& [key, weight] : *table)
        weights[std::string(key.str())] = number(weight, field, cat(path, ".", key.str()));
      return;
    }
    if (!node.is_string()) wrong_type(node, path, field);
    const std::string mode = **node.as_string();
    if (std::ranges::find(field.choices, mode) == field.choices.end())
      document_.unknown("plan.choice", node.source().begin, path, mode, field.choices);
    *to = mode;
  }
  void take(const Node& node, const Field& field, const std::string& path, Fields& to) {
    if (!node.is_table()) wrong_type(node, path, field);
    table(*node.as_table(), to, path, {});
  }
  void take(const Node& node, const Field& field, const std::string& path, OneOf& to) {
    one(node, field, path, to, false);
  }
  void take(const Node& node, const Field& field, const std::string& path, Many& to) {
    const toml::array* array = node.as_array();
    if (!array) wrong_type(node, path, field);
    to.resize(0);
    to.resize(array->size());
    for (size_t i = 0; i < array->size(); ++i) {
      OneOf element = to.at(i);
      one((*array)[i], field, cat(path, "[", i, "]"), element, true);
    }
  }

  void one(const Node& node, const Field& field, const std::string& path, OneOf& to, bool element) {
    const toml::table* table = node.as_table();
    std::string about = path;
    if (!table) {
      if (!to.names[0].empty()) wrong_type(node, path, element ? Field{path, to, ""} : field);
      to.choose(0);
      Fields bare = to.fields();
      try {
        value(node, bare[0], path);
      } catch (const FormatError& error) {
        if (error.rule() == "plan.type") wrong_type(node, path, field);
        throw;
      }
    } else {
      const std::string name = kind(*table, path, to, element);
      this->table(*table, to.fields(), cat(path, " (", name, ")"), to.tag);
    }
    try {
      to.check();
    } catch (const Error& error) {
      fail("plan.options", node, cat(path, ": ", error.message()));
    }
  }
  // Chooses as the tag says.
  std::string kind(const toml::table& table, const std::string& path, OneOf& to, bool element) const {
    std::vector<std::string> known = to.names;
    std::erase(known, "");
    const Node* tag = table.get(to.tag);
    if (!tag) {
      const std::string& now = to.names[to.index()];
      if (!element && !now.empty()) return now;
      std::string all;
      for (const std::string& name : known) all += cat(all.empty() ? "" : ", ", name);
      fail("plan.required", table, cat(path, " needs ", to.tag, ", one of ", all));
    }
    if (!tag->is_string()) fail("plan.type", *tag, cat(path, ".", to.tag, " is text"));
    const std::string name = **tag->as_string();
    const auto found = std::ranges::find(to.names, name);
    if (name.empty() || found == to.names.end())
      document_.unknown("plan.choice", tag->source().begin, cat(to.tag, " of ", path), name, known);
    to.choose(static_cast<size_t>(found - to.names.begin()));
    return name;
  }

  const TomlDocument& document_;
  bool images_ = false;
};

}  // namespace

TrainPlan read_plan(const std::string& text, const std::string& source, const std::string& folder,
                    const std::string& label) {
  const TomlDocument document(text, source, "plan");
  const toml::table& from = document.root();
  Reader reader(document);
  const std::string learned = label.empty() ? from["data"]["label"].value_or(std::string()) : label;
  TrainPlan plan = learned.empty() ? image_plan() : table_plan();
  // Says which keys there are.
  plan.data.label = learned;
  if (from["model"]["layers"]) plan.model.compare_linear = false;
  reader.plan(plan);
  reader.places(from, "", plan.places);
  if (!label.empty()) {
    plan.data.label = label;
    plan.places.erase("data.label");
  }
  for_paths(plan, [&](std::string& path) {
    if (!folder.empty() && !path.empty() && path != "-" && path[0] != '/') path = cat(folder, "/", path);
  });
  return plan;
}

}  // namespace espalier
