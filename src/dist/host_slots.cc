#include "dist/host_slots.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr int kMostSlots = 65536;
constexpr size_t kMostHosts = 4096;  // each is held against all before it
constexpr std::string_view kBlanks = " \t\r";

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Nothing where either is none.
std::optional<HostSlots> slots_on(std::string_view host, std::string_view digits) {
  HostSlots out;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, out.slots);
  const auto strange = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '=' || c == ',' || c == ':' ||
           c == '/' || c == '\'' || c == '"';
  };
  if (error != std::errc() || at != end || out.slots < 1 || out.slots > kMostSlots || host.empty() ||
      host.size() > 255 || host[0] == '-' || std::ranges::any_of(host, strange))
    return std::nullopt;
  out.host = host;
  return out;
}

std::optional<HostSlots> with_colon(std::string_view part) {
  const size_t colon = part.find(':');
  if (colon == part.npos) return slots_on(part, "1");
  return slots_on(part.substr(0, colon), part.substr(colon + 1));
}

void add_host(std::vector<HostSlots>& hosts, const std::optional<HostSlots>& host, std::string_view text,
              const std::string& where) {
  if (!host)
    throw ValueError("launch.hosts",
                     cat(where, "\"", shortened(text), "\" is no host with its number of slots, from 1 on"),
                     "a:2,b:2");
  if (std::ranges::find(hosts, host->host, &HostSlots::host) != hosts.end())
    throw ValueError("launch.hosts", cat(where, "host ", shortened(host->host), " comes twice"));
  if (hosts.size() == kMostHosts)
    throw ValueError("launch.hosts", cat(where, "more than ", kMostHosts, " hosts"));
  hosts.push_back(*host);
}

}  // namespace

std::vector<HostSlots> parse_host_slots(std::string_view list) {
  std::vector<HostSlots> out;
  for (size_t from = 0; from <= list.size();) {
    const size_t until = std::min(list.find(',', from), list.size());
    const std::string_view part = list.substr(from, until - from);
    add_host(out, with_colon(part), part, "");
    from = until + 1;
  }
  return out;
}

std::vector<HostSlots> parse_hostfile(std::string_view text) {
  std::vector<HostSlots> out;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_blanks(text.substr(0, std::min(text.find('#'), end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::string_view host = line.substr(0, line.find_first_of(kBlanks));
    const std::string_view rest = without_blanks(line.substr(host.size()));
    constexpr std::string_view kSlots = "slots=";
    const bool one_word = rest.empty();
    add_host(out,
             one_word                   ? with_colon(host)
             : rest.starts_with(kSlots) ? slots_on(host, rest.substr(kSlots.size()))
                                        : std::nullopt,
             line, cat("line ", number, " of the hostfile: "));
  }
  if (out.empty()) throw ValueError("launch.hosts", "the hostfile names no host", "a slots=2");
  return out;
}

std::string to_string(const std::vector<HostSlots>& hosts) {
  std::string out;
  for (const HostSlots& host : hosts) out += cat(out.empty() ? "" : ",", host.host, ":", host.slots);
  return out;
}

int slots_of(const std::vector<HostSlots>& hosts) {
  int out = 0;
  for (const HostSlots& host : hosts) out += host.slots;
  return out;
}

}  // namespace espalier
