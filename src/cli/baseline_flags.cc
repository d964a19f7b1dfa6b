#include "cli/baseline_flags.h"

#include <filesystem>
#include <map>
#include <numeric>

#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "data/equal_values.h"
#include "espalier/error.h"
#include "tables/table_reading.h"

namespace espalier::cli {
namespace {

std::string at(const ScoredTable& scored, const std::string& file, size_t row) {
  return cat(source_name(file), ", line ", scored.table.line(scored.rows[row]));
}

// Of ids in both tables.
EqualValues equal_ids(const ScoredTable& now, const ScoredTable& before, const std::string& id) {
  const auto profile = [&](const ScoredTable& of) {
    return profile_column(of.table, of.rows, of.table.column(id), MissingWords());
  };
  return {profile(before), profile(now)};
}

// Of each row of `now` the place of the same one in `before`.
std::vector<size_t> joined_rows(const ScoredTable& now, const ScoredTable& before, const std::string& file,
                                const std::string& id) {
  std::vector<size_t> out;
  std::map<std::string, size_t> places;
  const int64_t key_before = id.empty() ? -1 : before.table.column(id),
                key_now = id.empty() ? -1 : now.table.column(id);
  if (id.empty() && before.table.rows() != now.table.rows()) {
    throw ValueError("baseline.rows",
                     cat("without --id rows are joined by their place, and ", source_name(file), " has ",
                         before.table.rows(), " where there are ", now.table.rows(), " now"),
                     "--id COLUMN");
  }
  const std::optional<EqualValues> equal =
      id.empty() ? std::nullopt : std::optional(equal_ids(now, before, id));
  std::map<int64_t, size_t> by_place;
  for (size_t row = 0; row < before.rows.size(); ++row) {
    by_place.emplace(before.rows[row], row);
    if (id.empty()) continue;
    const std::string key = equal->spelling(before.table.cell(before.rows[row], key_before));
    if (!places.emplace(key, row).second)
      throw ValueError("baseline.rows",
                       cat(at(before, file, row), ": the id \"", shortened(key), "\" comes twice"));
  }
  for (const int64_t row : now.rows) {
    if (id.empty()) {
      const auto found = by_place.find(row);
      if (found == by_place.end())
        throw ValueError("baseline.rows", cat(source_name(file), ", line ", before.table.line(row),
                                              ": the row has no label, and now it has one"));
      out.push_back(found->second);
      continue;
    }
    const std::string key = equal->spelling(now.table.cell(row, key_now));
    const auto found = places.find(key);
    if (found == places.end()) {
      throw ValueError("baseline.rows", cat("line ", now.table.line(row), ": ", source_name(file),
                                            " has no row of the id \"", shortened(key), "\""));
    }
    out.push_back(found->second);
  }
  return out;
}

std::string truth(const ScoredTable& scored, size_t row) {
  if (scored.task == ScoreTask::kRegression) return shortest(scored.truths[row]);
  if (scored.task == ScoreTask::kClasses) return scored.classes[scored.is[row]];
  return scored.labels[row] ? "positive" : "negative";
}
void check_task(const ScoredTable& now) {
  if (now.task == ScoreTask::kRanking)
    throw ValueError("evaluate.task", "--baseline is for decisions and numbers, not for orders of queries");
}
void check_truths(const ScoredTable& now, const ScoredTable& before, const std::vector<size_t>& places,
                  const std::string& file) {
  for (size_t row = 0; row < places.size(); ++row) {
    const std::string is = truth(now, row), was = truth(before, places[row]);
    if (is != was) {
      throw ValueError("baseline.rows", cat(at(before, file, places[row]), ": the label is ", shortened(was),
                                            ", and now it is ", shortened(is)));
    }
  }
}

// What is true of rows and what is said of them, as places among classes.
struct Decided {
  std::vector<std::string> classes;
  std::vector<uint32_t> is, said;
};
Decided decided(const ScoredTable& scored, const SliceFlags& slicing) {
  if (!scored.said.empty()) return {scored.classes, scored.is, scored.said};
  const double threshold = slicing.thresholds.empty() ? 0.5 : slicing.thresholds[0];
  const Positive positive = slicing.positive_from == "from" ? Positive::kFrom : Positive::kAbove;
  Decided out{{"negative", "positive"}, {scored.labels.begin(), scored.labels.end()}, {}};
  for (const double score : scored.scores) out.said.push_back(says_positive(score, threshold, positive));
  return out;
}

class Comparison {
 public:
  Comparison(const ScoredTable& now, const ScoredTable& before, std::vector<size_t> places)
      : now_(now), before_(before), places_(std::move(places)) {}

