// Children of processes that have a strategy: those of one process compute, those of a worker are refused.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "comm/local.h"
#include "espalier/espalier.h"
#include "strategy/own_process_communicator.h"

namespace espalier {
namespace {

// What `body` gives in a child of this process, which has a minute; -1 where it does not end by itself.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(body());
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string rule_of_state(const std::function<void()>& call) {
  try {
    call();
  } catch (const StateError& error) {
    return error.rule();
  }
  return "";
}

TEST(Forked, AChildOfSeveralReplicasTrainsAndEvaluatesAsItsParent) {
  const strategy::Mirrored replicas({.devices = 3});
  const auto scope = replicas.scope();
  const Tensor x = random_normal({24, 4}, 1, 0), y = matmul(x, random_normal({4, 2}, 2, 0));
  Sequential model{Dense({.units = 2})};
  model.compile({.optimizer = SGD{.learning_rate = 0.1}, .loss = MeanSquaredError()});
  model.fit(x, y, {.epochs = 1, .batch_size = 6});
  const double before = model.evaluate(x, y).at("loss");
  EXPECT_EQ(in_child([&] {
              if (model.evaluate(x, y).at("loss") != before) return 1;
              model.fit(x, y, {.epochs = 1, .batch_size = 6});
              return model.evaluate(x, y).at("loss") < before ? 0 : 2;
            }),
            0);
  EXPECT_EQ(model.evaluate(x, y).at("loss"), before);
}

TEST(Forked, AChildIsRefusedWhereOthersWouldWaitAndElseSaysNothing) {
  const auto ranks = local_communicators(1);
  OwnProcessCommunicator communicator(*ranks[0]);
  EXPECT_EQ(communicator.any(2), 2u);
  std::byte data{1}, out{0};
  const Collective what{.kind = Collective::Kind::kAllGather, .name = "values", .type = "bytes", .count = 1};
  const uint64_t ticket = communicator.start(what, &data, &out);
  ThreadPool pool(1);
  EXPECT_EQ(in_child([&] {
              const auto refused = [](const std::function<void()>& call) {
                return rule_of_state(call) == "strategy.forked";
              };
              communicator.stage(Stage::kEvaluate, 7);
              communicator.abort("the child gives up");
              return refused([&] { communicator.any(1); }) && refused([&] { communicator.allocate(64); }) &&
                             refused([&] { communicator.start(what, &data, &out); }) &&
                             refused([&] { communicator.done(ticket, pool); })
                         ? 0
                         : 1;
            }),
            0);
  communicator.done(ticket, pool);
  EXPECT_EQ(out, std::byte{1});
}

}  // namespace
}  // namespace espalier
