// Collectives in a world of one process; src/interp/grid_test.cc has them on grids.
#include "ops/collective.h"

#include "ops/op_test.h"

namespace espalier {
namespace {

std::vector<Array> as_given(Arrays x) { return {x.begin(), x.end()}; }

OpCase alone(const char* name, std::vector<In> inputs, OpCall call) {
  return {.name = name,
          .inputs = std::move(inputs),
          .call = std::move(call),
          .oracle = as_given,
          .dtypes = kAnyDType};
}

OpTest number_alone(OpCall call) {
  return {.cases = {{.name = "alone",
                     .inputs = {},
                     .call = std::move(call),
                     .oracle =
                         [](Arrays) {
                           return Array{{DType::kU32, {}}, {0}};
                         },
                     .dtypes = kAnyDType,
                     .no_gradient = "an integer"}},
          .no_zero_size = "a scalar without operands"};
}

std::vector<Tensor> listed_tensors(Inputs x) { return {x.begin(), x.end()}; }

}  // namespace

OP_TEST(all_reduce) {
  OpTest test;
  const auto sum = [](Inputs x) { return all_reduce(listed_tensors(x)); };
  const auto maximum = [](Inputs x) { return all_reduce(listed_tensors(x), Reducer::kMax); };
  test.cases = {alone("two", {{.shape = {2, 3}}, {.shape = {}}}, sum),
                alone("empty", {{.shape = {0, 2}}}, sum), alone("max", {{.shape = {2, 3}}}, maximum)};
  return test;
}

OP_TEST(all_gather) {
  OpTest test;
  const auto call = [](Inputs x) { return all_gather(listed_tensors(x), 1, 1); };
  test.cases = {alone("two", {{.shape = {2, 3}}, {.shape = {1, 1}}}, call),
                alone("one", {{.shape = {1, 1}}}, call), alone("empty", {{.shape = {0, 2}}}, call)};
  return test;
}

OP_TEST(reduce_scatter) {
  OpTest test;
  const auto call = [](Inputs x) { return reduce_scatter(x[0], 1, 1); };
  test.cases = {alone("one", {{.shape = {2, 3}}}, call), alone("single", {{.shape = {1, 1}}}, call),
                alone("empty", {{.shape = {0, 2}}}, call)};
  return test;
}

OP_TEST(all_to_all) {
  OpTest test;
  const auto call = [](Inputs x) { return all_to_all(listed_tensors(x), 1, 0, 1); };
  test.cases = {alone("two", {{.shape = {2, 3}}, {.shape = {1, 1}}}, call),
                alone("single", {{.shape = {1, 1}}}, call), alone("empty", {{.shape = {0, 2}}}, call)};
  return test;
}

OP_TEST(collective_permute) {
  OpTest test;
  const auto call = [](Inputs x) { return collective_permute(listed_tensors(x), {0, 0}); };
  test.cases = {alone("two", {{.shape = {2, 3}}, {.shape = {}}}, call),
                alone("empty", {{.shape = {0, 2}}}, call)};
  return test;
}

OP_TEST(collective_broadcast) {
  OpTest test;
  const auto call = [](Inputs x) { return collective_broadcast(listed_tensors(x)); };
  test.cases = {alone("two", {{.shape = {2, 3}}, {.shape = {}}}, call),
                alone("empty", {{.shape = {0, 2}}}, call)};
  return test;
}

OP_TEST(replica_id) {
  return number_alone([](Inputs) { return replica_id(); });
}

OP_TEST(partition_id) {
  return number_alone([](Inputs) { return partition_id(); });
}

}  // namespace espalier
