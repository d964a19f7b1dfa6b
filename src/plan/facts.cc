#include "plan/facts.h"

#include <algorithm>

#include "base/format.h"
#include "base/sha256.h"
#include "base/version.h"
#include "plan/text.h"

namespace espalier {
namespace {

using Facts = std::map<std::string, std::string>;

// Together they fit into a frame of the control, in quotes and with all else that stands there.
constexpr size_t kMostBytes = 30000, kMostKeys = 800;
constexpr size_t kLongest = 90, kBegin = 60;

std::string short_hash(const std::string& text) { return sha256_of(text).substr(0, 12); }

void add_field(const std::string& path, const Field& field, Facts& out);

void add_fields(const std::string& path, const Fields& fields, Facts& out) {
  for (const Field& field : fields) add_field(cat(path, path.empty() ? "" : ".", field.key), field, out);
}

void add_one(const std::string& path, const OneOf& one, Facts& out) {
  const std::string& name = one.names[one.index()];
  if (name.empty()) return add_field(path, one.fields()[0], out);
  out[path] = name;
  add_fields(path, one.fields(), out);
}

void add_field(const std::string& path, const Field& field, Facts& out) {
  if (const auto* group = std::get_if<Fields>(&field.target)) {
    add_fields(path, *group, out);
  } else if (const auto* one = std::get_if<OneOf>(&field.target)) {
    add_one(path, *one, out);
  } else if (const auto* many = std::get_if<Many>(&field.target)) {
    for (size_t i = 0; i < many->size(); ++i) add_one(cat(path, "[", i, "]"), many->at(i), out);
  } else {
    const std::string text = value_text(field);
    out[path] = text.size() <= kLongest ? text : cat(text.substr(0, kBegin), "... ", short_hash(text));
  }
}

size_t bytes_of(const Facts& facts) {
  size_t out = 0;
  for (const auto& [key, value] : facts) out += key.size() + value.size();
  return out;
}

}  // namespace

std::map<std::string, std::string> plan_facts(TrainPlan plan) {
  for_paths(plan, [](std::string& path) { path.clear(); });
  std::erase_if(plan.callbacks,
                [](const CallbackPlan& callback) { return std::holds_alternative<CSVLoggerPlan>(callback); });
  plan.distribute = {.logical_shards = plan.distribute.logical_shards, .compress = plan.distribute.compress};
  plan.device = {};
  std::map<std::string, Facts> tables;
  for (const Field& field : fields_of(plan)) add_field(field.key, field, tables[field.key]);
  const auto sum = [&](auto of) {
    size_t total = 0;
    for (const auto& [key, facts] : tables) total += of(facts);
    return total;
  };
  while (sum(bytes_of) > kMostBytes || sum([](const Facts& facts) { return facts.size(); }) > kMostKeys) {
    auto& [key, facts] =
        *std::ranges::max_element(tables, {}, [](const auto& table) { return bytes_of(table.second); });
    std::string all;
    for (const auto& [path, value] : facts) all += cat(path, "=", value, "\n");
    facts = {{key, cat("of hash ", short_hash(all))}};
  }
  Facts out{{"version", kVersion}};
  for (const auto& [key, facts] : tables) out.insert(facts.begin(), facts.end());
  return out;
}

}  // namespace espalier
