#include "espalier/columns.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "base/format.h"
#include "base/shortened.h"
#include "data/column_guess.h"
#include "data/columns_apply.h"
#include "ir/sink.h"

namespace espalier {
namespace {

// Given rows of a table, or all of them.
class RowList {
 public:
  RowList(const CsvTable& table, const ColumnProgram::Rows& rows)
      : rows_(rows), size_(rows ? static_cast<int64_t>(rows->size()) : table.rows()) {
    if (rows) check_rows(table, *rows);
  }
  int64_t size() const { return size_; }
  int64_t operator[](int64_t i) const { return rows_ ? (*rows_)[static_cast<size_t>(i)] : i; }

 private:
  const ColumnProgram::Rows& rows_;
  int64_t size_;
};

// Whether numbers of the table have a point where those of the training rows have a comma, or the other way:
// some do, and none is a number as in training alone.
bool writes_other_point(const ColumnProgram::Data& data, const CsvTable& table, const ColumnPlaces& places) {
  constexpr int64_t kLooked = 1000;
  std::vector<std::pair<int64_t, NumberForm>> numbers;
  bool plain = !table.numbers().decimal_comma;
  const auto look_at = [&](int64_t place, const NumberForm& form) {
    if (place < 0) return;
    numbers.emplace_back(place, form);
    plain = plain && (form.style == NumberStyle::kPlain || form.style == NumberStyle::kThousands ||
                      form.style == NumberStyle::kClock);
  };
  for (size_t i = 0; i < places.inputs.size(); ++i) {
    if (const auto* step = std::get_if<NumericStep>(&data.steps[i].how))
      look_at(places.inputs[i], step->form);
  }
  if (!data.label.classification) look_at(places.label, data.label.form);
  if (plain) return false;
  bool other = false;
  for (int64_t row = 0; row < std::min(table.rows(), kLooked); ++row) {
    for (const auto& [place, form] : numbers) {
      const std::string_view text = table.cell(row, place);
      if (text.find_first_of(".,") == text.npos || data.missing.contains(text)) continue;
      if (read_number(text, form) && !read_number(text, {other_point(form.style), form.unit, form.multiples}))
        return false;
      other = other || shows_other_point(text, form);
    }
  }
  return other;
}

// Whether nearly all numbers of the training rows had the unit, as far as it is known.
bool expects_unit(const ColumnStep& step) {
  const auto* number = std::get_if<NumericStep>(&step.how);
  return number && !number->form.unit.empty() && number->without_unit >= 0 &&
         espalier::nearly_all(step.cells.read - number->without_unit, step.cells.read);
}

// Which numbers of a table are read with the other point than in training.
class OtherPoint {
 public:
  OtherPoint(const ColumnProgram::Data& data, const CsvTable& table, const ColumnPlaces& places)
      : told_(table.numbers().told ? table.numbers().point : '\0'),
        all_(!told_ && writes_other_point(data, table, places)) {
    any_ = all_ || std::ranges::any_of(data.steps, [&](const ColumnStep& step) {
             const auto* number = std::get_if<NumericStep>(&step.how);
             return number && number->form.style != NumberStyle::kPlain && of(number->form);
           });
  }
  bool of(const NumberForm& form) const {
    if (!told_ || form.style == NumberStyle::kClock) return all_;
    return has_decimal_comma(form.style) != (told_ == ',');
  }
  // Plain numbers may have no point.
  bool any() const { return any_; }

 private:
  char told_;
  bool all_, any_ = false;
};

template <class Step>
Step with_other_point(Step step) {
  step.form.style = other_point(step.form.style);
  return step;
}

class Application {
 public:
  Application(const ColumnProgram::Data& data, const CsvTable& table, const RowList& rows)
      : data_(data),
        table_(table),
        rows_(rows),
        found_(find_columns(data, table, true)),
        places_(found_.inputs),
        other_point_(data, table, found_) {
    for (const ColumnStep& step : data.steps) {
      width_ += step.width();
      const auto* category = std::get_if<CategoryStep>(&step.how);
      report_.columns.push_back({.name = step.column,
                                 .usual_other = category ? category->other : 0,
                                 .range = std::visit([](const auto& how) { return how.seen(); }, step.how)});
      report_.columns.back().written = std::visit([](const auto& how) { return how.written(); }, step.how);
    }
    report_.other_point = other_point_.any();
    report_.rows = rows.size();
    report_.outside.resize(static_cast<size_t>(rows.size()));
  }

