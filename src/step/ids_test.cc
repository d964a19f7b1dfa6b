// Ids that an Embedding has no row for, in what fit, evaluate and predict are given.
#include <regex>

#include <gtest/gtest.h>

#include "espalier/espalier.h"

namespace espalier {
namespace {

// Refused with this rule; the message.
template <class F>
std::string refusal(const char* rule, F f) {
  try {
    f();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), rule) << error.what();
    // Models are numbered.
    return std::regex_replace(error.message(), std::regex("sequential_[0-9]+/"), "sequential/");
  }
  return "not refused";
}

Sequential words(bool eager = false) {
  Sequential model{Embedding({.input_dim = 5, .output_dim = 2}), Flatten(), Dense({.units = 1})};
  model.compile({.loss = MeanSquaredError(), .run_eagerly = eager});
  return model;
}

const char* const kFive = " is none: layer \"sequential/embedding\" has 5, numbered from 0";

TEST(Ids, ThoseOutsideAreRefusedBeforeTheFirstStep) {
  const Tensor good = Tensor::of<int32_t>({0, 1, 2, 3, 4, 0}, {3, 2}),
               high = Tensor::of<int32_t>({0, 1, 2, 3, 4, 5}, {3, 2}),
               low = Tensor::of<int64_t>({0, 1, -1, 3, 4, 0}, {3, 2}), y = full({3, 1}, 1);
  // Whether the ranges are known from calls before or not.
  for (const bool known : {false, true}) {
    const auto model = [&] {
      Sequential out = words();
      if (known) {
        out.fit(good, y);
        out.evaluate(good, y);
        out.predict(good);
      }
      return out;
    };
    Sequential trained = model();
    trained(good);
    const auto before = trained.variables()[0].read().to_vector<float>();
    EXPECT_EQ(refusal("fit.ids", [&] { trained.fit(high, y, {.batch_size = 1, .shuffle = false}); }),
              std::string("id 5 of row 2") + kFive);
    EXPECT_EQ(trained.variables()[0].read().to_vector<float>(), before) << "no step is made";
    EXPECT_EQ(refusal("fit.ids", [&] { model().fit(low, y); }), std::string("id -1 of row 1") + kFive);
    EXPECT_EQ(refusal("evaluate.ids", [&] { model().evaluate(high, y); }),
              std::string("id 5 of row 2") + kFive);
    EXPECT_EQ(refusal("predict.ids", [&] { model().predict(high, 2); }),
              std::string("id 5 of row 2") + kFive);
    EXPECT_EQ(refusal("train_on_batch.ids", [&] { model().train_on_batch(low, y); }),
              std::string("id -1 of row 1") + kFive);
    EXPECT_EQ(refusal("fit.validation_ids",
                      [&] { model().fit(good, y, {.validation_x = high, .validation_y = y}); }),
              std::string("id 5 of row 2") + kFive);
    const Dataset batches = Dataset::from_tensor_slices({high, y}).batch(2);
    EXPECT_EQ(refusal("fit.ids", [&] { model().fit(batches); }),
              std::string("id 5 of row 0 of its batch") + kFive);
    EXPECT_EQ(refusal("evaluate.ids", [&] { model().evaluate(batches); }),
              std::string("id 5 of row 0 of its batch") + kFive);
    EXPECT_EQ(refusal("predict.ids", [&] { model().predict(Dataset::from_tensor_slices({high}).batch(2)); }),
              std::string("id 5 of row 0 of its batch") + kFive);
    EXPECT_TRUE(std::isfinite(model().fit(good, y)[0].at("loss")));
    // A row of weight 0 is not there.
    EXPECT_TRUE(
        std::isfinite(model().fit(high, y, {.sample_weight = Tensor::of<float>({1, 1, 0})})[0].at("loss")));
  }
  EXPECT_EQ(refusal("embedding.ids", [&] { words(true).fit(high, y, {.shuffle = false}); }),
            std::string("id 5 of row 2") + kFive);
}

TEST(Ids, TheInputIsNamedWhereThereAreSeveral) {
  const auto users = Input({}, {.name = "user", .dtype = DType::kI32}),
             items = Input({}, {.name = "item", .dtype = DType::kI32});
  const auto user_rows = connect(Embedding({.input_dim = 9, .output_dim = 2, .name = "users"}), users),
             item_rows = connect(Embedding({.input_dim = 3, .output_dim = 2, .name = "items"}), items);
  Functional model({users, items},
                   {connect(Dense({.units = 1}), connect(Concatenate(), {user_rows, item_rows}))});
  model.compile({.loss = MeanSquaredError()});
  const Tensor user = Tensor::of<int32_t>({8, 0}), item = Tensor::of<int32_t>({2, 3});
  const std::string said = refusal("fit.ids", [&] { model.fit({user, item}, full({2, 1}, 1)); });
  EXPECT_TRUE(said.starts_with("id 3 of row 1 of input 1 is none: layer ")) << said;
  EXPECT_TRUE(said.ends_with("/items\" has 3, numbered from 0")) << said;
}

}  // namespace
}  // namespace espalier
