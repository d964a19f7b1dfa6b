#include "espalier/print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "ir/dispatch.h"

namespace espalier {
namespace {

constexpr int64_t kSummaryAbove = 1000, kEdge = 3;
constexpr size_t kLineWidth = 80;
constexpr int kMaxDigits = 4;

std::string printed(const char* format, int digits, double value) {
  char text[512];
  const int length = std::snprintf(text, sizeof text, format, digits, value);
  return {text, static_cast<size_t>(length)};
}

// One format for all numbers of a tensor, chosen from those that are shown.
class FloatFormat {
 public:
  void see(double value) {
    if (!std::isfinite(value) || value == 0) return;
    scientific_ = scientific_ || std::abs(value) >= 1e8 || std::abs(value) < 1e-4;
    std::string text = printed("%.*f", kMaxDigits, value);
    const size_t last = text.find_last_not_of('0');
    digits_ = std::max(digits_, static_cast<int>(last - text.find('.')));
  }
  std::string operator()(double value) const {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return printed(scientific_ ? "%.*e" : "%.*f", scientific_ ? kMaxDigits : digits_, value);
  }

 private:
  bool scientific_ = false;
  int digits_ = 1;
};

class Printer {
 public:
  explicit Printer(const Tensor& tensor)
      : tensor_(tensor),
        strides_(row_major_strides(tensor.shape())),
        summary_(tensor.type().elements() > kSummaryAbove) {}

  std::string run() {
    visit_dtype(tensor_.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* data = static_cast<const T*>(tensor_.bytes());
      if constexpr (is_floating<T>) {
        each(0, 0, [&](int64_t i) { format_.see(static_cast<double>(data[i])); });
      }
      each(0, 0, [&](int64_t i) { cells_.push_back(cell(data[i])); });
    });
    for (const std::string& text : cells_) width_ = std::max(width_, text.size());
    write(0);
    return std::move(out_);
  }

 private:
  template <class T>
  std::string cell(T value) const {
    if constexpr (is_floating<T>) {
      return format_(static_cast<double>(value));
    } else {
      return text_of(value);
    }
  }

  // The shown positions of an axis; -1 stands for "...".
  std::vector<int64_t> shown(size_t axis) const {
    const int64_t size = tensor_.shape()[axis];
    std::vector<int64_t> out;
    for (int64_t i = 0; i < size; ++i) {
      if (!summary_ || size <= 2 * kEdge || i < kEdge || i >= size - kEdge) {
        out.push_back(i);
      } else if (i == kEdge) {
        out.push_back(-1);
      }
    }
    return out;
  }

  // Calls f(offset) for each shown element in row-major order.
  template <class F>
  void each(size_t axis, int64_t offset, F f) {
    if (axis == tensor_.rank()) return f(offset);
    for (const int64_t i : shown(axis)) {
      if (i >= 0) each(axis + 1, offset + i * strides_[axis], f);
    }
  }

  void newline(size_t indent) {
    out_ += '\n';
    out_.append(indent, ' ');
  }

  size_t column() const { return out_.size() - (out_.rfind('\n') + 1); }

  void write(size_t axis) {
    if (axis == tensor_.rank()) {
      const std::string& text = cells_[next_++];
      out_.append(width_ - text.size(), ' ');
      out_ += text;
      return;
    }
    const bool row = axis + 1 == tensor_.rank();
    bool first = true;
    out_ += '[';
    for (const int64_t i : shown(axis)) {
      if (!first) {
        out_ += ',';
        if (row) {
          const size_t needed = i < 0 ? 3 : width_;
          column() + needed + 2 > kLineWidth ? newline(axis + 1) : void(out_ += ' ');
        } else {
          // One empty line more for each further axis inside.
          out_.append(tensor_.rank() - axis - 2, '\n');
          newline(axis + 1);
        }
      }
      first = false;
      i < 0 ? void(out_ += "...") : write(axis + 1);
    }
    out_ += ']';
  }

  const Tensor& tensor_;
  Dims strides_;
  bool summary_;
  FloatFormat format_;
  std::vector<std::string> cells_;
  size_t next_ = 0, width_ = 0;
  std::string out_;
};

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined tensor";
  if (!tensor.concrete()) return cat(tensor.type(), " (symbolic)");
  return cat(tensor.type(), tensor.rank() ? "\n" : " ", Printer(tensor).run());
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }

std::ostream& operator<<(std::ostream& out, const Dims& dims) { return out << cat(dims); }
std::ostream& operator<<(std::ostream& out, DType dtype) { return out << cat(dtype); }
std::ostream& operator<<(std::ostream& out, const TensorType& type) { return out << cat(type); }

}  // namespace espalier