  Tensor run() {
    const TensorType type{DType::kF32, {rows_.size(), width_}};
    Buffer buffer = allocate_buffer(type.bytes());
    std::memset(buffer.get(), 0, type.bytes());
    auto* out = reinterpret_cast<float*>(buffer.get());
    for (int64_t begin = 0; begin < rows_.size(); begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, rows_.size());
      float* inputs = out + begin * width_;
      beyond_.fill(false);
      for (size_t i = 0; i < data_.steps.size(); ++i) {
        const auto* number = std::get_if<NumericStep>(&data_.steps[i].how);
        if (number && other_point_.of(number->form))
          read(with_other_point(*number), i, begin, end, inputs);
        else
          std::visit([&](const auto& step) { read(step, i, begin, end, inputs); }, data_.steps[i].how);
        inputs += data_.steps[i].width();
      }
      report_.rows_beyond += std::count(beyond_.begin(), beyond_.end(), true);
    }
    return make_concrete(Literal(type, std::move(buffer)));
  }
  const ColumnReport& report() const { return report_; }

 private:
  // So many rows of text stay in the cache while each column is read.
  static constexpr int64_t kBlock = 128;

  template <class Step>
  void read(const Step& step, size_t index, int64_t begin, int64_t end, float* out) {
    ColumnReport::Column& report = report_.columns[index];
    const int64_t column = places_[index];
    const MissingWords& missing = data_.missing.of(data_.steps[index].column);
    const bool unit = expects_unit(data_.steps[index]);
    for (int64_t i = begin; i < end; ++i, out += width_) {
      const int64_t row = rows_[i];
      CellOutcome outcome = CellOutcome::kUnreadable;
      if constexpr (std::is_same_v<Step, NumericStep>) {
        if (!missing.numbers()) outcome = step.read_plain(table_, row, column, out);
      }
      if (outcome == CellOutcome::kUnreadable) {
        const Cell cell{table_, row, column, table_.cell(row, column)};
        if (missing.contains(cell.text)) {
          step.read_missing(out);
          ++report.missing;
          continue;
        }
        outcome = step.read(cell, out);
        if constexpr (std::is_same_v<Step, NumericStep>) {
          if (unit && lacks_unit(cell.text, step.form) && report.bare++ == 0) {
            report.bare_line = table_.line(row);
            report.bare_cell = shortened(cell.text);
          }
        }
      }
      const bool beyond = outcome == CellOutcome::kBeyond;
      report.beyond += beyond;
      beyond_[static_cast<size_t>(i - begin)] |= beyond;
      const bool unmet = outcome == CellOutcome::kUnmet;
      report.unmet += unmet;
      report_.outside[static_cast<size_t>(i)] |= beyond || unmet;
      if (beyond || outcome == CellOutcome::kRead) continue;
      if ((unmet || outcome == CellOutcome::kOther) && report.other++ == 0)
        report.other_line = table_.line(row);
      if (outcome != CellOutcome::kUnreadable || report.unreadable++ > 0) continue;
      report.line = table_.line(row);
      report.cell = shortened(table_.cell(row, column));
    }
  }

