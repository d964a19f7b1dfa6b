// Mutated bytes of links: refused with a FormatError, or messages that are written and read as themselves,
// however the bytes are cut; and a coordinator that gets them from ranks and strangers goes on.
#include <csignal>

#include "espalier/error.h"
#include "fuzz/mutate.h"
#include "launch/control_coordinator.h"
#include "launch/control_message.h"
#include "launch/control_proof.h"

using namespace espalier;

namespace {

using Message = ControlMessage;

// What comes of bytes that are added in pieces of this size, and whether the last of them were refused.
struct Heard {
  std::vector<Message> messages;
  bool refused = false;
};
Heard hear(const std::string& bytes, size_t piece) {
  Heard out;
  ControlReader reader;
  try {
    for (size_t at = 0; at < bytes.size(); at += piece) {
      reader.add(std::string_view(bytes).substr(at, piece));
      while (auto message = reader.next()) out.messages.push_back(std::move(*message));
    }
  } catch (const FormatError&) {
    out.refused = true;
  }
  return out;
}

std::string nonce_of(int link) { return std::string(kNonceBytes, static_cast<char>('a' + link)); }

void coordinate(const Heard& heard) {
  ControlCoordinator coordinator(
      {.world = 3, .secret = "s", .id = "id", .limits = {}, .hosts = {{"a", 0, 1}, {"b", 1, 2}}});
  double now = 0;
  for (int link = 0; link < 3; ++link) {
    coordinator.started(link, link + 1, now);
    coordinator.connected(link, nonce_of(link), now);
  }
  int link = 0;
  for (const Message& message : heard.messages) {
    coordinator.received(link, message, now);
    if (std::holds_alternative<Message::Left>(message.is)) coordinator.ended(link, {true, SIGKILL}, {}, now);
    link = (link + 1) % 3;
    coordinator.tick(now += 0.4);
  }
  if (heard.refused) coordinator.bad_message(link, "no message", now);
  for (int i = 0; i < 40; ++i) coordinator.tick(now += 0.4);
  for (const ControlAction& action : coordinator.take()) {
    if (const auto* send = std::get_if<ControlAction::Send>(&action.is)) frame_of(send->message);
  }
}

bool accept(const std::string& bytes) {
  const Heard heard = hear(bytes, bytes.size() + 1);
  const Heard in_pieces = hear(bytes, 7);
  if (in_pieces.messages != heard.messages || in_pieces.refused != heard.refused)
    throw InternalError("in pieces they say something else");
  for (const Message& message : heard.messages) {
    std::string again;
    try {
      again = frame_of(message);
    } catch (const ValueError&) {
      continue;  // what had no escapes has some now
    }
    const Heard read = hear(again, again.size());
    if (read.refused || read.messages.size() != 1 || frame_of(read.messages[0]) != again)
      throw InternalError("written and read it is another message");
  }
  coordinate(heard);
  return !heard.refused && !heard.messages.empty();
}

}  // namespace

int main(int argc, char** argv) {
  const StageReport at{Stage::kCollective, 12, 40, "all-reduce 'gradients/2'"};
  // Messages come on the three links in turn.
  const auto join = [](int rank) {
    return frame_of({proved(Message::Join{{}, rank, 3, 100 + rank}, "s", nonce_of(rank))});
  };
  const auto host_join = [](int link, const Message::HostJoin& join) {
    return frame_of({proved(join, "s", nonce_of(link))});
  };
  const std::string joins = join(0) + join(1) + join(2);
  const std::string facts = frame_of({Message::Facts{{{"seed", "1"}, {"plan", "ab"}}}});
  const std::vector<std::string> seeds{
      joins + facts + facts + frame_of({Message::Facts{{{"seed", "2"}}}}),
      joins + frame_of({Message::Beat{at}}) + frame_of({Message::Left{{Stage::kEnd, 11, 38, ""}}}) +
          frame_of({Message::Failed{"bad", FailureCause::kOthers, at}}),
      joins + frame_of({Message::Failed{"bad", FailureCause::kOwn, at}}) +
          frame_of({Message::Preempted{SIGTERM}}),
      joins + frame_of({Message::Get{"a/1"}}) + frame_of({Message::Put{"a/1", std::string("\0\xff", 2)}}) +
          frame_of({Message::Put{"a/1", ""}}) + frame_of({Message::Get{"a/1"}}) +
          frame_of({Message::Value{"a/1", "x"}}),
      // Agents on the first two links.
      host_join(0, {{}, 0, "a", 0, 1}) + host_join(1, {{}, 1, "b", 1, 2}) + join(2) +
          frame_of({Message::RankStarted{0, 4}}) + frame_of({Message::RankStarted{2, 5}}) +
          frame_of({Message::Beat{at}}) + frame_of({Message::RankEnded{0, {false, 3}}}) +
          frame_of({Message::RankStopped{2, true}}) + frame_of({Message::Beat{at}}) +
          frame_of({Message::Beat{at}}) + frame_of({Message::RankEnded{2, {true, SIGKILL}, at, "no data"}}),
      frame_of({Message::Challenge{nonce_of(0)}}) + frame_of({Message::Welcome{}}) + join(1) + join(1) +
          frame_of({Message::Refused{"no"}}) + frame_of({Message::Ask{}}) + frame_of({Message::Agreed{}}) +
          frame_of({Message::GivenUp{{"id", VerdictKind::kSilent, -1, "rank 3 is silent"}}})};
  return fuzz::run(argc, argv, "fuzz_control", seeds,
                   {std::string("\0\0\1\0", 4), std::string("\0\0\0\0", 4), "\1{", "\2{", "{", "}", "[",
                    "\"is\":", "\"join\"", "\"proof\":\"\"", "\"at\":{}", "\"stage\":\"end\"", "-1",
                    "9223372036854775807", "18446744073709551615", "1e9", "\\u0000", "\xff", "\"rank\":2"},
                   accept);
}
