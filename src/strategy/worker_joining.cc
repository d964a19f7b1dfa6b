// How a worker finds out who it is, and joins the others.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/format.h"
#include "base/thread_pool.h"
#include "comm/local.h"
#include "comm/shm.h"
#include "comm/wire_module.h"
#include "espalier/error.h"
#include "launch/host_address.h"
#include "launch/host_port.h"
#include "launch/join_secret.h"
#include "launch/meeting_place.h"
#include "launch/worker_engine.h"
#include "strategy/worker.h"

namespace espalier {
namespace {

std::function<void(const std::string&)> warn_of_run;
// Without a word of rank 0, which looks after the others: more than TCP needs to find out that a cable is
// cut.
constexpr double kSilent = 9;
// Whoever listens where ranks meet greets at once, if it is rank 0: longer than a machine that is busy needs
// to let it.
constexpr double kGreets = 5;
// How long ranks of other launchers look for rank 0, and without a word of the launcher for one that stalls.
constexpr std::chrono::seconds kMeeting{60};
constexpr double kStallAfter = 300;
// What a coordinator needs to hear that a rank is gone, or that it is silent, and to say so.
constexpr double kVerdictWithin = 7;

constexpr std::chrono::milliseconds kTryAgain{50};

std::optional<std::string> variable_of_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::string required_variable(const char* name) {
  const std::optional<std::string> text = variable_of_environment(name);
  if (text) return *text;
  throw ValueError(
      "strategy.environment",
      cat(name, " is not set, and others of ESPALIER_RANK, ESPALIER_WORLD, ESPALIER_SEGMENTS are"),
      "start the program by espalier launch, or by hand with ESPALIER_COORDINATOR=HOST:PORT");
}

int required_number(const char* name) {
  const std::string text = required_variable(name);
  int out = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size() && out >= 0) return out;
  throw ValueError("strategy.environment", cat(name, " is no whole number from 0 on: \"", text, "\""),
                   "start the program by espalier launch");
}

}  // namespace

void Worker::on_warning(std::function<void(const std::string&)> warn) { warn_of_run = std::move(warn); }

std::shared_ptr<Worker> Worker::from_environment() {
  const auto says = [](const char* name) { return variable_of_environment(name).has_value(); };
  // By hand ranks are told where they meet; espalier launch gives them memory.
  const bool launched = says("ESPALIER_SEGMENTS") ||
                        ((says("ESPALIER_RANK") || says("ESPALIER_WORLD")) && !says("ESPALIER_COORDINATOR"));
  if (!launched) {
    const ResolvedPlace resolved = resolve(process_environment());
    const ClusterPlace& place = resolved.place;
    if (place.source.empty() || place.world == 1) return nullptr;
    return made([&] {
      std::unique_ptr<Worker> worker(new Worker(place.rank, place.world, std::max(place.local_world, 1)));
      worker->by_our_launcher_ = false;
      worker->join_cluster(resolved);
      return worker.release();
    });
  }
  const int rank = required_number("ESPALIER_RANK"), world = required_number("ESPALIER_WORLD");
  const std::string segments = required_variable("ESPALIER_SEGMENTS");
  const int local_world =
      says("ESPALIER_LOCAL_WORLD") ? std::max(required_number("ESPALIER_LOCAL_WORLD"), 1) : world;
  return made([&] {
    std::unique_ptr<Worker> worker(new Worker(rank, world, local_world));
    if (says("ESPALIER_BOARD"))
      worker->join_hosts(segments);
    else
      worker->join_host(segments);
    return worker.release();
  });
}

void Worker::join_host(const std::string& segments) {
  SharedSegments shared = parse_shared_segments(segments);
  board_ = shm_board(shared);
  communicator_ = shm_communicator(shared, rank_, world_);
  close_segments(shared);
  control_ = ControlClient::from_environment(hooks());
}

