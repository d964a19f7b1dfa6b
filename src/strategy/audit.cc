#include "strategy/audit.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "base/format.h"
#include "base/hash.h"
#include "base/shortest.h"
#include "eager/trace.h"
#include "espalier/array.h"
#include "espalier/error.h"
#include "espalier/function.h"
#include "espalier/ops.h"
#include "ir/sink.h"
#include "launch/control_text.h"
#include "ops/collective.h"

namespace espalier {
namespace {

std::vector<uint64_t> audited_hashes(std::span<const Variable> variables) {
  std::vector<uint64_t> out;
  for (const Variable& variable : variables) out.push_back(audited_hash(variable.state()->value));
  return out;
}

// The numbers of variables, small ones first: a rate that one holder has another of makes all weights differ.
// Those of one size in their order, and behind them what is no variable.
std::vector<size_t> small_first(std::span<const Variable> variables, size_t count) {
  std::vector<size_t> out(count);
  std::iota(out.begin(), out.end(), 0);
  std::ranges::stable_sort(out.begin(), out.begin() + std::ssize(variables), {},
                           [&](size_t i) { return variables[i].type().bytes(); });
  return out;
}

// Of the hashes that each holder gave, one behind the other; places are looked at in this order.
template <class Text>
std::optional<Mismatch> mismatch_of(const std::vector<uint64_t>& all, const std::vector<size_t>& order,
                                    Text&& text) {
  if (order.empty()) return std::nullopt;
  const size_t count = order.size(), holders_count = all.size() / count;
  for (const size_t i : order) {
    std::map<uint64_t, std::vector<int>> holders;
    for (size_t rank = 0; rank < holders_count; ++rank)
      holders[all[rank * count + i]].push_back(static_cast<int>(rank));
    if (holders.size() == 1) continue;
    // Those that most agree with are right, or the first one's where none is most.
    const auto most = std::ranges::max_element(
        holders, {}, [](const auto& held) { return std::pair(held.second.size(), -held.second.front()); });
    std::vector<int> odd;
    for (const auto& [hash, ranks] : holders) {
      if (hash != most->first) odd.insert(odd.end(), ranks.begin(), ranks.end());
    }
    std::ranges::sort(odd);
    return Mismatch{i, cat(" of ", text(odd), " differs from that of ", text(most->second))};
  }
  return std::nullopt;
}

// Of hashes of variables, and of what else there is behind them, with those of other workers.
std::optional<Mismatch> mismatch_among(const HostCollectives& hosts, std::string_view name,
                                       std::span<const Variable> variables,
                                       const std::vector<uint64_t>& own) {
  const std::vector<uint64_t> all = hosts.all_gather(name, std::span<const uint64_t>(own));
  std::optional<Mismatch> mismatch = mismatch_of(all, small_first(variables, own.size()), ranks_text);
  if (!mismatch || mismatch->place >= variables.size() || variables[mismatch->place].type().elements() != 1)
    return mismatch;
  // One number is said. All workers have found the same one.
  const EagerScope eager;
  const Tensor value = make_concrete(variables[mismatch->place].state()->value.node()->dense());
  const std::vector<double> values = hosts.of_each("audit value", convert(value, DType::kF64).item<double>());
  std::map<int, std::map<std::string, std::string>> texts;
  for (size_t rank = 0; rank < values.size(); ++rank)
    texts[static_cast<int>(rank)]["it"] =
        value.dtype() == DType::kF32 ? shortest(static_cast<float>(values[rank])) : shortest(values[rank]);
  int alone = -1;
  if (const std::string text = mismatch_text(texts, alone); !text.empty()) mismatch->values = cat(": ", text);
  return mismatch;
}

class AuditOfWorkers final : public Audit {
 public:
  explicit AuditOfWorkers(const HostCollectives& hosts) : hosts_(hosts) {}
  std::optional<Mismatch> first_mismatch(std::span<const Variable> variables) override {
    return mismatch_among(hosts_, "audit", variables, audited_hashes(variables));
  }
  const char* fix() const override {
    return "what assigns variables must do so on all workers; where nothing does, look at the memory of "
           "that machine";
  }

 private:
  const HostCollectives hosts_;
};

class AuditOfDevices final : public Audit {
 public:
  AuditOfDevices(const Place& place, const RunContext& context, const Mesh& mesh)
      : place_(place), context_(context), mesh_(mesh) {}
  std::optional<Mismatch> first_mismatch(std::span<const Variable> variables) override {
    const auto same = [](const Variable& a, const Variable& b) { return a.state() == b.state(); };
    if (!program_ || !std::ranges::equal(audited_, variables, same)) {
      audited_.assign(variables.begin(), variables.end());
      program_.emplace(
          [own = audited_, world = mesh_.world](std::span<const Tensor>) {
            std::vector<Tensor> hashes;
            for (const Variable& variable : own) hashes.push_back(reshape(hash_there(variable.read()), {1}));
            return all_gather({concatenate(hashes, 0)}, 0, world);
          },
          FunctionOptions{.name = "audit", .check_captures = false});
    }
    const std::vector<Tensor> none;
    const Tensor gathered = program_->call_each({&none, 1}, place_, context_)[0][0];
    const auto hashes = gathered.data<uint32_t>();
    return mismatch_of({hashes.begin(), hashes.end()}, small_first(variables, variables.size()),
                       [this](const std::vector<int>& replicas) { return names_of(replicas); });
  }
  const char* fix() const override {
    return "a device computes or keeps other bits than the others: look at its memory and its driver";
  }

