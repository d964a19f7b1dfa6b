#include <algorithm>

#include "base/format.h"
#include "data/column_fit.h"
#include "data/column_label.h"
#include "data/column_leak.h"
#include "data/columns_apply.h"
#include "data/missing_code.h"

namespace espalier {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_options(const CsvTable& table, const ColumnOptions& options) {
  if (options.label.empty()) throw ValueError("columns.label", "the column to learn is not named");
  table.column(options.label);
  if (options.max_categories < 1)
    throw ValueError("columns.categories",
                     cat("max_categories is ", options.max_categories, ", less than 1"));
  const auto check = [&](const std::string& name, const char* option) {
    table.column(name);
    if (name == options.label)
      throw ValueError("columns.label", cat("the label \"", name, "\" cannot stand in ", option));
  };
  for (const std::string& name : options.ignore) check(name, "`ignore`");
  for (const std::string& name : options.include) {
    check(name, "`include`");
    if (contains(options.ignore, name))
      throw ValueError("columns.include", cat("column \"", name, "\" cannot be included and ignored"));
  }
  for (const auto& [name, kind] : options.kinds) check(name, "`kinds`");
}

constexpr const char* kKeepsIt = "--include COLUMN keeps it";

class Fitter {
 public:
  Fitter(const CsvTable& table, std::span<const int64_t> rows, const ColumnOptions& options,
         ColumnProgram::Data& data)
      : table_(table),
        rows_(rows),
        options_(options),
        data_(data),
        label_(fit_label(table, rows, options, data.missing)) {
    data_.label = label_.step;
    data_.notes = label_.notes;
  }

  void run() {
    for (int64_t c = 0; c < table_.columns(); ++c) {
      const std::string& name = table_.names()[static_cast<size_t>(c)];
      if (options_.on_column) options_.on_column(c);
      if (name == options_.label) continue;
      if (contains(options_.ignore, name)) {
        note(name, "left out, as told");
      } else {
        fit_column(name, c);
      }
    }
    if (!data_.steps.empty()) return;
    std::string reasons;
    for (const Note& note : data_.notes) {
      if (note.column != options_.label) reasons += cat(reasons.empty() ? ": " : "; ", note);
    }
    throw ValueError("columns.none", cat("no column is left to learn from", reasons));
  }

 private:
  void note(const std::string& column, std::string text, bool warning = false) {
    data_.notes.push_back({column, std::move(text), warning});
  }

  // `included`: what it would be if somebody wanted it; "": nothing.
  void set_aside(const std::string& name, const std::string& why, const char* included) {
    if (contains(options_.include, name))
      throw ValueError("columns.include", cat("column \"", name, "\" is to be included, but ", why));
    note(name, cat("set aside: ", why, *included ? cat(" (", included, ")") : ""), true);
  }

  void fit_column(const std::string& name, int64_t c) {
    const ColumnProfile profile = profile_column(table_, rows_, c, data_.missing);
    const auto told = options_.kinds.find(name);
    const bool guessed = told == options_.kinds.end();
    const bool included = contains(options_.include, name);
    const bool nameless = c == 0 && name == "column_1" && table_.columns() > 2;
    const ColumnGuess guess = guessed ? guess_column(name, nameless, included, profile)
                                      : styled_column(name, told->second, profile);
    if (!guess.hint.empty()) note(name, guess.hint, true);
    if (guess.kind == ColumnKind::kDropped) {
      if (guessed)
        set_aside(name, guess.why,
                  profile.present() == 0 ? ""
                  : guess.text           ? "--include COLUMN takes whole texts for categories"
                                         : kKeepsIt);
      else
        note(name, "left out, as told");
      return;
    }
    const Leak leak = find_leak(profile, label_);
    if (leak.same && guessed && !included)
      return set_aside(name, "it is the label under another name", kKeepsIt);
    FittedStep fitted = fit_step(name, guess, profile, options_.max_categories);
    note(name, fitted.text);
    if (!fitted.hint.empty()) note(name, fitted.hint, true);
    if (guess.kind == ColumnKind::kNumeric) {
      if (const auto codes = find_missing_codes(profile, guess.numbers)) note(name, text(*codes), true);
    }
    if (!leak.suspicion.empty()) note(name, leak.suspicion, true);
    data_.steps.push_back(std::move(fitted.step));
  }

  const CsvTable& table_;
  const std::span<const int64_t> rows_;
  const ColumnOptions& options_;
  ColumnProgram::Data& data_;
  const FittedLabel label_;
};

}  // namespace

ColumnProgram ColumnProgram::fit(const CsvTable& table, std::span<const int64_t> training_rows,
                                 const ColumnOptions& options, Location at) {
  const CallScope scope(at);
  check_options(table, options);
  check_rows(table, training_rows);
  if (training_rows.empty()) throw ValueError("columns.rows", "there are no training rows");
  auto data = std::make_shared<Data>();
  data->columns = table.names();
  data->numbered = table.numbered();
  data->decimal = table.numbers().point;
  data->missing = MissingWords(options.missing, options.values);
  Fitter(table, training_rows, options, *data).run();
  return ColumnProgram(std::move(data));
}

std::vector<int64_t> labelled_rows(const CsvTable& table, const ColumnOptions& options, Location at) {
  const CallScope scope(at);
  const int64_t column = table.column(options.label);
  const MissingWords all(options.missing, options.values);
  const MissingWords& missing = all.of(options.label);
  std::vector<int64_t> out;
  for (int64_t row = 0; row < table.rows(); ++row) {
    if (!missing.contains(table.cell(row, column))) out.push_back(row);
  }
  return out;
}

}  // namespace espalier