  const ColumnProgram::Data& data_;
  const CsvTable& table_;
  const RowList& rows_;
  const ColumnPlaces found_;
  const std::vector<int64_t>& places_;
  const OtherPoint other_point_;
  int64_t width_ = 0;
  std::array<bool, kBlock> beyond_ = {};  // rows of the block
  ColumnReport report_;
};

[[noreturn]] void refuse_label(const LabelStep& label, const CsvTable& table, int64_t row,
                               std::string_view text) {
  const std::string what = cat("line ", table.line(row), ": the label \"", shortened(text), "\" ");
  if (!label.classification) throw ValueError("columns.label", cat(what, "is no number"));
  if (text.ends_with('.') && label.class_of(text.substr(0, text.size() - 1))) {
    throw ValueError("columns.label",
                     cat(what, "ends in a dot, the class \"", text.substr(0, text.size() - 1), "\" does not"),
                     "set strip_label_dots");
  }
  std::string known;
  constexpr size_t kShown = 20;
  for (size_t c = 0; c < std::min(kShown, label.classes.size()); ++c)
    known += cat(c ? ", " : "", label.classes[c]);
  throw ValueError("columns.label", cat(what, "is none of the ", label.classes.size(), " classes ", known,
                                        label.classes.size() > kShown ? ", ..." : ""));
}

// What spellings of a column's name have in common: capitals, blanks, underscores, hyphens and byte order
// marks say nothing.
std::string name_key(const std::string& name) {
  std::string out = spelling_key(name);
  std::erase_if(out, [](char c) { return c == '_' || c == '-'; });
  return out.starts_with("\xef\xbb\xbf") ? out.substr(3) : out;
}

// The only column of the table whose name is another spelling of `name`, if there is one.
std::optional<std::string> spelled_otherwise(const std::string& name, const CsvTable& table) {
  std::optional<std::string> out;
  for (const std::string& other : table.names()) {
    if (name_key(other) != name_key(name)) continue;
    if (out) return std::nullopt;
    out = other;
  }
  return out;
}

// Names every column that is missing, each with the nearest one of the table.
[[noreturn]] void refuse_table(const std::vector<std::string>& missing, const CsvTable& table) {
  static constexpr size_t kNamed = 10;
  const auto listed = [](const std::vector<std::string>& names, auto&& text) {
    std::string out;
    for (size_t i = 0; i < std::min(kNamed, names.size()); ++i) out += cat(i ? ", " : "", text(names[i]));
    return names.size() > kNamed ? cat(out, " and ", names.size() - kNamed, " more") : out;
  };
  std::string fix;
  for (const std::string& name : missing) {
    const std::optional<std::string> other = spelled_otherwise(name, table);
    if (other)
      fix += cat(fix.empty() ? "write in its line of names " : ", ", "\"", name, "\" for \"", *other, "\"");
  }
  const auto with_nearest = [&](const std::string& name) {
    const std::optional<std::string> other = spelled_otherwise(name, table);
    const std::vector<std::string> near = other ? std::vector{*other} : nearest(name, table.names());
    return cat("\"", shortened(name), "\"",
               near.empty() ? "" : cat(" (perhaps \"", shortened(near[0]), "\")"));
  };
  throw ValueError("csv.column",
                   cat("the table lacks ", missing.size() == 1 ? "a column that is" : "columns that are",
                       " needed: ", listed(missing, with_nearest), "; it has ",
                       listed(table.names(), [](const std::string& name) { return shortened(name); })),
                   fix);
}

}  // namespace

std::string to_string(const Note& note) { return cat(note.column, ": ", note.text); }

void check_rows(const CsvTable& table, std::span<const int64_t> rows) {
  for (const int64_t row : rows) {
    if (row < 0 || row >= table.rows())
      throw ValueError("columns.rows", cat("row ", row, " is outside of [0, ", table.rows(), ")"));
  }
}

namespace {

// The same, -1 for inputs that are `missing`.
ColumnPlaces found_columns(const ColumnProgram::Data& data, const CsvTable& table,
                           std::vector<std::string>& missing) {
  std::unordered_map<std::string_view, int64_t> by_name;
  const bool by_place = data.numbered || table.numbered();
  const std::vector<std::string>& names = by_place ? data.columns : table.names();
  const auto fitted = static_cast<int64_t>(data.columns.size());
  const bool without_label = by_place && table.columns() == fitted - 1;
  if (by_place && table.columns() != fitted && !without_label) {
    throw ValueError("columns.count", cat("the table has ", table.columns(),
                                          " columns without names, the program was fitted on ", fitted, " (",
                                          fitted - 1, " without the label \"", data.label.column, "\")"));
  }
  int64_t place = 0;
  for (const std::string& name : names) {
    if (!without_label || name != data.label.column) by_name.emplace(name, place++);
  }
  ColumnPlaces out;
  for (const ColumnStep& step : data.steps) {
    const auto found = by_name.find(step.column);
    if (found == by_name.end()) missing.push_back(step.column);
    out.inputs.push_back(found != by_name.end() ? found->second : -1);
  }
  if (const auto found = by_name.find(data.label.column); found != by_name.end()) out.label = found->second;
  return out;
}

}  // namespace