 private:
  std::string names_of(const std::vector<int>& replicas) const {
    std::string out;
    for (const int replica : replicas) out += cat(out.empty() ? "" : ", ", mesh_.name(replica));
    return out;
  }

  const Place& place_;
  const RunContext& context_;
  const Mesh& mesh_;
  std::optional<TracedFunction> program_;  // of audited_
  std::vector<Variable> audited_;
};

}  // namespace

uint64_t audited_hash(const Tensor& value) {
  return hash_bytes(value.bytes(), value.type().bytes(), value.type().bytes());
}

// Each word is mixed with its place until all bits depend on all (Appleby's finalizer of MurmurHash3), and
// the sum of all is taken. With less mixing a bit near the top of a word moves few bits of the sum, and two
// of them may cancel: two changed signs would be none.
Tensor hash_there(const Tensor& value) {
  const size_t bytes = size_of(value.dtype());
  const Tensor plain = value.dtype() == DType::kBool ? convert(value, DType::kU8) : value;
  const DType word = bytes == 1 ? DType::kU8 : bytes == 2 ? DType::kU16 : DType::kU32;
  const Tensor words = convert(bitcast_convert(reshape(plain, {plain.type().elements()}), word), DType::kU32);
  const Tensor flat = reshape(words, {words.type().elements()});
  const auto number = [&](double of) { return full_like(flat, of); };
  const auto folded = [&](const Tensor& x, int bits) { return x ^ shift_right_logical(x, number(bits)); };
  const Tensor placed = flat ^ (iota({DType::kU32, flat.shape()}, 0) * number(2654435761.0));
  const Tensor once = folded(placed, 16) * number(2246822507.0);
  const Tensor twice = folded(once, 13) * number(3266489909.0);
  return reduce_sum(folded(twice, 16), {0});
}

std::unique_ptr<Audit> audit_of_workers(const HostCollectives& hosts) {
  return std::make_unique<AuditOfWorkers>(hosts);
}

std::unique_ptr<Audit> audit_of_devices(const Place& place, const RunContext& context, const Mesh& mesh) {
  return std::make_unique<AuditOfDevices>(place, context, mesh);
}

Audits::Audits(std::unique_ptr<Audit> audit, int64_t steps, const HostCollectives& hosts,
               const Membership& membership)
    : audit_(std::move(audit)), steps_(steps), hosts_(hosts), membership_(&membership) {}

void Audits::refuse(const Mismatch& mismatch, int64_t step, std::span<const Variable> variables) const {
  throw RunError("strategy.audit",
                 cat("variable \"", variables[mismatch.place].path(), "\"", mismatch.sentence,
                     " behind step ", step, mismatch.values),
                 audit_->fix());
}

void Audits::require_equal_behind(int64_t step, std::span<const Variable> variables) const {
  if (const auto mismatch = audit_->first_mismatch(variables)) refuse(*mismatch, step, variables);
}

void Audits::require_equal_at_end(int64_t step, std::span<const Variable> variables) const {
  // What others are told of has room for so many; the last hash is of all the others.
  constexpr size_t kMost = 2048;
  std::vector<uint64_t> own{static_cast<uint64_t>(step)};
  for (const uint64_t hash : audited_hashes(variables)) {
    if (own.size() <= kMost)
      own.push_back(hash);
    else
      own.back() = hash_combine(own.back(), hash);
  }
  const std::string mine(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(uint64_t));
  const std::optional<std::vector<std::string>> said = membership_->leave_with(mine);
  if (!said) return require_equal_behind(step, variables);
  std::vector<uint64_t> all;
  for (const std::string& theirs : *said) {
    if (theirs.size() != mine.size() || theirs.substr(0, sizeof step) != mine.substr(0, sizeof step)) return;
    const size_t before = all.size();
    all.resize(before + own.size() - 1);
    std::memcpy(all.data() + before, theirs.data() + sizeof step, theirs.size() - sizeof step);
  }
  const std::vector<size_t> order = small_first(variables.first(own.size() - 1), own.size() - 1);
  if (const auto mismatch = mismatch_of(all, order, ranks_text)) refuse(*mismatch, step, variables);
}

void Audits::require_equal_in(std::string_view verb, std::span<const Variable> variables,
                              std::span<const Tensor> rows) const {
  // Devices of one process get the same from it.
  if (!any() || hosts_.world() == 1) return;
  std::vector<uint64_t> own = audited_hashes(variables);
  uint64_t data = 0;
  for (const Tensor& tensor : rows) data = hash_combine(data, audited_hash(tensor));
  own.push_back(data);
  const std::optional<Mismatch> mismatch = mismatch_among(hosts_, verb, variables, own);
  if (!mismatch) return;
  const std::string what = mismatch->place < variables.size()
                               ? cat("variable \"", variables[mismatch->place].path(), "\"")
                               : std::string("the data");
  const RunError error("strategy.audit", cat(what, mismatch->sentence, " in ", verb, mismatch->values),
                       cat("all workers ", verb, " with the same model on the same rows"));
  membership_->failed(error);
  throw error;
}

}  // namespace espalier
