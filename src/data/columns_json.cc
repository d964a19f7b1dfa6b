#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json.h"
#include "data/column_steps.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "espalier.columns";
constexpr int kVersion = 1;

class Writer {
 public:
  explicit Writer(Json& json) : json_(json) {}
  template <class T>
  void operator()(const char* key, const T& value) {
    json_[key] = value;
  }
  template <class T, size_t n>
  void operator()(const char* key, T value, const std::string_view (&names)[n]) {
    json_[key] = std::string(names[static_cast<size_t>(value)]);
  }
  template <class T>
  void optional(const char* key, const T& value) {
    (*this)(key, value);
  }
  // Of a bound: infinity is none.
  void optional(const char* key, double value) {
    if (std::isfinite(value)) (*this)(key, value);
  }
  // Of a count: less than 0 is none.
  void optional(const char* key, int64_t value) {
    if (value >= 0) (*this)(key, value);
  }

 private:
  Json& json_;
};

[[noreturn]] void fail(const std::string& field, std::string_view problem) {
  throw FormatError("columns.json", cat(field.empty() ? "the program" : field, ": ", problem));
}

const Json& field(const Json& json, const char* key, const std::string& path) {
  if (!json.is_object()) fail(path, "must be an object");
  const auto found = json.find(key);
  if (found == json.end()) fail(cat(path, path.empty() ? "" : ".", key), "is missing");
  return *found;
}

const Json& array(const Json& json, const char* key, const std::string& path) {
  const Json& out = field(json, key, path);
  if (!out.is_array()) fail(cat(path, path.empty() ? "" : ".", key), "must be an array");
  return out;
}

// The fields of the object at `path`.
class Reader {
 public:
  Reader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  void operator()(const char* key, bool& value) {
    const Json& json = field(json_, key, path_);
    if (!json.is_boolean()) fail(at(key), "must be true or false");
    value = json.get<bool>();
  }
  void operator()(const char* key, double& value) {
    const Json& json = field(json_, key, path_);
    if (!json.is_number() || !std::isfinite(json.get<double>())) fail(at(key), "must be a number");
    value = json.get<double>();
  }
  void operator()(const char* key, int64_t& value) {
    constexpr int64_t kMost = int64_t{1} << 53;
    const Json& json = field(json_, key, path_);
    if (!json.is_number_unsigned() || json.get<uint64_t>() > kMost) fail(at(key), "must be a count");
    value = json.get<int64_t>();
  }
  void operator()(const char* key, std::string& value) {
    const Json& json = field(json_, key, path_);
    if (!json.is_string()) fail(at(key), "must be a string");
    value = json.get<std::string>();
  }
  void operator()(const char* key, std::vector<std::string>& value) {
    value.clear();
    for (const Json& element : array(json_, key, path_)) {
      if (!element.is_string()) fail(at(key), "must hold strings only");
      value.push_back(element.get<std::string>());
    }
  }
  template <class T, size_t n>
  void operator()(const char* key, T& value, const std::string_view (&names)[n]) {
    std::string text;
    (*this)(key, text);
    const auto found = std::find(std::begin(names), std::end(names), text);
    if (found == std::end(names)) fail(at(key), "is none of the known names");
    value = static_cast<T>(found - std::begin(names));
  }
  // A field that programs written before it do not have.
  template <class T>
  void optional(const char* key, T& value) {
    if (json_.is_object() && json_.contains(key)) (*this)(key, value);
  }

 private:
  std::string at(const char* key) const { return cat(path_, path_.empty() ? "" : ".", key); }

  const Json& json_;
  const std::string path_;
};

template <class Step>
Step read_step(const Json& json, const std::string& path) {
  Step step;
  Step::fields(step, Reader(json, path));
  if (const std::string problem = step.prepare(); !problem.empty()) fail(path, problem);
  return step;
}

