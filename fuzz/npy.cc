// Mutated .npy files: refused with a FormatError, or an array that writes and reads back to itself.
#include "format/npy.h"

#include "espalier/error.h"
#include "fuzz/mutate.h"

using namespace espalier;

namespace {

Literal parse(const std::string& bytes) {
  return parse_npy(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

bool accept(const std::string& bytes) {
  Literal array;
  try {
    array = parse(bytes);
  } catch (const FormatError&) {
    return false;
  }
  if (!(parse(npy_bytes(array)) == array)) throw InternalError("written and read it is another array");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> seeds;
  for (const DType dtype : {DType::kBool, DType::kF32, DType::kI64}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0, 4}, Shape{2, 3}})
      seeds.push_back(npy_bytes(Literal::splat({dtype, shape}, 1.0)));
  }
  return fuzz::run(argc, argv, "fuzz_npy", seeds,
                   {"True", "(1,)", "(2, 3)", "(4611686018427387904, 4)", "(0,9223372036854775807)", "'<f8'",
                    "'|b1'", "{", "}", ",", "'shape'", "-1"},
                   accept);
}
