// Layers that keep in a variable how many rows they saw.
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/espalier.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

// Keeps a number in the variable "seen".
struct KeepsANumber : Layer {
  KeepsANumber() : Layer("keeps") {}
  void build(const TensorType&) override { add_weight("seen", {}, "zeros", false); }
};

// By the number of rows as C++ knows it, which is that of a part.
struct CountsByItself final : KeepsANumber {
  Tensor call(const Tensor& x) override {
    Variable seen = weight("seen");
    seen.assign(seen.read() + static_cast<float>(x.size(0)));
    return x;
  }
};
// By the shape of another array.
struct CountsByAShape final : KeepsANumber {
  Tensor call(const Tensor& x) override {
    Variable seen = weight("seen");
    seen.assign(seen.read() + reduce_sum(full({x.size(0)}, 1), {0}));
    return x;
  }
};
// A part of its own number of rows would make another mean.
struct AveragesByItself final : KeepsANumber {
  Tensor call(const Tensor& x) override {
    Variable seen = weight("seen");
    seen.assign(strategy::all_reduce({reduce_sum(x, {0, 1})})[0] / static_cast<double>(x.size(0)));
    return x;
  }
};

// What is right: the number of steps, and rows that replicas add up.
struct CountsSteps final : KeepsANumber {
  Tensor call(const Tensor& x) override {
    Variable seen = weight("seen");
    if (TrainingScope::current()) seen.assign(seen.read() + 1);
    return x;
  }
};
struct Observes final : KeepsANumber {
  Tensor call(const Tensor& x) override {
    if (TrainingScope::current())
      observe({.variables = {weight("seen")}, .increments = {full({}, static_cast<double>(x.size(0)))}});
    return x;
  }
};
struct AddsUpReplicas final : KeepsANumber {
  Tensor call(const Tensor& x) override {
    Variable seen = weight("seen");
    if (TrainingScope::current())
      seen.assign(seen.read() + strategy::all_reduce({reduce_sum(x * 0 + 1, {0, 1}) / 2})[0]);
    return x;
  }
};

// 10 rows, 2 epochs.
std::unique_ptr<Sequential> fitted_with(const std::function<void(Sequential&)>& add, int64_t batch,
                                        int shards) {
  auto model = std::make_unique<Sequential>();
  model->add(BatchNormalization());
  model->add(Dropout(0.5));
  add(*model);
  model->add(Dense({.units = 1}));
  model->compile({.optimizer = SGD{}, .loss = MeanSquaredError(), .logical_shards = shards});
  model->fit(full({10, 2}, 1), full({10, 1}, 0), {.epochs = 2, .batch_size = batch});
  return model;
}
template <class L>
std::unique_ptr<Sequential> counting_model(int64_t batch, int shards = 0) {
  return fitted_with([](Sequential& model) { model.add(L()); }, batch, shards);
}
float seen_of(const Sequential& model) {
  for (const Variable& variable : model.variables()) {
    if (variable.path().ends_with("/keeps/seen")) return variable.read().item<float>();
  }
  return -1;
}
template <class L>
float seen_by(int64_t batch) {
  return seen_of(*counting_model<L>(batch));
}
template <class Body>
std::string refusal_of_count(const Body& body) {
  try {
    body();
  } catch (const ValueError& error) {
    return error.what();
  }
  return "";
}
void expect_names(const std::string& error) {
  EXPECT_NE(error.find("ValueError[strategy.variable]"), error.npos) << error;
  EXPECT_NE(error.find("/keeps/seen\" depends on how many rows of the batch a replica has"), error.npos)
      << error;
  EXPECT_NE(error.find("/keeps"), error.npos) << error;
  EXPECT_NE(error.find("fix: observe()"), error.npos) << error;
}

// Each part of a batch has a program of its own, and one part's would be taken for all.
TEST(RowsCounted, ByALayerItselfAreRefusedOnReplicas) {
  EXPECT_EQ(seen_by<CountsByItself>(5), 20);
  for (const int devices : {2, 3}) {
    const strategy::Mirrored mirrored({.devices = devices});
    const auto scope = mirrored.scope();
    // Parts of 2 and 3 rows, and parts of equally many.
    for (const int64_t batch : {5, 2 * devices}) {
      SCOPED_TRACE(cat(devices, " devices, batches of ", batch));
      expect_names(refusal_of_count([&] { counting_model<CountsByItself>(batch); }));
      expect_names(refusal_of_count([&] { counting_model<CountsByAShape>(batch); }));
      expect_names(refusal_of_count([&] { counting_model<AveragesByItself>(batch); }));
    }
  }
  for (const std::string& error : errors_of_workers(2, [](const Strategy& workers) {
         const auto scope = workers.scope();
         counting_model<CountsByItself>(5);
       }))
    expect_names(error);
}

TEST(RowsCounted, ByALayerItselfAreRefusedOfShards) {
  expect_names(refusal_of_count([] { counting_model<CountsByItself>(5, 2); }));
  EXPECT_EQ(refusal_of_count([] { counting_model<CountsSteps>(5, 2); }), "");
  EXPECT_EQ(refusal_of_count([] { counting_model<Observes>(5, 2); }), "");
}

TEST(RowsCounted, StepsAndSumsOverReplicasAreRight) {
  for (const int devices : {1, 2, 3}) {
    const strategy::Mirrored mirrored({.devices = devices});
    const auto scope = mirrored.scope();
    EXPECT_EQ(seen_by<CountsSteps>(5), 4) << devices;
    EXPECT_EQ(seen_by<Observes>(5), 20) << devices;
    EXPECT_EQ(seen_by<AddsUpReplicas>(5), 20) << devices;
  }
}

TEST(RowsCounted, AFunctionIsRefusedWhereReplicasWouldKeepOtherNumbers) {
  Variable kept(full({}, 0), {.name = "kept"});
  const auto counts = function([&](const Tensor& x) {
    kept.assign(kept.read() + static_cast<float>(x.size(0)));
    return x;
  });
  const strategy::Mirrored two({.devices = 2});
  const auto scope = two.scope();
  // Of equal parts, too: each has a half of the rows.
  for (const int64_t other : {3, 3, 2}) {
    const std::string error = refusal_of_count([&] {
      two.run(counts, {{{full({2}, 1), full({other}, 1)}}});
    });
    EXPECT_NE(error.find("ValueError[strategy.variable]"), error.npos) << error;
    EXPECT_NE(error.find("\"kept\""), error.npos) << error;
  }
  EXPECT_EQ(kept.read().item<float>(), 0);
}

}  // namespace
}  // namespace espalier
