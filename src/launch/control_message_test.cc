#include "launch/control_message.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "comm/ranks_test.h"

namespace espalier {
namespace {

using Message = ControlMessage;

const StageReport kAt{Stage::kCollective, 812, 1625, "all-reduce 'gradients/2'"};

std::vector<Message> all_messages() {
  return {{Message::Join{std::string(kProofBytes, '\xfe'), 3, 8, 4711}},
          {Message::Beat{kAt}},
          {Message::Beat{{Stage::kStep, 9, 18, "", "step"}}},
          {Message::Facts{{{"seed", "7"}, {"plan", "\"x\"\n"}}}},
          {Message::Failed{"ValueError: bad", FailureCause::kMismatch, kAt}},
          {Message::Left{{Stage::kEnd, 9, 18, ""}}},
          {Message::Preempted{15}},
          {Message::Put{"a/0", std::string("\0\xff\"\n", 4)}},
          {Message::Get{std::string("\x80/\0", 3)}},
          {Message::Value{"", ""}},
          {Message::HostJoin{std::string(kProofBytes, '\1'), 1, "b", 2, 2}},
          {Message::RankStarted{3, 812}},
          {Message::RankEnded{3, {true, 9}, kAt, "\nthe last line of rank 3:\n  | no data", "number 7"}},
          {Message::RankEnded{2, {false, 3}}},
          {Message::RankStopped{3, true}},
          {Message::Challenge{std::string(kNonceBytes, '\x80')}},
          {Message::Welcome{}},
          {Message::Refused{"no"}},
          {Message::Ask{}},
          {Message::Agreed{}},
          {Message::GivenUp{{"id", VerdictKind::kSilent, -1, "text"}}}};
}

std::string frame_around(const std::string& json) {
  std::string out(4, '\0');
  for (size_t i = 0; i < 4; ++i) out[i] = static_cast<char>((json.size() + 1) >> 8 * i & 0xff);
  return out + '\2' + json;
}

TEST(ControlMessage, ComesAsItWent) {
  std::string bytes;
  for (const Message& message : all_messages()) bytes += frame_of(message);
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{100}, bytes.size()}) {
    ControlReader reader;
    std::vector<Message> got;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      reader.add(std::string_view(bytes).substr(at, piece));
      while (auto message = reader.next()) got.push_back(*message);
    }
    EXPECT_TRUE(got == all_messages()) << piece;
    EXPECT_EQ(reader.waiting(), 0u);
  }
}

// The form on the wire, which programs of another version of the library see.
TEST(ControlMessage, FormOfAFrame) {
  EXPECT_EQ(frame_of({Message::Ask{}}), std::string("\x0d\0\0\0\2{\"is\":\"ask\"}", 17));
  EXPECT_EQ(frame_of({Message::Beat{kAt}}).substr(5),
            "{\"is\":\"beat\",\"at\":{\"stage\":\"collective\",\"number\":812,\"collectives\":1625,"
            "\"collective\":\"all-reduce 'gradients/2'\"}}");
}

TEST(ControlMessage, LongAndForeignTextFits) {
  for (const std::string& part : {std::string("\xff"), std::string("\0", 1), std::string("\"\n")}) {
    std::string text;
    while (text.size() < 100000) text += part;
    ControlReader reader;
    reader.add(frame_of({Message::Failed{text, FailureCause::kOwn, kAt}}));
    const auto got = reader.next();
    ASSERT_TRUE(got);
    EXPECT_GE(std::get<Message::Failed>(got->is).text.size(), size_t{8} << 10);
  }
  std::map<std::string, std::string> facts;
  for (int i = 0; i < 900; ++i) facts[cat("key", i)] = std::string(80, 'x');
  EXPECT_EQ(rule_of([&] { frame_of({Message::Facts{facts}}); }), "control.size");
}

