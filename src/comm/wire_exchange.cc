#include "comm/wire_exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/format.h"

namespace espalier {
namespace {

// Of a collective that ranks do not agree about no two messages meet: the tag has its fingerprint.
uint64_t tag_of(const WireJob& job, unsigned phase, size_t piece) {
  return job.fingerprint << 32 | (job.sequence & 0x7fff) << 16 | piece << 2 | phase;
}
constexpr unsigned kGiven = 1, kResult = 2;

// What is reduced travels in pieces: one is reduced, and its result sets off, while the next ones come.
constexpr size_t kMostPieces = size_t{1} << 12;
constexpr size_t kPieceBytes = size_t{1} << 20;
// Of all other hosts, up to which a way less is worth more than the work and the bytes that it costs. Two
// hosts send no more bytes so.
constexpr size_t kWholeBytes = size_t{256} << 10, kWholeOfTwo = size_t{4} << 20;

// Pieces of a part, in elements.
size_t elements_of_piece(ElementRange part, size_t element) {
  const size_t count = part.end - part.begin;
  return std::max({size_t{1}, kPieceBytes / element, (count + kMostPieces - 1) / kMostPieces});
}

// Calls body(piece, range) for each.
template <class Body>
void for_wire_pieces(ElementRange part, size_t element, const Body& body) {
  const size_t step = elements_of_piece(part, element);
  size_t piece = 0;
  for (size_t begin = part.begin; begin < part.end; begin += step)
    body(piece++, ElementRange{begin, std::min(begin + step, part.end)});
}

bool reduces(CallKind kind) { return kind == CallKind::kAllReduce || kind == CallKind::kReduceScatter; }

}  // namespace

int HostSizes::world() const { return std::accumulate(sizes.begin(), sizes.end(), 0); }

int HostSizes::first(int host) const { return std::accumulate(sizes.begin(), sizes.begin() + host, 0); }

int HostSizes::host_of(int rank) const {
  int host = 0;
  for (; rank >= sizes[static_cast<size_t>(host)]; ++host) rank -= sizes[static_cast<size_t>(host)];
  return host;
}

WireExchange::WireExchange(Wire& wire, HostSizes hosts, int host, std::vector<int> peers)
    : wire_(wire),
      hosts_(std::move(hosts)),
      host_(host),
      peers_(std::move(peers)),
      announcements_(hosts_.sizes.size()),
      announcement_handles_(hosts_.sizes.size()) {
  while (expected_ < kAhead) expect(expected_);
}

bool WireExchange::is_short(CallKind kind, const Collective& what) const {
  const size_t ranks =
      kind == CallKind::kAllGather ? static_cast<size_t>(*std::ranges::max_element(hosts_.sizes)) : 1;
  return what.count * what.element * ranks <= kPayload;
}

bool WireExchange::is_whole(CallKind kind, const Collective& what) const {
  return kind == CallKind::kAllReduce &&
         what.count * what.element * static_cast<size_t>(hosts_.hosts() - 1) <=
             (hosts_.hosts() == 2 ? kWholeOfTwo : kWholeBytes);
}

bool WireExchange::in_pieces(const WireJob& job) const {
  return reduces(job.kind) && !is_whole(job.kind, job.what);
}

ElementRange WireExchange::part_of(int host, CallKind kind, const Collective& what) const {
  const auto first = static_cast<size_t>(hosts_.first(host)),
             last = first + static_cast<size_t>(hosts_.sizes[static_cast<size_t>(host)]);
  if (kind == CallKind::kAllGather) return {first * what.count, last * what.count};
  if (is_whole(kind, what)) return {0, what.count};
  if (kind == CallKind::kReduceScatter) {
    const size_t part = what.count / static_cast<size_t>(hosts_.world());
    return {first * part, last * part};
  }
  return slice_of(host, hosts_.hosts(), what);
}

size_t WireExchange::scratch_bytes(CallKind kind, const Collective& what) const {
  if (!reduces(kind) || is_short(kind, what)) return 0;
  const ElementRange own = part_of(host_, kind, what);
  return (own.end - own.begin) * what.element * static_cast<size_t>(hosts_.hosts() - 1);
}

// Where the reduced part of this host is received from another one.
std::byte* WireExchange::received(const WireJob& job, int host) const {
  const ElementRange own = part_of(host_, job.kind, job.what);
  const auto place = static_cast<size_t>(host < host_ ? host : host - 1);
  return job.scratch + place * (own.end - own.begin) * job.what.element;
}

void WireExchange::send(std::vector<int>& to, int host, const WireJob& job, unsigned phase,
                        const std::byte* data, size_t bytes, size_t piece) {
  if (bytes == 0) return;
  to.push_back(wire_.send(
      {peers_[static_cast<size_t>(host)], tag_of(job, phase, piece), const_cast<std::byte*>(data), bytes}));
  broken_ |= to.back() < 0;
}

void WireExchange::receive(std::vector<int>& to, int host, const WireJob& job, unsigned phase,
                           std::byte* data, size_t bytes, size_t piece) {
  if (bytes == 0) return;
  to.push_back(wire_.receive({peers_[static_cast<size_t>(host)], tag_of(job, phase, piece), data, bytes}));
  broken_ |= to.back() < 0;
}

void WireExchange::post(WireJob& job) {
  ++posted_;
  announce(job);
  if (has_data(job.kind) && job.what.count > 0 && !is_short(job.kind, job.what)) give(job);
  job.given = job.sends.size();
}

// The first half of what is long, and the receives of the second.
void WireExchange::give(WireJob& job) {
  const size_t element = job.what.element;
  const auto bytes = [&](const ElementRange& part) { return (part.end - part.begin) * element; };
  const ElementRange own = part_of(host_, job.kind, job.what);
  switch (job.kind) {
    case CallKind::kAllReduce:
    case CallKind::kReduceScatter:
      return give_to_reduce(job);
    case CallKind::kAllGather:
      for_others([&](int host) {
        const ElementRange part = part_of(host, job.kind, job.what);
        send(job.sends, host, job, kGiven, job.out + own.begin * element, bytes(own));
        receive(job.receives, host, job, kGiven, job.out + part.begin * element, bytes(part));
      });
      return;
    case CallKind::kBroadcast: {
      // Each host gets a part of it, and gives that to the others.
      const int root = hosts_.host_of(job.what.root);
      if (root != host_) {
        receive(job.receives, root, job, kGiven, job.out + own.begin * element, bytes(own));
        for_others([&](int host) {
          const ElementRange part = part_of(host, job.kind, job.what);
          receive(job.results, host, job, kResult, job.out + part.begin * element, bytes(part));
        });
        return;
      }
      for_others([&](int host) {
        const ElementRange part = part_of(host, job.kind, job.what);
        send(job.sends, host, job, kGiven, job.data + part.begin * element, bytes(part));
        send(job.sends, host, job, kResult, job.data + own.begin * element, bytes(own));
      });
      return;
    }
    default:
      return;
  }
}

void WireExchange::give_to_reduce(WireJob& job) {
  const size_t element = job.what.element;
  const ElementRange own = part_of(host_, job.kind, job.what);
  for_wire_pieces(own, element, [&](size_t piece, ElementRange range) {
    for_others([&](int host) {
      receive(job.receives, host, job, kGiven, received(job, host) + (range.begin - own.begin) * element,
              (range.end - range.begin) * element, piece);
    });
  });
  for_others([&](int host) {
    for_wire_pieces(part_of(host, job.kind, job.what), element, [&](size_t piece, ElementRange range) {
      send(job.sends, host, job, kGiven, job.data + range.begin * element,
           (range.end - range.begin) * element, piece);
    });
  });
}

// Behind the first half of a broadcast: begins the second.
void WireExchange::pass_on(WireJob& job) {
  const int root = hosts_.host_of(job.what.root);
  if (root == host_) return;
  const size_t element = job.what.element;
  const ElementRange own = part_of(host_, job.kind, job.what);
  for_others([&](int host) {
    if (host != root)
      send(job.sends, host, job, kResult, job.out + own.begin * element, (own.end - own.begin) * element);
  });
}

// Reduces what has come of this host's part.
void WireExchange::combine(WireJob& job, ElementRange part) {
  const size_t element = job.what.element;
  const ElementRange own = part_of(host_, job.kind, job.what);
  // So much at once stays in the cache.
  const size_t step = std::max<size_t>(1, (size_t{32} << 10) / element);
  std::vector<const std::byte*> from(static_cast<size_t>(hosts_.hosts()));
  for (size_t begin = part.begin; begin < part.end; begin += step) {
    const size_t count = std::min(step, part.end - begin);
    std::byte* const to = job.data + begin * element;
    for (int host = 0; host < hosts_.hosts(); ++host)
      from[static_cast<size_t>(host)] =
          host == host_ ? to : received(job, host) + (begin - own.begin) * element;
    job.what.reduce(to, from.data(), hosts_.hosts(), count);
  }
}

// The next one, which has come from all, and sends its result. Whether there are more.
bool WireExchange::combine_piece(WireJob& job) {
  const size_t element = job.what.element;
  const ElementRange own = part_of(host_, job.kind, job.what);
  const size_t step = elements_of_piece(own, element), begin = own.begin + job.piece * step;
  if (begin >= own.end) return false;
  const ElementRange range{begin, std::min(begin + step, own.end)};
  combine(job, range);
  if (job.kind == CallKind::kAllReduce)
    for_others([&](int host) {
      send(job.sends, host, job, kResult, job.data + begin * element, (range.end - begin) * element,
           job.piece);
    });
  ++job.piece;
  return range.end < own.end;
}

// Into memory that is no longer sent.
void WireExchange::take(WireJob& job) {
  if (job.kind != CallKind::kAllReduce) return;
  const size_t element = job.what.element;
  for_others([&](int host) {
    for_wire_pieces(part_of(host, job.kind, job.what), element, [&](size_t piece, ElementRange range) {
      receive(job.results, host, job, kResult, job.data + range.begin * element,
              (range.end - range.begin) * element, piece);
    });
  });
}

// For what its stage needs.
WireExchange::Progress WireExchange::wait_for(WireJob& job) {
  std::vector<int> announcements;
  if (job.stage == WireJob::Stage::kMeet)
    for_others([&](int host) {
      announcements.push_back(announcement_handles_[static_cast<size_t>(host)][job.sequence % kAhead]);
    });
  const bool sends = job.stage == WireJob::Stage::kGiven || job.stage == WireJob::Stage::kSent;
  const std::vector<int>& handles = job.stage == WireJob::Stage::kMeet   ? announcements
                                    : job.stage == WireJob::Stage::kGive ? job.receives
                                    : job.stage == WireJob::Stage::kTake ? job.results
                                                                         : job.sends;
  // Behind the first half the last sends are those of its result, which the others may not have taken.
  const size_t last =
      job.stage == WireJob::Stage::kGiven ? job.given
      : job.stage == WireJob::Stage::kGive && in_pieces(job)
          ? std::min((job.piece + 1) * static_cast<size_t>(hosts_.hosts() - 1), handles.size())
          : handles.size();
  size_t& next = sends ? job.sent : job.next;
  for (; next < last && !broken_; ++next) {
    const Wire::State state = wire_.wait(handles[next]);
    if (state == Wire::State::kWoken) return Progress::kWoken;
    broken_ = state == Wire::State::kBroken;
  }
  if (broken_) {
    why_ = wire_.why();
    return Progress::kBroken;
  }
  return Progress::kDone;
}

WireExchange::Progress WireExchange::advance(WireJob& job) {
  using Stage = WireJob::Stage;
  const auto go_to = [&](Stage stage) {
    job.stage = stage;
    job.next = 0;
  };
  while (job.stage != Stage::kDone) {
    if (const Progress progress = wait_for(job); progress != Progress::kDone) return progress;
    switch (job.stage) {
      case Stage::kMeet: {
        if (!agree(job)) return Progress::kMismatch;
        const bool is_long = has_data(job.kind) && job.what.count > 0 && !is_short(job.kind, job.what);
        if (!is_long) combine_short(job);
        go_to(is_long ? Stage::kGive : Stage::kSent);
        expect(job.sequence + kAhead);
        break;
      }
      case Stage::kGive:
        if (job.kind == CallKind::kBroadcast) pass_on(job);
        if (in_pieces(job) && combine_piece(job)) break;
        go_to(Stage::kGiven);
        break;
      case Stage::kGiven:
        if (is_whole(job.kind, job.what)) {
          combine(job, part_of(host_, job.kind, job.what));
          go_to(Stage::kSent);
          break;
        }
        take(job);
        go_to(Stage::kTake);
        break;
      case Stage::kTake:
        go_to(Stage::kSent);
        break;
      default:
        go_to(Stage::kDone);
    }
  }
  return Progress::kDone;
}

}  // namespace espalier
