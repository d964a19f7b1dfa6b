#include "espalier/error.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

std::string first_line() {
  const std::string text = ValueError("rule", "message").what();
  return text.substr(0, text.find('\n'));
}

TEST(Errors, ANameThatAListTookForTwoIsMeant) {
  try {
    throw_unknown("csv.column", "column", "age", {"sex", "age, years", "a\"b"});
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "unknown column \"age\": known are sex, \"age, years\", \"a\"\"b\"");
    EXPECT_EQ(error.fix(), "did you mean \"age, years\"?");
  }
}

TEST(Errors, TakeMoreAtTheEndOfTheirMessage) {
  for (const char* fix : {"", "less"}) {
    ValueError error("rule", "message", fix);
    error.add(", and more");
    const ValueError whole("rule", "message, and more", fix);
    EXPECT_STREQ(error.what(), whole.what());
    EXPECT_EQ(error.message(), whole.message());
  }
}

TEST(Errors, NameTheInnermostLineOfUserCodeToo) {
  std::string source = __FILE__;  // one of the library: this file without _test
  source.erase(source.rfind("_test"), 5);
  EXPECT_EQ(first_line(), "ValueError[rule]");
  const CallScope inside(Location{source.c_str(), 1});
  EXPECT_EQ(first_line(), "ValueError[rule] at error.cc:1");
  const Location none = CallScope::exchange({});
  {
    const CallScope fit({"/program/train.cc", 41});
    EXPECT_EQ(first_line(), "ValueError[rule] at train.cc:41");
    const CallScope step(Location{source.c_str(), 2});
    EXPECT_EQ(first_line(), "ValueError[rule] at train.cc:41");
    {
      const NameScope layer("model/block");
      const CallScope user({"/program/net.cc", 12});
      EXPECT_EQ(first_line(), "ValueError[rule] at net.cc:12, called at train.cc:41, model/block");
      const CallScope unknown{Location{}}, op(Location{source.c_str(), 3});
      EXPECT_EQ(first_line(), "ValueError[rule] at net.cc:12, called at train.cc:41, model/block");
      const CallScope same({"/program/train.cc", 41});
      EXPECT_EQ(first_line(), "ValueError[rule] at train.cc:41, model/block");
    }
    // Tests are users, as is a program whose files lie in src.
    const CallScope test({__FILE__, 5}), program({"src/base/error.cc", 6});
    EXPECT_EQ(first_line(), "ValueError[rule] at error.cc:6, called at train.cc:41");
  }
  CallScope::exchange(none);
  EXPECT_EQ(first_line(), "ValueError[rule] at error.cc:1");
}

TEST(Errors, NamesThatGoOnBehindAWordAreNearIt) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(nearest("Preis", {"Ort", "Preis (EUR)"}), Words{"Preis (EUR)"});
  EXPECT_EQ(nearest("preis", {"Ort", "Preis in €"}), Words{"Preis in €"});
  EXPECT_EQ(nearest("BatchNorm", {"Dense", "BatchNormalization"}), Words{"BatchNormalization"});
  EXPECT_EQ(nearest("early", {"EarlyStopping"}), Words{});
  EXPECT_EQ(nearest("--batch-size", {"--batch", "--bat"}), Words{"--batch"});
  EXPECT_EQ(nearest("Preis", {"Preisliste der Firma"}), Words{});
  EXPECT_EQ(nearest("acuracy", {"accuracy", "accuracy"}), Words{"accuracy"});
}

TEST(Errors, KnownNamesThatHoldACommaStandInQuotes) {
  try {
    throw_unknown("csv.column", "column", "cals", {"age", "calls, support"});
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "unknown column \"cals\": known are age, \"calls, support\"");
    return;
  }
  FAIL();
}

}  // namespace
}  // namespace espalier