ColumnPlaces find_columns(const ColumnProgram::Data& data, const CsvTable& table, bool inputs) {
  std::vector<std::string> missing;
  ColumnPlaces out = found_columns(data, table, missing);
  if (inputs && !missing.empty()) refuse_table(missing, table);
  return out;
}

Tensor ColumnProgram::inputs(const CsvTable& table, Rows rows, ColumnReport* report, Location at) const {
  const CallScope scope(at);
  const RowList list(table, rows);
  Application application(*data_, table, list);
  Tensor out = application.run();
  if (report) *report = application.report();
  return out;
}

std::vector<std::vector<std::string>> ColumnProgram::beyond(const CsvTable& table, Rows rows,
                                                            Location at) const {
  const CallScope scope(at);
  const RowList list(table, rows);
  const ColumnPlaces found = find_columns(*data_, table, true);
  const std::vector<int64_t>& places = found.inputs;
  const OtherPoint other_point(*data_, table, found);
  std::vector<std::vector<std::string>> out(static_cast<size_t>(list.size()));
  for (size_t s = 0; s < places.size(); ++s) {
    const ColumnStep& step = data_->steps[s];
    const auto* number = std::get_if<NumericStep>(&step.how);
    std::vector<float> inputs(static_cast<size_t>(step.width()));
    for (size_t i = 0; i < out.size(); ++i) {
      const int64_t row = list[static_cast<int64_t>(i)];
      const Cell cell{table, row, places[s], table.cell(row, places[s])};
      if (data_->missing.of(step.column).contains(cell.text)) continue;
      const CellOutcome outcome =
          number && other_point.of(number->form)
              ? with_other_point(*number).read(cell, inputs.data())
              : std::visit([&](const auto& how) { return how.read(cell, inputs.data()); }, step.how);
      if (outcome == CellOutcome::kBeyond || outcome == CellOutcome::kUnreadable ||
          outcome == CellOutcome::kUnmet)
        out[i].push_back(step.column);
    }
  }
  return out;
}

Tensor ColumnProgram::labels(const CsvTable& table, Rows rows, Location at) const {
  const CallScope scope(at);
  const RowList list(table, rows);
  std::vector<std::string> lacking;
  const ColumnPlaces found = found_columns(*data_, table, lacking);
  const int64_t place = found.label;
  if (place < 0) {
    lacking.insert(lacking.begin(), data_->label.column);
    refuse_table(lacking, table);
  }
  LabelStep other;
  if (!classification() && OtherPoint(*data_, table, found).of(data_->label.form))
    other = with_other_point(data_->label);
  const LabelStep& label = other.column.empty() ? data_->label : other;
  std::vector<int32_t> classes;
  std::vector<float> numbers;
  for (int64_t i = 0; i < list.size(); ++i) {
    const std::string_view text = table.cell(list[i], place);
    if (data_->missing.of(label.column).contains(text)) {
      throw ValueError("columns.label",
                       cat("line ", table.line(list[i]), ": the label \"", label.column, "\" is missing"));
    }
    if (label.classification) {
      const std::optional<int32_t> number = label.class_of(text);
      if (!number) refuse_label(label, table, list[i], text);
      classes.push_back(*number);
    } else {
      const std::optional<double> value = label.scaled(text);
      if (!value) refuse_label(label, table, list[i], text);
      numbers.push_back(static_cast<float>(*value));
    }
  }
  return label.classification ? Tensor::of(classes, {list.size()}) : Tensor::of(numbers, {list.size(), 1});
}

