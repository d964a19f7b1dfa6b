#include "ir/attributes.h"

#include "base/format.h"
#include "base/hash.h"

namespace espalier {
namespace {

// The canonical bytes of all fields but literals, which are compared by value.
class KeyWriter final : public FieldVisitor {
 public:
  std::string key;
  std::vector<Literal> literals;

  using FieldVisitor::word;
  void field(const char*, bool& value) override { put(value); }
  void field(const char*, int64_t& value) override { put(value); }
  void field(const char*, double& value) override { put(value); }
  void field(const char*, std::string& value) override {
    put(value.size());
    key += value;
  }
  void field(const char*, Dims& value) override {
    put(value.size());
    for (const int64_t size : value) put(size);
  }
  void field(const char*, DType& value) override { put(value); }
  void field(const char* name, TensorType& value) override {
    field(name, value.dtype);
    field(name, value.shape);
  }
  void field(const char*, Literal& value) override { literals.push_back(value); }
  void word(const char*, int& value, std::span<const char* const>) override { put(value); }

 private:
  template <class T>
  void put(const T& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
};

class TextWriter final : public FieldVisitor {
 public:
  std::string text;
  using FieldVisitor::word;
  void field(const char* name, bool& value) override { put(name, value ? "true" : "false"); }
  void field(const char* name, int64_t& value) override { put(name, std::to_string(value)); }
  void field(const char* name, double& value) override { put(name, std::to_string(value)); }
  void field(const char* name, std::string& value) override { put(name, value); }
  void field(const char* name, Dims& value) override { put(name, to_string(value)); }
  void field(const char* name, DType& value) override { put(name, std::string(espalier::name(value))); }
  void field(const char* name, TensorType& value) override { put(name, to_string(value)); }
  void field(const char* name, Literal& value) override {
    put(name, value.type().elements() == 1 || value.is_splat()
                  ? cat(load_scalar(value.type().dtype, value.raw()), " : ", value.type())
                  : to_string(value.type()));
  }
  void word(const char* name, int& value, std::span<const char* const> words) override {
    put(name, words[value]);
  }

 private:
  void put(const char* name, const std::string& value) {
    text += cat(text.empty() ? "" : ", ", name, " = ", value);
  }
};

KeyWriter key_of(const Attributes& attributes) {
  KeyWriter writer;
  const_cast<Attributes&>(attributes).fields(writer);
  return writer;
}

}  // namespace

bool equal(const AttributesPtr& a, const AttributesPtr& b) {
  if (a == b) return true;
  if (!a || !b) return false;
  const Attributes &one = *a, &other = *b;
  if (typeid(one) != typeid(other)) return false;
  const KeyWriter x = key_of(*a), y = key_of(*b);
  return x.key == y.key && x.literals == y.literals;
}

uint64_t hash(const AttributesPtr& attributes) {
  if (!attributes) return 0;
  const KeyWriter key = key_of(*attributes);
  uint64_t h = hash_bytes(key.key.data(), key.key.size());
  for (const Literal& literal : key.literals) h = hash_combine(h, literal.hash());
  return h;
}

std::string to_string(const AttributesPtr& attributes) {
  if (!attributes) return "";
  TextWriter writer;
  const_cast<Attributes&>(*attributes).fields(writer);
  return cat("{", writer.text, "}");
}

}  // namespace espalier
