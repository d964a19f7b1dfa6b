#include "train/array_copies.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "espalier/run_context.h"
#include "ir/sink.h"

namespace espalier {

std::vector<NamedArray> ArrayCopies::of(const std::vector<std::pair<std::string, Variable>>& variables) {
  struct Piece {
    std::byte* to;
    const std::byte* from;
    size_t bytes;
  };
  constexpr size_t kPiece = size_t{1} << 20;
  std::vector<NamedArray> out;
  std::vector<Literal> sources;
  std::vector<Piece> pieces;
  std::map<std::string, Literal> next;
  for (const auto& [name, variable] : variables) {
    const Literal& now = sources.emplace_back(variable.read().node()->dense());
    const auto before = kept_.find(name);
    const bool fits = before != kept_.end() && before->second.type() == now.type();
    const Literal copy = fits ? before->second : Literal(now.type(), allocate_buffer(now.type().bytes()));
    for (size_t at = 0; at < now.raw_bytes(); at += kPiece)
      pieces.push_back({copy.buffer().get() + at, static_cast<const std::byte*>(now.raw()) + at,
                        std::min(kPiece, now.raw_bytes() - at)});
    next.emplace(name, copy);
    out.push_back({name, copy});
  }
  pool_.parallel_for(std::ssize(pieces), [&](int64_t i) {
    const Piece& piece = pieces[static_cast<size_t>(i)];
    std::memcpy(piece.to, piece.from, piece.bytes);
  });
  kept_ = std::move(next);
  return out;
}

}  // namespace espalier
