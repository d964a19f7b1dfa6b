// Values of variables on a device, read without a wait for each step.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "espalier/function.h"
#include "espalier/variable.h"
#include "ir/state.h"

namespace espalier {

// Loss and metrics of a run change with every step, and who reads one waits for all steps that were started.
// So they are packed, by a small program on the device, into one array a dtype, and that is downloaded when
// some steps more have been started.
class DeferredReads {
 public:
  // Packs the values that these variables have now. Without one that lies on a device nothing is taken.
  void take(const std::vector<Variable>& variables);
  bool taken() const { return !packed_.empty(); }
  void forget() { packed_.clear(); }

  // What was taken of which variables, for another that uses them meanwhile.
  struct Taken {
    std::vector<Variable> variables;
    std::vector<Tensor> packed;
  };
  Taken take_away() { return {variables_, std::exchange(packed_, {})}; }
  // As if nothing had been taken since; where the variables are others by now, as if nothing had been before.
  void put_back(Taken taken);

  // While it lives, the variables have, for this thread's read(), the values that were taken last; nothing
  // else where none were. One download a dtype.
  class View {
   public:
    explicit View(DeferredReads& values);
    View(const View&) = delete;
    View& operator=(const View&) = delete;

   private:
    std::optional<StateScope> scope_;
  };

 private:
  std::vector<Variable> variables_;
  std::optional<TracedFunction> pack_;  // of these variables
  std::vector<Tensor> packed_;
};

}  // namespace espalier
