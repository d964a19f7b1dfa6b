// Loops over counters, merged where all that runs in them is contiguous.
#pragma once

#include <functional>
#include <string>

#include "text/c_index.h"

namespace espalier::c_text {

// `value` must lie in 0 to size - 1, else the inner loops leave out what they do.
struct Bound {
  Affine value;
  int64_t size = 0;
};

// The first `outer` counters run over results, the others over what each result sums up.
struct Nest {
  Dims sizes;
  size_t outer = 0;
  std::vector<Bound> bounds = {};

  size_t add(int64_t size) {
    sizes.push_back(size);
    return sizes.size() - 1;
  }
};

// Writes the loops of one nest. Counters beyond the nest's are variables that the body declares: s0, s1, ....
class Loops {
 public:
  explicit Loops(const Nest& nest) : nest_(nest) {}

  // The text of an index; REQUIRES: called by a part of print().
  std::string text(const Affine& index);
  // Appends a line of the body.
  void line(const std::string& text) { body_ += std::string(2 * depth_, ' ') + text + "\n"; }
  static std::string start_name(size_t k) { return "s" + std::to_string(k); }
  size_t first_start() const { return nest_.sizes.size(); }

  // Loops over outer counters around `before`, then loops over the inner ones around `inner` (null: none),
  // then `after`.
  std::string print(const std::function<void()>& before, const std::function<void()>& inner,
                    const std::function<void()>& after);

 private:
  void merge();
  std::string run(const std::function<void()>& before, const std::function<void()>& inner,
                  const std::function<void()>& after);
  size_t open(size_t first, size_t last);
  void close(size_t count);
  size_t open_bounds();

  const Nest& nest_;
  bool recording_ = true;
  std::vector<Affine> recorded_;
  // Per counter: whether the next one goes on where it stands, so that both are one loop, named by the last.
  std::vector<bool> merged_;
  std::vector<std::string> names_;
  std::string body_;
  size_t depth_ = 1;
};

}  // namespace espalier::c_text