void Worker::join_hosts(const std::string& segments) {
  SharedSegments shared = parse_shared_segments(segments);
  const int descriptor = required_number("ESPALIER_BOARD"), host = required_number("ESPALIER_HOST");
  const std::shared_ptr<BoardLayout> board = board_layout_at(descriptor);
  ::close(descriptor);
  HostSizes hosts;
  const std::string sizes = required_variable("ESPALIER_HOST_SIZES");
  for (const char *at = sizes.data(), *end = at + sizes.size(); at < end; ++at) {
    int size = 0;
    const auto [after, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 1 || (after != end && *after != ','))
      throw ValueError("strategy.environment",
                       cat("ESPALIER_HOST_SIZES is \"", sizes, "\", and not ranks of hosts as \"2,2\""));
    hosts.sizes.push_back(size);
    at = after;
  }
  if (hosts.world() != world_ || host >= hosts.hosts() || hosts.host_of(rank_) != host ||
      board->world != static_cast<uint32_t>(world_))
    throw ValueError("strategy.environment", cat("rank ", rank_, " of ", world_, " on host ", host,
                                                 " does not go with ESPALIER_HOST_SIZES ", sizes));
  WirePlace place{.rank = rank_, .hosts = hosts};
  if (local_world_ > 1)
    place.inner = shm_communicator(shared, rank_ - hosts.first(host), local_world_, hosts.first(host));
  close_segments(shared);
  board_ = std::make_shared<Board>(board);
  control_ = ControlClient::from_environment(hooks());
  join_by(required_variable("ESPALIER_ENGINE"), place,
          cat(variable_of_environment("ESPALIER_JOB").value_or(""), "-",
              variable_of_environment("ESPALIER_RESTART").value_or("0")),
          variable_of_environment("ESPALIER_ENGINE_ADDRESS").value_or(""), board);
}

void Worker::join_cluster(const ResolvedPlace& resolved) {
  const ClusterPlace& place = resolved.place;
  if (place.coordinator.empty())
    throw ValueError("strategy.environment",
                     cat(place.source, " (", place.said, ") does not say where ranks meet"),
                     "set ESPALIER_COORDINATOR=HOST:PORT on all of them, HOST being that of rank 0");
  const std::string address = cat("tcp:", place.coordinator);
  const std::string unseen = rank_ == 0 ? check_meeting_place(place) : "";
  if (!unseen.empty() && warn_of_run) warn_of_run(unseen);
  const auto [secret, warning] = join_secret(place);
  if (rank_ == 0 && warn_of_run && !warning.empty()) warn_of_run(warning);
  if (rank_ == 0)
    coordinator_ = std::make_unique<OwnCoordinator>(address, world_, secret, place.job, warn_of_run);
  const std::shared_ptr<BoardLayout> board = board_of_process(world_);
  board_ = std::make_shared<Board>(board);
  const ControlMember::Options member{.rank = rank_,
                                      .world = world_,
                                      .pid = ::getpid(),
                                      .secret = secret,
                                      .coordinator = "rank 0",
                                      .silent = kSilent,
                                      .place = place.coordinator,
                                      .greets = kGreets};
  using Clock = std::chrono::steady_clock;
  for (const auto until = Clock::now() + kMeeting; !control_;) {
    try {
      control_ = std::make_unique<ControlClient>(address, member, hooks());
    } catch (const IoError&) {
      if (Clock::now() >= until) throw;  // rank 0 may come later than this one
      std::this_thread::sleep_for(kTryAgain);
    }
  }
  try {
    meet_cluster(resolved, board);
  } catch (RunError& error) {
    if (!unseen.empty() && error.rule() == "comm.join")
      error.add(cat("; ", unseen, "; ", loopback_cure(place)));
    throw;
  }
}

