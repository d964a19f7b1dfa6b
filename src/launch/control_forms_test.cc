// The forms of all messages on the wire, and all texts of stages, times, causes and calls.
#include <gtest/gtest.h>

#include "base/format.h"
#include "comm/calls.h"
#include "comm/ranks_test.h"
#include "launch/control_message.h"
#include "launch/control_text.h"

namespace espalier {
namespace {

using Form = ControlMessage;

std::string json_in_frame(const Form& message) { return frame_of(message).substr(5); }

// Programs of another build of the library read them.
TEST(ControlForms, OfEachMessage) {
  const StageReport at{Stage::kInput, 8, 17, "vote"};
  const std::string said = R"({"stage":"input","number":8,"collectives":17,"collective":"vote"})";
  const std::vector<std::pair<Form, std::string>> forms{
      {{Form::Join{"\x01\xaf", 3, 8, 4711}}, R"({"is":"join","proof":"01af","rank":3,"world":8,"pid":4711})"},
      {{Form::Beat{at}}, cat(R"({"is":"beat","at":)", said, "}")},
      {{Form::Facts{{{"b", "2"}, {"a", "1"}}}}, R"({"is":"facts","facts":{"a":"1","b":"2"}})"},
      {{Form::Failed{"bad", FailureCause::kOthers, at}},
       cat(R"({"is":"failed","text":"bad","cause":"others","at":)", said, "}")},
      {{Form::Left{at}}, cat(R"({"is":"left","at":)", said, "}")},
      {{Form::Preempted{15}}, R"({"is":"preempted","signal":15})"},
      {{Form::Put{"a/", "\x0f\xf0"}}, R"({"is":"put","key":"612f","value":"0ff0"})"},
      {{Form::Get{"a"}}, R"({"is":"get","key":"61"})"},
      {{Form::Value{"a", "b"}}, R"({"is":"value","key":"61","value":"62"})"},
      {{Form::HostJoin{"\x02", 1, "b", 2, 3}},
       R"({"is":"host","proof":"02","host":1,"name":"b","first":2,"count":3})"},
      {{Form::RankStarted{3, 812}}, R"({"is":"rank started","rank":3,"pid":812})"},
      {{Form::RankEnded{3, {true, 9}, at, "no data", "number 7"}},
       cat(R"({"is":"rank ended","rank":3,"signal":1,"number":9,"lines":"no data","collective":"number 7","last":)",
           said, "}")},
      {{Form::RankEnded{2, {false, 4}}},
       R"({"is":"rank ended","rank":2,"signal":0,"number":4,"lines":"","collective":""})"},
      {{Form::RankStopped{3, true}}, R"({"is":"rank stopped","rank":3,"stopped":1})"},
      {{Form::RankStopped{3, false}}, R"({"is":"rank stopped","rank":3,"stopped":0})"},
      {{Form::Challenge{"\x7f"}}, R"({"is":"challenge","nonce":"7f"})"},
      {{Form::Welcome{}}, R"({"is":"welcome"})"},
      {{Form::Refused{"no"}}, R"({"is":"refused","why":"no"})"},
      {{Form::Ask{}}, R"({"is":"ask"})"},
      {{Form::Agreed{}}, R"({"is":"agreed"})"},
      {{Form::GivenUp{{"id", VerdictKind::kHost, -1, "text"}}},
       R"({"is":"given up","id":"id","kind":"host","rank":-1,"text":"text"})"}};
  for (const auto& [message, form] : forms) EXPECT_EQ(json_in_frame(message), form);
}

TEST(ControlForms, OfEachStageCauseAndVerdict) {
  using enum Stage;
  const std::vector<std::pair<Stage, std::pair<std::string, std::string>>> stages{
      {kStart, {"start", "before its first step"}},
      {kInput, {"input", "waiting for input in step 8"}},
      {kTrace, {"trace", "tracing step 8"}},
      {kStep, {"step", "in step 8"}},
      {kCollective, {"collective", "in step 8"}},
      {kCallback, {"callback", "in a callback of step 8"}},
      {kEvaluate, {"evaluate", "in evaluation of step 8"}},
      {kSave, {"save", "in the save of step 8"}},
      {kEnd, {"end", "after step 8"}}};
  for (const auto& [stage, texts] : stages) {
    EXPECT_EQ(stage_text({stage, 8}), texts.second);
    EXPECT_EQ(json_in_frame({Form::Left{{stage, 8}}}),
              cat(R"({"is":"left","at":{"stage":")", texts.first,
                  R"(","number":8,"collectives":0,"collective":""}})"));
  }
  const std::vector<std::pair<FailureCause, std::string>> causes{{FailureCause::kOwn, "own"},
                                                                 {FailureCause::kOthers, "others"},
                                                                 {FailureCause::kMismatch, "mismatch"},
                                                                 {FailureCause::kMeeting, "meeting"}};
  for (const auto& [cause, said] : causes)
    EXPECT_NE(json_in_frame({Form::Failed{"", cause, {}}}).find(cat("\"cause\":\"", said, "\"")),
              std::string::npos);
  const std::vector<std::string_view> kinds{"mismatch", "host", "killed", "thrown",  "ended",
                                            "early",    "lost", "silent", "stalled", "alike"};
  for (size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(name(static_cast<VerdictKind>(i)), kinds[i]);
  EXPECT_EQ(to_string(RunVerdict{"id", VerdictKind::kLost, 1, "why"}), "why (verdict id)");
  EXPECT_EQ(to_string(RunVerdict{"", VerdictKind::kLost, 1, "why"}), "why");
}

// Of texts 8 KiB, of names 256 bytes.
TEST(ControlForms, TextsAreCutAtTheirLimits) {
  const auto sent = [](const Form& message) {
    ControlReader reader;
    reader.add(frame_of(message));
    return *reader.next();
  };
  const std::string text(8193, 'x'), shorter(8192, 'x'), long_name(257, 'n'), name(256, 'n');
  EXPECT_EQ(sent({Form::Refused{text}}), Form{Form::Refused{shorter}});
  EXPECT_EQ(sent({Form::Failed{text, FailureCause::kOwn, {Stage::kStep, 1, 2, long_name}}}),
            (Form{Form::Failed{shorter, FailureCause::kOwn, {Stage::kStep, 1, 2, name}}}));
  EXPECT_EQ(sent({Form::RankEnded{1, {}, {}, text, long_name}}),
            (Form{Form::RankEnded{1, {}, {}, shorter, name}}));
  EXPECT_EQ(sent({Form::GivenUp{{"id", VerdictKind::kLost, 2, text}}}),
            (Form{Form::GivenUp{{"id", VerdictKind::kLost, 2, shorter}}}));
}

// The bytes of the JSON and the version, not one more.
TEST(ControlForms, TheLargestFrame) {
  const auto facts = [](size_t bytes) { return Form{Form::Facts{{{"a", std::string(bytes, 'x')}}}}; };
  const size_t around = json_in_frame(facts(0)).size() + 1;
  ControlReader reader;
  reader.add(frame_of(facts(kMostFrame - around)));
  EXPECT_EQ(reader.next(), facts(kMostFrame - around));
  EXPECT_EQ(error_of([&] { frame_of(facts(kMostFrame - around + 1)); }),
            "control.size: what ranks tell each other at once has at most 65536 bytes, not 65537");
  reader.add(std::string("\1\0\1\0", 4));
  EXPECT_EQ(error_of([&] { reader.next(); }), "control.frame: a frame has 1 to 65536 bytes, not 65537");
  ControlReader other;
  other.add(std::string("\x0d\0\0\0\3", 5));
  EXPECT_EQ(error_of([&] { other.next(); }),
            "control.version: the other side speaks version 3 of the protocol, this one 2");
}

TEST(ControlForms, TimesAndRanks) {
  const std::vector<std::pair<double, std::string>> times{{0, "0 s"},     {0.04, "0 s"},  {0.1, "0.1 s"},
                                                          {5.3, "5.3 s"}, {5, "5 s"},     {9.99, "9.9 s"},
                                                          {10, "10 s"},   {10.9, "10 s"}, {300, "300 s"}};
  for (const auto& [seconds, text] : times) EXPECT_EQ(seconds_text(seconds), text);
  EXPECT_EQ(ranks_text({}), "ranks ");
  EXPECT_EQ(ranks_text({1, 2, 3, 4}), "ranks 1-4");
  EXPECT_EQ(ranks_text({0, 1, 2, 4, 5, 7, 9, 10, 11}), "ranks 0-2, 4, 5, 7, 9-11");
}

TEST(ControlForms, FactsThatDiffer) {
  int odd = 7;
  EXPECT_EQ(mismatch_text({{0, {{"b", "1"}, {"c", "1"}}}, {1, {{"b", "2"}, {"c", "2"}}}}, odd),
            "b is 1 on rank 0 and 2 on rank 1")
      << "the first that differs";
  EXPECT_EQ(mismatch_text({{0, {}}, {1, {{"a", "x"}}}, {2, {}}}, odd),
            "a is not set on ranks 0, 2 and x on rank 1");
  EXPECT_EQ(odd, 1);
  EXPECT_EQ(mismatch_text({{0, {{"a", "1"}}}, {1, {{"a", "1"}}}, {2, {{"a", "2"}}}, {3, {{"a", "2"}}}}, odd),
            "a is 1 on ranks 0, 1 and 2 on ranks 2, 3");
  EXPECT_EQ(odd, -1);
  const std::string value(101, 'v');
  EXPECT_EQ(mismatch_text({{0, {{"a", value}}}, {1, {{"a", "1"}}}}, odd),
            cat("a is ", value.substr(0, 100), " on rank 0 and 1 on rank 1"));
}

TEST(ControlForms, CallsOfEachKind) {
  using enum Collective::Kind;
  const auto nothing = [](std::byte*, const std::byte* const*, int, size_t) {};
  const auto refusal = [](const Collective& what) { return error_of([&] { check_call(what, 3); }); };
  EXPECT_EQ(refusal({kAllReduce, "x", "", 4, 8, nothing, 0}), "nothing");
  EXPECT_EQ(refusal({kAllReduce, "x", "", 4, 8, nullptr, 0}), "comm.call: x: a reduction without a function");
  EXPECT_EQ(refusal({kReduceScatter, "x", "", 4, 9, nullptr, 0}),
            "comm.call: x: a reduction without a function");
  EXPECT_EQ(refusal({kReduceScatter, "x", "", 4, 9, nothing, 0}), "nothing");
  EXPECT_EQ(refusal({kReduceScatter, "x", "", 4, 8, nothing, 0}),
            "comm.call: x: 8 elements for 3 ranks: not as many for each");
  EXPECT_EQ(refusal({kAllGather, "x", "", 4, 8, nullptr, 7}), "nothing");
  for (const int root : {0, 2}) EXPECT_EQ(refusal({kBroadcast, "x", "", 4, 8, nullptr, root}), "nothing");
  for (const int root : {-1, 3})
    EXPECT_EQ(refusal({kBroadcast, "x", "", 4, 8, nullptr, root}),
              cat("comm.call: x: the root is rank ", root, " of 3"));
  EXPECT_EQ(refusal({kAllGather, "x", "", 0, 8, nullptr, 0}), "comm.call: x: 8 elements of 0 bytes");
  const size_t most = INT64_MAX / 8;
  EXPECT_EQ(refusal({kAllGather, "x", "", 8, most, nullptr, 0}), "nothing");
  EXPECT_EQ(refusal({kAllGather, "x", "", 8, most + 1, nullptr, 0}),
            cat("comm.call: x: ", most + 1, " elements of 8 bytes"));
  const std::vector<std::pair<CallKind, std::string>> texts{
      {CallKind::kAllReduce, "all_reduce \"w\" of 3 u8"},
      {CallKind::kAllGather, "all_gather \"w\" of 3 u8"},
      {CallKind::kReduceScatter, "reduce_scatter \"w\" of 3 u8"},
      {CallKind::kBarrier, "barrier \"w\""},
      {CallKind::kAny, "vote \"w\""}};
  for (const auto& [kind, text] : texts) EXPECT_EQ(collective_text(kind, "w", "u8", 3, 2), text);
  EXPECT_EQ(collective_text(CallKind::kAllGather, "", "", 3, 0), "all_gather of 3");
  EXPECT_EQ(kind_name(static_cast<CallKind>(6)), "unknown");
}

}  // namespace
}  // namespace espalier
