// Reads attributes by name: kernels, plans and exports see the private structs of op files only so.
#pragma once

#include <cstring>
#include <optional>

#include "ir/attributes.h"

namespace espalier {

class AttributeReader final : public FieldVisitor {
 public:
  AttributeReader(const Attributes* attributes, const char* wanted) : wanted_(wanted) {
    // fields() is one list for reading and writing; this visitor only reads.
    if (attributes) const_cast<Attributes*>(attributes)->fields(*this);
  }
  std::optional<Dims> dims;
  std::optional<int64_t> integer;  // of an integer, a bool or the position of a word
  std::optional<double> real;

  void field(const char* name, bool& value) override { take(name, integer, int64_t{value}); }
  void field(const char* name, int64_t& value) override { take(name, integer, value); }
  void field(const char* name, double& value) override { take(name, real, value); }
  void field(const char*, std::string&) override {}
  void field(const char* name, Dims& value) override { take(name, dims, value); }
  void field(const char*, DType&) override {}
  void field(const char*, TensorType&) override {}
  void field(const char*, Literal&) override {}
  void word(const char* name, int& value, std::span<const char* const>) override {
    take(name, integer, int64_t{value});
  }

 private:
  template <class T>
  void take(const char* name, std::optional<T>& place, const T& value) {
    if (std::strcmp(name, wanted_) == 0) place = value;
  }
  const char* wanted_;
};

inline Dims read_dims(const Attributes* attributes, const char* name) {
  return AttributeReader(attributes, name).dims.value_or(Dims{});
}
inline int64_t read_integer(const Attributes* attributes, const char* name) {
  return AttributeReader(attributes, name).integer.value_or(0);
}
inline double read_real(const Attributes* attributes, const char* name) {
  return AttributeReader(attributes, name).real.value_or(0);
}

}  // namespace espalier
