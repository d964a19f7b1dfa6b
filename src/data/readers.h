// Several readers that go through data together, and what they tell each other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/dataset.h"

namespace espalier {

// Reader `rank` of `count`.
struct Readers {
  int64_t rank = 0, count = 1;
  // What all of them give, one behind the other; each gives as many bytes. All call it alike.
  std::function<std::string(std::string_view name, std::string_view mine)> gather = {};
  // One text of each, of any sizes.
  std::vector<std::string> texts(std::string_view name, std::string mine) const;
};

// What readers of one program send each other: numbers, one behind the other, and what is made of them. Each
// is taken from the begin of a text as it was appended.
void append(std::string& text, int64_t number);
int64_t take(std::string_view& text);

std::string packed(const std::vector<TensorType>& types);
std::vector<TensorType> types_in(std::string_view text);

std::string packed(const std::vector<ShardState>& states);
// Adds those of a whole text.
void add_states(std::string_view text, std::vector<ShardState>& out);

// Of a state its elements, steps, sources and layout.
std::string packed(const DatasetState& state);
DatasetState state_in(std::string_view text);

}  // namespace espalier
