#include "launch/tf_config.h"

#include <charconv>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "launch/host_port.h"

namespace espalier {
namespace {

using TfJson = nlohmann::ordered_json;
constexpr size_t kMostTfTasks = 65536;

[[noreturn]] void refuse_tf_config(const std::string& why, const std::string& fix = {}) {
  throw ValueError("cluster.environment", cat("TF_CONFIG ", why), fix);
}

// 3, or "3" as some programs write it.
int tf_index(const TfJson& task) {
  const auto found = task.find("index");
  if (found == task.end()) refuse_tf_config("has a task without an index");
  int64_t out = -1;
  if (found->is_number_unsigned() && found->get<uint64_t>() <= kMostTfTasks)
    out = static_cast<int64_t>(found->get<uint64_t>());
  if (found->is_string()) {
    const auto& text = found->get_ref<const std::string&>();
    const char* const end = text.data() + text.size();
    if (const auto [at, error] = std::from_chars(text.data(), end, out); error != std::errc() || at != end)
      out = -1;
  }
  if (out < 0 || out > static_cast<int64_t>(kMostTfTasks))
    refuse_tf_config(cat("has a task whose index is ", shortened(found->dump(-1, ' ', true)),
                         ", which is no whole number from 0 on"));
  return static_cast<int>(out);
}

std::vector<std::string> tf_addresses(const std::string& role, const TfJson& list) {
  if (!list.is_array()) refuse_tf_config(cat("has no list of addresses for \"", shortened(role), "\""));
  if (list.size() > kMostTfTasks) refuse_tf_config(cat("has ", list.size(), " addresses of one role"));
  std::vector<std::string> out;
  for (const TfJson& address : list) {
    if (!address.is_string() || !parse_host_port(address.get_ref<const std::string&>()))
      refuse_tf_config(cat("has ", shortened(address.dump(-1, ' ', true)), " as an address of \"",
                           shortened(role), "\", which is no \"host:port\""));
    out.push_back(address.get<std::string>());
  }
  return out;
}

}  // namespace

std::vector<std::string> TfConfig::training() const {
  std::vector<std::string> out;
  for (const char* role : {"chief", "worker"}) {
    if (const auto found = cluster.find(role); found != cluster.end())
      out.insert(out.end(), found->second.begin(), found->second.end());
  }
  return out;
}

int TfConfig::rank() const {
  const auto chief = cluster.find("chief");
  return type == "chief" || chief == cluster.end() ? index : static_cast<int>(chief->second.size()) + index;
}

std::optional<TfConfig> parse_tf_config(std::string_view text) {
  TfJson json;
  try {
    json = parse_json(text, {.bytes = size_t{4} << 20, .levels = 8, .keys = 100});
  } catch (const FormatError& error) {
    refuse_tf_config(cat("is not read as JSON: ", error.message()));
  }
  if (!json.is_object()) refuse_tf_config("is no JSON object");
  const auto cluster = json.find("cluster");
  if (cluster == json.end() || cluster->empty()) return std::nullopt;
  if (!cluster->is_object()) refuse_tf_config("has a cluster that is no JSON object");
  TfConfig out;
  for (const auto& [role, list] : cluster->items()) out.cluster[role] = tf_addresses(role, list);
  const auto task = json.find("task");
  if (task == json.end() || !task->is_object() || task->empty())
    refuse_tf_config("has a cluster, and no task that says which of it this process is",
                     R"("task": {"type": "worker", "index": 0})");
  const auto type = task->find("type");
  if (type == task->end() || !type->is_string()) refuse_tf_config("has a task without a type");
  out.type = type->get<std::string>();
  if (out.type != "chief" && out.type != "worker")
    refuse_tf_config(cat("has a task of type \"", shortened(out.type),
                         "\": those that train by a multi-worker strategy are of type chief or worker"));
  if (const auto chief = out.cluster.find("chief"); chief != out.cluster.end() && chief->second.size() > 1)
    refuse_tf_config(cat("has ", chief->second.size(), " chiefs, and there is one at most"));
  out.index = tf_index(*task);
  const auto of_type = out.cluster.find(out.type);
  const size_t known = of_type == out.cluster.end() ? 0 : of_type->second.size();
  if (static_cast<size_t>(out.index) >= known)
    refuse_tf_config(cat("says that this is ", out.type, " ", out.index, ", and its cluster has ",
                         counted(known, out.type)));
  return out;
}

}  // namespace espalier
