#include "launch/join_secret.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "launch/control_secret.h"
#include "launch/doctor.h"

namespace espalier {
namespace {

void forget_secret() {
  ::setenv("ESPALIER_SECRET", "", 1);
  take_secret();
}

TEST(JoinSecret, OneThatCanBeGuessedIsWarnedOfBeyondThisHost) {
  forget_secret();
  ClusterPlace place{.world = 2, .coordinator = "10.0.0.1:29500", .job = "7"};
  const JoinSecret first = join_secret(place), same = join_secret(place);
  EXPECT_EQ(first.secret.size(), 64u);
  EXPECT_EQ(first.secret, same.secret);
  EXPECT_EQ(
      first.warning,
      "ranks meet at 10.0.0.1:29500, and ESPALIER_SECRET is not set: who can connect and knows the job and "
      "its user can guess the secret of the run, and join; set ESPALIER_SECRET to the same random text for "
      "all ranks");
  place.job = "8";
  EXPECT_NE(join_secret(place).secret, first.secret);
  for (const char* here : {"127.0.0.1:29500", "localhost:29500", "[::1]:29500"}) {
    place.coordinator = here;
    EXPECT_EQ(join_secret(place).warning, "") << here;
  }
}

TEST(JoinSecret, IsTheUsersWhereOneIsSet) {
  const ClusterPlace place{.world = 2, .coordinator = "10.0.0.1:29500", .job = "7"};
  ::setenv("ESPALIER_SECRET", "of the user", 1);
  for (int times = 0; times < 2; ++times) {
    const JoinSecret of = join_secret(place);
    EXPECT_EQ(of.secret, "of the user");
    EXPECT_EQ(of.warning, "");
    EXPECT_EQ(std::getenv("ESPALIER_SECRET"), nullptr);
  }
  forget_secret();
}

// What doctor says of it, a line for each finding.
std::string said_of_secret(std::map<std::string, std::string> variables, const DoctorPlan& plan = {}) {
  const Environment environment = [&](const std::string& name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional<std::string>(at->second);
  };
  std::string out;
  for (const DoctorFinding& finding : diagnose(environment, {}, plan).findings) {
    if (finding.topic == "secret") out += to_string(finding) + "\n";
  }
  return out;
}

TEST(JoinSecret, DoctorWarnsOfOneThatCanBeGuessed) {
  std::map<std::string, std::string> variables{
      {"ESPALIER_RANK", "1"}, {"ESPALIER_WORLD", "2"}, {"ESPALIER_COORDINATOR", "10.0.0.1:29500"}};
  const std::string warning =
      "WARN  secret: ranks meet at 10.0.0.1:29500, and ESPALIER_SECRET is not set; who can connect and knows "
      "the "
      "job and its user can guess the secret of the run, and join; fix: set ESPALIER_SECRET to the same "
      "random "
      "text for all ranks\n";
  EXPECT_EQ(said_of_secret(variables), warning);
  variables["ESPALIER_SECRET"] = "";
  EXPECT_EQ(said_of_secret(variables), warning);
  variables["ESPALIER_SECRET"] = "of the user";
  EXPECT_EQ(said_of_secret(variables), "OK    secret: ESPALIER_SECRET is set\n");
  variables["ESPALIER_SECRET"] = "";
  variables["ESPALIER_COORDINATOR"] = "127.0.0.1:29500";
  EXPECT_EQ(said_of_secret(variables), "OK    secret: ranks meet on this host alone\n");
  // espalier launch makes one for each run.
  EXPECT_EQ(said_of_secret({}, {.hosts = {{"a", 2}, {"b", 2}}}), "");
}

}  // namespace
}  // namespace espalier
