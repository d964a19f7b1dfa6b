#include "launch/agent_orders.h"

#include <numeric>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json.h"
#include "base/version.h"
#include "espalier/error.h"
#include "format/utf8.h"

namespace espalier {
namespace {

using OrderJson = nlohmann::ordered_json;

constexpr JsonLimits kOrderLimits{.bytes = size_t{16} << 20, .levels = 4, .keys = 100};

[[noreturn]] void no_orders(std::string_view why) {
  throw FormatError("agent.orders", cat("what the agent reads is not what espalier launch writes: ", why));
}

// The whole of a member; what is not there, or of another type, is an error.
template <class T>
T member(const OrderJson& json, const char* key) {
  try {
    return json.at(key).get<T>();
  } catch (const OrderJson::exception&) {
    no_orders(cat("there is no ", key, ", or one of another type"));
  }
}

OrderJson object_of(std::string_view line) {
  OrderJson out = parse_json(line, kOrderLimits);
  if (!out.is_object()) no_orders("a line is no object");
  return out;
}

}  // namespace

int AgentOrders::world() const { return std::accumulate(sizes.begin(), sizes.end(), 0); }

std::string line_of(const AgentOrders& orders) {
  const auto check = [](const std::string& text) {
    if (!is_utf8(text))
      throw ValueError("launch.words",
                       "what goes to other hosts is UTF-8, and the program's words, this folder's name or a "
                       "variable of --env are not");
  };
  check(orders.folder);
  for (const std::string& word : orders.program) check(word);
  for (const std::string& variable : orders.environment) check(variable);
  const OrderJson json = {{"version", orders.version},     {"job", orders.job},
                          {"restart", orders.restart},     {"control", orders.control},
                          {"secret", orders.secret},       {"host", orders.host},
                          {"name", orders.name},           {"first", orders.first},
                          {"sizes", orders.sizes},         {"hosts", orders.hosts},
                          {"folder", orders.folder},       {"environment", orders.environment},
                          {"program", orders.program},     {"chaos", orders.chaos},
                          {"prefix", orders.prefix},       {"engine", orders.engine},
                          {"interface", orders.interface}, {"stall_after", orders.stall_after}};
  return json.dump() + "\n";
}

AgentOrders read_orders(std::string_view line) {
  const OrderJson json = object_of(line);
  AgentOrders out;
  out.version = member<std::string>(json, "version");
  if (out.version != kVersion)
    throw StateError("agent.version",
                     cat("the launcher is espalier ", out.version, ", and this host's is ", kVersion),
                     "install the same on all hosts");
  out.job = member<std::string>(json, "job");
  out.restart = member<int>(json, "restart");
  out.control = member<std::string>(json, "control");
  out.secret = member<std::string>(json, "secret");
  out.host = member<int>(json, "host");
  out.name = member<std::string>(json, "name");
  out.first = member<int>(json, "first");
  out.sizes = member<std::vector<int>>(json, "sizes");
  out.hosts = member<std::vector<std::string>>(json, "hosts");
  out.folder = member<std::string>(json, "folder");
  out.environment = member<std::vector<std::string>>(json, "environment");
  out.program = member<std::vector<std::string>>(json, "program");
  out.chaos = member<std::string>(json, "chaos");
  out.prefix = member<bool>(json, "prefix");
  out.engine = member<std::string>(json, "engine");
  out.interface = member<std::string>(json, "interface");
  out.stall_after = member<double>(json, "stall_after");
  int before = 0;
  if (out.host < 0 || out.host >= std::ssize(out.sizes)) no_orders("it has no such host");
  if (out.hosts.size() != out.sizes.size()) no_orders("hosts without names");
  for (const int size : out.sizes) {
    if (size < 1 || size > 256) no_orders("a host has 1 to 256 ranks");
  }
  for (int host = 0; host < out.host; ++host) before += out.sizes[static_cast<size_t>(host)];
  if (out.first != before) no_orders("its ranks begin elsewhere");
  if (out.program.empty()) no_orders("there is no program");
  return out;
}

std::string line_of(const AgentWord& word) {
  const OrderJson json =
      word.end ? OrderJson{{"end", true}, {"verdict", word.verdict}} : OrderJson{{"signal", word.signal}};
  return json.dump(-1, ' ', false, OrderJson::error_handler_t::replace) + "\n";
}

AgentWord read_word(std::string_view line) {
  const OrderJson json = object_of(line);
  if (json.contains("end")) return {0, member<bool>(json, "end"), member<std::string>(json, "verdict")};
  const int signal = member<int>(json, "signal");
  if (signal < 1 || signal > 64) no_orders(cat("there is no signal ", signal));
  return {.signal = signal};
}

}  // namespace espalier
