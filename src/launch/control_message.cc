#include "launch/control_message.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/digits.h"
#include "base/format.h"
#include "base/json.h"
#include "espalier/error.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;
using Message = ControlMessage;

constexpr size_t kLongestText = size_t{8} << 10, kLongestName = 256;
constexpr JsonLimits kFrameLimits{.bytes = kMostFrame, .levels = 4, .keys = 1000};

constexpr std::string_view kStages[] = {"start",    "input",    "trace", "step", "collective",
                                        "callback", "evaluate", "save",  "end"};
constexpr std::string_view kCauses[] = {"own", "others", "mismatch", "meeting"};
constexpr std::string_view kKinds[] = {"mismatch", "host", "killed", "thrown",  "ended",
                                       "early",    "lost", "silent", "stalled", "alike"};

template <class E, size_t kCount>
E enum_of(const std::string_view (&names)[kCount], std::string_view word) {
  const auto* at = std::ranges::find(names, word);
  if (at == std::end(names))
    throw FormatError("control.message", cat("a message says \"", word.substr(0, 40), "\""));
  return static_cast<E>(at - names);
}

std::string short_text(const std::string& text, size_t most = kLongestText) { return text.substr(0, most); }

// JSON holds no bytes.
std::string hex_of(std::string_view bytes, std::string_view what, size_t most) {
  if (bytes.size() > most)
    throw ValueError("control.size", cat(what, " of ranks has at most ", most, " bytes, not ", bytes.size()));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    out += kDigits[static_cast<uint8_t>(c) >> 4];
    out += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return out;
}
std::string key_hex(const std::string& key) { return hex_of(key, "a key", kLongestKey); }
std::string proof_hex(const std::string& proof) { return hex_of(proof, "a proof", kProofBytes); }
std::string value_hex(const std::string& value) { return hex_of(value, "a value", kLongestValue); }

// Reads a member of a message; what is not there is an error.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {
    if (!json.is_object()) throw FormatError("control.message", "a message is no object");
  }
  std::string text(const char* key) const { return of(key, &Json::is_string).get<std::string>(); }
  int64_t number(const char* key, int64_t low = INT64_MIN, int64_t high = INT64_MAX) const {
    const Json& value = of(key, &Json::is_number_integer);
    const bool beyond = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
    const int64_t out = value.get<int64_t>();
    if (beyond || out < low || out > high)
      throw FormatError("control.message", cat("a message has a number out of range as ", key));
    return out;
  }
  int small(const char* key) const { return static_cast<int>(number(key, -1, INT32_MAX)); }
  bool has(const char* key) const { return json_.contains(key); }
  const Json& object(const char* key) const { return of(key, &Json::is_object); }
  std::string bytes(const char* key, size_t most) const {
    const std::string hex = text(key);
    std::string out(hex.size() / 2, '\0');
    bool good = hex.size() % 2 == 0 && out.size() <= most;
    for (size_t i = 0; good && i < hex.size(); ++i) {
      const char c = hex[i];
      const bool letter = c >= 'a' && c <= 'f';
      good = letter || is_digit(c);
      out[i / 2] = static_cast<char>(out[i / 2] << 4 | (letter ? c - 'a' + 10 : c - '0'));
    }
    if (!good)
      throw FormatError("control.message",
                        cat("a message has no hexadecimal digits of at most ", most, " bytes as ", key));
    return out;
  }

 private:
  const Json& of(const char* key, bool (Json::*is)() const noexcept) const {
    const auto at = json_.find(key);
    if (at == json_.end() || !((*at).*is)())
      throw FormatError("control.message", cat("a message has no ", key, ", or one of another type"));
    return *at;
  }
  const Json& json_;
};

Json json_of(const StageReport& at) {
  Json out = {{"stage", kStages[static_cast<size_t>(at.stage)]},
              {"number", at.number},
              {"collectives", static_cast<int64_t>(at.collectives)},
              {"collective", short_text(at.collective, kLongestName)}};
  if (!at.function.empty()) out["function"] = short_text(at.function, kLongestName);
  return out;
}
StageReport read_report(const Json& json) {
  const Fields fields(json);
  return {enum_of<Stage>(kStages, fields.text("stage")), fields.number("number"),
          static_cast<uint64_t>(fields.number("collectives", 0)),
          short_text(fields.text("collective"), kLongestName),
          fields.has("function") ? short_text(fields.text("function"), kLongestName) : std::string()};
}

