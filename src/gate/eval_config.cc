#include "gate/eval_config.h"

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json.h"
#include "base/listed_names.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "evaluate/slices.h"
#include "format/toml.h"
#include "gate/eval_metrics.h"
#include "gate/gates.h"
#include "validate/metadata_files.h"

namespace espalier {
namespace {

namespace pb = google::protobuf;

// Which rows a gate is about: "slice" and "sex=f"; both "" of all rows. `against`: the slice that they are
// held against, or "".
struct Place {
  std::string key, value, against = {};
};
struct Limits {
  std::optional<double> min = {}, max = {};
};

std::string element(const std::string& path, int i) { return cat(path, "[", i, "]"); }

class Importer {
 public:
  explicit Importer(const tfma::EvalConfig& config) : config_(config) {}

  EvalConfigGates gates() {
    models();
    named_metrics();
    for (int i = 0; i < config_.metrics_specs_size(); ++i)
      spec(config_.metrics_specs(i), element("metrics_specs", i));
    note_rest(config_, "");
    if (out_.gates == 0) {
      throw FormatError("evalconfig.empty", cat("no threshold of it has become a gate; ",
                                                out_.notes.empty() ? "it has none" : out_.notes[0]));
    }
    finish();
    return std::move(out_);
  }

 private:
  // --- what was read, and what has no place ---

  void take(const std::string& path) { reasons_.emplace(path, ""); }
  void refuse(const std::string& path, const std::string& why) { reasons_[path] = why; }

  // Notes each field that is set, was not taken and has none within it that was looked at.
  void note_rest(const pb::Message& message, const std::string& path) {
    const pb::Reflection& reflection = *message.GetReflection();
    if (!reflection.GetUnknownFields(message).empty()) {
      const int number = reflection.GetUnknownFields(message).field(0).number();
      note(cat(path, path.empty() ? "" : ".", number), "a field that this version does not know");
    }
    std::vector<const pb::FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const pb::FieldDescriptor* field : fields) {
      const std::string at = cat(path, path.empty() ? "" : ".", field->name());
      if (!field->is_repeated()) {
        note_rest(at, field->message_type() ? &reflection.GetMessage(message, field) : nullptr);
      } else if (!field->message_type()) {
        note_rest(at, nullptr);
      } else {
        for (int i = 0; i < reflection.FieldSize(message, field); ++i)
          note_rest(element(at, i), &reflection.GetRepeatedMessage(message, field, i));
      }
    }
  }
  void note_rest(const std::string& path, const pb::Message* inner) {
    const auto found = reasons_.lower_bound(path);
    if (found != reasons_.end() && found->first == path) {
      if (!found->second.empty()) note(path, found->second);
      return;
    }
    const auto within = reasons_.lower_bound(path + ".");
    if (inner && within != reasons_.end() && within->first.starts_with(path + ".")) {
      note_rest(*inner, path);
    } else {
      note(path, "has no place in gates");
    }
  }
  void note(const std::string& path, const std::string& why) {
    out_.notes.push_back(printable(cat(path, ": ", why)));
  }

  // --- models and slices ---

  void models() {
    bool found = false;
    for (int i = 0; i < config_.model_specs_size(); ++i) {
      const tfma::ModelSpec& model = config_.model_specs(i);
      const std::string path = element("model_specs", i);
      take(path + ".name");
      if (!model.is_baseline() && found) {
        refuse(path, "gates are of one model, the first");
        continue;
      }
      for (const char* key : {".is_baseline", ".label_key", ".prediction_key", ".example_weight_key"})
        take(path + key);
      if (model.is_baseline()) continue;
      found = true;
      out_.label = model.label_key();
      out_.score = model.prediction_key();
      out_.weight = model.example_weight_key();
    }
  }

