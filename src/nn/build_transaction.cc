#include "nn/build_transaction.h"

#include <exception>
#include <utility>
#include <vector>

#include "eager/trace.h"

namespace espalier {
namespace {

thread_local std::vector<std::function<void()>> undo_log;
thread_local std::vector<Structure::Changed> traced_meanwhile;  // of traces that hold what may be forgotten
thread_local int open_transactions = 0, forgetting_transactions = 0;

}  // namespace

BuildTransaction::BuildTransaction() : begin_(undo_log.size()), exceptions_(std::uncaught_exceptions()) {
  ++open_transactions;
  Trace::add_open(traced_meanwhile);
}

BuildTransaction::~BuildTransaction() {
  if (forgets_) --forgetting_transactions;
  if ((forgets_ || std::uncaught_exceptions() > exceptions_) && undo_log.size() > begin_) {
    for (const Structure::Changed& changed : traced_meanwhile) *changed = true;
    for (; undo_log.size() > begin_; undo_log.pop_back()) undo_log.back()();
  }
  if (--open_transactions > 0) return;
  undo_log.clear();
  traced_meanwhile.clear();
}

void BuildTransaction::forget() {
  if (!std::exchange(forgets_, true)) ++forgetting_transactions;
}
bool BuildTransaction::forgets() { return forgetting_transactions > 0; }

void BuildTransaction::on_refusal(std::function<void()> undo) {
  undo_log.push_back(std::move(undo));
  Trace::add_open(traced_meanwhile);
}

}  // namespace espalier