struct Writer {
  Json operator()(const Message::Join& of) const {
    return {{"is", "join"},
            {"proof", proof_hex(of.proof)},
            {"rank", of.rank},
            {"world", of.world},
            {"pid", of.pid}};
  }
  Json operator()(const Message::Beat& of) const { return {{"is", "beat"}, {"at", json_of(of.at)}}; }
  Json operator()(const Message::Facts& of) const {
    Json facts = Json::object();
    for (const auto& [key, value] : of.facts) facts[key] = value;
    return {{"is", "facts"}, {"facts", facts}};
  }
  Json operator()(const Message::Failed& of) const {
    return {{"is", "failed"},
            {"text", short_text(of.text)},
            {"cause", kCauses[static_cast<size_t>(of.cause)]},
            {"at", json_of(of.at)}};
  }
  Json operator()(const Message::Left& of) const { return {{"is", "left"}, {"at", json_of(of.at)}}; }
  Json operator()(const Message::Preempted& of) const { return {{"is", "preempted"}, {"signal", of.signal}}; }
  Json operator()(const Message::Put& of) const {
    return {{"is", "put"}, {"key", key_hex(of.key)}, {"value", value_hex(of.value)}};
  }
  Json operator()(const Message::Get& of) const { return {{"is", "get"}, {"key", key_hex(of.key)}}; }
  Json operator()(const Message::Value& of) const {
    return {{"is", "value"}, {"key", key_hex(of.key)}, {"value", value_hex(of.value)}};
  }
  Json operator()(const Message::HostJoin& of) const {
    return {{"is", "host"},      {"proof", proof_hex(of.proof)},
            {"host", of.host},   {"name", of.name},
            {"first", of.first}, {"count", of.count}};
  }
  Json operator()(const Message::RankStarted& of) const {
    return {{"is", "rank started"}, {"rank", of.rank}, {"pid", of.pid}};
  }
  Json operator()(const Message::RankEnded& of) const {
    Json out = {{"is", "rank ended"},
                {"rank", of.rank},
                {"signal", static_cast<int>(of.end.by_signal)},
                {"number", of.end.number},
                {"lines", short_text(of.lines)},
                {"collective", short_text(of.collective, kLongestName)}};
    if (of.last) out["last"] = json_of(*of.last);
    return out;
  }
  Json operator()(const Message::RankStopped& of) const {
    return {{"is", "rank stopped"}, {"rank", of.rank}, {"stopped", static_cast<int>(of.is_stopped)}};
  }
  Json operator()(const Message::Challenge& of) const {
    return {{"is", "challenge"}, {"nonce", hex_of(of.nonce, "a nonce", kNonceBytes)}};
  }
  Json operator()(const Message::Welcome&) const { return {{"is", "welcome"}}; }
  Json operator()(const Message::Refused& of) const {
    return {{"is", "refused"}, {"why", short_text(of.why)}};
  }
  Json operator()(const Message::Ask&) const { return {{"is", "ask"}}; }
  Json operator()(const Message::Agreed&) const { return {{"is", "agreed"}}; }
  Json operator()(const Message::GivenUp& of) const {
    return {{"is", "given up"},
            {"id", of.verdict.id},
            {"kind", name(of.verdict.kind)},
            {"rank", of.verdict.rank},
            {"text", short_text(of.verdict.text)}};
  }
};

