#include "launch/host_list.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/env.h"
#include "base/format.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "launch/launch.h"

namespace espalier {
namespace {

constexpr std::string_view kBlanks = " \t\r";

bool is_name(std::string_view name) {
  // One that begins with a dash would be a flag of the agent's command.
  return !name.empty() && name[0] != '-' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(".-_:%@").find(c) != std::string_view::npos;
  });
}

// Adds hosts, and refuses what cannot be one.
class Hosts {
 public:
  // Without a text there is one rank.
  void add(std::string_view name, std::optional<std::string_view> number, std::string_view part,
           const std::string& where) {
    const auto refuse = [&](const std::string& why) {
      throw ValueError("launch.hosts", cat(where, "\"", shortened(part), "\": ", why), "--hosts a:2,b:2");
    };
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    if (!is_name(name)) refuse("this is no name of a host");
    RunHost host{std::string(name), 1};
    if (number) {
      const char* end = number->data() + number->size();
      const auto [at, error] = std::from_chars(number->data(), end, host.ranks);
      if (error != std::errc() || at != end || host.ranks < 1)
        refuse("how many ranks a host has is a number from 1");
    }
    if (host.ranks > LaunchOptions::kMostRanks - ranks_)
      refuse(cat("a run has at most ", LaunchOptions::kMostRanks, " ranks"));
    if (std::ranges::find(out_, host.name, &RunHost::name) != out_.end()) refuse("it comes twice");
    ranks_ += host.ranks;
    out_.push_back(std::move(host));
  }
  // "a:2"; an address of colons stands in brackets.
  void add_pair(std::string_view part, const std::string& where) {
    const size_t bracket = part.rfind(']'), colon = part.find(':', bracket == part.npos ? 0 : bracket);
    if (colon == part.npos) return add(part, std::nullopt, part, where);
    add(part.substr(0, colon), part.substr(colon + 1), part, where);
  }
  std::vector<RunHost> take() { return std::move(out_); }

 private:
  std::vector<RunHost> out_;
  int ranks_ = 0;
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace

std::vector<RunHost> parse_hosts(std::string_view text) {
  Hosts hosts;
  while (true) {
    const size_t comma = text.find(',');
    hosts.add_pair(trimmed(text.substr(0, comma)), "--hosts ");
    if (comma == text.npos) return hosts.take();
    text.remove_prefix(comma + 1);
  }
}

std::vector<RunHost> read_hostfile(const std::string& path) {
  return parse_hostfile(posix_env().read_file(path), path);
}

std::vector<RunHost> parse_hostfile(std::string_view text, const std::string& path) {
  Hosts hosts;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string where = cat(path, path.empty() ? "line " : ":", number, ": ");
    const size_t blank = line.find_first_of(kBlanks);
    if (blank == line.npos) {
      hosts.add_pair(line, where);
      continue;
    }
    const std::string_view slots = trimmed(line.substr(blank));
    if (!slots.starts_with("slots=") || slots.find_first_of(kBlanks) != slots.npos)
      throw ValueError("launch.hosts", cat(where, "\"", shortened(line),
                                           "\": behind a host's name stands slots=N, or nothing"));
    hosts.add(line.substr(0, blank), slots.substr(6), line, where);
  }
  std::vector<RunHost> out = hosts.take();
  if (out.empty()) throw ValueError("launch.hosts", cat(path.empty() ? "the list" : path, " has no host"));
  return out;
}

std::vector<RunHost> take_ranks(const std::vector<RunHost>& hosts, int ranks) {
  std::vector<RunHost> out;
  int left = ranks, all = 0;
  for (const RunHost& host : hosts) {
    all += host.ranks;
    if (left > 0) out.push_back({host.name, std::min(left, host.ranks)});
    left -= host.ranks;
  }
  if (left > 0)
    throw ValueError("launch.hosts", cat("-n ", ranks, " is more than the ", all, " ranks of ",
                                         counted(hosts.size(), "host")));
  return out;
}

std::string to_string(const std::vector<RunHost>& hosts) {
  std::string out;
  for (const RunHost& host : hosts) {
    const bool colons = host.name.find(':') != host.name.npos;
    out += cat(out.empty() ? "" : ",", colons ? "[" : "", host.name, colons ? "]:" : ":", host.ranks);
  }
  return out;
}

int ranks_of(const std::vector<RunHost>& hosts) {
  int out = 0;
  for (const RunHost& host : hosts) out += host.ranks;
  return out;
}

std::string host_sizes(const std::vector<RunHost>& hosts) {
  std::string out;
  for (const RunHost& host : hosts) out += cat(out.empty() ? "" : ",", host.ranks);
  return out;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  bool begun = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // In single quotes nothing is special; in double quotes a backslash is before these.
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size() &&
                         (quote == 0 || std::string_view("\"\\$`").find(text[i + 1]) != text.npos);
    if (escapes) {
      word += text[++i];
      begun = true;
    } else if (quote ? c == quote : c == '\'' || c == '"') {
      quote = quote ? 0 : c;
      begun = true;
    } else if (!quote && (c == ' ' || c == '\t' || c == '\n')) {
      if (begun) out.push_back(std::exchange(word, {}));
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (quote)
    throw ValueError("launch.agent", cat("--agent \"", shortened(text), "\" has a quote that is open"));
  if (begun) out.push_back(word);
  if (out.empty())
    throw ValueError("launch.agent", "the command that starts something on a host has no words",
                     "--agent 'ssh -o BatchMode=yes {host}'");
  return out;
}

namespace {

constexpr std::string_view kHost = "{host}";

// Whether what they start gives all behind it to a shell.
bool call_a_shell(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](std::string_view word) {
    const std::string_view file = word.substr(word.rfind('/') + 1);
    return file == "ssh" || file == "rsh";
  });
}

}  // namespace

std::vector<std::string> agent_words(std::string_view command, const std::string& host,
                                     const std::vector<std::string>& program) {
  std::vector<std::string> out = split_words(command);
  for (std::string& word : out) {
    for (size_t at = 0; (at = word.find(kHost, at)) != word.npos; at += host.size())
      word.replace(at, kHost.size(), host);
  }
  const bool by_shell = call_a_shell(out);
  for (const std::string& word : program) out.push_back(by_shell ? shell_words({word}) : word);
  return out;
}

std::string rsh_agent(std::string_view command) {
  std::vector<std::string> words = split_words(command);
  const auto splits = [](const std::string& word) { return word.find_first_of(" \t:") != word.npos; };
  const auto names_host = [](const std::string& word) { return word.find(kHost) != word.npos; };
  if (!call_a_shell(words) || words.back() != kHost || std::ranges::count_if(words, names_host) != 1 ||
      std::ranges::any_of(words, splits))
    throw ValueError("launch.agent",
                     cat("--agent \"", shortened(command),
                         "\" is nothing that mpirun can call: it puts a host and words for a shell there "
                         "behind its agent, as behind ssh"),
                     "an agent as 'ssh -p 2222 {host}', or OMPI_MCA_plm_rsh_agent=PROGRAM");
  std::string out;
  for (size_t i = 0; i + 1 < words.size(); ++i) out += cat(i ? " " : "", words[i]);
  return out;
}

}  // namespace espalier