bool ColumnProgram::has_label(const CsvTable& table, Location at) const {
  const CallScope scope(at);
  return find_columns(*data_, table, false).label >= 0;
}

std::vector<int64_t> ColumnProgram::labelled_rows(const CsvTable& table, Location at) const {
  const CallScope scope(at);
  const int64_t column = find_columns(*data_, table, false).label;
  std::vector<int64_t> out;
  for (int64_t row = 0; row < table.rows(); ++row) {
    if (column < 0 || !data_->missing.of(label()).contains(table.cell(row, column))) out.push_back(row);
  }
  return out;
}

bool ColumnProgram::by_position(const CsvTable& table) const { return data_->numbered || table.numbered(); }

std::vector<std::string> ColumnProgram::column_names() const {
  return data_->numbered ? std::vector<std::string>() : data_->columns;
}

std::vector<std::string> ColumnProgram::columns_read() const {
  std::vector<std::string> out;
  for (const ColumnStep& step : data_->steps) out.push_back(step.column);
  return out;
}

std::vector<std::string> ColumnProgram::names_of(const CsvTable& table) const {
  std::vector<std::string> out = column_names();
  if (!by_position(table)) return table.names();
  if (std::ssize(out) > table.columns()) std::erase(out, label());
  return std::ssize(out) == table.columns() ? out : table.names();
}

char ColumnProgram::decimal() const { return data_->decimal; }
const std::vector<std::string>& ColumnProgram::missing_words() const { return data_->missing.words(); }
std::map<std::string, std::vector<std::string>> ColumnProgram::value_words() const {
  return data_->missing.values();
}

const std::vector<ColumnStep>& steps_of(const ColumnProgram& program) { return program.data_->steps; }

bool ColumnProgram::classification() const { return data_->label.classification; }
const std::string& ColumnProgram::label() const { return data_->label.column; }
const std::vector<std::string>& ColumnProgram::classes() const { return data_->label.classes; }
double ColumnProgram::label_mean() const { return data_->label.mean; }
double ColumnProgram::label_scale() const { return data_->label.scale; }
bool ColumnProgram::label_log() const { return data_->label.log; }

std::vector<double> ColumnProgram::label_values(std::span<const float> outputs, Location at) const {
  const CallScope scope(at);
  if (classification())
    throw StateError("columns.label", cat("the label \"", label(), "\" is a class and has no unit"));
  std::vector<double> out;
  for (const float output : outputs) out.push_back(data_->label.unscaled(static_cast<double>(output)));
  return out;
}

std::vector<double> ColumnProgram::predicted_values(std::span<const float> outputs, Location at) const {
  std::vector<double> out = label_values(outputs, at);
  for (double& value : out) value = std::clamp(value, data_->label.least, data_->label.most);
  return out;
}

ColumnProgram ColumnProgram::with_strip_label_dots(bool strip) const {
  auto data = std::make_shared<Data>(*data_);
  data->label.strip_dots = strip;
  return ColumnProgram(std::move(data));
}

int64_t ColumnProgram::width() const {
  int64_t out = 0;
  for (const ColumnStep& step : data_->steps) out += step.width();
  return out;
}

std::vector<std::string> ColumnProgram::feature_names() const {
  std::vector<std::string> out;
  for (const ColumnStep& column : data_->steps) {
    const auto names = std::visit([&](const auto& step) { return step.names(column.column); }, column.how);
    out.insert(out.end(), names.begin(), names.end());
  }
  return out;
}

std::vector<std::string> ColumnProgram::feature_formulas() const {
  std::vector<std::string> out;
  for (const ColumnStep& column : data_->steps) {
    const auto formulas = std::visit([](const auto& step) { return step.formulas(); }, column.how);
    out.insert(out.end(), formulas.begin(), formulas.end());
  }
  return out;
}

const std::vector<Note>& ColumnProgram::notes() const { return data_->notes; }

}  // namespace espalier
