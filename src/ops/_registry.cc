#include <unordered_map>

#include "ops/registry.h"

namespace espalier {
namespace {

const OpDef* const kOps[] = {
#define ESPALIER_OP_ENTRY(op) &op_##op,
#include "ops/op_list.inc"
#undef ESPALIER_OP_ENTRY
};

}  // namespace

std::span<const OpDef* const> all_ops() { return kOps; }

const OpDef* find_op(std::string_view name) {
  static const auto* index = [] {
    auto* map = new std::unordered_map<std::string_view, const OpDef*>;
    for (const OpDef* op : kOps) map->emplace(op->name, op);
    return map;
  }();
  const auto it = index->find(name);
  return it == index->end() ? nullptr : it->second;
}

}  // namespace espalier
