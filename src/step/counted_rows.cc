#include "step/counted_rows.h"

#include <algorithm>
#include <cstring>

#include "espalier/run_context.h"
#include "ir/device.h"
#include "ir/sink.h"

namespace espalier {

std::optional<StepRows> only_counted_rows(std::span<const Tensor> arguments,
                                          std::span<const int64_t> numbers) {
  const Literal& given = arguments.back().node()->literal();
  const auto* weights = reinterpret_cast<const float*>(given.raw());
  const auto rows = static_cast<size_t>(given.is_splat() ? 1 : given.type().elements());
  if (std::none_of(weights, weights + rows, [](float weight) { return weight == 0; })) return std::nullopt;

  constexpr size_t kNone = static_cast<size_t>(-1);
  const auto count = static_cast<size_t>(given.type().elements());
  const auto counts = [&](size_t row) { return weights[given.is_splat() ? 0 : row] != 0; };
  size_t last = kNone;
  for (size_t i = 0; i < count; ++i) {
    if (counts(i)) last = i;
  }
  std::vector<size_t> from;
  for (size_t i = 0; i < count; ++i) from.push_back(counts(i) ? i : last);
  StepRows out;
  for (const Tensor& argument : arguments.first(arguments.size() - 1)) {
    const TensorType& type = argument.type();
    const size_t bytes = type.bytes() / count;
    const Buffer buffer = allocate_buffer(type.bytes());
    const auto* source = static_cast<const std::byte*>(argument.bytes());
    for (size_t i = 0; i < count && bytes; ++i) {
      std::byte* const to = buffer.get() + i * bytes;
      if (from[i] == kNone) {
        std::memset(to, 0, bytes);
      } else {
        std::memcpy(to, source + from[i] * bytes, bytes);
      }
    }
    out.arguments.push_back(make_concrete(Literal(type, buffer)));
  }
  out.arguments.push_back(arguments.back());
  for (size_t i = 0; i < numbers.size(); ++i) out.numbers.push_back(numbers[from[i] == kNone ? i : from[i]]);
  return out;
}

bool some_row_counts(const Tensor& weights) {
  const Literal& given = weights.node()->literal();
  const auto* values = reinterpret_cast<const float*>(given.raw());
  const int64_t rows = given.type().elements();
  return std::any_of(values, values + (given.is_splat() ? std::min<int64_t>(rows, 1) : rows),
                     [](float weight) { return weight != 0; });
}

std::vector<Tensor> where_variables_are(std::span<const Tensor> rows) {
  std::vector<Tensor> out(rows.begin(), rows.end());
  Device* const device = RunContext::current().device;
  for (Tensor& each : out) {
    if (device) each = make_remote(each.node()->literal(), *device);
  }
  return out;
}

bool are_equal_rows(std::span<const Tensor> rows, int64_t a, int64_t b) {
  return std::ranges::all_of(rows, [&](const Tensor& array) {
    const size_t bytes = array.type().bytes() / static_cast<size_t>(array.size(0));
    const auto* const all = static_cast<const std::byte*>(array.bytes());
    return !bytes ||
           !std::memcmp(all + static_cast<size_t>(a) * bytes, all + static_cast<size_t>(b) * bytes, bytes);
  });
}

}  // namespace espalier
