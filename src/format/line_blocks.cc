#include "format/line_blocks.h"

#include <algorithm>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {

// Reads on until a block or, if that is longer, a line is whole; where it ends.
size_t LineBlocks::find_end() {
  for (size_t size = block_;; size = rest_.size() + block_) {
    const size_t held = rest_.size();
    if (held < size && !ended_) {
      rest_.resize(size);
      rest_.resize(held + source_->read(rest_.data() + held, size - held));
      ended_ = rest_.size() < size;
    }
    const size_t end = rest_.rfind('\n', block_ - 1);
    if (end != std::string::npos) return end + 1;
    const size_t longer = rest_.find('\n');
    if (std::min(longer, rest_.size()) > kLongest)
      throw FormatError("lines.long", cat("line ", line_, ": more than ", kLongest, " bytes"));
    if (longer != std::string::npos) return longer + 1;
    if (ended_) return rest_.size();
  }
}

bool LineBlocks::next(LineBlock& out) {
  const size_t end = find_end();
  out = {rest_.substr(0, end), line_};
  rest_.erase(0, end);
  line_ += std::count(out.text.begin(), out.text.end(), '\n');
  return end > 0;
}

}  // namespace espalier
