#include "strategy/run_calls.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/format.h"
#include "base/hash.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "ops/registry.h"
#include "place/shares.h"

namespace espalier {
namespace {

// A line for each node, by which a program is told from another one.
std::string lines_of(const Graph& graph) {
  std::string out;
  for (const Node& node : graph.nodes()) {
    out += node.op->name;
    if (node.op == &op_constant) out += cat(" ", to_string(node.attributes));
    if (const Location at = graph.location(node); at.known()) out += cat(" (at ", at, ")");
    out += '\n';
  }
  return out;
}

std::string collective_lines(const Graph& graph) {
  std::string out;
  for (const std::string& each : collectives_of(graph)) out += cat(each, "\n");
  return out;
}

std::vector<std::string> lines_in(std::string_view text) {
  std::vector<std::string> out;
  for (size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
    out.emplace_back(text.substr(0, end));
  return out;
}

// The first lines that two texts do not have alike.
std::pair<std::string, std::string> first_other_lines(std::string_view a, std::string_view b) {
  while (true) {
    const std::string_view x = a.substr(0, a.find('\n')), y = b.substr(0, b.find('\n'));
    if (x != y || (a.empty() && b.empty()))
      return {x.empty() ? "no more" : std::string(x), y.empty() ? "no more" : std::string(y)};
    a.remove_prefix(x.size() + 1);
    b.remove_prefix(y.size() + 1);
  }
}

}  // namespace

struct RunCalls::Header {
  int64_t number = 0;
  uint64_t name = 0, signature = 0, program = 0, collectives = 0, variables = 0;
  uint64_t told_to_go = 0;
};

const RunCalls::Known& RunCalls::known(const TracedCall& call, Fresh& fresh) {
  const GraphPtr& graph = call.program.graph;
  const auto found = programs_.find(graph.get());
  if (found != programs_.end() && found->second.graph.lock() == graph) return found->second;
  const auto meet = [&](const std::vector<VariablePtr>& variables, std::vector<Variable>& to) {
    for (const VariablePtr& variable : variables) {
      if (!met_.insert(variable).second) continue;
      to.emplace_back(variable);
      fresh.hash = hash_combine(fresh.hash, hash_text(cat(variable->type)));
    }
  };
  meet(call.program.updated, fresh.assigned);
  meet(call.program.variables, fresh.read);
  std::erase_if(programs_, [](const auto& each) { return each.second.graph.expired(); });
  uint64_t signature = 0;
  for (const TensorType& type : call.signature)
    signature = hash_combine(signature, hash_text(to_string(type)));
  const Known program{graph, hash_text(call.name), signature, graph->content_hash(),
                      hash_text(collective_lines(*graph))};
  return programs_.insert_or_assign(graph.get(), program).first->second;
}

void RunCalls::refuse(const std::string& what, const std::string& fix) const {
  const RunError error("comm.mismatch", cat("in call ", number_, " of Strategy::run() ", what), fix);
  membership_.failed(error);
  throw error;
}

void RunCalls::refuse_collectives(size_t rank, const TracedCall& call) const {
  const std::vector<std::string> all = hosts_.texts("collectives", collective_lines(*call.program.graph));
  const UnequalCollectives other(lines_in(all[rank]), lines_in(all[0]));
  refuse(cat("the next collective of rank ", rank, " in \"", call.name, "\" is ", other.own,
             ", and that of rank 0 is ", other.first),
         other.cure());
}

void RunCalls::compare(const std::vector<Header>& all, const TracedCall& call) const {
  const Header& first = all[0];
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const Header& other = all[rank];
    const bool same_call = other.name == first.name && other.number == first.number;
    if (!same_call) {
      const std::vector<std::string> names = hosts_.texts("called", call.name);
      refuse(cat("rank ", rank, " calls \"", names[rank], "\" where rank 0 calls \"", names[0], "\""),
             "all workers call the same functions in one order");
    }
    if (other.variables != first.variables)
      refuse(cat("of \"", call.name, "\" rank ", rank, " meets other new variables than rank 0"),
             "all workers make the same variables");
    if (other.signature != first.signature) {
      // Of parts of other sizes programs differ in their shapes, and where they meet they must not.
      if (other.collectives != first.collectives) refuse_collectives(rank, call);
      continue;
    }
    if (other.program == first.program) continue;
    const std::vector<std::string> lines = hosts_.texts("programs", lines_of(*call.program.graph));
    const auto [odd, wanted] = first_other_lines(lines[rank], lines[0]);
    refuse(
        cat("\"", call.name, "\" is another program on rank ", rank, " than on rank 0: it has ",
            shortened(odd), " where that of rank 0 has ", shortened(wanted)),
        "what a function captures is a constant of its program: let it be the same on all workers, or give "
        "it as an argument");
  }
}

void RunCalls::begin(const TracedCall& call) {
  ++number_;
  membership_.begin_step(number_);
  Fresh fresh;
  const Known& program = known(call, fresh);
  const Header own{.number = number_,
                   .name = program.name,
                   .signature = program.signature,
                   .program = program.program,
                   .collectives = program.collectives,
                   .variables = fresh.hash,
                   .told_to_go = membership_.asked_to_go()};
  const std::vector<Header> all = hosts_.of_each("call", own);
  compare(all, call);
  if (std::ranges::any_of(all, [](const Header& each) { return each.told_to_go != 0; }))
    membership_.agree_to_go();
  if (!fresh.assigned.empty()) hosts_.broadcast(fresh.assigned);
  std::ranges::move(fresh.assigned, std::back_inserter(assigned_));
  if (!fresh.read.empty()) audits_.require_equal_in(cat("run \"", call.name, "\""), fresh.read, {});
}

void RunCalls::end() {
  if (!audits_.due(number_)) return;
  audited_ = number_;
  audits_.require_equal_behind(number_, assigned_);
}

void RunCalls::leave() noexcept {
  if (!audits_.any() || audited_ == number_ || std::uncaught_exceptions() > 0) return;
  try {
    audits_.require_equal_at_end(number_, assigned_);
  } catch (const RunError& error) {
    // Of others that are gone they have said so themselves.
    if (error.rule() == "strategy.audit") membership_.failed(error);
  } catch (...) {
  }
}

}  // namespace espalier