  AgainstBaseline of(const SliceFlags& slicing, double moved_by, const MissingWords& missing) const {
    AgainstBaseline out;
    if (moved_by > 0 && now_.task != ScoreTask::kRegression)
      throw ValueError("baseline.moved", "--moved-by is for predicted numbers, not for decisions");
    slicing.with_slicings(now_, missing, [&](const auto& slicings, const SliceOptions& options) {
      if (now_.task == ScoreTask::kRegression)
        out.moves = espalier::moves(
            {now_.truths, in_order(before_.scores), now_.scores, now_.weights, moved_by}, slicings, options);
      else
        out.churn = churn(slicing, slicings, options);
    });
    return out;
  }

 private:
  template <class T>
  std::vector<T> in_order(const std::vector<T>& of_before) const {
    std::vector<T> out;
    for (const size_t place : places_) out.push_back(of_before[place]);
    return out;
  }

  std::vector<SliceChurn> churn(const SliceFlags& slicing, const auto& slicings,
                                const SliceOptions& options) const {
    const Decided now = decided(now_, slicing), before = decided(before_, slicing);
    std::map<std::string_view, uint32_t> codes;
    const auto coded = [&](const Decided& of, const std::vector<uint32_t>& places) {
      std::vector<uint32_t> out;
      for (const uint32_t place : places)
        out.push_back(codes.emplace(of.classes[place], static_cast<uint32_t>(codes.size())).first->second);
      return out;
    };
    return espalier::churn(
        {coded(now, now.is), coded(before, in_order(before.said)), coded(now, now.said), now_.weights},
        slicings, options);
  }

  const ScoredTable &now_, &before_;
  const std::vector<size_t> places_;
};

}  // namespace

bool is_model_folder(const std::string& path) { return std::filesystem::is_directory(path); }

void BaselineFlags::add(CLI::App& verb) {
  verb.add_option("--baseline", from,
                  "Earlier model, or with --scores a table of the same rows scored by the earlier model: "
                  "report changed predictions and slices that got worse")
      ->option_text("MODEL|FILE");
  verb.add_option("--id", id,
                  "Column that identifies a row in both tables (default: the position of the row)")
      ->option_text("COLUMN")
      ->transform(a_column());
  verb.add_option("--moved-by", moved_by,
                  "Regression: count a prediction as changed if it differs by more than X")
      ->check(number_from(0.0, 1e300))
      ->option_text("X [0]");
}

std::vector<std::string> BaselineFlags::words() const {
  std::vector<std::string> out;
  if (!from.empty()) out.insert(out.end(), {"--baseline", from});
  if (!id.empty()) out.insert(out.end(), {"--id", id});
  if (moved_by > 0) out.insert(out.end(), {"--moved-by", shortest(moved_by)});
  return out;
}

AgainstBaseline BaselineFlags::compare_scores(const ScoredTable& now, const SliceFlags& slicing,
                                              const TableReading& reading, const ScoredColumns& scored,
                                              const MissingWords& missing, const Results& results) const {
  check_task(now);
  ScoredColumns of_before = scored;  // its scores are of the same class
  of_before.positive = now.positive.value;
  of_before.favourable.clear();
  const ScoredTable before = read_scores(from, reading, of_before, missing, results);
  std::vector<size_t> places = joined_rows(now, before, from, id);
  check_truths(now, before, places, from);
  return Comparison(now, before, std::move(places)).of(slicing, moved_by, missing);
}

AgainstBaseline BaselineFlags::compare(const ScoredTable& now, const ScoredTable& before,
                                       const SliceFlags& slicing, const MissingWords& missing) const {
  check_task(now);
  std::vector<size_t> places(now.rows.size());
  std::iota(places.begin(), places.end(), size_t{0});
  return Comparison(now, before, std::move(places)).of(slicing, moved_by, missing);
}

}  // namespace espalier::cli
