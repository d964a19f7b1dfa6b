#include "base/sha256.h"

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"

namespace espalier {
namespace {

// The examples of FIPS 180-4.
TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const std::string path = fresh_folder("sha256") + "/file";
  for (const size_t size : {size_t{0}, size_t{3}, (size_t{1} << 18), (size_t{1} << 18) + 1}) {
    const std::string bytes(size, 'x');
    posix_env().write_file(path, bytes);
    const FileDigest digest = digest_file(path);
    EXPECT_EQ(digest.sha256, sha256_of(bytes));
    EXPECT_EQ(digest.bytes, size);
    const FileDigest half = digest_file(path, size / 2);
    EXPECT_EQ(half.sha256, sha256_of(bytes.substr(0, size / 2)));
    EXPECT_EQ(half.bytes, size / 2);
  }
  EXPECT_EQ(rule_of([&] { digest_file(path + "/none"); }), "file.read");
  EXPECT_EQ(rule_of([&] { digest_file(fresh_folder("sha256")); }), "file.read");
}

}  // namespace
}  // namespace espalier