ColumnStep read_column(const Json& json, const std::string& path) {
  Reader reader(json, path);
  ColumnStep out;
  std::string kind;
  reader("column", out.column);
  reader("kind", kind);
  if (kind == name(ColumnKind::kNumeric)) {
    out.how = read_step<NumericStep>(json, path);
  } else if (kind == name(ColumnKind::kCategory)) {
    out.how = read_step<CategoryStep>(json, path);
  } else if (kind == name(ColumnKind::kBoolean)) {
    out.how = read_step<BooleanStep>(json, path);
  } else if (kind == name(ColumnKind::kDate)) {
    out.how = read_step<DateStep>(json, path);
  } else {
    fail(cat(path, ".kind"), "is none of numeric, category, boolean, date");
  }
  SeenCells::fields(out.cells, reader);
  return out;
}

void read_steps(const Json& json, ColumnProgram::Data& data) {
  std::set<std::string_view> free(data.columns.begin(), data.columns.end());
  if (free.size() != data.columns.size()) fail("columns", "a name stands there twice");
  if (!free.erase(data.label.column)) fail("label.column", "is none of the columns");
  const Json& steps = array(json, "steps", "");
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string path = cat("steps[", i, "]");
    data.steps.push_back(read_column(steps[i], path));
    if (!free.erase(data.steps.back().column))
      fail(cat(path, ".column"), "is none of the columns, or a second step of one");
  }
  if (data.steps.empty()) fail("steps", "is empty");
}

Json parse(std::string_view text) {
  try {
    return parse_json(text, {.bytes = size_t{16} << 20, .levels = 8});
  } catch (const FormatError& error) {
    fail("", error.message());
  }
}

}  // namespace

std::string ColumnProgram::to_json() const {
  Json json{{"format", kFormat}, {"version", kVersion}};
  Writer writer(json);
  writer("columns", data_->columns);
  writer("numbered", data_->numbered);
  if (data_->decimal) writer("decimal", std::string(1, data_->decimal));
  writer("missing", data_->missing.words());
  if (const auto values = data_->missing.values(); !values.empty()) json["values"] = values;
  json["label"] = Json::object();
  LabelStep::fields(data_->label, Writer(json["label"]));
  json["steps"] = Json::array();
  for (const ColumnStep& column : data_->steps) {
    Json& step = json["steps"].emplace_back();
    step["column"] = column.column;
    step["kind"] = std::string(name(kStepKinds[column.how.index()]));
    std::visit([&](const auto& how) { how.fields(how, Writer(step)); }, column.how);
    SeenCells::fields(column.cells, Writer(step));
  }
  json["notes"] = Json::array();
  for (const Note& note : data_->notes)
    json["notes"].push_back({{"column", note.column}, {"text", note.text}, {"warning", note.warning}});
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

ColumnProgram ColumnProgram::from_json(std::string_view text, Location at) {
  const CallScope scope(at);
  const Json json = parse(text);
  Reader reader(json, "");
  std::string format;
  double version = 0;
  reader("format", format);
  reader("version", version);
  if (format != kFormat || version != kVersion)
    fail("format", cat("must be ", kFormat, ", version ", kVersion));
  auto data = std::make_shared<Data>();
  std::vector<std::string> missing;
  reader("columns", data->columns);
  reader("numbered", data->numbered);
  std::string decimal;
  reader.optional("decimal", decimal);
  if (!decimal.empty() && decimal != "." && decimal != ",") fail("decimal", "must be a point or a comma");
  if (!decimal.empty()) data->decimal = decimal[0];
  reader("missing", missing);
  MissingWords::Values values;
  if (const auto found = json.find("values"); found != json.end()) {
    if (!found->is_object()) fail("values", "must be an object");
    Reader of_columns(*found, "values");
    for (const auto& [column, words] : found->items()) of_columns(column.c_str(), values[column]);
  }
  data->missing = MissingWords(std::move(missing), values);
  data->label = read_step<LabelStep>(field(json, "label", ""), "label");
  read_steps(json, *data);
  const Json& notes = array(json, "notes", "");
  for (size_t i = 0; i < notes.size(); ++i) {
    Reader of_note(notes[i], cat("notes[", i, "]"));
    Note& note = data->notes.emplace_back();
    of_note("column", note.column);
    of_note("text", note.text);
    of_note("warning", note.warning);
  }
  return ColumnProgram(std::move(data));
}

}  // namespace espalier
