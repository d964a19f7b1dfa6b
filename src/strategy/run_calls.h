// The calls of functions that a loop of one's own makes on the replicas of several workers: each is a step
// that all of them make.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "eager/traced_call.h"
#include "espalier/variable.h"
#include "strategy/audit.h"
#include "strategy/host_collectives.h"
#include "strategy/membership.h"

namespace espalier {

class RunCalls {
 public:
  // All outlive it.
  RunCalls(const HostCollectives& hosts, const Audits& audits, const Membership& membership)
      : hosts_(hosts), audits_(audits), membership_(membership) {}

  // Before a call runs here: sends its header, which has the number of the call, what is called and by which
  // program, and whether this worker was told to go. Raises RunError[comm.mismatch] where workers call other
  // functions, where one function is another program on the same types, as one that captured another
  // number, or where it calls other collectives on parts of other sizes. Variables that the program assigns
  // get the values of worker 0 before it assigns them for the first time. Of those that it reads alone
  // RunError[strategy.audit] is raised where workers have other values.
  void begin(const TracedCall& call);
  // Behind it: compares variables that were assigned so far, when that is due. Raises
  // RunError[strategy.audit].
  void end();
  // There are no more calls: compares them a last time, unless an error is on its way. The run is told where
  // they differ; whoever launched it ends as for any other failure.
  void leave() noexcept;
  int64_t number() const { return number_; }

 private:
  struct Header;
  // Of a program that was called before: its variables have been met.
  struct Known {
    std::weak_ptr<const Graph> graph;
    uint64_t name, signature, program, collectives;
  };
  // What is to be done before a program's first call: variables that none before it assigned, or read.
  struct Fresh {
    std::vector<Variable> assigned, read;
    uint64_t hash = 0;
  };
  const Known& known(const TracedCall& call, Fresh& fresh);
  void compare(const std::vector<Header>& all, const TracedCall& call) const;
  [[noreturn]] void refuse_collectives(size_t rank, const TracedCall& call) const;
  [[noreturn]] void refuse(const std::string& what, const std::string& fix) const;

  const HostCollectives& hosts_;
  const Audits& audits_;
  const Membership& membership_;
  int64_t number_ = 0, audited_ = 0;
  std::map<const Graph*, Known> programs_;
  // Kept: another variable at the place of one that is gone would be taken for it.
  std::set<VariablePtr> met_;
  std::vector<Variable> assigned_;
};

}  // namespace espalier
