// Mutated IDX, gzip and number tables: each is read or refused, and what was read has the size its type says.
#include "format/idx.h"

#include <zlib.h>

#include "base/format.h"
#include "espalier/error.h"
#include "format/csv_numbers.h"
#include "format/gzip.h"
#include "fuzz/mutate.h"

namespace espalier {
namespace {

std::string idx(int code, const std::vector<uint32_t>& sizes, size_t bytes) {
  std::string out{0, 0, static_cast<char>(code), static_cast<char>(sizes.size())};
  for (const uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift);
  }
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(37 * i);
  return out;
}

std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void check_size(const Literal& literal) {
  if (literal.raw_bytes() != literal.type().bytes() || literal.type().elements() < 0)
    throw InternalError(cat("read ", literal.type(), " of ", literal.raw_bytes(), " bytes"));
}

template <class Parse>
bool reads(Parse parse) {
  try {
    check_size(parse());
    return true;
  } catch (const FormatError&) {
    return false;
  }
}

bool accept(const std::string& input) {
  constexpr size_t kMostBytes = 1 << 20;
  std::string bytes;
  try {
    bytes = gunzip(input, kMostBytes);
  } catch (const FormatError&) {
    return false;
  }
  const bool idx = reads([&] { return parse_idx(bytes); });
  return reads([&] { return parse_csv_numbers(bytes); }) || idx;
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  using namespace espalier;
  std::vector<std::string> seeds{idx(8, {3, 4, 5}, 60), idx(9, {7}, 7),    idx(0xb, {2, 2}, 8),
                                 idx(0xc, {}, 4),       idx(0xd, {4}, 16), idx(0xe, {0, 9}, 0),
                                 "0,0,5,13\n9,1,0,0\n", "-1.5e3,2\r\n3,4"};
  for (size_t i = 0, plain = seeds.size(); i < plain; ++i) seeds.push_back(gzipped(seeds[i]));
  seeds.push_back(gzipped(idx(8, {500000}, 500000)));
  return fuzz::run(
      argc, argv, "fuzz_idx", seeds,
      {std::string(4, '\xff'), std::string(4, '\0'), "\x1f\x8b\x08", ",", "\n", "-", "1e39", "nan"}, accept);
}
