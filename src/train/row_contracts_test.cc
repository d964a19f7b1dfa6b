// What rows, labels, weights and losses are refused for, and what options of fit say, each as a whole.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "espalier/espalier.h"
#include "step/counted_rows.h"
#include "step/ids.h"
#include "train/dataset_batches.h"
#include "train/error_text_test.h"
#include "train/fit_rows.h"
#include "train/rows.h"

namespace espalier {
namespace {

const double kNotANumber = std::numeric_limits<double>::quiet_NaN();
const double kUnbounded = std::numeric_limits<double>::infinity();

Tensor ones_of(const Shape& shape, DType dtype = DType::kF32) { return full(shape, 1, dtype); }

TEST(RowContracts, RowsThatDoNotBelongTogether) {
  const auto text = [](const Tensors& x, const Tensors& y) {
    return error_text([&] { check_rows("r", x, y); });
  };
  const std::string together = "ShapeError[r] x and y must have one row per example: ";
  EXPECT_EQ(text({ones_of({4, 3}), ones_of({4})}, {ones_of({4}), ones_of({4, 1})}), "nothing");
  EXPECT_EQ(text({ones_of({4, 3}), ones_of({3})}, {ones_of({4})}), together + "f32[4,3], f32[3] and f32[4]");
  EXPECT_EQ(text({ones_of({4})}, {ones_of({4}), ones_of({3})}), together + "f32[4] and f32[4], f32[3]");
  EXPECT_EQ(text({ones_of({4})}, {ones_of({4}), ones_of({})}), together + "f32[4] and f32[4], f32[]");
  EXPECT_EQ(text({ones_of({})}, {ones_of({4})}), together + "f32[] and f32[4]");
  EXPECT_EQ(text({ones_of({})}, {ones_of({})}),
            together + "f32[] and f32[] | a dataset's elements are batches: .batch(32)");
  EXPECT_EQ(text({}, {ones_of({4})}), together + " and f32[4]");
  EXPECT_EQ(text({ones_of({4})}, {}), together + "f32[4] and ");
  EXPECT_EQ(text({ones_of({0, 3})}, {ones_of({0})}), "ShapeError[r] there are no rows: x is f32[0,3]");
  EXPECT_EQ(text({Tensor()}, {ones_of({4})}),
            "StateError[tensor.undefined] tensor 0 of x holds nothing | assign it before use");
  const auto to_predict = [](const Tensors& x) { return error_text([&] { rows_to_predict(x); }); };
  EXPECT_EQ(to_predict({ones_of({4, 3}), ones_of({3})}),
            "ShapeError[predict.rows] all tensors must have one row per example: f32[4,3], f32[3]");
  EXPECT_EQ(to_predict({ones_of({3}), ones_of({})}),
            "ShapeError[predict.rows] all tensors must have one row per example: f32[3], f32[]");
  EXPECT_EQ(to_predict({ones_of({})}), "ShapeError[predict.rows] there are no rows: x is f32[]");
  EXPECT_EQ(to_predict({ones_of({0, 2}), ones_of({0})}),
            "ShapeError[predict.rows] there are no rows: x is f32[0,2], f32[0]");
  EXPECT_EQ(to_predict({ones_of({1})}), "nothing");
}

TEST(RowContracts, WeightsOfRows) {
  const auto text = [](const Tensor& weights) { return error_text([&] { row_weights("r", weights, 3); }); };
  const std::string bad = "ValueError[r] weights are finite and not negative, that of row ";
  EXPECT_EQ(text(Tensor::of<float>({0, 1, 2})), "nothing");
  EXPECT_EQ(text(Tensor::of<float>({0, -0.5f, -1})), bad + "1 is -0.5");
  EXPECT_EQ(text(full({3}, kNotANumber)), bad + "0 is nan");
  EXPECT_EQ(text(Tensor::of<double>({0, 1, kUnbounded})), bad + "2 is inf");
  EXPECT_EQ(text(ones_of({3, 1})), "ShapeError[r] there must be one weight for each of 3 rows, got f32[3,1]");
  EXPECT_EQ(text(ones_of({2}, DType::kI32)),
            "ShapeError[r] there must be one weight for each of 3 rows, got i32[2]");
  EXPECT_EQ(row_weights("r", Tensor::of<int32_t>({0, 1, 2}), 3).to_vector<float>(),
            (std::vector<float>{0, 1, 2}));
}

TEST(RowContracts, ClassesOfLabels) {
  const auto text = [](const Tensors& y) { return error_text([&] { class_weights(y, {{1, 2}}); }); };
  const std::string begins =
                        "ValueError[fit.class_weight] class weights need the class of each row, its number "
                        "or one 1 among zeros: ",
                    fix = " | give each row its weight: sample_weight";
  EXPECT_EQ(text({Tensor::of<float>({1, 0.5f})}), begins + "label 0.5 of row 1 is no class number" + fix);
  EXPECT_EQ(text({Tensor::of<double>({1, kNotANumber})}),
            begins + "label nan of row 1 is no class number" + fix);
  EXPECT_EQ(text({Tensor::of<double>({0x1p54})}),
            begins + "label 18014398509481984 of row 0 is no class number" + fix);
  EXPECT_EQ(text({Tensor::of<double>({0x1p53, -0x1p53})}), "nothing");
  EXPECT_EQ(text({Tensor::of<float>({0, 1, 1, 1}, {2, 2})}),
            begins + "row 1 of labels f32[2,2] has 2 ones and 0 zeros" + fix);
  EXPECT_EQ(text({Tensor::of<float>({0, 1, 0, 0}, {2, 2})}),
            begins + "row 1 of labels f32[2,2] has 0 ones and 2 zeros" + fix);
  EXPECT_EQ(text({Tensor::of<float>({0, 1, 2, 1, 0, 0}, {2, 3})}),
            begins + "row 0 of labels f32[2,3] has 1 ones and 1 zeros" + fix);
  EXPECT_EQ(text({ones_of({2, 0})}), begins + "labels are f32[2,0]" + fix);
  EXPECT_EQ(text({ones_of({2}), ones_of({2})}),
            "ValueError[fit.class_weight] class weights are for one output, y has 2" + fix);
  EXPECT_EQ(class_weights(Tensors{Tensor::of<float>({0, 1, 1, 0, 0, 1}, {3, 2})}, {{0, 3}, {1, 5}})
                .to_vector<float>(),
            (std::vector<float>{5, 3, 5}));
}

TEST(RowContracts, OptionsOfFit) {
  const auto text = [](const FitOptions& options) { return error_text([&] { check_options(options); }); };
  const Dataset two = Dataset::from_tensor_slices({ones_of({4, 1}), ones_of({4, 1})}).batch(2);
  const Tensor x = ones_of({4, 1});
  EXPECT_EQ(text({}), "nothing");
  EXPECT_EQ(text({.epochs = 0, .steps_per_epoch = 0, .initial_epoch = 0}), "nothing");
  EXPECT_EQ(text({.epochs = -1}), "ValueError[fit.epochs] epochs must not be negative, got -1");
  EXPECT_EQ(text({.steps_per_epoch = -2}),
            "ValueError[fit.steps_per_epoch] steps_per_epoch must not be negative, got -2");
  EXPECT_EQ(text({.initial_epoch = -3}),
            "ValueError[fit.initial_epoch] initial_epoch must not be negative, got -3");
  EXPECT_EQ(
      text({.validation_x = x}),
      "ValueError[fit.validation] validation_x and validation_y come together, validation_y is missing");
  EXPECT_EQ(
      text({.validation_y = x}),
      "ValueError[fit.validation] validation_x and validation_y come together, validation_x is missing");
  EXPECT_EQ(text({.validation_x = x, .validation_y = x, .validation_sample_weight = ones_of({4})}),
            "nothing");
  EXPECT_EQ(
      text({.validation_sample_weight = ones_of({4})}),
      "ValueError[fit.validation_sample_weight] validation_sample_weight is of the rows of validation_x, "
      "which is missing");
  EXPECT_EQ(
      text({.validation_sample_weight = ones_of({4}), .validation_data = two}),
      "ValueError[fit.validation_sample_weight] validation_sample_weight is of the rows of validation_x, "
      "which is missing | let the last tensor of the elements of validation_data be the weights");
  const std::string one =
      "ValueError[fit.validation] validation_split, validation_x and validation_data are answers to one "
      "question";
  EXPECT_EQ(text({.validation_x = x, .validation_y = x, .validation_split = 0.5}), one);
  EXPECT_EQ(text({.validation_x = x, .validation_y = x, .validation_data = two}), one);
  EXPECT_EQ(text({.validation_split = 0.5, .validation_data = two}), one);
  EXPECT_EQ(text({.validation_data = two}), "nothing");
  const std::string endless = text({.validation_data = two.repeat()});
  EXPECT_TRUE(endless.starts_with("ValueError[fit.validation] ")) << endless;
  EXPECT_TRUE(endless.ends_with(" has no end | take() as many batches as are meant")) << endless;
  for (const auto& [weight, said] : {std::pair{-0.5, "-0.5"}, {kNotANumber, "nan"}, {kUnbounded, "inf"}})
    EXPECT_EQ(
        text({.class_weight = {{1, 0}, {7, weight}}}),
        cat("ValueError[fit.class_weight] weights are finite and not negative, that of class 7 is ", said));
  EXPECT_EQ(text({.callbacks = {TerminateOnNaN(), nullptr}}), "ValueError[fit.callbacks] a callback is null");
}

TEST(RowContracts, ClassesThatASplitLeavesInOnePart) {
  const auto notes = [](const std::vector<int32_t>& labels) {
    const auto rows = static_cast<int64_t>(labels.size());
    return FitRows(ones_of({rows, 1}), Tensor::of(labels), {.validation_split = 0.5}).notes;
  };
  const std::string behind =
      "; validation_split takes the last rows as they are given, so shuffle them before fit";
  using Notes = std::vector<std::string>;
  // Each class has five rows: seven to train on, seven others.
  std::vector<int32_t> labels;
  for (int32_t label = 0; label < 14; ++label) labels.insert(labels.end(), 5, label);
  EXPECT_EQ(
      notes(labels),
      (Notes{"classes 7, 8, 9, 10, 11 and 2 more of the labels: no row among the training rows" + behind,
             "classes 0, 1, 2, 3, 4 and 2 more of the labels: no row among the validation rows" + behind}));
  std::vector<int32_t> five(labels.begin(), labels.begin() + 50);
  EXPECT_EQ(notes(five),
            (Notes{"classes 5, 6, 7, 8, 9 of the labels: no row among the training rows" + behind,
                   "classes 0, 1, 2, 3, 4 of the labels: no row among the validation rows" + behind}));
  // Seldom the same: ten rows of three classes are none, of two they are.
  EXPECT_EQ(notes({0, 0, 0, 0, 0, 1, 1, 1, 1, 2}), Notes{});
  EXPECT_EQ(notes({1, 1, 1, 1, 1, 1, 1, 1, 1, 0}),
            Notes{"class 0 of the labels: no row among the training rows" + behind});
  EXPECT_EQ(notes({0, 1, 1, 1, 1, 1, 1, 1, 1, 1}),
            Notes{"class 0 of the labels: no row among the validation rows" + behind});
}

TEST(RowContracts, RowsOfOutputsAreJoined) {
  const auto joined = [](const std::vector<Tensors>& parts, const std::vector<int64_t>& rows) {
    return join_rows(parts, rows);
  };
  const Tensors out = joined({{Tensor::of<float>({1, 2, 3, 4}, {2, 2}), Tensor::of<int32_t>({1, 2})},
                              {Tensor::of<float>({5, 6}, {1, 2}), Tensor::of<int32_t>({3})}},
                             {2, 1});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(out[0].to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(out[1].to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 3}));
  const std::string must = "ShapeError[predict.rows] outputs must have one row for each of ";
  EXPECT_EQ(error_text([&] {
              joined({{ones_of({2})}, {ones_of({2})}}, {2, 1});
            }),
            must + "1 rows of x, all alike: f32[2]");
  EXPECT_EQ(error_text([&] {
              joined({{ones_of({2})}, {ones_of({1}, DType::kI32)}}, {2, 1});
            }),
            must + "1 rows of x, all alike: i32[1]");
  EXPECT_EQ(error_text([&] { joined({{ones_of({})}}, {1}); }), must + "1 rows of x, all alike: f32[]");
}

TEST(RowContracts, LabelsOfLossesAndMetrics) {
  const auto numbers = [](const Tensor& labels, const Tensor& outputs) {
    return error_text([&] { require_class_numbers("m", labels, outputs); });
  };
  const auto alike = [](const Tensor& labels, const Tensor& outputs) {
    return error_text([&] { rows_of_one_shape("m", labels, outputs); });
  };
  const DType i32 = DType::kI32;
  const std::string without =
                        "ShapeError[m.labels] labels must have the outputs' shape without its last axis: ",
                    same = "ShapeError[m.labels] labels must have the outputs' shape, [batch, ...]: ";
  EXPECT_EQ(numbers(ones_of({4}, i32), ones_of({4, 3})), "nothing");
  EXPECT_EQ(numbers(ones_of({4, 1}, i32), ones_of({4, 3})),
            without +
                "labels i32[4,1], outputs f32[4,3] | take the last axis from the labels: "
                "squeeze(labels, -1)");
  EXPECT_EQ(numbers(ones_of({4, 3}), ones_of({4, 3})),
            without +
                "labels f32[4,3], outputs f32[4,3] | for a row of a number for each class "
                "CategoricalCrossentropy(); else argmax(labels, -1)");
  EXPECT_EQ(numbers(ones_of({3}, i32), ones_of({4, 3})), without + "labels i32[3], outputs f32[4,3]");
  EXPECT_EQ(numbers(ones_of({}, i32), ones_of({4})), without + "labels i32[], outputs f32[4]");
  EXPECT_EQ(numbers(ones_of({4}), ones_of({4, 3})),
            "DTypeError[m.labels] labels must be integers: labels f32[4], outputs f32[4,3] | convert(labels, "
            "DType::kI32); for labels that are numbers another loss, as MeanSquaredError()");
  EXPECT_EQ(numbers(ones_of({4}, i32), ones_of({4, 3}, i32)),
            "DTypeError[m.outputs] outputs must be floating-point numbers: labels i32[4], outputs i32[4,3]");
  EXPECT_EQ(
      alike(ones_of({4}), ones_of({4, 1})),
      same + "labels f32[4], outputs f32[4,1] | give labels the outputs' last axis: expand_dims(labels, -1)");
  EXPECT_EQ(
      alike(ones_of({4, 1}), ones_of({4})),
      same + "labels f32[4,1], outputs f32[4] | take the last axis from the labels: squeeze(labels, -1)");
  EXPECT_EQ(alike(ones_of({4}, i32), ones_of({4, 3})),
            same + "labels i32[4], outputs f32[4,3] | make rows of class numbers: one_hot(labels, 3)");
  EXPECT_EQ(alike(ones_of({4}), ones_of({4, 3})), same + "labels f32[4], outputs f32[4,3]");
  EXPECT_EQ(alike(ones_of({4, 2}, i32), ones_of({4, 3})), same + "labels i32[4,2], outputs f32[4,3]");
  const auto smoothing = [](double share) {
    return error_text([&] { BinaryCrossentropy({.label_smoothing = share}); });
  };
  const std::string lies =
      "ValueError[binary_crossentropy.label_smoothing] label_smoothing must lie in [0, 1], got ";
  EXPECT_EQ(smoothing(0), "nothing");
  EXPECT_EQ(smoothing(1), "nothing");
  EXPECT_EQ(smoothing(1.5), lies + "1.5");
  EXPECT_EQ(smoothing(-0.5), lies + "-0.5");
  EXPECT_EQ(smoothing(kNotANumber), lies + "nan");
  EXPECT_EQ(error_text([] { CategoricalCrossentropy({.label_smoothing = 2}); }),
            "ValueError[categorical_crossentropy.label_smoothing] label_smoothing must lie in [0, 1], got 2");
  for (const auto& [delta, said] :
       {std::pair{0.0, "0"}, {-1.0, "-1"}, {kNotANumber, "nan"}, {kUnbounded, "inf"}})
    EXPECT_EQ(error_text([&] { Huber({.delta = delta}); }),
              cat("ValueError[huber.delta] delta must be positive and finite, got ", said));
  EXPECT_EQ(error_text([] { LossSums::of(ones_of({3}), ones_of({2})); }),
            "ShapeError[loss.row_weight] a row has a loss and a weight of one dtype: losses f32[3], weights "
            "f32[2]");
  EXPECT_EQ(
      error_text([] {
        LossSums::of(ones_of({3, 1}), ones_of({3, 1}));
      }),
      "ShapeError[loss.row_weight] a row has a loss and a weight of one dtype: losses f32[3,1], weights "
      "f32[3,1]");
  // The row that is named has two labels.
  EXPECT_EQ(error_text([] {
              SparseCategoricalCrossentropy({.from_logits = true})
                  .of_rows(Tensor::of<int32_t>({0, 1, 1, 0, 1, 3}, {3, 2}), ones_of({3, 2, 3}));
            }),
            "ValueError[loss.labels] label 3 of row 2 is no class: the outputs have 3, numbered from 0");
}

TEST(RowContracts, TheFirstAndTheLastClassThatHasAWeight) {
  const Tensor x = ones_of({4, 3}), y = Tensor::of<int32_t>({0, 1, 1, 0});
  Sequential model{Dense({.units = 2})};
  model.compile();
  const auto text = [&](const std::map<int64_t, double>& weights) {
    return error_text([&] { model.fit(x, y, {.class_weight = weights}); });
  };
  const std::string none = " has a weight and is no class: the outputs have 2, numbered from 0";
  EXPECT_EQ(text({{0, 1}, {1, 2}}), "nothing");
  EXPECT_EQ(text({{0, 1}, {2, 2}}), "ValueError[fit.class_weight] class 2" + none);
  EXPECT_EQ(text({{-1, 1}, {1, 2}}), "ValueError[fit.class_weight] class -1" + none);
}

// Twice 2^127 is no f32.
TEST(RowContracts, TheLossScaleStaysANumber) {
  Sequential model{Dense({.units = 1, .use_bias = false, .kernel_initializer = "zeros"})};
  model.compile({.loss = MeanSquaredError(), .loss_scale = LossScale{.initial = 0x1p126, .growth_steps = 1}});
  std::vector<double> scales;
  for (int step = 0; step < 3; ++step)
    scales.push_back(model.train_on_batch(ones_of({2, 1}), full({2, 1}, 0)).at("loss_scale"));
  EXPECT_EQ(scales, (std::vector<double>{0x1p127, 0x1p127, 0x1p127}));
}

TEST(RowContracts, TheLeastAndTheMostOfIntegers) {
  const auto of = [](const Tensor& integers, const Tensor& weights = {}) -> std::vector<int64_t> {
    const std::optional<Extremes> out = extremes_of(integers, weights);
    if (!out) return {};
    return {out->least, out->least_row, out->most, out->most_row};
  };
  using Found = std::vector<int64_t>;
  // Of equal ones the first row.
  const Tensor x = Tensor::of<int32_t>({3, 1, 7, 1, 1, 7, 7, 2}, {4, 2});
  EXPECT_EQ(of(x), (Found{1, 0, 7, 1}));
  EXPECT_EQ(of(x, Tensor::of<float>({0, 0, 1, 2})), (Found{1, 2, 7, 2}));
  EXPECT_EQ(of(x, Tensor::of<float>({1, 0, 0, 1})), (Found{1, 0, 7, 3}));
  EXPECT_EQ(of(x, full({4}, 0)), Found{});
  EXPECT_EQ(of(full({0, 2}, 1, DType::kI32)), Found{});
  EXPECT_EQ(of(full({2, 0}, 1, DType::kI32)), Found{});
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(of(Tensor::of<uint64_t>({5, uint64_t{1} << 63})), (Found{5, 0, kMost, 1}));
}

TEST(RowContracts, ElementsOfADataset) {
  const auto text = [](DatasetFormat format, const Tensors& element) {
    return error_text([&] { StepArguments(std::move(format)).of(element); });
  };
  const Tensor x = ones_of({2, 3}), y = ones_of({2});
  const std::string must = "ShapeError[fit.rows] a batch must be ";
  EXPECT_EQ(text({.verb = "fit", .rows_rule = "fit.rows"}, {x, y}), "nothing");
  EXPECT_EQ(text({.verb = "fit", .rows_rule = "fit.rows", .inputs = 1}, {x, y, y}), "nothing")
      << "the last are weights";
  EXPECT_EQ(text({.verb = "fit", .rows_rule = "fit.rows"}, {y}), must + "x, y, it is f32[2]");
  EXPECT_EQ(text({.verb = "fit", .rows_rule = "fit.rows", .inputs = 1}, {x, y, y, y}),
            must + "x, y, it is f32[2,3], f32[2], f32[2], f32[2]");
  EXPECT_EQ(text({.verb = "fit", .rows_rule = "fit.rows", .known_inputs = 1}, {x, y, y}),
            must + "x, y, it is f32[2,3], f32[2], f32[2]");
  EXPECT_EQ(text({.verb = "fit", .rows_rule = "fit.rows", .known_inputs = 2}, {x, y}),
            must + "2 tensors of x, y, it is f32[2,3], f32[2]");
  EXPECT_EQ(text({.verb = "fit", .rows_rule = "fit.rows", .labels = 2}, {x, y}),
            must + "x, 2 tensors of y, it is f32[2,3], f32[2]");
  EXPECT_EQ(text({.verb = "fit", .rows_rule = "fit.rows", .weighted = true}, {x, y}),
            must + "x, y and the weight of each row, it is f32[2,3], f32[2]");
  // Weights of a smaller batch behind a larger one, times those of its classes.
  StepArguments arguments({.verb = "fit", .rows_rule = "fit.rows"});
  EXPECT_EQ(arguments.of({x, y})[2].to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(arguments.of({ones_of({1, 3}), ones_of({1})})[2].to_vector<float>(), std::vector<float>{1});
  StepArguments both({.verb = "fit", .rows_rule = "fit.rows", .weighted = true, .class_weight = {{1, 3}}});
  EXPECT_EQ(both.of({x, Tensor::of<int32_t>({0, 1}), Tensor::of<float>({2, 5})})[2].to_vector<float>(),
            (std::vector<float>{2, 15}));
  const auto none = both.without_rows({x, Tensor::of<int32_t>({1, 1}), y});
  EXPECT_EQ(none[0].to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(none[2].to_vector<float>(), std::vector<float>{0});
}

TEST(RowContracts, RowsOfAnInput) {
  const Placeholder in = Input({2}, {.name = "a"});
  Functional model({in}, {connect(Flatten(), in)});
  const std::string takes = "ShapeError[functional.shape] input \"a\" takes rows of the shape [2], got ";
  EXPECT_EQ(error_text([&] { model(ones_of({3, 2})); }), "nothing");
  EXPECT_EQ(error_text([&] { model(ones_of({2})); }),
            takes + "f32[2] | a row needs an axis of rows: .batch(32) of a dataset, expand_dims(x, 0)");
  EXPECT_EQ(error_text([&] { model(ones_of({3})); }), takes + "f32[3]");
  EXPECT_EQ(error_text([&] { model(ones_of({3, 2, 5})); }), takes + "f32[3,2,5]");
}

TEST(RowContracts, ThresholdsOfTheAreaUnderACurve) {
  EXPECT_EQ(error_text([] { metrics::AUC({.num_thresholds = 1'000'000}); }), "nothing");
  EXPECT_EQ(error_text([] { metrics::AUC({.num_thresholds = 2}); }), "nothing");
}

TEST(RowContracts, LossesOfNothing) {
  const LossSums none{full({}, 0), full({}, 0)}, some{full({}, 6), full({}, 4)};
  EXPECT_EQ(none.mean().item<float>(), 0);
  EXPECT_EQ(some.mean().item<float>(), 1.5f);
  const LossSums both = some + LossSums{full({}, 2), full({}, 12)};
  EXPECT_EQ(both.sum.item<float>(), 8);
  EXPECT_EQ(both.weight.item<float>(), 16);
  EXPECT_EQ(error_text([] { Loss{.name = "own", .per_example = {}}.of_rows(ones_of({1}), ones_of({1})); }),
            "ValueError[loss.function] loss \"own\" has no function | call one of losses.h, as "
            "MeanSquaredError()");
}

TEST(RowContracts, OnlyRowsThatCount) {
  const Tensor x = Tensor::of<int32_t>({10, 11, 20, 21, 30, 31, 40, 41}, {4, 2}),
               y = Tensor::of<float>({1, 2, 3, 4});
  const std::vector<int64_t> numbers{7, 8, 9, 6};
  const auto of = [&](const Tensor& weights) {
    return only_counted_rows(std::vector<Tensor>{x, y, weights}, numbers);
  };
  EXPECT_FALSE(of(Tensor::of<float>({1, 2, 3, 4})));
  EXPECT_FALSE(of(ones_of({4})));
  // Rows of weight 0 hold what the last that counts holds.
  const auto some = of(Tensor::of<float>({0, 1, 2, 0}));
  ASSERT_TRUE(some);
  EXPECT_EQ(some->arguments[0].to_vector<int32_t>(), (std::vector<int32_t>{30, 31, 20, 21, 30, 31, 30, 31}));
  EXPECT_EQ(some->arguments[1].to_vector<float>(), (std::vector<float>{3, 2, 3, 3}));
  EXPECT_EQ(some->arguments[2].to_vector<float>(), (std::vector<float>{0, 1, 2, 0}));
  EXPECT_EQ(some->numbers, (std::vector<int64_t>{9, 8, 9, 9}));
  const auto none = of(full({4}, 0));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->arguments[0].to_vector<int32_t>(), std::vector<int32_t>(8, 0));
  EXPECT_EQ(none->numbers, numbers);
  EXPECT_FALSE(some_row_counts(full({4}, 0)));
  EXPECT_FALSE(some_row_counts(full({0}, 1)));
  EXPECT_TRUE(some_row_counts(full({4}, 1)));
  EXPECT_FALSE(some_row_counts(Tensor::of<float>({0, 0})));
  EXPECT_TRUE(some_row_counts(Tensor::of<float>({0, 2})));
  EXPECT_TRUE(are_equal_rows(std::vector<Tensor>{Tensor::of<float>({1, 2, 1})}, 0, 2));
  EXPECT_FALSE(are_equal_rows(std::vector<Tensor>{Tensor::of<float>({1, 2, 1})}, 0, 1));
  EXPECT_FALSE(
      are_equal_rows(std::vector<Tensor>{Tensor::of<float>({1, 2, 1}), Tensor::of<float>({1, 2, 3})}, 0, 2));
}

}  // namespace
}  // namespace espalier
