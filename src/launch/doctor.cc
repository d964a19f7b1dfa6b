#include "launch/doctor.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"
#include "espalier/error.h"
#include "launch/doctor_findings.h"
#include "launch/worker_engine.h"

namespace espalier {
namespace {

constexpr std::string_view kGrades[] = {"OK", "WARN", "WRONG"};

// What the environment says, and who disagrees.
std::optional<ResolvedPlace> examine_place(DoctorCase& of) {
  std::optional<ResolvedPlace> out;
  try {
    out = resolve(of.environment);
  } catch (const ValueError& error) {
    of.add(DoctorGrade::kWrong, "launcher", error.message(), "no process can tell its place in the run",
           error.fix().empty() ? "set it right, or unset the variables of launchers that are not meant"
                               : error.fix());
    return std::nullopt;
  }
  const ClusterPlace& place = of.place = out->place;
  if (place.source.empty()) {
    of.ok("launcher", "no launcher's variables are set: this process is alone");
  } else {
    std::string text = cat(place.source, " is believed, the first that says a place: rank ", place.rank,
                           " of ", place.world, " (", place.said, ")");
    if (place.local_rank >= 0)
      text += cat(", ", place.local_rank, " of ", place.local_world, " on this host");
    if (!place.hosts.empty())
      text += cat(", ", counted(place.hosts.size(), "host"), " from ", place.hosts[0], " on");
    if (!place.coordinator.empty()) text += cat(", ranks meet at ", place.coordinator);
    of.ok("launcher", text);
  }
  for (const OtherPlace& other : out->others) {
    const std::string says = other.place ? cat(other.source, " says rank ", other.place->rank, " of ",
                                               other.place->world, " (", other.place->said, ")")
                                         : cat(other.source, ": ", other.problem);
    of.add(DoctorGrade::kWarn, "launcher", says,
           cat(place.source, " says rank ", place.rank, " of ", place.world),
           "unset the variables of the one that is not meant");
  }
  if (place.source.empty() && !of.variable("JOB_COMPLETION_INDEX").empty())
    of.add(DoctorGrade::kWarn, "launcher",
           cat("JOB_COMPLETION_INDEX is ", of.variable("JOB_COMPLETION_INDEX"),
               ", and ESPALIER_PODS is not set"),
           "each pod trains alone", "set ESPALIER_PODS and ESPALIER_SERVICE in the manifest");
  return out;
}

// What ranks talk through: as planned, as ranks of other launchers choose, as espalier launch chooses.
EngineChoice engine_of(const DoctorCase& of) {
  if (of.plan.engine != "auto") return {of.plan.engine, ""};
  if (of.joins_by_address()) return chosen_engine(of.environment, of.place, [&] { return of.finds("mpi"); });
  return {launched_engine(of.spans_hosts ? 2 : 1), ""};
}

// Ranks, hosts and engine as planned: by flags, else as the launcher says.
void settle_plan(DoctorCase& of) {
  const DoctorPlan& plan = of.plan;
  const bool by_flags = of.by_flags = plan.ranks > 0 || !plan.hosts.empty();
  const int slots = ranks_of(plan.hosts);
  if (by_flags) {
    of.world = plan.ranks > 0 ? plan.ranks : slots;
    of.spans_hosts = plan.hosts.size() > 1;
    of.ranks_here = plan.hosts.empty() ? of.world : 0;
    // Slots are filled in their order.
    int left = of.world;
    for (const RunHost& host : plan.hosts) {
      const int taken = std::min(left, host.ranks);
      if (is_this_host(host.name, of.machine)) of.ranks_here += taken;
      left -= taken;
    }
  } else {
    of.world = of.place.world;
    of.spans_hosts = spans_hosts(of.place);
    of.ranks_here = of.place.local_world > 0 ? of.place.local_world : of.spans_hosts ? 1 : of.world;
  }
  const EngineChoice choice = engine_of(of);
  of.engine = choice.engine;
  if (!by_flags) {
    const std::string since = choice.why.empty() ? "" : cat(", since ", choice.why);
    if (of.world > 1) of.ok("plan", cat(counted(of.world, "rank"), ", engine ", of.engine, since));
    if (of.joins_by_address() && of.place.coordinator.empty())
      of.add(DoctorGrade::kWrong, "coordinator",
             cat(of.place.source, " (", of.place.said, ") does not say where ranks meet"),
             "no rank can find rank 0",
             "ESPALIER_COORDINATOR=HOST:PORT for all of them, HOST being that of rank 0");
    return;
  }
  const std::string where = plan.hosts.empty() ? "this host" : to_string(plan.hosts);
  if (!plan.hosts.empty() && of.world > slots)
    of.add(DoctorGrade::kWrong, "slots",
           cat(of.world, " ranks for ", where, ", which have ", counted(slots, "slot")),
           "some ranks have no place", cat("at most -n ", slots, ", or more slots"));
  else
    of.ok("plan", cat(counted(of.world, "rank"), " on ", where, ", engine ", of.engine));
}

}  // namespace

bool DoctorCase::joins_by_address() const {
  return !by_flags && place.world > 1 && variable("ESPALIER_SEGMENTS").empty();
}

bool DoctorCase::finds(const std::string& engine) const {
  const auto found = machine.engines.find(engine);
  return found != machine.engines.end() && found->second.empty();
}

std::string DoctorCase::handed_on(const std::string& engine) const {
  const auto found = machine.command_engines.find(engine);
  return joins_by_address() || finds(engine) || found == machine.command_engines.end() ? "" : found->second;
}

bool DoctorCase::has_own_cores() const {
  return !by_flags && machine.affinity < machine.processors &&
         (place.source == "Open MPI" || place.source == "PMI" || place.source == "Slurm");
}

int DoctorCase::number(const std::string& name) const {
  const std::string text = variable(name);
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? out : 0;
}

std::string_view name(DoctorGrade grade) { return kGrades[static_cast<size_t>(grade)]; }

std::string to_string(const DoctorFinding& finding) {
  std::string out = cat(name(finding.grade), std::string(6 - name(finding.grade).size(), ' '), finding.topic,
                        ": ", finding.what);
  if (!finding.why.empty()) out += cat("; ", finding.why);
  if (!finding.cure.empty()) out += cat("; fix: ", finding.cure);
  return out;
}

bool any_wrong(const std::vector<DoctorFinding>& findings) {
  return std::ranges::any_of(findings,
                             [](const DoctorFinding& one) { return one.grade == DoctorGrade::kWrong; });
}

Diagnosis diagnose(const Environment& environment, const MachineFacts& machine, const DoctorPlan& plan,
                   const DoctorAsks& asks) {
  DoctorCase of{environment, machine, plan, asks};
  Diagnosis out;
  out.place = examine_place(of);
  settle_plan(of);
  examine_slurm(of);
  examine_cores(of);
  examine_memory(of);
  examine_network(of);
  examine_port(of);
  examine_secret(of);
  examine_engines(of);
  const NetworkInterface by = chosen_interface(of);
  const auto version = machine.versions.find("espalier");
  out.report = {of.place.rank, of.place.world, version == machine.versions.end() ? "" : version->second,
                machine.host,  by.name,        by.address};
  out.command = corrected_command(of);
  out.findings = std::move(of.findings);
  return out;
}

}  // namespace espalier