  std::optional<Place> place_of(const tfma::SlicingSpec& spec, const std::string& path) {
    if (!spec.slice_keys_sql().empty()) return refuse_place(path, "gates know no slices by SQL");
    if (spec.feature_keys_size() > 0 && spec.feature_values_size() > 0)
      return refuse_place(path, "no gate is of each slice by one column within the value of another");
    Place out;
    for (const std::string& column : spec.feature_keys()) {
      out.key = "each";
      out.value += cat(out.value.empty() ? "" : "*", name_in_list(column));
    }
    std::map<std::string, std::string> values;
    for (const tfma::TextEntry& entry : spec.feature_values()) values[entry.key()] = entry.value();
    for (const auto& [column, value] : values) {
      out.key = "slice";
      out.value += cat(out.value.empty() ? "" : ", ", slice_part(column, value_in_name(value)));
    }
    take(path);
    return out;
  }
  std::nullopt_t refuse_place(const std::string& path, const std::string& why) {
    refuse(path, why);
    return std::nullopt;
  }
  template <class Specs>
  std::vector<Place> places_of(const Specs& specs, const std::string& path) {
    std::vector<Place> out;
    for (int i = 0; i < specs.size(); ++i) {
      if (const auto place = place_of(specs[i], element(path, i))) out.push_back(*place);
    }
    return out;
  }
  // Slices against that of the baseline, whose number is less theirs.
  template <class Specs>
  std::vector<Place> crosses_of(const Specs& specs, const std::string& path) {
    std::vector<Place> out;
    for (int i = 0; i < specs.size(); ++i) {
      const std::string at = element(path, i);
      if (specs[i].slicing_specs_size() == 0) {
        refuse(at, "it names no slices that are held against its baseline");
        continue;
      }
      std::vector<Place> places = places_of(specs[i].slicing_specs(), at + ".slicing_specs");
      const auto baseline = place_of(specs[i].baseline_spec(), at + ".baseline_spec");
      if (baseline && baseline->key == "each") refuse(at + ".baseline_spec", "gates are against one slice");
      if (!baseline || baseline->key == "each") continue;
      for (Place& place : places) {
        if (place.value == baseline->value) {
          refuse(at, "a slice is not against itself");
          continue;
        }
        place.against = baseline->key.empty() ? std::string(kAllRows) : baseline->value;
        out.push_back(std::move(place));
      }
    }
    return out;
  }
  // Of a threshold that names no slice.
  std::vector<Place> everywhere() {
    return config_.slicing_specs_size() == 0 ? std::vector<Place>{{}}
                                             : places_of(config_.slicing_specs(), "slicing_specs");
  }

  // --- metrics ---

  void named_metrics() {
    for (const tfma::MetricsSpec& spec : config_.metrics_specs()) {
      for (const tfma::MetricConfig& metric : spec.metrics()) {
        try {
          const EvalMetric found = eval_metric(metric.class_name(), metric.config());
          named_.emplace(found.name, found);
        } catch (const Error&) {  // told where its own thresholds are read
        }
      }
    }
  }
  EvalMetric named(const std::string& name) const {
    const auto found = named_.find(name);
    return found == named_.end() ? eval_metric(name) : found->second;
  }

  EvalMetric checked(const EvalMetric& metric) const {
    if (metric.metric == "rows" && !out_.weight.empty())
      throw UnsupportedError("evalconfig.metric",
                             "of weighted rows it adds up weights, and gates count rows");
    return metric;
  }

  // Why numbers of this spec are none of gates, or "".
  std::string unfit(const tfma::MetricsSpec& spec) const {
    if (spec.has_binarize())
      return "gates name classes by their labels, recall[setosa], and binarize by place";
    if (spec.has_aggregate())
      return "gates know no such mean over classes; macro_recall and the like are near";
    if (spec.output_names_size() || spec.output_weights_size()) return "gates are of one output";
    if (!spec.query_key().empty())
      return "gates of queries are of ndcg, with --query; metrics of queries are not imported";
    if (spec.example_weights().unweighted() && !out_.weight.empty())
      return "all gates of a file are of weighted rows, or none";
    return "";
  }

