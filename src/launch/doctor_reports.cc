// What ranks say of themselves, held against each other.
#include <algorithm>
#include <map>
#include <set>

#include "base/format.h"
#include "base/shortened.h"
#include "launch/doctor.h"
#include "launch/host_port.h"

namespace espalier {
namespace {

std::string ranks_in_words(const std::set<int>& ranks) {
  std::string out;
  int shown = 0;
  for (const int rank : ranks) {
    if (++shown > 8) {
      out += cat(" and ", ranks.size() - 8, " more");
      break;
    }
    out += cat(out.empty() ? "" : ", ", rank);
  }
  return cat(ranks.size() == 1 ? "rank " : "ranks ", out);
}

// "1.0 on ranks 0, 1; 1.1 on rank 2"; "" where all say one thing.
template <class Value>
std::string where_they_differ(const std::vector<RankReport>& reports, Value value) {
  std::map<std::string, std::set<int>> said;
  for (const RankReport& report : reports) said[value(report)].insert(report.rank);
  if (said.size() < 2) return "";
  std::string out;
  for (const auto& [what, ranks] : said)
    out += cat(out.empty() ? "" : "; ", shortened(what), " on ", ranks_in_words(ranks));
  return out;
}

}  // namespace

std::vector<DoctorFinding> compare_reports(const std::vector<RankReport>& reports) {
  std::vector<DoctorFinding> out;
  if (reports.empty())
    return {{DoctorGrade::kWrong, "ranks", "no rank has reported", "there is nothing to compare",
             "espalier doctor --json in each rank"}};
  int world = 0;
  std::map<int, std::vector<const RankReport*>> by_rank;
  std::set<std::string> hosts;
  for (const RankReport& report : reports) {
    world = std::max(world, report.world);
    by_rank[report.rank].push_back(&report);
    hosts.insert(report.host);
  }
  for (const auto& [rank, those] : by_rank) {
    if (those.size() < 2) continue;
    std::string where;
    for (const RankReport* one : those) where += cat(where.empty() ? "" : " and ", shortened(one->host));
    out.push_back({DoctorGrade::kWrong, "ranks",
                   cat("rank ", rank, " comes ", those.size(), " times, on ", where),
                   "two processes would do the work of one", "a number of its own for each process"});
  }
  if (const std::string worlds =
          where_they_differ(reports, [](const RankReport& one) { return cat(one.world); });
      !worlds.empty())
    out.push_back({DoctorGrade::kWrong, "ranks", cat("the number of ranks is ", worlds),
                   "they wait for ranks that others do not know", "one number for all"});
  std::set<int> missing;
  for (int rank = 0; rank < world; ++rank) {
    if (!by_rank.contains(rank)) missing.insert(rank);
  }
  if (!missing.empty())
    out.push_back(
        {DoctorGrade::kWrong, "ranks",
         cat(ranks_in_words(missing), " of ", world, missing.size() == 1 ? " has" : " have", " not reported"),
         "all others would wait", "start it, or look why it did not start"});
  if (const std::string versions =
          where_they_differ(reports, [](const RankReport& one) { return one.version; });
      !versions.empty())
    out.push_back({DoctorGrade::kWrong, "versions", cat("the library is ", versions),
                   "they are refused at the first step", "one version on all hosts"});
  std::map<std::string, std::string> host_of;
  std::set<std::string> told;
  for (const RankReport& report : reports) {
    if (hosts.size() < 2 || !told.insert(report.host).second) continue;
    if (report.address.empty() || is_loopback(report.address))
      out.push_back({DoctorGrade::kWrong, "interface",
                     cat(shortened(report.host), " is to be reached at ",
                         report.address.empty() ? "no address" : shortened(report.address), " (",
                         shortened(report.interface), ")"),
                     "ranks of other hosts cannot", "an --interface that leads to the other hosts"});
    else if (const auto [at, fresh] = host_of.emplace(report.address, report.host); !fresh)
      out.push_back({DoctorGrade::kWrong, "interface",
                     cat(shortened(report.host), " and ", shortened(at->second),
                         " are both to be reached at ", shortened(report.address)),
                     "messages for one of them go to the other",
                     "an --interface that leads to the other hosts"});
  }
  if (out.empty())
    out.push_back({DoctorGrade::kOk, "ranks",
                   cat("all ", world, " have reported, each once, on ", counted(hosts.size(), "host"))});
  return out;
}

}  // namespace espalier
