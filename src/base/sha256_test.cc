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

std::string bytes_of_hex(const std::string& digits) {
  std::string out;
  for (size_t i = 0; i < digits.size(); i += 2)
    out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return out;
}

// The examples of RFC 4231; of the fifth 128 bits alone.
TEST(HmacSha256, IsThatOfTheStandard) {
  const std::string longer(131, '\xaa');
  const struct {
    std::string key, bytes, digest;
  } cases[] = {
      {std::string(20, '\x0b'), "Hi There",
       "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"Jefe", "what do ya want for nothing?",
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {std::string(20, '\xaa'), std::string(50, '\xdd'),
       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {bytes_of_hex("0102030405060708090a0b0c0d0e0f10111213141516171819"), std::string(50, '\xcd'),
       "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
      {std::string(20, '\x0c'), "Test With Truncation", "a3b6167473100ee06e0c796c2955552b"},
      {longer, "Test Using Larger Than Block-Size Key - Hash Key First",
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {longer,
       "This is a test using a larger than block-size key and a larger than block-size data. The key needs "
       "to be hashed before being used by the HMAC algorithm.",
       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"}};
  for (const auto& [key, bytes, digest] : cases) {
    const std::string got = hmac_sha256(key, bytes);
    EXPECT_EQ(got.size(), 32u);
    EXPECT_EQ(got.substr(0, digest.size() / 2), bytes_of_hex(digest)) << bytes;
  }
}

TEST(HmacSha256, DigestsAreEqualInAllBytes) {
  const std::string digest = hmac_sha256("key", "");
  EXPECT_TRUE(same_digest(digest, std::string(digest)));
  for (size_t i = 0; i < digest.size(); ++i) {
    std::string other = digest;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(same_digest(digest, other)) << i;
  }
  EXPECT_FALSE(same_digest(digest, digest.substr(1)));
  EXPECT_FALSE(same_digest(digest, ""));
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