  void spec(const tfma::MetricsSpec& spec, const std::string& path) {
    if (const std::string why = unfit(spec); !why.empty()) return refuse(path, why);
    take(path + ".model_names");
    take(path + ".example_weights");
    for (int i = 0; i < spec.metrics_size(); ++i) metric(spec.metrics(i), element(path + ".metrics", i));
    each_threshold(spec.thresholds(), path + ".thresholds",
                   [&](const EvalMetric& of, const auto& value, const std::string& at) {
                     hold(of, value, everywhere(), at);
                   });
    each_threshold(spec.per_slice_thresholds(), path + ".per_slice_thresholds",
                   [&](const EvalMetric& of, const auto& value, const std::string& at) {
                     hold_slices(of, value.thresholds(), at + ".thresholds");
                   });
    each_threshold(spec.cross_slice_thresholds(), path + ".cross_slice_thresholds",
                   [&](const EvalMetric& of, const auto& value, const std::string& at) {
                     hold_crosses(of, value.thresholds(), at + ".thresholds");
                   });
  }

  // Of entries of a map by metric: f(metric, value, path of the value).
  void each_threshold(const auto& entries, const std::string& path, const auto& f) {
    for (int i = 0; i < entries.size(); ++i) {
      const std::string at = element(path, i);
      with_metric(at, [&] {
        const EvalMetric of = checked(named(entries[i].key()));
        take(at + ".key");
        f(of, entries[i].value(), at + ".value");
      });
    }
  }

  // What it raises names its place; a metric that gates do not have is noted.
  void with_metric(const std::string& path, const std::function<void()>& hold) {
    try {
      hold();
    } catch (const UnsupportedError& error) {
      refuse(path, error.message());
    } catch (const FormatError& error) {
      if (error.rule().starts_with("json.") || error.rule() == "evalconfig.config")
        throw FormatError(error.rule(), cat(path, ".config: ", error.message()));
      throw;
    }
  }

  void metric(const tfma::MetricConfig& metric, const std::string& path) {
    with_metric(path, [&] {
      const EvalMetric of = checked(eval_metric(metric.class_name(), metric.config()));
      const bool held = metric.has_threshold() || metric.per_slice_thresholds_size() > 0 ||
                        metric.cross_slice_thresholds_size() > 0;
      if (!held) return refuse(path, cat(of.metric, " has no threshold, so there is no gate of it"));
      for (const char* key : {".class_name", ".module", ".config"}) take(path + key);
      if (metric.has_threshold()) hold(of, metric.threshold(), everywhere(), path + ".threshold");
      hold_slices(of, metric.per_slice_thresholds(), path + ".per_slice_thresholds");
      hold_crosses(of, metric.cross_slice_thresholds(), path + ".cross_slice_thresholds");
    });
  }

  // --- thresholds ---

  template <class Thresholds>
  void hold_slices(const EvalMetric& metric, const Thresholds& thresholds, const std::string& path) {
    for (int i = 0; i < thresholds.size(); ++i) {
      const std::string at = element(path, i);
      const std::vector<Place> places = places_of(thresholds[i].slicing_specs(), at + ".slicing_specs");
      hold(metric, thresholds[i].threshold(), places, at + ".threshold");
    }
  }

  template <class Thresholds>
  void hold_crosses(const EvalMetric& metric, const Thresholds& thresholds, const std::string& path) {
    for (int i = 0; i < thresholds.size(); ++i) {
      const std::string at = element(path, i);
      const auto places = crosses_of(thresholds[i].cross_slicing_specs(), at + ".cross_slicing_specs");
      hold(metric, thresholds[i].threshold(), places, at + ".threshold");
    }
    // They say what is computed, and thresholds name it once more.
    for (int i = 0; i < config_.cross_slicing_specs_size() && thresholds.size() > 0; ++i)
      take(element("cross_slicing_specs", i));
  }

