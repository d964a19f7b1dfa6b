#include "plan/text.h"

#include <set>

#include "base/format.h"
#include "base/shortest.h"
#include "format/toml.h"

namespace espalier {
namespace {

// With a point, an exponent or a name, as TOML tells floats from integers.
std::string float_text(double value) {
  const std::string text = shortest(value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

bool is_bare_key(const std::string& key) {
  constexpr const char* kBare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !key.empty() && key.find_first_not_of(kBare) == std::string::npos;
}

std::string join(const std::vector<std::string>& parts, const char* open, const char* close) {
  std::string out;
  for (const std::string& part : parts) out += cat(out.empty() ? "" : ", ", part);
  return cat(open, out, close);
}

template <class Values, class F>
std::string list_text(const Values& values, F text) {
  std::vector<std::string> parts;
  for (const auto& value : values) parts.push_back(text(value));
  return join(parts, "[", "]");
}

std::string inline_table(std::vector<std::string> parts, const Fields& fields) {
  for (const Field& field : fields) parts.push_back(cat(field.key, " = ", value_text(field)));
  return join(parts, "{ ", " }");
}

struct Value {
  std::string operator()(const bool* x) const { return *x ? "true" : "false"; }
  std::string operator()(const int* x) const { return cat(*x); }
  std::string operator()(const int64_t* x) const { return cat(*x); }
  std::string operator()(const uint64_t* x) const {
    return *x > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? toml_quoted(cat(*x)) : cat(*x);
  }
  std::string operator()(const double* x) const { return float_text(*x); }
  std::string operator()(const std::optional<double>* x) const { return *x ? float_text(**x) : "\"none\""; }
  std::string operator()(const char* x) const { return toml_quoted(std::string(1, *x)); }
  std::string operator()(const std::string* x) const { return toml_quoted(*x); }
  std::string operator()(const Dims* x) const {
    return list_text(*x, [](int64_t size) { return cat(size); });
  }
  std::string operator()(const std::vector<int64_t>* x) const {
    return list_text(*x, [](int64_t value) { return cat(value); });
  }
  std::string operator()(const std::vector<double>* x) const { return list_text(*x, float_text); }
  std::string operator()(const std::vector<std::string>* x) const { return list_text(*x, toml_quoted); }
  std::string operator()(const ClassWeights* x) const {
    if (const auto* mode = std::get_if<std::string>(x)) return toml_quoted(*mode);
    std::vector<std::string> parts;
    for (const auto& [name, weight] : std::get<1>(*x))
      parts.push_back(cat(is_bare_key(name) ? name : toml_quoted(name), " = ", float_text(weight)));
    return join(parts, "{ ", " }");
  }
  std::string operator()(const Fields& x) const { return inline_table({}, x); }
  std::string operator()(const OneOf& x) const {
    const std::string& name = x.names[x.index()];
    if (name.empty()) return value_text(x.fields()[0]);
    return inline_table({cat(x.tag, " = ", toml_quoted(name))}, x.fields());
  }
  std::string operator()(const Many&) const { throw InternalError("lists of tables have no line"); }
};

class Writer {
 public:
  std::string text;

  void plan(const Fields& fields) {
    // What stands behind the header of a table belongs to it.
    for (const Field& field : fields) {
      if (const auto* many = std::get_if<Many>(&field.target); many && many->size() == 0)
        line(field.key, "[]", instead_of_none(field.meaning, field.key));
    }
    for (const Field& field : fields) {
      if (const auto* many = std::get_if<Many>(&field.target)) {
        tables(field.key, *many, field.meaning);
        continue;
      }
      text += cat("\n# ", field.meaning, "\n[", field.key, "]\n");
      if (const auto* one = std::get_if<OneOf>(&field.target)) typed(field.key, *one);
      if (const auto* group = std::get_if<Fields>(&field.target)) table(field.key, *group, true);
    }
  }

 private:
  void line(const std::string& key, const std::string& value, const std::string& comment) {
    constexpr size_t kComments = 34;
    const std::string plain = cat(key, " = ", value);
    std::string out = plain;
    if (!comment.empty()) {
      out.resize(std::max(out.size() + 2, kComments), ' ');
      out += cat("# ", comment);
    }
    // A long comment stands above its line.
    text += out.size() <= kWidth ? out + "\n" : cat(comment_lines(comment), plain, "\n");
  }
  static std::string comment_lines(std::string_view comment) {
    std::string out;
    while (!comment.empty()) {
      constexpr size_t kWords = kWidth - 2;
      size_t end = comment.size() <= kWords ? comment.npos : comment.rfind(' ', kWords);
      if (end == comment.npos) end = comment.size();
      out += cat("# ", comment.substr(0, end), "\n");
      comment.remove_prefix(std::min(end + 1, comment.size()));
    }
    return out;
  }
  void table(const std::string& path, const Fields& fields, bool comments) {
    for (const Field& field : fields) {
      const auto* many = std::get_if<Many>(&field.target);
      if (many && many->size() != 0) continue;
      const std::string value = many ? "[]" : value_text(field);
      const std::string meaning =
          many ? instead_of_none(field.meaning, cat(path, ".", field.key)) : meaning_of(field);
      line(field.key, value, comments ? meaning : "");
    }
    for (const Field& field : fields) {
      if (const auto* many = std::get_if<Many>(&field.target))
        tables(cat(path, ".", field.key), *many, field.meaning);
    }
  }
  void tables(const std::string& path, const Many& many, const std::string& meaning) {
    for (size_t i = 0; i < many.size(); ++i) {
      text += cat("\n", i == 0 ? cat("# ", meaning, "\n") : "", "[[", path, "]]\n");
      typed(path, many.at(i));
    }
  }
  // The keys of each kind are explained once.
  void typed(const std::string& path, const OneOf& one) {
    const std::string& name = one.names[one.index()];
    line(one.tag, toml_quoted(name), "");
    table(path, one.fields(), explained_.insert(cat(path, " ", name)).second);
  }
  // TOML takes a list that was given no second time.
  static std::string instead_of_none(const std::string& meaning, const std::string& path) {
    return cat(meaning, "; to add one, replace this line by [[", path, "]]");
  }
  static std::string meaning_of(const Field& field) {
    std::string out = field.meaning;
    if (field.choices.empty()) return out;
    constexpr size_t kShown = 3;
    const bool list = std::holds_alternative<std::vector<std::string>*>(field.target);
    if (field.choices.size() > kShown && !list) return out;
    for (size_t i = 0; i < field.choices.size(); ++i)
      out += cat(i ? ", " : list ? "; known are " : ": ", field.choices[i]);
    if (std::holds_alternative<ClassWeights*>(field.target)) out += ", or as { CLASS = 3.0 }";
    return out;
  }

  static constexpr size_t kWidth = 100;
  std::set<std::string> explained_;
};

}  // namespace

std::string value_text(const Field& field) { return std::visit(Value{}, field.target); }

std::string without_comments(const std::string& plan) {
  std::string out;
  char quote = 0;  // of the string that `at` is in
  bool blank = false, comment = false;
  for (size_t at = 0; at < plan.size(); ++at) {
    const char c = plan[at];
    if (c == '\n') {
      if (!out.empty() && out.back() != '\n') out += c;
      quote = 0;
      blank = comment = false;
    } else if (quote) {
      out += c;
      if (c == '\\' && quote == '"' && at + 1 < plan.size() && plan[at + 1] != '\n') out += plan[++at];
      if (c == quote) quote = 0;
    } else if (comment || c == '#') {
      comment = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      blank = true;
    } else {
      if (blank && !out.empty() && out.back() != '\n') out += ' ';
      blank = false;
      out += c;
      if (c == '"' || c == '\'') quote = c;
    }
  }
  return out;
}

std::string write_plan(const TrainPlan& plan) {
  TrainPlan copy = plan;
  Writer writer;
  writer.text =
      "# A plan for `espalier train THIS_FILE`; docs/plan.md explains every key. Relative paths begin at\n"
      "# the folder of this file. A key that is left out has its default.\n";
  writer.plan(fields_of(copy));
  return writer.text;
}

}  // namespace espalier