TEST(ControlMessage, KeysAndValuesAreBounded) {
  const std::string key(kLongestKey, '\xff'), value(kLongestValue, '\0');
  for (const Message& message : {Message{Message::Put{key, value}}, Message{Message::Value{key, value}}}) {
    ControlReader reader;
    reader.add(frame_of(message));
    EXPECT_TRUE(reader.next() == message);
  }
  EXPECT_EQ(error_of([&] {
              frame_of({Message::Put{key, value + "x"}});
            }),
            "control.size: a value of ranks has at most 24576 bytes, not 24577");
  EXPECT_EQ(error_of([&] { frame_of({Message::Get{key + "x"}}); }),
            "control.size: a key of ranks has at most 512 bytes, not 513");
  ControlReader reader;
  reader.add(frame_around(cat("{\"is\":\"get\",\"key\":\"", std::string(2 * kLongestKey + 2, 'a'), "\"}")));
  EXPECT_EQ(rule_of([&] { reader.next(); }), "control.message");
}

TEST(ControlMessage, WhatIsNoFrameIsRefused) {
  const auto rule = [](const std::string& bytes) {
    ControlReader reader;
    reader.add(bytes);
    return rule_of([&] { reader.next(); });
  };
  EXPECT_EQ(rule(std::string("\0\0\0\0", 4)), "control.frame");
  EXPECT_EQ(rule("\x01\x01\x01\x01"), "control.frame");
  EXPECT_EQ(rule(std::string("\x01\x00\x01\x00", 4)), "control.frame");
  EXPECT_EQ(rule("GET / HTTP/1.0\r\n\r\n"), "control.frame");
  EXPECT_EQ(rule(std::string("\x0d\0\0\0\1", 5)), "control.version");
  EXPECT_EQ(rule(frame_around("{\"is\":\"ask\"")), "json.syntax");
  EXPECT_EQ(rule(frame_around("{\"is\":[[[[[]]]]]}")), "json.levels");
  for (const char* text :
       {"[]",
        "{}",
        "{\"is\":7}",
        "{\"is\":\"nothing\"}",
        "{\"is\":\"beat\"}",
        "{\"is\":\"beat\",\"at\":{}}",
        "{\"is\":\"join\",\"proof\":\"ab\",\"rank\":1.5,\"world\":2,\"pid\":3}",
        "{\"is\":\"join\",\"proof\":\"ab\",\"rank\":-2,\"world\":2,\"pid\":3}",
        "{\"is\":\"join\",\"proof\":\"ab\",\"rank\":1,\"world\":2,\"pid\":18446744073709551615}",
        "{\"is\":\"join\",\"proof\":\"ab\",\"rank\":4294967296,\"world\":2,\"pid\":1}",
        "{\"is\":\"join\",\"secret\":\"ab\",\"rank\":1,\"world\":2,\"pid\":1}",
        "{\"is\":\"join\",\"proof\":\"s\",\"rank\":1,\"world\":2,\"pid\":1}",
        "{\"is\":\"challenge\"}",
        "{\"is\":\"challenge\",\"nonce\":\"abcd\"}",
        "{\"is\":\"facts\",\"facts\":{\"a\":1}}",
        "{\"is\":\"given up\",\"id\":\"a\",\"kind\":\"other\",\"rank\":1,\"text\":\"\"}",
        "{\"is\":\"left\",\"at\":{\"stage\":\"sleep\",\"number\":1,\"collectives\":1,\"collective\":\"\"}}",
        "{\"is\":\"left\",\"at\":{\"stage\":\"end\",\"number\":1,\"collectives\":-1,\"collective\":\"\"}}",
        "{\"is\":\"get\"}",
        "{\"is\":\"get\",\"key\":\"abc\"}",
        "{\"is\":\"get\",\"key\":\"aX\"}",
        "{\"is\":\"get\",\"key\":\"aB\"}",
        "{\"is\":\"put\",\"key\":\"ab\"}"})
    EXPECT_EQ(rule(frame_around(text)), "control.message") << text;
  EXPECT_EQ(rule(frame_of({Message::Ask{}}).substr(0, 16)), "nothing");
}

}  // namespace
}  // namespace espalier