void Worker::meet_cluster(const ResolvedPlace& resolved, const std::shared_ptr<BoardLayout>& board) {
  const ClusterPlace& place = resolved.place;
  const auto choose = [&](const std::string& apart) {
    return chosen_engine(
        process_environment(), place, [] { return has_wire("mpi"); }, apart);
  };
  const auto describe_place = [&](const std::string& wire, const std::string& why) {
    place_text_ = cat("rank ", rank_, " of ", world_, " by ", place.source, " (", place.said,
                      "); engine: ", wire, ", since ", why);
    if (const std::string warning = resolved.warning(); !warning.empty())
      place_text_ += cat("\nwarning: ", warning);
  };
  EngineChoice choice = choose("");
  if (choice.engine == "shm") {
    const std::string apart = join_memory();
    if (apart.empty()) return describe_place(choice.engine, choice.why);
    choice = choose(apart);
    if (choice.engine == "shm")
      throw RunError("comm.engine", cat("ESPALIER_ENGINE is shm, and ", apart), "ESPALIER_ENGINE=auto");
  }
  join_by(choice.engine, {.rank = rank_, .hosts = {std::vector<int>(static_cast<size_t>(world_), 1)}},
          place.job,
          variable_of_environment("ESPALIER_ENGINE_ADDRESS")
              .value_or(address_towards(parse_host_port(place.coordinator).value().host)),
          board);
  describe_place(static_cast<const WireCommunicator&>(*communicator_).wire_name(), choice.why);
}

std::string Worker::join_memory() {
  ControlKeys keys(*control_);
  const auto answer_of = [](int rank) { return cat("memory/rank/", rank); };
  SharedSegments segments;
  std::string why;
  if (rank_ == 0) {
    try {
      segments = make_shared_segments(world_);
    } catch (const Error& error) {
      why = error.message();
    }
    keys.put("memory", why.empty() ? passed_segments(segments) : "");
    for (int rank = 1; rank < world_; ++rank) {
      const std::string answer = keys.get(answer_of(rank));
      if (why.empty() && !answer.empty()) why = cat("rank ", rank, " ", answer);
    }
    keys.put("memory/verdict", why);
  } else {
    const std::string passed = keys.get("memory");
    keys.put(answer_of(rank_), passed.empty() ? "" : open_segments(passed, segments));
    why = keys.get("memory/verdict");
  }
  if (!why.empty()) {
    close_segments(segments);
    return why;
  }
  const std::shared_ptr<Board> shared = shm_board(segments);
  communicator_ = shm_communicator(segments, rank_, world_);
  close_segments(segments);
  {
    const std::lock_guard lock(board_mutex_);
    board_ = shared;
  }
  // Of one that came before the board did.
  if (const auto verdict = control_->wait_for_verdict(0)) shared->abort(to_string(*verdict));
  return "";
}

void Worker::join_by(const std::string& engine, WirePlace place, const std::string& generation,
                     const std::string& interface, std::shared_ptr<BoardLayout> board) {
  // An MPI job has all ranks; of Gloo those that speak for their hosts.
  const bool all = engine == "mpi";
  const int host = place.hosts.host_of(rank_);
  const bool speaks = place.hosts.hosts() > 1 && place.hosts.first(host) == rank_;
  if (all) {
    for (int i = 0; i < place.hosts.hosts(); ++i) place.peers.push_back(place.hosts.first(i));
  }
  double stall_after = kStallAfter;
  if (const auto said = variable_of_environment("ESPALIER_STALL_AFTER"))
    stall_after = std::strtod(said->c_str(), nullptr);
  ControlKeys keys(*control_);
  if (all || speaks) {
    // MPI may stay in its first call for ever, and needs no keys.
    if (all) place.join_within = ControlKeys::kJoin;
    place.connect = [=, &keys, rank = all ? rank_ : host, world = all ? world_ : place.hosts.hosts()] {
      // Verdicts come before it: who waits for a rank that is slow is not cut off.
      return load_wire(engine, {.rank = rank,
                                .world = world,
                                .store = &keys,
                                .generation = generation,
                                .interface = interface,
                                .timeout = std::max(stall_after, 1.0) + 30});
    };
  }
  place.verdict_within = kVerdictWithin;
  try {
    communicator_ = std::make_shared<WireCommunicator>(std::move(board), std::move(place));
  } catch (const RunError& error) {
    // All may say the same of it, and would be taken for ranks that refuse their input.
    if (error.rule() == "comm.join") failed(error.rule(), error.message());
    throw;
  }
}

int Worker::default_threads() const {
  const int here = espalier::default_threads();
  const bool says = variable_of_environment("ESPALIER_CORES").has_value();
  return std::max(std::min((says ? required_number("ESPALIER_CORES") : here) / local_world_, here), 1);
}

}  // namespace espalier
