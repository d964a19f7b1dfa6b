// What hosts announce to each other of a collective before its data: whether they make the same call, and all
// of what is short.
#include <cstring>

#include "base/format.h"
#include "comm/wire_exchange.h"

namespace espalier {
namespace {

uint64_t announcement_tag(uint64_t sequence) { return (sequence & 0x7fff) << 16; }

template <size_t n>
std::string chars_text(const std::array<char, n>& chars) {
  return {chars.data(), ::strnlen(chars.data(), n)};
}
template <size_t n>
void set_text(std::array<char, n>& chars, std::string_view text) {
  text.substr(0, n).copy(chars.data(), n);
}

}  // namespace

WireAnnouncement& WireExchange::announced(int host, uint64_t sequence) {
  return announcements_[static_cast<size_t>(host)][sequence % kAhead];
}

void WireExchange::expect(uint64_t sequence) {
  for_others([&](int host) {
    const int handle =
        wire_.receive({peers_[static_cast<size_t>(host)], announcement_tag(sequence),
                       reinterpret_cast<std::byte*>(&announced(host, sequence)), sizeof(WireAnnouncement)});
    announcement_handles_[static_cast<size_t>(host)][sequence % kAhead] = handle;
    broken_ |= handle < 0;
  });
  expected_ = sequence + 1;
}

void WireExchange::announce(WireJob& job) {
  job.own = std::make_unique<WireAnnouncement>();
  WireAnnouncement& own = *job.own;
  own.sequence = job.sequence;
  own.fingerprint = job.fingerprint;
  own.count = job.what.count;
  own.bits = job.bits;
  own.root = job.what.root;
  own.kind = job.leaves ? WireAnnouncement::kLeaves : static_cast<uint16_t>(job.kind);
  set_text(own.name, job.what.name);
  set_text(own.type, job.what.type);
  own.call = job.what.call;
  set_text(own.program, job.what.program);
  const bool gives = job.kind != CallKind::kBroadcast || hosts_.host_of(job.what.root) == host_;
  if (has_data(job.kind) && job.what.count > 0 && is_short(job.kind, job.what) && gives) {
    if (job.kind == CallKind::kAllGather) {
      const ElementRange mine = part_of(host_, job.kind, job.what);
      std::memcpy(own.payload.data(), job.out + mine.begin * job.what.element,
                  (mine.end - mine.begin) * job.what.element);
    } else {
      std::memcpy(own.payload.data(), job.data, job.what.count * job.what.element);
    }
  }
  for_others([&](int host) {
    job.sends.push_back(wire_.send({peers_[static_cast<size_t>(host)], announcement_tag(job.sequence),
                                    reinterpret_cast<std::byte*>(&own), sizeof own}));
    broken_ |= job.sends.back() < 0;
  });
}

// Whether all hosts make the same call.
bool WireExchange::agree(const WireJob& job) {
  bool same = true;
  for_others([&](int host) {
    const WireAnnouncement& other = announced(host, job.sequence);
    same &= other.kind == static_cast<uint16_t>(job.kind) && other.fingerprint == job.fingerprint;
    left_ |= other.kind == WireAnnouncement::kLeaves;
  });
  if (same) return true;
  std::vector<RankCall> calls;
  for (int host = 0; host < hosts_.hosts(); ++host) {
    const WireAnnouncement& of = host == host_ ? *job.own : announced(host, job.sequence);
    RankCall call{of.fingerprint, of.kind == WireAnnouncement::kLeaves
                                      ? std::string("nothing more")
                                      : collective_text(static_cast<CallKind>(of.kind), chars_text(of.name),
                                                        chars_text(of.type), of.count, of.root)};
    call.call = call_text(of.call, chars_text(of.program));
    calls.insert(calls.end(), static_cast<size_t>(hosts_.sizes[static_cast<size_t>(host)]), call);
  }
  why_ = mismatch_text(calls);
  return false;
}

void WireExchange::combine_short(WireJob& job) {
  if (has_data(job.kind) && job.what.count == 0) return;
  const auto payload = [&](int host) {
    const WireAnnouncement& of = host == host_ ? *job.own : announced(host, job.sequence);
    return of.payload.data();
  };
  switch (job.kind) {
    case CallKind::kAny:
      for_others([&](int host) { job.bits |= announced(host, job.sequence).bits; });
      return;
    case CallKind::kBarrier:
      return;
    case CallKind::kAllGather:
      for_others([&](int host) {
        const ElementRange part = part_of(host, job.kind, job.what);
        std::memcpy(job.out + part.begin * job.what.element, payload(host),
                    (part.end - part.begin) * job.what.element);
      });
      return;
    case CallKind::kBroadcast: {
      const int root = hosts_.host_of(job.what.root);
      if (root != host_) std::memcpy(job.out, payload(root), job.what.count * job.what.element);
      return;
    }
    default: {
      std::vector<const std::byte*> from;
      for (int host = 0; host < hosts_.hosts(); ++host) from.push_back(payload(host));
      job.what.reduce(job.data, from.data(), hosts_.hosts(), job.what.count);
    }
  }
}

void WireExchange::leave() {
  WireJob last;
  last.sequence = posted_;
  last.leaves = true;
  announce(last);
  while (wait_for(last) == Progress::kWoken) {
  }
  last.stage = WireJob::Stage::kSent;
  while (wait_for(last) == Progress::kWoken) {
  }
}

}  // namespace espalier
