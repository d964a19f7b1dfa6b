#include "ir/builder.h"
#include "ops/support.h"

namespace espalier {
namespace {

// Gives every attribute that names a type the dtype under test.
class FillTypes final : public FieldVisitor {
 public:
  explicit FillTypes(DType dtype) : dtype_(dtype) {}
  void field(const char*, bool&) override {}
  void field(const char*, int64_t&) override {}
  void field(const char*, double&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, Dims&) override {}
  void field(const char*, DType& value) override { value = dtype_; }
  void field(const char*, TensorType& value) override { value = {dtype_, {2}}; }
  void field(const char*, Literal& value) override { value = Literal::splat({dtype_, {}}, int64_t{1}); }
  void word(const char*, int&, std::span<const char* const>) override {}

 private:
  DType dtype_;
};

bool sample_succeeds(const OpDef& op, DType dtype) {
  struct Seen final : Recorder {
    explicit Seen(const OpDef& op) : op(op) {}
    void record(const Call& call, std::span<const Tensor>) override { found = found || &call.op == &op; }
    const OpDef& op;
    bool found = false;
  };
  GraphBuilder builder;
  SinkScope scope(builder);
  Seen seen(op);
  try {
    op.sample(dtype);
  } catch (const Error&) {
    return false;
  }
  return seen.found;
}

bool rule_takes(const OpDef& op, const Attributes* attributes, const std::vector<TensorType>& operands) {
  std::vector<const TensorType*> types;
  for (const TensorType& type : operands) types.push_back(&type);
  try {
    infer_types(op, attributes, types, {});
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool some_operands_fit(const OpDef& op, DType dtype) {
  std::shared_ptr<Attributes> attributes = op.attributes ? op.attributes() : nullptr;
  if (attributes) {
    FillTypes fill(dtype);
    attributes->fields(fill);
  }
  for (const Shape& shape : {Shape{2, 2}, Shape{2}, Shape{}}) {
    for (const size_t count : {1, 2, 3, 4, 0}) {
      std::vector<TensorType> operands(count, TensorType{dtype, shape});
      if (rule_takes(op, attributes.get(), operands)) return true;
      if (count < 2) continue;
      operands[0].dtype = DType::kBool;
      if (rule_takes(op, attributes.get(), operands)) return true;
    }
  }
  return false;
}

}  // namespace

DTypeFlags supported_dtypes(const OpDef& op) {
  DTypeFlags out{};
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    out[static_cast<size_t>(i)] = op.sample ? sample_succeeds(op, dtype) : some_operands_fit(op, dtype);
  }
  return out;
}

}  // namespace espalier