  void hold(const EvalMetric& metric, const tfma::MetricThreshold& threshold,
            const std::vector<Place>& places, const std::string& path) {
    if (threshold.has_value_threshold()) {
      const tfma::GenericValueThreshold& value = threshold.value_threshold();
      Limits limits;
      if (value.has_lower_bound()) limits.min = value.lower_bound().value();
      if (value.has_upper_bound()) limits.max = value.upper_bound().value();
      write(metric, places, Change::kNone, limits, path + ".value_threshold");
    }
    if (!threshold.has_change_threshold()) return;
    const tfma::GenericChangeThreshold& change = threshold.change_threshold();
    const std::string at = path + ".change_threshold";
    if (change.direction() != tfma::LOWER_IS_BETTER && change.direction() != tfma::HIGHER_IS_BETTER)
      throw FormatError("evalconfig.direction", cat(at, " says by no direction what is better"),
                        "direction: HIGHER_IS_BETTER");
    const auto limits = [&](double limit) {
      return change.direction() == tfma::LOWER_IS_BETTER ? Limits{.max = limit} : Limits{.min = limit};
    };
    if (!change.has_absolute() && !change.has_relative()) refuse(at, "it has no limit");
    if (change.has_absolute())
      write(metric, places, Change::kAbsolute, limits(change.absolute().value()), at);
    const bool crossed = !places.empty() && !places[0].against.empty();
    if (change.has_relative() && crossed) {
      refuse(at, "a change relative to a difference takes its sign, and in gates its size");
    } else if (change.has_relative()) {
      write(metric, places, Change::kRelative, limits(change.relative().value()), at);
    }
  }

  void write(const EvalMetric& metric, const std::vector<Place>& places, Change change, Limits limits,
             const std::string& path) {
    const bool crossed = !places.empty() && !places[0].against.empty();
    if (crossed) limits = negative(limits);
    drop_kept(metric, change, crossed, limits);
    if (!limits.min && !limits.max) return refuse(path, "it has no limit that a number could break");
    take(path);
    for (const Place& place : places) gate(metric, place, change, limits, path);
  }
  // There a baseline is less by its slices, and here slices are less by what they are against.
  static Limits negative(const Limits& limits) {
    Limits out;
    if (limits.max) out.min = 0 - *limits.max;
    if (limits.min) out.max = 0 - *limits.min;
    return out;
  }
  // Limits that every number keeps, which gates have none of.
  static void drop_kept(const EvalMetric& metric, Change change, bool crossed, Limits& limits) {
    const bool share = SliceMetric(metric.metric).is_share() && change != Change::kRelative;
    const bool absolute = change == Change::kAbsolute;
    const double least = share ? -(absolute + crossed) : -INFINITY;
    const double most = !share ? INFINITY : absolute && crossed ? 2 : 1;
    if (limits.min && (*limits.min < least || *limits.min == -INFINITY)) limits.min.reset();
    if (limits.max && (*limits.max > most || *limits.max == INFINITY)) limits.max.reset();
  }

