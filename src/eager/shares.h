// Which of several replicas makes which new values, where all of them could.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "eager/traced_graph.h"

namespace espalier {

// Per update of `program`, in order, the replica of `replicas` that makes it. Updates that share large values
// behind the collectives stay together, and each replica has about as many bytes to make; those that come
// from before them are replica 0's.
std::vector<size_t> share_updates(const TracedGraph& program, size_t replicas);

// What replicas do together, in order: of other lists one would wait in vain, or add up other elements.
std::vector<std::string> collectives_of(const Graph& graph);
// Raises ValueError[strategy.collectives] unless they are equal.
void require_equal_collectives(std::span<const std::vector<std::string>* const> of_replicas);

// Which replica makes the new values of a variable: of any number of programs that update it, one.
class UpdateOwners {
 public:
  explicit UpdateOwners(size_t replicas) : replicas_(replicas) {}
  size_t replicas() const { return replicas_; }
  // Finds some for variables that have none yet, as share_updates() does.
  void add(const TracedGraph& program) {
    const std::vector<size_t> shares = share_updates(program, replicas_);
    for (size_t i = 0; i < shares.size(); ++i) owners_.try_emplace(program.updated[i], shares[i]);
  }
  // REQUIRES: it was in a program that was added.
  size_t of(const VariablePtr& variable) const { return owners_.at(variable); }

 private:
  size_t replicas_;
  std::map<VariablePtr, size_t> owners_;
};

// Raises ValueError[strategy.variable] where a new value of a variable depends on what differs between
// replicas: arguments, and the place of a replica.
void require_equal_updates(const TracedGraph& program);

// Raises ValueError[strategy.variable] where two traces of one function, for parts of other numbers of rows,
// give a variable new values by other constants or sizes. What comes through a collective is that of all
// parts. REQUIRES: require_equal_updates(program).
void require_updates_of_any_rows(const TracedGraph& program, const TracedGraph& of_other_rows);

// The program that makes these updates alone, by their numbers.
TracedGraph with_updates(const TracedGraph& program, const std::vector<size_t>& updates);

}  // namespace espalier
