#include "data/dataset_source.h"

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
    signature_.check(*given, number_++);
    element = std::move(*given);
    return true;
  }

  void save(DatasetCursor& out) override { out.steps.push_back(number_); }
  void restore(CursorReader& from) override {
    const int64_t wanted = from.number("from_generator", 0, std::numeric_limits<int64_t>::max());
    require_restored("from_generator", wanted, skip(wanted));
  }

 private:
  ElementSource source_;  // empty behind its end
  Location at_;
  ElementSignature signature_{"from_generator.signature"};
  int64_t number_ = 0;
};

class GeneratorNode final : public DatasetNode {
 public:
  GeneratorNode(std::function<ElementSource()> make, Location at)
      : DatasetNode({}, at), make_(std::move(make)) {
    require(static_cast<bool>(make_));
    mark("from_generator");
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
