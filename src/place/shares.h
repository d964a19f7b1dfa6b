// Which of several replicas makes which new values, where all of them could.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "place/place.h"

namespace espalier {

// Per update of a graph, in order, the replica of `replicas` that makes it. Updates that share large values
// behind the collectives stay together, and each replica has about as many bytes to make; those that come
// from before them are replica 0's.
std::vector<size_t> share_updates(const Graph& graph, size_t replicas);

// What replicas do together, in order: of other lists one would wait in vain, or add up other elements.
std::vector<std::string> collectives_of(const Graph& graph);
// The first of two lists that are not equal, as text; "none" behind the end of one.
struct UnequalCollectives {
  UnequalCollectives(const std::vector<std::string>& own, const std::vector<std::string>& first);
  std::string cure() const;
  std::string own, first;
};
// Raises ValueError[strategy.collectives] unless they are equal.
void require_equal_collectives(std::span<const std::vector<std::string>* const> of_replicas);

// Of replicas that run one program, of so many in all processes. Raises ShapeError[strategy.values] where
// their arguments have other types.
void require_equal_arguments(std::span<const PlacedGraph> graphs, size_t world);

// Raises ValueError[strategy.variable] where a new value of a variable depends on what differs between
// replicas: arguments, and the place of a replica; and [strategy.control], see outputs_that_differ().
void require_equal_updates(const Graph& graph);

// Raises ValueError[strategy.variable] where two traces of one function, for parts of other numbers of rows,
// give a variable new values by other constants or sizes. What comes through a collective is that of all
// parts. REQUIRES: require_equal_updates(graph).
void require_updates_of_any_rows(const Graph& graph, const Graph& of_other_rows);

// All of this, of graphs of one function for parts of a batch that may have other numbers of rows.
void require_parts_of_one_batch(std::span<const PlacedGraph> graphs);

// The graph that gives these of its outputs alone, by their numbers, in this order.
GraphPtr with_outputs(const Graph& graph, std::span<const size_t> outputs);

}  // namespace espalier
