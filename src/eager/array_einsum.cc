#include <algorithm>
#include <map>

#include "eager/array.h"

namespace espalier {
namespace {

// Letters are themselves; the axes behind "..." are numbered from the back, from kDots + 0 on.
using Label = int;
constexpr Label kDots = 256;

// A tensor and the label of each of its axes.
struct Term {
  Tensor tensor;
  std::vector<Label> labels;
};

bool has(const std::vector<Label>& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

int64_t place(const std::vector<Label>& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

[[noreturn]] void bad_spec(std::string_view spec, const std::string& why) {
  throw ValueError("einsum.spec", cat("\"", spec, "\": ", why));
}

class Einsum {
 public:
  Einsum(std::string_view spec, const std::vector<Tensor>& operands) : spec_(spec) {
    std::string text;
    for (const char c : spec) {
      if (c != ' ') text += c;
    }
    const size_t arrow = text.find("->");
    const std::string left = text.substr(0, arrow);
    std::vector<std::string> parts{""};
    for (const char c : left) {
      if (c == ',') {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    if (parts.size() != operands.size())
      bad_spec(spec, cat("names ", parts.size(), " operands, got ", operands.size()));
    for (size_t i = 0; i < parts.size(); ++i) add_term(i, parts[i], operands[i]);
    result_ = arrow == std::string::npos ? implicit_result() : explicit_result(text.substr(arrow + 2));
  }

  Tensor run() {
    for (Term& term : terms_) prepare(term);
    Term all = terms_[0];
    for (size_t i = 1; i < terms_.size(); ++i) all = contract(all, terms_[i], i + 1);
    return arrange(sum_away(all, result_));
  }

 private:
  // Labels of one operand's text. `dots` is the number of axes that "..." stands for.
  std::vector<Label> parse(const std::string& part, size_t dots, bool* found) const {
    std::vector<Label> out;
    *found = false;
    for (size_t i = 0; i < part.size(); ++i) {
      if (part.compare(i, 3, "...") == 0 && !*found) {
        *found = true;
        for (size_t k = dots; k-- > 0;) out.push_back(kDots + static_cast<Label>(k));
        i += 2;
      } else if (std::isalpha(static_cast<unsigned char>(part[i]))) {
        out.push_back(part[i]);
      } else {
        bad_spec(spec_, cat("has '", part.substr(i, 1), "' where a letter or one ... stands"));
      }
    }
    return out;
  }

  void add_term(size_t i, const std::string& part, const Tensor& tensor) {
    bool found = false;
    const size_t letters = parse(part, 0, &found).size();
    if (letters > tensor.rank() || (letters < tensor.rank() && !found)) {
      throw ShapeError("einsum.rank", cat("\"", part, "\" names ", letters, " axes of operand ", i,
                                          ", which is ", tensor.type()));
    }
    Term term{tensor, parse(part, tensor.rank() - letters, &found)};
    dots_ = std::max(dots_, tensor.rank() - letters);
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      const int64_t size = tensor.shape()[axis];
      const int64_t twin = tensor.shape()[static_cast<size_t>(place(term.labels, term.labels[axis]))];
      if (size != twin) {
        throw ShapeError("einsum.size",
                         cat(label_text(term.labels[axis]), " is ", twin, " and ", size, " in operand ", i,
                             " (", tensor.type(), "): a size of 1 stands for another across operands alone"));
      }
      int64_t& known = sizes_.emplace(term.labels[axis], size).first->second;
      if (known == 1) known = size;
      if (size != known && size != 1) {
        throw ShapeError("einsum.size", cat(label_text(term.labels[axis]), " is ", known, " and, in operand ",
                                            i, " (", tensor.type(), "), ", size));
      }
    }
    terms_.push_back(std::move(term));
  }

  static std::string label_text(Label label) {
    if (label < kDots) return cat("'", std::string(1, static_cast<char>(label)), "'");
    return cat("axis ", kDots - label - 1, " of ...");
  }

  std::vector<Label> implicit_result() const {
    std::vector<Label> out;
    for (size_t k = dots_; k-- > 0;) out.push_back(kDots + static_cast<Label>(k));
    for (const auto& [label, size] : sizes_) {
      size_t count = 0;
      for (const Term& term : terms_) count += std::count(term.labels.begin(), term.labels.end(), label);
      if (label < kDots && count == 1) out.push_back(label);
    }
    return out;
  }

  std::vector<Label> explicit_result(const std::string& part) const {
    bool found = false;
    const std::vector<Label> out = parse(part, dots_, &found);
    if (dots_ && !found) bad_spec(spec_, "the result leaves out the axes of ...");
    for (const Label label : out) {
      if (!sizes_.contains(label)) bad_spec(spec_, cat("no operand has the result's ", label_text(label)));
      if (std::count(out.begin(), out.end(), label) > 1)
        bad_spec(spec_, cat("the result names ", label_text(label), " twice"));
    }
    return out;
  }

  // Drops axes of size 1 that broadcast, and takes diagonals of repeated labels.
  void prepare(Term& term) const {
    Shape shape;
    std::vector<Label> labels;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      const int64_t size = term.tensor.shape()[axis];
      if (size == 1 && sizes_.at(term.labels[axis]) != 1) continue;
      shape.push_back(size);
      labels.push_back(term.labels[axis]);
    }
    Tensor x = reshape(term.tensor, shape);
    for (size_t axis = 0; axis < labels.size(); ++axis) {
      for (size_t twin = labels.size(); --twin > axis;) {
        if (labels[twin] != labels[axis]) continue;
        const TensorType index{DType::kI32, x.shape()};
        const Tensor hit = compare(iota(index, static_cast<int64_t>(axis)),
                                   iota(index, static_cast<int64_t>(twin)), Comparison::kEQ);
        x = reduce_sum(select(hit, x, zeros_like(x)), {static_cast<int64_t>(twin)});
        labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(twin));
      }
    }
    term = {x, labels};
  }

  static Term sum_away(const Term& term, const std::vector<Label>& kept) {
    Dims axes;
    Term out;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      if (has(kept, term.labels[axis])) {
        out.labels.push_back(term.labels[axis]);
      } else {
        axes.push_back(static_cast<int64_t>(axis));
      }
    }
    out.tensor = reduce_sum(term.tensor, axes);
    return out;
  }

  // The product of two terms; labels that neither the result nor a term from `next` on has are summed.
  Term contract(const Term& left, const Term& right, size_t next) const {
    std::vector<Label> later = result_;
    for (size_t i = next; i < terms_.size(); ++i)
      later.insert(later.end(), terms_[i].labels.begin(), terms_[i].labels.end());
    const auto with = [&](const Term& other) {
      std::vector<Label> out = later;
      out.insert(out.end(), other.labels.begin(), other.labels.end());
      return out;
    };
    const Term a = sum_away(left, with(right)), b = sum_away(right, with(left));
    DotAxes axes;
    Term out;
    std::vector<Label> free;
    for (size_t i = 0; i < a.labels.size(); ++i) {
      const Label label = a.labels[i];
      if (!has(b.labels, label)) {
        free.push_back(label);
        continue;
      }
      const bool batch = has(later, label);
      (batch ? axes.lhs_batching : axes.lhs_contracting).push_back(static_cast<int64_t>(i));
      (batch ? axes.rhs_batching : axes.rhs_contracting).push_back(place(b.labels, label));
      if (batch) out.labels.push_back(label);
    }
    for (const Label label : b.labels) {
      if (!has(a.labels, label)) free.push_back(label);
    }
    out.labels.insert(out.labels.end(), free.begin(), free.end());
    out.tensor = dot_general(a.tensor, b.tensor, axes);
    return out;
  }

  // The axes in the result's order.
  Tensor arrange(const Term& term) const {
    Dims permutation;
    for (const Label label : result_) permutation.push_back(place(term.labels, label));
    return transpose(term.tensor, permutation);
  }

  std::string_view spec_;
  std::vector<Term> terms_;
  std::map<Label, int64_t> sizes_;
  std::vector<Label> result_;
  size_t dots_ = 0;
};

}  // namespace

Tensor einsum(std::string_view spec, const std::vector<Tensor>& operands, Location at) {
  CallScope scope(at);
  return Einsum(spec, operands).run();
}

}  // namespace espalier
