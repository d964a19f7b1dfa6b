// Whether all replicas hold equal variables, and workers equal rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/variable.h"
#include "place/place.h"
#include "strategy/host_collectives.h"
#include "strategy/membership.h"
#include "strategy/mesh.h"

namespace espalier {

// Of all bytes of a value, on the host.
uint64_t audited_hash(const Tensor& value);

// u32[]: of all bits of `value` and of their places, by ops, so that it is computed where the value lies.
// Other bits have another hash but for one case in 2^32.
Tensor hash_there(const Tensor& value);

// Which of several values one holder has another of: the smallest, and " of rank 1 differs from that of
// rank 0".
struct Mismatch {
  size_t place = 0;
  std::string sentence;
  std::string values = {};  // ": it is 0.1 on rank 0 and 0.2 on rank 1", of one number that workers have
};

// How replicas look for a variable that they hold other values of.
class Audit {
 public:
  virtual ~Audit() = default;
  virtual std::optional<Mismatch> first_mismatch(std::span<const Variable> variables) = 0;
  // What to do about one.
  virtual const char* fix() const = 0;
};
// Each worker hashes its own on the host.
std::unique_ptr<Audit> audit_of_workers(const HostCollectives& hosts);
// Replicas on devices hash them where they lie, by a program of their place, and have names. All outlive it.
std::unique_ptr<Audit> audit_of_devices(const Place& place, const RunContext& context, const Mesh& mesh);

// When they look, and what they raise.
class Audits {
 public:
  // Never: of one holder.
  Audits() = default;
  // Every so many steps, 0: never. `membership` outlives it.
  Audits(std::unique_ptr<Audit> audit, int64_t steps, const HostCollectives& hosts,
         const Membership& membership);

  // Whether variables are compared at all, behind the last step of a run at least; whether they are behind
  // this one; and that: raises RunError[strategy.audit].
  bool any() const { return steps_ > 0; }
  bool due(int64_t step) const { return any() && step % steps_ == 0; }
  void require_equal_behind(int64_t step, std::span<const Variable> variables) const;
  // At the end of a worker, which waits for nobody: others may go on, and miss it. Who is the last to come
  // raises it, where all come behind the same step.
  void require_equal_at_end(int64_t step, std::span<const Variable> variables) const;
  // Before workers evaluate or predict together, unless variables are never compared: that these and their
  // rows are the same. Raises RunError[strategy.audit], and tells the run.
  void require_equal_in(std::string_view verb, std::span<const Variable> variables,
                        std::span<const Tensor> rows) const;

 private:
  [[noreturn]] void refuse(const Mismatch& mismatch, int64_t step, std::span<const Variable> variables) const;
  std::unique_ptr<Audit> audit_ = {};
  int64_t steps_ = 0;
  HostCollectives hosts_ = {};
  const Membership* membership_ = nullptr;
};

}  // namespace espalier
