// The traces of one function: by one thread at a time, and what the last of them depends on.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "eager/traced_graph.h"
#include "espalier/function.h"

namespace espalier {

class Traces {
 public:
  // Both outlive it.
  Traces(const FunctionOptions& options, const TracedFunction::Body& body);
  Traces(const FunctionOptions& options, TracedFunction::Tracer tracer);

  // Raises StateError[function.recursion] on the thread that traces.
  void require_outside() const;
  bool are_known(const RunContext& context) const { return last && last->hold(context); }

  // See TracedFunction::graph().
  std::shared_ptr<const Graph> graph(std::span<const Tensor> arguments, const std::string& after,
                                     const RunContext& context);

  std::mutex mutex;  // held while the body runs, which one thread does at a time, and for what follows
  // After `after`, or all rewrites.
  TracedGraph trace(std::span<const TensorType> types, bool again, const std::string& after = "");
  // Calls `body` as one that traces.
  void between(const std::function<void()>& body);
  std::optional<Structures> last;  // of the last trace

 private:
  // While the body runs on this thread.
  struct Inside {
    explicit Inside(Traces& traces) : traces(traces) { traces.thread_ = std::this_thread::get_id(); }
    ~Inside() { traces.thread_ = std::thread::id(); }
    Traces& traces;
  };

  const FunctionOptions& options_;
  const TracedFunction::Tracer tracer_;
  std::atomic<std::thread::id> thread_;  // that traces
};

// The first node that differs between two traces of one function.
std::string first_difference(const Graph& a, const Graph& b);

}  // namespace espalier