using Read = Message (*)(const Fields&);
constexpr std::pair<std::string_view, Read> kReaders[] = {
    {"join",
     [](const Fields& fields) {
       return Message{Message::Join{fields.bytes("proof", kProofBytes), fields.small("rank"),
                                    fields.small("world"), fields.number("pid")}};
     }},
    {"beat", [](const Fields& fields) { return Message{Message::Beat{read_report(fields.object("at"))}}; }},
    {"facts",
     [](const Fields& fields) {
       Message::Facts out;
       for (const auto& [key, value] : fields.object("facts").items()) {
         if (!value.is_string()) throw FormatError("control.message", "a fact is no text");
         out.facts[key] = value.get<std::string>();
       }
       return Message{out};
     }},
    {"failed",
     [](const Fields& fields) {
       return Message{Message::Failed{fields.text("text"),
                                      enum_of<FailureCause>(kCauses, fields.text("cause")),
                                      read_report(fields.object("at"))}};
     }},
    {"left", [](const Fields& fields) { return Message{Message::Left{read_report(fields.object("at"))}}; }},
    {"preempted", [](const Fields& fields) { return Message{Message::Preempted{fields.small("signal")}}; }},
    {"put",
     [](const Fields& fields) {
       return Message{Message::Put{fields.bytes("key", kLongestKey), fields.bytes("value", kLongestValue)}};
     }},
    {"get", [](const Fields& fields) { return Message{Message::Get{fields.bytes("key", kLongestKey)}}; }},
    {"value",
     [](const Fields& fields) {
       return Message{Message::Value{fields.bytes("key", kLongestKey), fields.bytes("value", kLongestValue)}};
     }},
    {"host",
     [](const Fields& fields) {
       return Message{Message::HostJoin{fields.bytes("proof", kProofBytes), fields.small("host"),
                                        fields.text("name"), fields.small("first"), fields.small("count")}};
     }},
    {"rank started",
     [](const Fields& fields) {
       return Message{Message::RankStarted{fields.small("rank"), fields.number("pid")}};
     }},
    {"rank ended",
     [](const Fields& fields) {
       Message::RankEnded out{fields.small("rank"),
                              {fields.number("signal", 0, 1) == 1, fields.small("number")},
                              {},
                              short_text(fields.text("lines")),
                              short_text(fields.text("collective"), kLongestName)};
       if (fields.has("last")) out.last = read_report(fields.object("last"));
       return Message{out};
     }},
    {"rank stopped",
     [](const Fields& fields) {
       return Message{Message::RankStopped{fields.small("rank"), fields.number("stopped", 0, 1) == 1}};
     }},
    {"challenge",
     [](const Fields& fields) {
       Message::Challenge out{fields.bytes("nonce", kNonceBytes)};
       if (out.nonce.size() != kNonceBytes)
         throw FormatError("control.message",
                           cat("a nonce has ", kNonceBytes, " bytes, not ", out.nonce.size()));
       return Message{out};
     }},
    {"welcome", [](const Fields&) { return Message{Message::Welcome{}}; }},
    {"refused", [](const Fields& fields) { return Message{Message::Refused{fields.text("why")}}; }},
    {"ask", [](const Fields&) { return Message{Message::Ask{}}; }},
    {"agreed", [](const Fields&) { return Message{Message::Agreed{}}; }},
    {"given up", [](const Fields& fields) {
       return Message{Message::GivenUp{{fields.text("id"), enum_of<VerdictKind>(kKinds, fields.text("kind")),
                                        fields.small("rank"), fields.text("text")}}};
     }}};

}  // namespace

std::string_view name(VerdictKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::string to_string(const RunVerdict& verdict) {
  return verdict.id.empty() ? verdict.text : cat(verdict.text, " (verdict ", verdict.id, ")");
}

std::string frame_of(const ControlMessage& message) {
  const std::string json =
      std::visit(Writer(), message.is).dump(-1, ' ', false, Json::error_handler_t::replace);
  const size_t length = json.size() + 1;
  if (length > kMostFrame)
    throw ValueError("control.size", cat("what ranks tell each other at once has at most ", kMostFrame,
                                         " bytes, not ", length));
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>(length >> 8 * i & 0xff);
  out += static_cast<char>(kControlVersion);
  return out + json;
}

std::optional<ControlMessage> ControlReader::next() {
  if (bytes_.size() < 4) return std::nullopt;
  size_t length = 0;
  for (size_t i = 0; i < 4; ++i) length |= size_t{static_cast<uint8_t>(bytes_[i])} << 8 * i;
  if (length < 1 || length > kMostFrame)
    throw FormatError("control.frame", cat("a frame has 1 to ", kMostFrame, " bytes, not ", length));
  if (bytes_.size() > 4 && static_cast<uint8_t>(bytes_[4]) != kControlVersion)
    throw FormatError("control.version",
                      cat("the other side speaks version ", static_cast<uint8_t>(bytes_[4]),
                          " of the protocol, this one ", kControlVersion));
  if (bytes_.size() < 4 + length) return std::nullopt;
  const Json json = parse_json(std::string_view(bytes_).substr(5, length - 1), kFrameLimits);
  const Fields fields(json);
  const std::string is = fields.text("is");
  const auto* reader = std::ranges::find(kReaders, is, &std::pair<std::string_view, Read>::first);
  if (reader == std::end(kReaders))
    throw FormatError("control.message", cat("there is no message \"", is.substr(0, 40), "\""));
  const ControlMessage out = reader->second(fields);
  bytes_.erase(0, 4 + length);
  return out;
}

}  // namespace espalier
