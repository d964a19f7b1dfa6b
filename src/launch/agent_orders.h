// What the launcher tells the agent of a host on its standard input: a line with all of what to start, then
// lines as they come. The end of the input is the end of the launcher.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

struct AgentOrders {
  std::string version = {};  // of the library
  std::string job = {};
  int restart = 0;
  std::string control = {}, secret = {};  // where the launcher listens, and what one says there
  int host = 0;                           // its place among all, and its name there
  std::string name = {};
  int first = 0;                     // of its ranks
  std::vector<int> sizes{};          // ranks of each host
  std::vector<std::string> hosts{};  // by which names, without users
  std::string folder = {};
  std::vector<std::string> environment = {};  // "NAME=VALUE", beside what the host has
  std::vector<std::string> program = {};
  std::string chaos = {};
  bool prefix = false;
  std::string engine = {};     // between hosts: "gloo"; "" where all ranks are of one
  std::string interface = {};  // of the engine, where the host has it; otherwise the agent's own way
  double stall_after = 300;
  bool operator==(const AgentOrders&) const = default;

  int count() const { return sizes.at(static_cast<size_t>(host)); }
  int world() const;
};

// One line. Raises ValueError[launch.words] for a folder, program words or variables that are no UTF-8.
std::string line_of(const AgentOrders& orders);
// Raises FormatError[agent.orders], those of parse_json(), StateError[agent.version] where the launcher is of
// another version of the library.
AgentOrders read_orders(std::string_view line);

struct AgentWord {
  int signal = 0;            // for all ranks; 0: none
  bool end = false;          // the ranks are to end
  std::string verdict = {};  // why, for those that wait; "" where they are to end at once
};
std::string line_of(const AgentWord& word);
// Raises FormatError[agent.orders], and those of parse_json().
AgentWord read_word(std::string_view line);

}  // namespace espalier
