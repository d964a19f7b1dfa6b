// Attributes of one op: a plain struct with one list of fields. Equality, hash, text and parsing all follow
// from it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/literal.h"

namespace espalier {

// Visits the fields of an attribute struct, to read or to write them. A field whose value equals its default
// may be left out of text; `name` is the attribute's name in StableHLO's generic form.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void field(const char* name, bool& value) = 0;
  virtual void field(const char* name, int64_t& value) = 0;
  virtual void field(const char* name, double& value) = 0;
  virtual void field(const char* name, std::string& value) = 0;
  virtual void field(const char* name, Dims& value) = 0;
  virtual void field(const char* name, DType& value) = 0;
  virtual void field(const char* name, TensorType& value) = 0;
  virtual void field(const char* name, Literal& value) = 0;
  // One of `words`, stored as its position.
  virtual void word(const char* name, int& value, std::span<const char* const> words) = 0;

  template <class Enum>
  void word(const char* name, Enum& value, std::span<const char* const> words) {
    int position = static_cast<int>(value);
    word(name, position, words);
    // Attributes that are only looked at belong to several threads.
    if (position != static_cast<int>(value)) value = static_cast<Enum>(position);
  }
};

class Attributes {
 public:
  virtual ~Attributes() = default;
  virtual void fields(FieldVisitor& visitor) = 0;
};
using AttributesPtr = std::shared_ptr<const Attributes>;

bool equal(const AttributesPtr& a, const AttributesPtr& b);
uint64_t hash(const AttributesPtr& attributes);
// "{permutation = [1,0]}": for messages and graphs drawn for people.
std::string to_string(const AttributesPtr& attributes);

// For a registry: makes a struct with defaults.
using AttributesFactory = std::shared_ptr<Attributes> (*)();
template <class A>
std::shared_ptr<Attributes> make_attributes() {
  return std::make_shared<A>();
}

}  // namespace espalier
