// Mutated .npz files: refused with a FormatError, or arrays that write and read back to themselves.
#include "format/npz.h"

#include "espalier/error.h"
#include "fuzz/mutate.h"

using namespace espalier;

namespace {

std::map<std::string, Literal> parse(const std::string& bytes) {
  return parse_npz(std::as_bytes(std::span(bytes)));
}

bool accept(const std::string& bytes) {
  std::map<std::string, Literal> arrays;
  try {
    arrays = parse(bytes);
  } catch (const FormatError&) {
    return false;
  }
  std::string written;
  try {
    written = npz_bytes(arrays, bytes.size() % 2);
  } catch (const ValueError&) {
    return true;  // a name that is no UTF-8
  }
  if (parse(written) != arrays) throw InternalError("written and read they are other arrays");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Literal> arrays{{"x", Literal::of<float>({1, 2, 3})},
                                              {"empty", Literal::splat({DType::kI64, {2, 0}}, 0.0)},
                                              {"zeros", Literal::splat({DType::kBool, {5000}}, 0.0)}};
  const std::string wide{'\xff', '\xff', '\xff', '\xff'};
  return fuzz::run(
      argc, argv, "fuzz_npz",
      {npz_bytes(arrays), npz_bytes(arrays, true), npz_bytes({}), npz_bytes({{"x", arrays.at("x")}})},
      {"PK\1\2", "PK\3\4", "PK\5\6", "PK\6\6", "PK\6\7", wide, wide + wide, ".npy", "x.npy",
       std::string("\1\0\x10\0", 4), std::string("\0\0", 2), std::string("\x8\0", 2)},
      accept);
}
