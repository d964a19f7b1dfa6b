#include "format/npz.h"

#include <cstdlib>
#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "espalier/npy.h"
#include "format/npy.h"
#include "format/zip.h"
#include "ir/sink.h"

namespace espalier {
namespace {

std::map<std::string, Literal> npz_parse(const std::string& bytes, std::optional<uint64_t> limit = {}) {
  return parse_npz(std::as_bytes(std::span(bytes)), limit);
}

std::string npz_error_of(const std::string& bytes, std::optional<uint64_t> limit = {}) {
  try {
    npz_parse(bytes, limit);
  } catch (const FormatError& error) {
    return error.rule() + ": " + error.message();
  }
  return "read";
}

std::string archive(const std::vector<std::pair<std::string, std::string>>& entries, bool deflated = false) {
  ZipWriter zip;
  for (const auto& [name, contents] : entries) zip.add(name, contents, deflated);
  return zip.finish();
}

// An archive of "x.npy" with another number at this place of the entry in its directory.
constexpr size_t kFlags = 8, kMethod = 10, kChecksum = 16, kUnpacked = 46 + 5 + 4, kPacked = kUnpacked + 8;
template <class T>
std::string patched(std::string bytes, size_t place, T value) {
  bytes.replace(bytes.rfind("PK\1\2") + place, sizeof value, reinterpret_cast<const char*>(&value),
                sizeof value);
  return bytes;
}

const Literal kArray = Literal::of<float>({1, 2, 3});

TEST(Npz, ReadsWhatNumpyWrites) {
  for (const char* file : {"tests/golden/numpy_stored.npz", "tests/golden/numpy_deflated.npz"}) {
    const auto arrays = npz_parse(posix_env().read_file(file));
    ASSERT_EQ(arrays.size(), 7u) << file;
    const float kernel[] = {0, 0.25f, 0.5f, 0.75f, 1, 1.25f};
    const int16_t columns[] = {0, 1, 2, 3, 4, 5};
    const auto sevens = std::vector<uint8_t>(40 * 50, 7);
    EXPECT_TRUE(arrays.at("layer/kernel") == Literal::copy({DType::kF32, {2, 3}}, kernel));
    EXPECT_TRUE(arrays.at("counts") == Literal::of<int64_t>({-1, int64_t{1} << 40}));
    EXPECT_TRUE(arrays.at("bytes") == Literal::copy({DType::kU8, {40, 50}}, sevens.data()));
    EXPECT_TRUE(arrays.at("truth") == Literal::of<bool>({true, false, true}));
    EXPECT_TRUE(arrays.at("columns") == Literal::copy({DType::kI16, {2, 3}}, columns));
    EXPECT_TRUE(arrays.at("gr\u00f6\u00dfe") == Literal::splat({DType::kF64, {}}, 2.5));
    EXPECT_EQ(arrays.at("empty").type(), (TensorType{DType::kI32, {0, 4}}));
  }
}

TEST(Npz, ReadsTheFieldsOfLargeArchives) {
  EXPECT_TRUE(npz_parse(posix_env().read_file("tests/golden/numpy_zip64.npz")).at("x") ==
              Literal::of<float>({0, 1, 2}));
}

TEST(Npz, EveryDTypeComesBackFromAFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "espalier_arrays.npz";
  for (const bool compressed : {false, true}) {
    std::map<std::string, Tensor> tensors;
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (dtype == DType::kBF16) continue;
      tensors[cat("of/", name(dtype))] = make_concrete(Literal::splat({dtype, {20, 30}}, 1.0));
    }
    save_npz(path.string(), tensors, {.compressed = compressed});
    const auto got = load_npz(path.string());
    ASSERT_EQ(got.size(), tensors.size());
    for (const auto& [name, tensor] : tensors)
      EXPECT_TRUE(got.at(name).node()->literal() == tensor.node()->literal()) << name;
    EXPECT_EQ(std::filesystem::file_size(path) < 10000, compressed);
  }
  std::filesystem::remove(path);
}

TEST(Npz, NumpyReadsWhatIsWrittenSlow) {
  const char* named = std::getenv("ESPALIER_JAX_PYTHON");
  const std::string python = named ? named : "python3";
  if (std::system(cat(python, " -c 'import numpy' > /dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP() << "no python3 with numpy";
  std::vector<float> kernel(6000);
  std::iota(kernel.begin(), kernel.end(), 0.0f);
  const auto path = std::filesystem::path(testing::TempDir()) / "espalier_for_numpy.npz";
  for (const bool compressed : {false, true}) {
    save_npz(path.string(),
             {{"layer/kernel", Tensor::of(kernel, {2, 3000})},
              {"truth", Tensor::of<bool>({true, false})},
              {"gr\u00f6\u00dfe", Tensor::scalar(2.5)}},
             {.compressed = compressed});
    EXPECT_EQ(std::system(cat(python, " tests/peers/npz_reads.py ", path.string()).c_str()), 0) << compressed;
  }
  std::filesystem::remove(path);
}

TEST(Npz, OneArrayComesBackFromAFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "espalier_array.npy";
  save_npy(path.string(), make_concrete(kArray));
  EXPECT_TRUE(load_npy(path.string()).node()->literal() == kArray);
  std::filesystem::remove(path);
}

TEST(Npz, RefusesWhatItCannotRead) {
  const std::string array = npy_bytes(kArray), good = archive({{"x.npy", array}});
  ASSERT_EQ(npz_error_of(good), "read");
  EXPECT_EQ(npz_error_of("PK"), "zip.archive: 2 bytes without the directory that ends a zip archive");
  EXPECT_EQ(npz_error_of(patched<uint16_t>(good, kFlags, 1)), "zip.encrypted: entry \"x.npy\" is encrypted");
  EXPECT_EQ(npz_error_of(patched<uint16_t>(good, kMethod, 12)),
            "zip.method: entry \"x.npy\" is compressed by method 12, not stored (0) or deflated (8)");
  EXPECT_EQ(npz_error_of(patched<uint32_t>(good, kChecksum, 7)),
            "zip.checksum: entry \"x.npy\" has the checksum 3510675063 and declares 7");
  EXPECT_EQ(npz_error_of(archive({{"x.npy", array}, {"x.npy", array}})),
            "zip.names: entry \"x.npy\" stands twice");
  EXPECT_EQ(npz_error_of(archive({{"x.npy", array}, {"notes.txt", "hello"}})),
            "npz.entry: entry \"notes.txt\" is no .npy file");
  EXPECT_EQ(npz_error_of(archive({{"x.npy", array.substr(0, 100)}})),
            "npy.size: array \"x\": a header of 118 bytes in a file of 100");
}

TEST(Npz, RefusesAnyFileThatIsCutOff) {
  const std::string good = archive({{"x.npy", npy_bytes(kArray)}, {"y.npy", npy_bytes(kArray)}}, true);
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(npz_error_of(good.substr(0, size)), "read") << size;
}

TEST(Npz, UnpacksNoMoreThanTheLimit) {
  const std::string zeros = npy_bytes(Literal::splat({DType::kU8, {33 << 20}}, 0.0).expanded()),
                    bomb = archive({{"x.npy", zeros}}, true);
  ASSERT_LT(bomb.size(), 50000u);
  EXPECT_EQ(npz_error_of(bomb),
            cat("zip.size: entry \"x.npy\" unpacks to 34603136 bytes, after 0 of others; together at most ",
                (32 << 20) + 8 * bomb.size()));
  EXPECT_EQ(npz_error_of(bomb, zeros.size()), "read");
  const std::string mebi = npy_bytes(Literal::splat({DType::kU8, {1 << 20}}, 0.0).expanded()),
                    two = archive({{"x.npy", mebi}, {"y.npy", mebi}}, true);
  EXPECT_EQ(npz_error_of(two, mebi.size() + 9),
            "zip.size: entry \"y.npy\" unpacks to 1048704 bytes, after 1048704 of others; together at most "
            "1048713");
}

TEST(Npz, DeclaredSizesAreHeldAgainstRealOnes) {
  const std::string packed = archive({{"x.npy", npy_bytes(kArray)}}, true);
  EXPECT_EQ(npz_error_of(patched<uint64_t>(packed, kUnpacked, 30 << 20)),
            "zip.size: entry \"x.npy\" declares 79 bytes for 31457280 and has 79 for 140");
  EXPECT_EQ(npz_error_of(patched<uint64_t>(packed, kUnpacked, 139)),
            "zip.size: entry \"x.npy\" declares 139 bytes and has more");
  EXPECT_TRUE(npz_error_of(patched<uint64_t>(packed, kPacked, 1 << 20))
                  .starts_with("zip.size: entry \"x.npy\" takes "));
}

TEST(Npz, NamesThatNoArchiveHoldsAreRefused) {
  const auto refused = [](const std::string& name) {
    EXPECT_THROW(npz_bytes({{name, kArray}}), ValueError) << name.size();
  };
  refused("\xff");
  refused(std::string("a\0b", 3));
  refused(std::string(65532, 'a'));
  EXPECT_EQ(npz_parse(npz_bytes({{std::string(65531, 'a'), kArray}})).size(), 1u);
}

TEST(Npz, ErrorsNameTheFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "espalier_no.npz";
  posix_env().write_file(path.string(), "no archive");
  try {
    load_npz(path.string());
    ADD_FAILURE();
  } catch (const FormatError& error) {
    EXPECT_TRUE(error.message().starts_with(path.string())) << error.what();
  }
  std::filesystem::remove(path);
  EXPECT_THROW(load_npz("/nowhere/x.npz"), IoError);
}

}  // namespace
}  // namespace espalier
