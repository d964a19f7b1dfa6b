#include "data/dataset_node.h"

namespace espalier {
namespace {

class GeneratedElements final : public ElementIterator {
 public:
  GeneratedElements(ElementSource source, Location at) : source_(std::move(source)), at_(at) {}
  bool next(Tensors& element) override {
    if (!source_) return false;
    std::optional<Tensors> given = source_();
    if (!given) {
      source_ = nullptr;
      return false;
    }
    const CallScope scope(at_);
    check_element(*given, "the generator");
    check_signature(*given);
    element = std::move(*given);
    ++number_;
    return true;
  }

 private:
  void check_signature(const Tensors& given) {
    constexpr const char* kRule = "from_generator.signature";
    if (number_ == 0) first_ = types_of(given);
    bool ranks = given.size() == first_.size(), dtypes = true;
    for (size_t i = 0; ranks && i < given.size(); ++i) {
      ranks = given[i].rank() == first_[i].rank();
      dtypes = dtypes && given[i].dtype() == first_[i].dtype;
    }
    if (ranks && dtypes) return;
    const std::string both =
        cat("the first is ", types_text(first_), ", number ", number_, " is ", types_text(given));
    if (!ranks) throw ShapeError(kRule, cat("elements must have as many tensors of the same ranks: ", both));
    throw DTypeError(kRule, cat("elements must have the same dtypes: ", both));
  }

  ElementSource source_;  // empty behind its end
  Location at_;
  std::vector<TensorType> first_;
  int64_t number_ = 0;
};

class GeneratorNode final : public DatasetNode {
 public:
  GeneratorNode(std::function<ElementSource()> make, Location at)
      : DatasetNode({}, at), make_(std::move(make)) {
    require(static_cast<bool>(make_));
  }
  ElementIteratorPtr iterate(const DatasetPass&) const override {
    ElementSource source = make_();
    require(static_cast<bool>(source));
    return std::make_unique<GeneratedElements>(std::move(source), at());
  }
  int64_t cardinality() const override { return Dataset::kUnknown; }
  std::string text() const override { return "from_generator()"; }

 private:
  static void require(bool given) {
    if (!given) throw ValueError("from_generator.function", "the function is empty");
  }
  std::function<ElementSource()> make_;
};

}  // namespace

Dataset Dataset::from_generator(std::function<ElementSource()> make, Location at) {
  const CallScope scope(at);
  return Dataset::make<GeneratorNode>(std::move(make), at);
}

}  // namespace espalier
