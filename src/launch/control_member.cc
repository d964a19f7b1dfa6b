#include "launch/control_member.h"

#include <utility>

#include "base/format.h"
#include "launch/control_proof.h"
#include "launch/control_text.h"

namespace espalier {

ControlMember::ControlMember(Options options) : options_(std::move(options)) {}

void ControlMember::connected(double now) { begun_ = now; }

void ControlMember::received(const ControlMessage& message, const StageReport& at) {
  heard_ = true;
  if (const auto* challenge = std::get_if<ControlMessage::Challenge>(&message.is)) {
    // Once: whoever asks again wants proofs for somebody else.
    if (std::exchange(answered_, true)) return;
    const ControlMessage::Join join{{}, options_.rank, options_.world, options_.pid};
    out_.insert(out_.begin(), {proved(join, options_.secret, challenge->nonce)});
  } else if (std::holds_alternative<ControlMessage::Welcome>(message.is)) {
    welcome_ = true;
  } else if (const auto* refused = std::get_if<ControlMessage::Refused>(&message.is)) {
    give_up(cat(options_.coordinator, " does not take this rank: ", refused->why));
  } else if (std::holds_alternative<ControlMessage::Ask>(message.is)) {
    if (!over_) out_.push_back({ControlMessage::Beat{seen(at)}});
  } else if (std::holds_alternative<ControlMessage::Agreed>(message.is)) {
    ++agreed_;
  } else if (const auto* value = std::get_if<ControlMessage::Value>(&message.is)) {
    if (const auto at = values_.find(value->key); at != values_.end()) at->second = value->value;
  } else if (const auto* preempted = std::get_if<ControlMessage::Preempted>(&message.is)) {
    if (preemption_ == 0) preemption_ = preempted->signal;
  } else if (const auto* given_up = std::get_if<ControlMessage::GivenUp>(&message.is)) {
    if (!verdict_) verdict_ = given_up->verdict;
  }
}

void ControlMember::lost(const std::string& why) {
  if (!answered_ && options_.greets > 0 && !why.empty())
    return give_up(cat(options_.place, " is no ", options_.coordinator, " of this run: ", why));
  give_up(cat(options_.coordinator, why.empty() ? " is gone" : " is not understood: ", why));
}

void ControlMember::look_for_coordinator(double now) {
  const bool was_away = ticked_ && now - *ticked_ > kLate;
  ticked_ = now;
  if (std::exchange(heard_, false) || was_away || !heard_at_) heard_at_ = now;
  if (was_away && !answered_) begun_ = now;
  if (options_.silent > 0 && welcome_ && now - *heard_at_ >= options_.silent)
    give_up(cat(options_.coordinator, " has not been heard of for ", seconds_text(now - *heard_at_)));
}

// Another program may listen there, and wait for a word of ours.
void ControlMember::look_for_greeting(double now) {
  if (options_.greets > 0 && !answered_ && now - *begun_ >= options_.greets)
    give_up(cat(options_.place, " is no ", options_.coordinator,
                " of this run: it takes connections and has said nothing for ", seconds_text(now - *begun_)));
}

void ControlMember::tick(double now, const StageReport& at) {
  if (!begun_) return;
  look_for_coordinator(now);
  look_for_greeting(now);
  if (!welcome_ && now - *begun_ >= kAnswer) give_up("the launcher does not answer");
  if (over_ || !answered_ || (beat_ && now - *beat_ < kBeat)) return;
  beat_ = now;
  out_.push_back({ControlMessage::Beat{seen(at)}});
}

void ControlMember::describe(std::map<std::string, std::string> facts) {
  ++described_;
  out_.push_back({ControlMessage::Facts{std::move(facts)}});
}

void ControlMember::failed(const std::string& text, FailureCause cause, const StageReport& at) {
  if (std::exchange(over_, true)) return;
  out_.push_back({ControlMessage::Failed{text, cause, seen(at)}});
}

void ControlMember::left(const StageReport& at) {
  if (std::exchange(over_, true)) return;
  out_.push_back({ControlMessage::Left{seen(at)}});
}

void ControlMember::preempted(int signal) {
  if (!over_) out_.push_back({ControlMessage::Preempted{signal}});
}

void ControlMember::put(const std::string& key, const std::string& value) {
  out_.push_back({ControlMessage::Put{key, value}});
}

void ControlMember::want(const std::string& key) {
  if (values_.try_emplace(key).second) out_.push_back({ControlMessage::Get{key}});
}

const std::string* ControlMember::value(const std::string& key) const {
  const auto at = values_.find(key);
  return at != values_.end() && at->second ? &*at->second : nullptr;
}

std::vector<ControlMessage> ControlMember::take() {
  return answered_ ? std::exchange(out_, {}) : std::vector<ControlMessage>();
}

// A comparison of facts is a collective like others: until all have said theirs, a rank that has waits for
// them.
StageReport ControlMember::seen(const StageReport& at) const {
  StageReport out = at;
  out.collectives += described_;
  if (agreed_ == described_) return out;
  out.stage = Stage::kCollective;
  out.collective = kComparison;
  return out;
}

void ControlMember::give_up(const std::string& why) {
  if (!verdict_ && !over_) verdict_ = RunVerdict{{}, VerdictKind::kLost, -1, why};
}

}  // namespace espalier
