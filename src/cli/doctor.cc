// espalier doctor: what is wrong with a machine, an environment or a plan of a run.
#include "launch/doctor.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/json.h"
#include "base/shortened.h"
#include "cli/common.h"
#include "espalier/error.h"
#include "launch/launch_process.h"

namespace espalier::cli {
namespace {

using DoctorJson = nlohmann::ordered_json;

struct DoctorFlags {
  DoctorPlan plan;
  std::optional<std::string> hosts, hostfile;
  std::vector<std::string> compare, program;
  Results results;
};

DoctorJson json_of_place(const std::optional<ResolvedPlace>& resolved) {
  if (!resolved) return nullptr;
  const ClusterPlace& place = resolved->place;
  DoctorJson others = DoctorJson::array();
  for (const OtherPlace& other : resolved->others)
    others.push_back({{"source", other.source},
                      {"rank", other.place ? DoctorJson(other.place->rank) : DoctorJson()},
                      {"world", other.place ? DoctorJson(other.place->world) : DoctorJson()},
                      {"problem", other.problem}});
  return {{"source", place.source},
          {"rank", place.rank},
          {"world", place.world},
          {"local_rank", place.local_rank < 0 ? DoctorJson() : DoctorJson(place.local_rank)},
          {"local_world", place.local_world < 0 ? DoctorJson() : DoctorJson(place.local_world)},
          {"hosts", place.hosts},
          {"coordinator", place.coordinator},
          {"job", place.job},
          {"said", place.said},
          {"others", others}};
}

DoctorJson json_of_findings(const std::vector<DoctorFinding>& findings) {
  DoctorJson out = DoctorJson::array();
  for (const DoctorFinding& finding : findings)
    out.push_back({{"grade", name(finding.grade)},
                   {"topic", finding.topic},
                   {"what", finding.what},
                   {"why", finding.why},
                   {"fix", finding.cure}});
  return out;
}

DoctorJson json_of_report(const RankReport& report) {
  return {{"rank", report.rank}, {"world", report.world},         {"version", report.version},
          {"host", report.host}, {"interface", report.interface}, {"address", report.address}};
}

// What a rank has written by --json.
RankReport report_in(const std::string& path) {
  try {
    const DoctorJson json = parse_json(posix_env().read_file(path));
    const DoctorJson& report = json.at("report");
    return {report.at("rank").get<int>(),
            report.at("world").get<int>(),
            report.at("version").get<std::string>(),
            report.at("host").get<std::string>(),
            report.at("interface").get<std::string>(),
            report.at("address").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    throw FormatError("doctor.report",
                      cat(shortened(path), " is nothing that espalier doctor --json has written"));
  }
}

std::string lines_of(const std::vector<DoctorFinding>& findings) {
  std::string out;
  for (const DoctorFinding& finding : findings) out += to_string(finding) + "\n";
  return out;
}

// Where the file of the planned program lies; "" where none is planned, or it is not found.
std::string folder_of_program(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  try {
    std::error_code error;
    return std::filesystem::canonical(program_file(words[0]), error).parent_path();
  } catch (const IoError&) {
    return "";
  }
}

void compare_files(const DoctorFlags& flags) {
  std::vector<RankReport> reports;
  for (const std::string& path : flags.compare) reports.push_back(report_in(path));
  const std::vector<DoctorFinding> findings = compare_reports(reports);
  if (flags.results.json)
    flags.results.write_json("doctor",
                             {{"findings", json_of_findings(findings)}, {"fine", !any_wrong(findings)}});
  else
    flags.results.write(lines_of(findings));
  if (any_wrong(findings)) throw Exit{1};
}

void examine(DoctorFlags& flags) {
  flags.results.keep({flags.hostfile.value_or("")});
  if (!flags.compare.empty()) return compare_files(flags);
  if (flags.hosts) flags.plan.hosts = parse_hosts(*flags.hosts);
  if (flags.hostfile) flags.plan.hosts = parse_hostfile(posix_env().read_file(*flags.hostfile));
  const std::vector<std::string>& words = called_words();
  if (const auto mark = std::ranges::find(words, "--"); mark != words.end())
    flags.plan.program = {mark + 1, words.end()};
  const Diagnosis said =
      diagnose(process_environment(), machine_facts(folder_of_program(flags.plan.program)), flags.plan);
  const bool wrong = any_wrong(said.findings);
  if (flags.results.json)
    flags.results.write_json("doctor", {{"place", json_of_place(said.place)},
                                        {"findings", json_of_findings(said.findings)},
                                        {"report", json_of_report(said.report)},
                                        {"command", said.command},
                                        {"fine", !wrong}});
  else
    flags.results.write(cat(lines_of(said.findings), "run: ", said.command, "\n"));
  if (wrong) throw Exit{1};
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* verb = app.add_subcommand("doctor", "Diagnose this machine, or a planned run of several ranks");
  verb->add_option("-n,--ranks", flags->plan.ranks,
                   "Number of ranks of the planned run (default: the sum of slots; without hosts, as the "
                   "environment says)")
      ->check(number_from(int64_t{1}, 65536))
      ->option_text("N");
  CLI::Option* hosts =
      verb->add_option("--hosts", flags->hosts, "Hosts, each with its slots (largest number of ranks)")
          ->option_text("a:2,b:2");
  verb->add_option("--hostfile", flags->hostfile,
                   "File of hosts, instead of --hosts, one per line: \"a slots=2\" or \"a:2\"")
      ->excludes(hosts)
      ->option_text("FILE");
  verb->add_option("--engine", flags->plan.engine,
                   "Communication engine of the planned run: shm (shared memory of one host), gloo or mpi "
                   "(between hosts); auto = the engine that its ranks would choose")
      ->check(one_of_words({"auto", "shm", "gloo", "mpi"}))
      ->option_text("auto|shm|gloo|mpi [auto]");
  verb->add_option("--interface", flags->plan.interface,
                   "Network interface or address of this host to listen on")
      ->option_text("NAME");
  verb->add_option("--port", flags->plan.port,
                   "Port that rank 0 would listen on (default: the port that the environment names, else any "
                   "free port)")
      ->check(number_from(int64_t{1}, 65535))
      ->option_text("N");
  verb->add_option("--compare", flags->compare,
                   "Compare these reports of ranks, each written by `espalier doctor --json`")
      ->option_text("FILE ...");
  flags->results.add_json(*verb);
  flags->results.add_out(*verb);
  verb->add_option("program", flags->program, "Program and its arguments, after \"--\"")
      ->option_text("-- PROGRAM ARGS ...");
  verb->footer(
      "Checks the environment variables by which a launcher tells a rank its place\n"
      "(ESPALIER_*, or those of torchrun, MPI, Slurm, TF_CONFIG or Kubernetes), cores,\n"
      "memory, files, networks, engines and versions, and whether the planned run fits\n"
      "them. Prints a line for each check: OK; WARN (the run works, but slower or not\n"
      "as expected); WRONG (the run fails). The last line is a command that starts the\n"
      "run with the errors corrected.\n"
      "\n"
      "Examples:\n"
      "  espalier doctor\n"
      "  espalier doctor -n 4 -- ./my_program\n"
      "  espalier doctor --hosts a:2,b:2 --interface eth0\n"
      "  srun -n 4 sh -c 'espalier doctor --json --out rank-$SLURM_PROCID.json'\n"
      "  espalier doctor --compare rank-*.json\n"
      "\n"
      "Exit codes: 0 no check is WRONG, 1 a check is WRONG, 2 usage error or bad input.\n");
  verb->callback([flags] { examine(*flags); });
}

}  // namespace espalier::cli
