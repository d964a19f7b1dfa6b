// What a C file computes step by step, and where each value is kept.
#pragma once

#include <map>
#include <set>
#include <string>

#include "text/c_index.h"

namespace espalier::c_text {

// Where a value is.
enum class Home : uint8_t {
  kNone,     // computed where it is read
  kNumber,   // one number, spelled out
  kCounter,  // iota: the index itself
  kMemory,   // an array
};
struct Place {
  Home home = Home::kNone;
  std::string text;      // the number, or the array's name
  int64_t offset = 0;    // of the first element
  Dims strides;          // per axis of the value
  bool scratch = false;  // in scratch memory; `text` is set when its offset is
};

// One nest of loops: a product, window or reduction and the elementwise nodes that follow it, or elementwise
// nodes alone, stored once; a view that must be in memory; or a pad or concatenation.
struct Step {
  NodeId root = kNone;               // its result is stored
  NodeId core = kNone;               // the product, window, reduction or gather; kNone: none
  std::vector<NodeId> members = {};  // elementwise nodes in order, the root among them when it is one
};

// A constant that becomes an array.
struct Array {
  ValueId value = kNone;
  std::string name;
  Literal data;
};

struct Plan {
  std::shared_ptr<const Graph> graph;
  std::vector<Step> steps;
  std::vector<Place> places;  // per value
  std::vector<Array> arrays;
  // Results that are stored as they are by a copy of their own: their position among the outputs.
  std::vector<size_t> copies;
  std::set<DType> scratch_dtypes;
  uint64_t scratch_bytes = 0;
};

// `scratch`: what stands before ".f32[...]" for scratch memory, as "scratch." or "scratch->".
Plan make_plan(std::shared_ptr<const Graph> graph, const std::map<std::string, Literal>& variables,
               const std::string& scratch);

std::string input_name(const Graph& graph, size_t input);
std::string output_name(const Graph& graph, size_t output);
// The name of the elements of a dtype in scratch memory: "f32".
std::string member_of(DType dtype);

// The memory that holds the elements of `value`, which some views may rearrange, or kNone when they are no
// memory; and the index of its element there. REQUIRES: the value has a home, or is a view of one that has.
struct Address {
  ValueId memory = kNone;
  Affine index;
};
Address address_of(const Plan& plan, ValueId value, Indices indices);

bool is_elementwise(const OpDef& op);
bool is_core(const OpDef& op);
bool is_assembly(const OpDef& op);

}  // namespace espalier::c_text
