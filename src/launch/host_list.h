// The hosts of a run, and how many ranks each has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier {

struct RunHost {
  std::string name;
  int ranks = 1;
  bool operator==(const RunHost&) const = default;
};

// "a:2,b:2", "[fe80::1]:2"; a host without a number has one rank. Raises ValueError[launch.hosts] with the
// part that is wrong: an empty name, one with other characters than letters, digits and ".-_:%@", a number
// below 1, a host that comes twice, more than 256 ranks.
std::vector<RunHost> parse_hosts(std::string_view text);
// Of a file with one host a line: "NAME slots=N", as for mpirun and horovodrun, "NAME:N", or "NAME"; "#"
// begins a comment. Raises the same, with the line, ValueError[launch.hosts] where there is none, IoError.
std::vector<RunHost> read_hostfile(const std::string& path);
std::vector<RunHost> parse_hostfile(std::string_view text, const std::string& path = "");
// The first `ranks` of them, in order. Raises ValueError[launch.hosts] where they have fewer.
std::vector<RunHost> take_ranks(const std::vector<RunHost>& hosts, int ranks);
// "a:2,b:2", and how many that are.
std::string to_string(const std::vector<RunHost>& hosts);
int ranks_of(const std::vector<RunHost>& hosts);
// "2,2".
std::string host_sizes(const std::vector<RunHost>& hosts);

// The words of a command as a shell splits them: blanks between them, quotes and backslashes around what
// belongs together; nothing else means anything. Raises ValueError[launch.agent] where there is none, or a
// quote is open.
std::vector<std::string> split_words(std::string_view text);
// The agent's command for this host, and behind it `program`: "{host}" in words of the command is its name.
// ssh and rsh join what they are given by blanks for a shell of that host: where the file of a word is called
// so, the program's words are quoted for it.
std::vector<std::string> agent_words(std::string_view command, const std::string& host,
                                     const std::vector<std::string>& program);
// The agent's command as Open MPI's plm_rsh_agent, which is called as ssh is: behind it a host, and words for
// a shell there. Raises ValueError[launch.agent] for another one: where no word of it is ssh or rsh, {host}
// is not its last word and nowhere else, or a word has what Open MPI would split it at, a blank or a colon.
std::string rsh_agent(std::string_view command);

}  // namespace espalier