  void gate(const EvalMetric& metric, const Place& place, Change change, const Limits& limits,
            const std::string& path) {
    try {
      std::string table = cat("[[gates]]\nname = ", toml_quoted(name_of(metric, place, change)),
                              "\nmetric = ", toml_quoted(metric.metric), "\n");
      if (!place.key.empty()) table += cat(place.key, " = ", toml_quoted(place.value), "\n");
      if (!place.against.empty()) table += cat("against = ", toml_quoted(place.against), "\n");
      if (change != Change::kNone)
        table += cat("change = \"", change == Change::kAbsolute ? "absolute" : "relative", "\"\n");
      if (limits.min) table += cat("min = ", shortest(*limits.min), "\n");
      if (limits.max) table += cat("max = ", shortest(*limits.max), "\n");
      if (metric.threshold) table += cat("threshold = ", shortest(*metric.threshold), "\n");
      read_gates(table, path);
      text_ += cat("\n# ", path, "\n", table);
    } catch (const FormatError& error) {
      throw FormatError("evalconfig.gate", error.message(), error.fix());
    }
    ++out_.gates;
    out_.ask_baseline |= change != Change::kNone;
    at_thresholds_ |= metric.threshold.has_value();
  }
  std::string name_of(const EvalMetric& metric, const Place& place, Change change) {
    std::string name = metric.name;
    if (!place.key.empty()) name += cat(place.key == "each" ? " for each " : " for ", place.value);
    if (!place.against.empty()) name += cat(" against ", place.against);
    if (change != Change::kNone)
      name += change == Change::kAbsolute ? " against the baseline" : " relative to the baseline";
    std::string out = name;
    for (int i = 2; !names_.insert(out).second; ++i) out = cat(name, " (", i, ")");
    return out;
  }

  void finish() {
    out_.text =
        "# Gates of an EvalConfig of TensorFlow Model Analysis; docs/gates.md has all keys.\n"
        "# Each has the place that it comes from.\n";
    if (at_thresholds_) {
      out_.text +=
          "# There a score is positive above a threshold, and here from it on: rows of that very score "
          "count\n"
          "# otherwise.\n";
    }
    for (const std::string& one : out_.notes) out_.text += cat("# Not here: ", one, "\n");
    out_.text += text_;
  }

  const tfma::EvalConfig& config_;
  EvalConfigGates out_;
  std::map<std::string, std::string> reasons_;  // by path; "" of what was taken
  std::map<std::string, EvalMetric> named_;
  std::string text_;  // of the gates
  bool at_thresholds_ = false;
  std::set<std::string> names_;
};

// Maps of JSON as lists of their entries: such they are in config.proto, which keeps their order.
void list_entries(nlohmann::ordered_json& json, const pb::Descriptor& of) {
  if (!json.is_object()) return;
  for (auto& [key, value] : json.items()) {
    const pb::FieldDescriptor* field = of.FindFieldByCamelcaseName(key);
    if (!field) field = of.FindFieldByName(key);
    const pb::Descriptor* const inner = field ? field->message_type() : nullptr;
    if (!inner) continue;
    const bool entry = field->is_repeated() && inner->field_count() == 2 && inner->FindFieldByName("key") &&
                       inner->FindFieldByName("value");
    if (entry && value.is_object()) {
      auto entries = nlohmann::ordered_json::array();
      for (auto& [name, of_name] : value.items())
        entries.push_back({{"key", name}, {"value", std::move(of_name)}});
      value = std::move(entries);
    }
    if (!value.is_array()) {
      list_entries(value, *inner);
    } else {
      for (auto& each : value) list_entries(each, *inner);
    }
  }
}

}  // namespace

tfma::EvalConfig parse_eval_config(const std::string& bytes) {
  tfma::EvalConfig out;
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == bytes.npos || bytes[first] != '{') {
    parse_metadata(bytes, out);
    return out;
  }
  nlohmann::ordered_json json = parse_json(bytes);
  for (const char* key : {"evalConfig", "eval_config"}) {
    if (!json.contains(key)) continue;
    nlohmann::ordered_json inner = std::move(json[key]);
    json = std::move(inner);
  }
  list_entries(json, *tfma::EvalConfig::descriptor());
  const pb::LogSilencer silence;
  const pb::util::Status status = pb::util::JsonStringToMessage(json.dump(), &out);
  if (!status.ok())
    throw FormatError("evalconfig.json",
                      cat("no EvalConfig: ", printable(std::string(status.message().as_string()))));
  return out;
}

EvalConfigGates gates_of(const tfma::EvalConfig& config) { return Importer(config).gates(); }

}  // namespace espalier
