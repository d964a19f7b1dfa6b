// Mutated safetensors files: refused with a FormatError, or arrays that write and read back to themselves.
#include "format/safetensors.h"

#include "base/format.h"
#include "espalier/error.h"
#include "fuzz/mutate.h"

using namespace espalier;

namespace {

SafeTensors parse(const std::string& bytes) { return parse_safetensors(std::as_bytes(std::span(bytes))); }

bool accept(const std::string& bytes) {
  SafeTensors tensors;
  try {
    tensors = parse(bytes);
  } catch (const FormatError&) {
    return false;
  }
  const SafeTensors back = parse(safetensors_bytes(tensors));
  bool same = back.arrays.size() == tensors.arrays.size() && back.metadata == tensors.metadata;
  for (size_t i = 0; same && i < back.arrays.size(); ++i) {
    same = back.arrays[i].name == tensors.arrays[i].name && back.arrays[i].value == tensors.arrays[i].value;
  }
  if (!same) throw InternalError("written and read they are other arrays");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> seeds;
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0, 4}, Shape{2, 3}}) {
    SafeTensors tensors;
    for (const DType dtype : {DType::kBool, DType::kF32, DType::kI64})
      tensors.arrays.push_back({cat("a/", name(dtype)), Literal::splat({dtype, shape}, 1.0)});
    seeds.push_back(safetensors_bytes(tensors));
    tensors.metadata = {{"key", "value"}};
    seeds.push_back(safetensors_bytes(tensors));
  }
  return fuzz::run(
      argc, argv, "fuzz_safetensors", seeds,
      {"\"F32\"", "\"F8_E4M3\"", "\"BOOL\"", "[281474976710656]", "[0,0]", "{}", "\"__metadata__\":{", "-1",
       "[", "}", ",\"a\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0]}"},
      accept);
}
