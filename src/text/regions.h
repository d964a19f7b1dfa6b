// Regions and the words that stand for them, and where captured values stand among operands.
#pragma once

#include "ir/graph.h"

namespace espalier::text {

// The word of `words` for what `region` does ("sum" for a region that adds its two arguments, one pair per
// result), or -1. Captured values make it none. `op` is whose region it is.
int region_word(std::string_view op, const Graph& region, std::span<const char* const> words);
// The StableHLO op that combines two elements as `word` says: "add" for "sum"; "" for a word that keeps the
// second. Null for a word that means nothing here.
const char* word_op(std::string_view word);

// Sees words alone.
class WordVisitor : public FieldVisitor {
 public:
  using FieldVisitor::word;
  void field(const char*, bool&) override {}
  void field(const char*, int64_t&) override {}
  void field(const char*, double&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, Dims&) override {}
  void field(const char*, DType&) override {}
  void field(const char*, TensorType&) override {}
  void field(const char*, Literal&) override {}
};

struct RegionWord {
  std::string field, word;
  std::span<const char* const> words;
};
// The words that stand for regions, in the order of the regions.
std::vector<RegionWord> region_words(const Attributes& attributes);
// What `word` means as a region of `op` over elements of these types; null when it cannot be said.
GraphPtr word_region(std::string_view op, std::string_view word, std::span<const TensorType> elements);

// Whether region_word() finds `word` again in the region that word_region() makes of it.
bool is_recognised(std::string_view op, std::string_view word);

// How many of a call's inputs stand before the captured values, for a call of an op with regions.
size_t explicit_inputs(std::string_view op, size_t inputs, size_t results);

}  // namespace espalier::text
