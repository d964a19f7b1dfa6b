#include "train/part_notes.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/espalier.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

// Rows less the mean of the batch.
struct CentersRows final : Layer {
  CentersRows() : Layer("centers") {}
  Tensor call(const Tensor& x) override {
    return x - broadcast_in_dim(reduce_sum(x, {0}) / static_cast<double>(x.size(0)), x.shape(), {1});
  }
  bool couples_rows() const override { return true; }
};

// Each row is to be most like its own label; all others of the batch are its negatives.
Loss negatives_of_batch() {
  return {.name = "negatives", .per_example = [](const Tensor& y, const Tensor& x) {
            const Tensor likeness = matmul(x, transpose(convert(y, DType::kF32), {1, 0}));
            const Tensor own = reduce_sum(x * convert(y, DType::kF32), {1});
            return logsumexp(likeness, 1) - own;
          }};
}

const Loss& squared_error_loss() {
  static const Loss loss = MeanSquaredError();
  return loss;
}

std::vector<std::string> part_notes_of(const std::function<Sequential()>& make, const Loss& loss,
                                       int64_t batch, int shards = 0) {
  Sequential model = make();
  model.compile({.optimizer = SGD{}, .loss = loss, .metrics = {}, .logical_shards = shards});
  std::vector<std::string> notes;
  const auto hears = LambdaCallback({.on_note = [&](const std::string& note) { notes.push_back(note); }});
  const Tensor x = random_normal({12, 3}, 1, 0);
  model.fit(x, random_normal({12, 2}, 2, 0), {.epochs = 2, .batch_size = batch, .callbacks = {hears}});
  std::erase_if(notes, [](const std::string& note) { return note.find(" a step: ") != note.npos; });
  return notes;
}
Sequential of_single_rows() { return Sequential{Dense({.units = 2})}; }
Sequential normalizing_rows(bool synchronized) {
  return Sequential{Dense({.units = 2}), BatchNormalization({.synchronized = synchronized})};
}
void expect_one_note(const std::vector<std::string>& notes, const std::string& begin,
                     const std::string& end) {
  ASSERT_EQ(notes.size(), 1u) << (notes.empty() ? "" : notes[1]);
  EXPECT_NE(notes[0].find(begin), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find(end), std::string::npos) << notes[0];
}

TEST(PartNotes, AVarianceOfOneRowIsSaidOnce) {
  const strategy::Mirrored three({.devices = 3});
  const auto plain = [] { return normalizing_rows(false); };
  const auto synchronized = [] { return normalizing_rows(true); };
  EXPECT_TRUE(part_notes_of(plain, squared_error_loss(), 3).empty());
  {
    const auto scope = three.scope();
    expect_one_note(part_notes_of(plain, squared_error_loss(), 3),
                    "/batch_normalization\" normalizes by one row",
                    "BatchNormalization({.synchronized = true})");
    EXPECT_TRUE(part_notes_of(synchronized, squared_error_loss(), 3).empty());
    EXPECT_TRUE(part_notes_of(plain, squared_error_loss(), 6).empty());
  }
  expect_one_note(part_notes_of(plain, squared_error_loss(), 3, 3),
                  "/batch_normalization\" normalizes by one row", "fewer logical shards");
  // A row of an image has a variance.
  const auto scope = three.scope();
  const auto of_images = [] {
    return Sequential{Reshape({3, 1}), BatchNormalization(), Flatten(), Dense({.units = 2})};
  };
  EXPECT_TRUE(part_notes_of(of_images, squared_error_loss(), 3).empty());
}

TEST(PartNotes, RowsThatMeetInALayerOrALossAreSaidOnce) {
  const auto centers = [] { return Sequential{CentersRows(), Dense({.units = 2})}; };
  EXPECT_TRUE(part_notes_of(centers, negatives_of_batch(), 6).empty());
  const strategy::Mirrored two({.devices = 2});
  {
    const auto scope = two.scope();
    expect_one_note(part_notes_of(centers, squared_error_loss(), 6),
                    "rows of a batch meet in layer \"sequential", "strategy::all_reduce()");
    expect_one_note(part_notes_of(of_single_rows, negatives_of_batch(), 6),
                    "rows of a batch meet in loss \"negatives\"", "each replica sees its own rows alone");
    EXPECT_EQ(part_notes_of(centers, negatives_of_batch(), 6).size(), 2u);
    EXPECT_TRUE(part_notes_of(of_single_rows, squared_error_loss(), 6).empty());
  }
  expect_one_note(part_notes_of(of_single_rows, negatives_of_batch(), 6, 2), "loss \"negatives\"",
                  "each logical shard");
  on_each_worker(2, [](const Strategy& workers) {
    const auto scope = workers.scope();
    EXPECT_EQ(part_notes_of(of_single_rows, negatives_of_batch(), 6).size(), 1u);
  });
}

TEST(PartNotes, LossesOfRowsAloneAreNone) {
  const TensorType classes{DType::kI64, {8}}, scores{DType::kF32, {8, 5}}, one{DType::kF32, {8, 1}};
  EXPECT_FALSE(loss_rows_interact(SparseCategoricalCrossentropy(), classes, scores));
  EXPECT_FALSE(loss_rows_interact(SparseCategoricalCrossentropy({.from_logits = true}), classes, scores));
  EXPECT_FALSE(loss_rows_interact(CategoricalCrossentropy(), scores, scores));
  EXPECT_FALSE(loss_rows_interact(BinaryCrossentropy(), one, one));
  for (const Loss& loss : {MeanSquaredError(), MeanAbsoluteError(), Huber()})
    EXPECT_FALSE(loss_rows_interact(loss, scores, scores)) << loss.name;
  EXPECT_TRUE(loss_rows_interact(negatives_of_batch(), scores, scores));
}

}  // namespace
}  // namespace espalier
