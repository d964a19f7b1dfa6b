#include "espalier/functional.h"

#include <functional>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/dataset.h"
#include "espalier/merging.h"
#include "espalier/ops.h"
#include "espalier/pooling.h"
#include "espalier/random.h"

namespace espalier {
namespace {

std::vector<float> values(const Tensor& x) { return x.to_vector<float>(); }
std::vector<std::string> paths(const Layer& layer) {
  std::vector<std::string> out;
  for (const Variable& variable : layer.variables()) out.push_back(variable.path());
  return out;
}
// Sum and difference.
struct Both : Layer {
  Both() : Layer("both") {}
  Tensors call_many(Inputs<Tensor> x) override { return {x[0] + x[1], x[0] - x[1]}; }
};

TEST(FunctionalModel, SharedLayersKeepOneSetOfWeights) {
  set_seed(0);
  const Placeholder a = Input({3}), b = Input({3});
  Dense tower({.units = 2});
  Functional model({a, b}, {connect(Concatenate(), {connect(tower, a), connect(tower, b)})});
  const Tensor x = full({4, 3}, 1), y = full({4, 3}, 2);
  const Tensor out = model({x, y});
  EXPECT_EQ(paths(model), (std::vector<std::string>{"functional/dense/kernel", "functional/dense/bias"}));
  EXPECT_EQ(values(out), values(concatenate({tower(x), tower(y)}, 1)));
  EXPECT_EQ(tower.variables()[0].state(), model.variables()[0].state());
}

// Against the `layers` of Keras 3.15.1's models of these graphs, which give the order of their variables.
TEST(FunctionalModel, LayersRunAndHaveTheirVariablesInTheOrderOfKeras) {
  using P = Placeholder;
  const auto dense = [](const char* name) { return Dense({.units = 3, .use_bias = false, .name = name}); };
  const auto put = [&](const char* name, const P& x) { return connect(dense(name), x); };
  const auto both = [](const P& x, const P& y) { return connect(Concatenate(), {x, y}); };
  const auto order = [](const std::vector<P>& inputs, const std::vector<P>& outputs) {
    Functional model(inputs, outputs);
    model.apply(TensorList(Tensors(inputs.size(), full({2, 3}, 1))));
    std::string out;
    for (std::string path : paths(model)) {
      path = path.substr(path.find('/') + 1);
      out += (out.empty() ? "" : " ") + path.substr(0, path.find('/'));
    }
    return out;
  };
  const P a = Input({3}), b = Input({3}), c = Input({3});
  EXPECT_EQ(order({a, b}, {both(put("a", a), put("b", b))}), "a b");
  EXPECT_EQ(order({a, b}, {both(put("a2", put("a1", a)), put("b2", put("b1", b)))}), "a1 b1 a2 b2");
  EXPECT_EQ(order({a, b}, {both(put("a1", a), put("b2", put("b1", b)))}), "b1 a1 b2");
  EXPECT_EQ(order({a}, {connect(Add(), {put("m2", put("m1", a)), put("short", a)})}), "m1 m2 short");
  const P t = put("t", a);
  EXPECT_EQ(order({a}, {put("kind", t), put("size", put("hid", t))}), "t hid kind size");
  EXPECT_EQ(order({a, b, c}, {both(both(put("a", a), put("b", b)), put("c", c))}), "a b c");
  const P h = put("h", a), p = put("p", h), q = put("q", h);
  EXPECT_EQ(order({a}, {connect(Add(), {put("r", q), put("s", p)})}), "h q p r s");
  // Where one is used twice, all before it are as far as before the farther use.
  const Dense tower = dense("tower");
  EXPECT_EQ(order({a, b},
                  {connect(Concatenate(), {connect(tower, a), put("own", connect(tower, b)), put("c", a)})}),
            "tower own c");
  const Dense shared = dense("shared");
  EXPECT_EQ(order({a, b}, {both(connect(shared, put("a", a)), put("b2", connect(shared, put("b", b))))}),
            "a b shared b2");
}

TEST(FunctionalModel, LayersWithoutANameAreNumberedFromTheFirstInput) {
  const Placeholder a = Input({3}), b = Input({3});
  Functional model(
      {a, b}, {connect(Concatenate(), {connect(Dense({.units = 2}), a), connect(Dense({.units = 5}), b)})});
  model({full({1, 3}, 1), full({1, 3}, 1)});
  ASSERT_EQ(paths(model)[0], model.path() + "/dense/kernel");
  EXPECT_EQ(model.variables()[0].shape(), (Shape{3, 2}));
  ASSERT_EQ(paths(model)[2], model.path() + "/dense_1/kernel");
  EXPECT_EQ(model.variables()[2].shape(), (Shape{3, 5}));
}

// One step in Keras 3.15.1: the mean of rows 1, then 3, is 0.5 (0.5 * 1) + 0.5 * 3, the other way 1.25.
TEST(FunctionalModel, SharedAveragesAreUpdatedInTheOrderOfKeras) {
  using P = Placeholder;
  const P a = Input({1}), b = Input({1});
  const auto pass = [](const P& x) { return connect(Activation("linear"), x); };
  const auto mean = [&](const std::function<std::vector<P>(const BatchNormalization&)>& outputs) {
    BatchNormalization norm({.momentum = 0.5});
    Functional model({a, b}, outputs(norm));
    const TrainingScope training(true);
    model.apply({full({2, 1}, 1), full({2, 1}, 3)});
    for (const Variable& variable : model.variables()) {
      if (variable.path().ends_with("/moving_mean")) return variable.read().item<float>();
    }
    return -1.f;
  };
  const auto joined = [](const P& x, const P& y) { return std::vector<P>{connect(Concatenate(), {x, y})}; };
  EXPECT_EQ(mean([&](auto& norm) { return joined(connect(norm, a), connect(norm, b)); }), 1.75f);
  EXPECT_EQ(mean([&](auto& norm) { return joined(connect(norm, b), connect(norm, a)); }), 1.25f);
  EXPECT_EQ(mean([&](auto& norm) { return joined(pass(connect(norm, a)), connect(norm, b)); }), 1.75f);
  EXPECT_EQ(mean([&](auto& norm) { return joined(connect(norm, a), pass(connect(norm, b))); }), 1.75f);
  EXPECT_EQ(mean([&](auto& norm) { return joined(pass(connect(norm, a)), pass(connect(norm, b))); }), 1.25f);
  using Outputs = std::vector<P>;
  EXPECT_EQ(mean([&](auto& norm) { return Outputs{connect(norm, a), connect(norm, b)}; }), 1.25f);
  EXPECT_EQ(mean([&](auto& norm) { return Outputs{connect(norm, b), connect(norm, a)}; }), 1.75f);
  EXPECT_EQ(mean([&](auto& norm) { return Outputs{connect(norm, a), pass(connect(norm, b))}; }), 1.25f);
}

TEST(FunctionalModel, SeveralOutputsAndLayersThatGiveSeveral) {
  const Placeholder a = Input({2}), b = Input({2}), both = connect(Both(), {a, b});
  Functional model({a, b}, {connect(Activation("relu"), both[1]), both[0], a});
  const Tensor x = Tensor::of<float>({1, 2}, {1, 2}), y = Tensor::of<float>({3, 1}, {1, 2});
  const Tensors out = model.apply({x, y});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values(out[0]), (std::vector<float>{0, 1}));
  EXPECT_EQ(values(out[1]), (std::vector<float>{4, 3}));
  EXPECT_EQ(values(out[2]), values(x));
  const Tensors predicted = model.predict_all({x, y}, 1);
  ASSERT_EQ(predicted.size(), 3u);
  EXPECT_EQ(values(predicted[1]), (std::vector<float>{4, 3}));
  EXPECT_EQ(rule_of([&] { model.predict({x, y}); }), "layer.outputs");
  EXPECT_EQ(rule_of([&] { model({x, y}); }), "layer.outputs");
}

TEST(FunctionalModel, EachLayerRunsOnceACall) {
  struct Count : Layer {
    explicit Count(int& calls) : calls(calls) {}
    int& calls;
    Tensor call(const Tensor& x) override {
      ++calls;
      return x + 1;
    }
  };
  int calls = 0;
  const Placeholder x = Input({1}), y = connect(Count(calls), x);
  Functional model({x}, {connect(Add(), {y, y, connect(Flatten(), y)}), y});
  calls = 0;
  EXPECT_EQ(values(model.apply({full({1, 1}, 1)})[0]), (std::vector<float>{6}));
  EXPECT_EQ(calls, 1);
}

TEST(FunctionalModel, AnInnerPlaceholderCanBeAnInput) {
  const Placeholder x = Input({4}), hidden = connect(Dense({.units = 3}), x);
  Dense head({.units = 2});
  const Placeholder out = connect(head, hidden);
  Functional whole({x}, {out}), rest({hidden}, {out}), front({x}, {hidden});
  const Tensor in = full({2, 4}, 0.5);
  EXPECT_EQ(values(rest(front(in))), values(whole(in)));
  EXPECT_EQ(whole.variables().size(), 4u);
  EXPECT_EQ(rest.variables().size(), 2u);
}

TEST(FunctionalModel, NestsAndCopies) {
  const Placeholder x = Input({3});
  Functional inner({x}, {connect(Dense({.units = 3, .activation = "tanh"}), x)}, "inner");
  const Placeholder y = Input({3});
  Functional outer({y}, {connect(inner, connect(inner, y))});
  const Tensor in = full({2, 3}, 0.3);
  EXPECT_EQ(values(outer(in)), values(inner(inner(in))));
  EXPECT_EQ(outer.variables().size(), 2u);
  Functional copy = outer;
  EXPECT_EQ(values(copy(in)), values(outer(in)));
  Sequential sequence{outer, Dense({.units = 1})};
  EXPECT_EQ(sequence(in).shape(), (Shape{2, 1}));
}

TEST(FunctionalModel, IsTrainedOnSeveralInputs) {
  set_seed(1);
  Generator random(5);
  const Tensor a = random.uniform({300, 1}), b = random.uniform({300, 1});
  const Tensor larger = convert(compare(reshape(a, {300}), reshape(b, {300}), Comparison::kGT), DType::kI32);
  const Placeholder x = Input({1}, {.name = "a"}), y = Input({1}, {.name = "b"});
  Functional model({x, y}, {connect(Dense({.units = 2}), connect(Concatenate(), {x, y}))});
  model.compile({.optimizer = Adam{.learning_rate = 0.05}});
  const auto history = model.fit({a, b}, larger, {.epochs = 20, .batch_size = 16, .validation_split = 0.2});
  EXPECT_GT(history.back().at("val_accuracy"), 0.95);
  EXPECT_GT(model.evaluate({a, b}, larger).at("accuracy"), 0.95);
  EXPECT_EQ(model.predict({a, b}, 7).shape(), (Shape{300, 2}));
  EXPECT_EQ(values(model.predict({a, b}, 7)), values(model.predict({a, b}, 300)));
  EXPECT_EQ(rule_of([&] { model.fit({a, full({299, 1}, 0)}, larger); }), "fit.rows");
  EXPECT_EQ(rule_of([&] { model.predict({a, full({299, 1}, 0)}); }), "predict.rows");
}

TEST(FunctionalModel, SubclassesTakeSeveralToo) {
  struct Net : Model {
    Dense left{{.units = 2}}, right{{.units = 2}};
    Tensors call_many(Inputs<Tensor> x) override { return {left(x[0]) + right(x[1])}; }
  };
  Net net;
  net.compile();
  const Tensor x = full({4, 3}, 1), z = full({4, 5}, 1), y = Tensor::of<int32_t>({0, 1, 1, 1});
  net.fit({x, z}, y);
  EXPECT_EQ(net.variables().size(), 4u);
  for (const bool eagerly : {false, true}) {
    net.compile({.run_eagerly = eagerly});
    for (const auto& call : {std::function([&] { net.fit(x, y); }),
                             std::function([&] { net.evaluate(x, y); }), std::function([&] {
                               net.predict({x, z, z});
                             }),
                             std::function([&] { net(x); }), std::function([&] {
                               net({x, z, z});
                             })})
      EXPECT_EQ(rule_of(call), "layer.inputs");
  }
}

TEST(FunctionalModel, SubclassesReadNoTensorThatACallDidNotBring) {
  struct Net : Model {
    Net() : Model("pairs") {}
    Dense left{{.units = 2}};
    void build_many(Inputs<TensorType> types) override {
      add_weight("scale", types[1].shape, initializer("ones"));
    }
    Tensors call_many(Inputs<Tensor> x) override { return {left(x[0]) + x[1] * weight("scale")}; }
  };
  struct Pair : Layer {
    Tensors call_many(Inputs<Tensor> x) override { return {x[0] + x[1]}; }
  };
  const Tensor x = full({4, 2}, 1);
  Net net;
  for (const auto& call : {std::function([&] { net(x); }), std::function([&] { net.predict(x); })}) {
    try {
      call();
      ADD_FAILURE() << "it reads past the end";
    } catch (const ValueError& error) {
      EXPECT_EQ(error.rule(), "layer.inputs");
      EXPECT_EQ(error.message(), "\"pairs\" reads its input 1, counted from 0: it is called with 1 tensor");
    }
  }
  EXPECT_EQ(net({x, x}).shape(), (Shape{4, 2}));
  Pair pair;
  EXPECT_EQ(pair({x, x, x}).shape(), (Shape{4, 2}));
  EXPECT_EQ(rule_of([&] { pair(x); }), "layer.inputs");
}

TEST(FunctionalModel, MistakesAreNamed) {
  const Placeholder a = Input({2}, {.name = "a"}), b = Input({2}, {.name = "b"});
  const Placeholder sum = connect(Add(), {a, b}), both = connect(Both(), {a, b});
  EXPECT_EQ(rule_of([&] { Functional({a}, {sum}); }), "functional.inputs");
  EXPECT_EQ(rule_of([&] { Functional({a, a, b}, {sum}); }), "functional.inputs");
  EXPECT_EQ(rule_of([&] { Functional({}, {sum}); }), "functional.inputs");
  EXPECT_EQ(rule_of([&] { Functional({a, b}, {}); }), "functional.outputs");
  EXPECT_EQ(rule_of([&] { connect(Add(), std::vector<Placeholder>{}); }), "functional.inputs");
  EXPECT_EQ(rule_of([&] { a[0]; }), "functional.output");
  EXPECT_EQ(rule_of([&] { Input({-2}); }), "input.shape");
  const Tensor x = full({3, 2}, 1);
  Functional model({a, b}, {sum});
  EXPECT_EQ(rule_of([&] { model(x); }), "functional.inputs");
  EXPECT_EQ(rule_of([&] { model({x, full({3, 3}, 1)}); }), "functional.shape");
  EXPECT_EQ(rule_of([&] { model({x, full({2}, 1)}); }), "functional.shape");
  EXPECT_EQ(rule_of([&] { model({x, full({3, 2}, 1, DType::kI32)}); }), "functional.dtype");
  EXPECT_EQ(model({x, convert(x, DType::kF16)}).dtype(), DType::kF32);
  EXPECT_EQ(rule_of([&] { Functional({a, b}, {both})({x, x}); }), "functional.output");
  EXPECT_EQ(rule_of([&] { Functional({a, b}, {both[2]})({x, x}); }), "functional.output");
}

// Floating-point dtypes stand for each other, others for themselves alone.
TEST(FunctionalModel, AnInputOfIntegersTakesNoOtherDType) {
  const Placeholder ids = Input({2}, {.dtype = DType::kI32});
  Functional model({ids}, {connect(Flatten(), ids)});
  EXPECT_EQ(model(full({3, 2}, 1, DType::kI32)).dtype(), DType::kI32);
  for (const DType other : {DType::kI64, DType::kU32, DType::kBool, DType::kF32})
    EXPECT_EQ(rule_of([&] { model(full({3, 2}, 1, other)); }), "functional.dtype") << other;
}

TEST(FunctionalModel, NamesOfInputsAreNumberedWhereTheyRepeat) {
  const Placeholder a = Input({2}), b = Input({2}), c = Input({2}, {.name = "left"});
  const Placeholder sum = connect(Add(), {a, b, c});
  EXPECT_EQ(Functional({a, c, b}, {sum}).input_names(),
            (std::vector<std::string>{"input", "left", "input_1"}));
  EXPECT_EQ(Functional({sum, a}, {connect(Add(), {sum, a})}).input_names(),
            (std::vector<std::string>{"add", "input"}));
}

TEST(FunctionalModel, ABatchWithoutLabelsIsNotTheModelsFault) {
  const Placeholder a = Input({2}), b = Input({2});
  Functional model({a, b}, {connect(Dense({.units = 2}), connect(Add(), {a, b}))});
  model.compile();
  const Tensor x = full({6, 2}, 1);
  try {
    model.fit(Dataset::from_tensor_slices({x, x}).batch(3));
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.rule(), "fit.rows");
    EXPECT_EQ(error.message(), "a batch must be 2 tensors of x, y, it is f32[3,2], f32[3,2]");
  }
  EXPECT_EQ(rule_of([&] { model.evaluate(Dataset::from_tensor_slices({x, x}).batch(3)); }), "evaluate.rows");
  EXPECT_NO_THROW(model.fit(Dataset::from_tensor_slices({x, x, full({6}, 0, DType::kI32)}).batch(3)));
}

// The text of the ShapeError, or other, of a mistake.
std::string functional_refusal(const std::function<void()>& mistake) {
  try {
    mistake();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(FunctionalModel, MistakesOfShapeAreNamedWhereLayersAreConnected) {
  const Placeholder x = Input({8}), y = Input({5}), image = Input({4, 4, 3});
  Dense shared({.units = 2});
  connect(shared, x);
  shared(full({1, 8}, 1));
  const auto line = [](uint32_t number) { return " at functional_test.cc:" + std::to_string(number); };
  const auto expect = [&](uint32_t number, const std::string& rule, const std::function<void()>& mistake) {
    const std::string text = functional_refusal(mistake), wanted = rule + line(number) + ",";
    EXPECT_EQ(text.substr(0, wanted.size()), wanted) << text;
  };
  expect(__LINE__, "ShapeError[merge.shapes]", [&] { connect(Add(), {x, y}); });
  expect(__LINE__, "ShapeError[dense.features]", [&] { connect(shared, y); });
  expect(__LINE__, "ShapeError[conv2d.rank]", [&] { connect(Conv2D({.filters = 2}), x); });
  expect(__LINE__, "ShapeError[reshape.elements]", [&] { connect(Reshape({3}), x); });
  expect(__LINE__, "ValueError[layer.inputs]", [&] { connect(Flatten(), {x, y}); });
  expect(__LINE__, "DTypeError[embedding.dtype]", [&] { connect(Embedding({.input_dim = 3}), x); });
  const Placeholder hidden = connect(Flatten(), connect(MaxPooling2D(), image));  // 2 * 2 * 3
  expect(__LINE__, "ShapeError[merge.shapes]", [&] { connect(Add(), {hidden, x}); });
  const Placeholder both = connect(Both(), {x, connect(Dense({.units = 8}), y)});
  expect(__LINE__, "ShapeError[merge.shapes]", [&] { connect(Add(), {both[1], y}); });
}

TEST(FunctionalModel, OpenSizesAreCheckedByTheFirstCallWithBothLines) {
  set_seed(0);
  const Placeholder x = Input({-1}), y = Input({5});
  const uint32_t connected = __LINE__ + 1;
  Functional model({x, y}, {connect(Add(), {x, y})});
  EXPECT_EQ(model({full({2, 5}, 1), full({2, 5}, 1)}).shape(), (Shape{2, 5}));
  const uint32_t called = __LINE__ + 1;
  const std::string text = functional_refusal([&] { model({full({2, 4}, 1), full({2, 5}, 1)}); });
  EXPECT_NE(text.find(" at functional_test.cc:" + std::to_string(connected) +
                      ", called at functional_test.cc:" + std::to_string(called) + ", functional/add\n"),
            std::string::npos)
      << text;
}

TEST(FunctionalModel, ConnectingBuildsNothing) {
  // Sizes that are open are not looked at before the first call.
  const auto weights = [](int64_t size, std::vector<std::string>& names) {
    set_seed(3);
    const Placeholder x = Input({size});
    Dense dense({.units = 3, .activation = "tanh"});
    const Placeholder hidden = connect(dense, connect(dense, x));
    EXPECT_EQ(dense.path(), "");
    EXPECT_TRUE(dense.variables().empty());
    Functional model({x}, {connect(Dense({.units = 1}), connect(Dropout(0.5), hidden))});
    model(full({2, 3}, 1));
    names = paths(model);
    std::vector<std::vector<float>> out;
    for (const Variable& variable : model.variables()) out.push_back(values(variable.read()));
    return out;
  };
  std::vector<std::string> names, names_of_open;
  EXPECT_EQ(weights(3, names), weights(-1, names_of_open));
  EXPECT_EQ(names, names_of_open);

  struct Looks : Layer {
    Tensor call(const Tensor& x) override { return x * x.data<float>()[0]; }
  };
  struct ForSix : Layer {
    Tensor call(const Tensor& x) override { return x + full({6, 3}, 1); }
  };
  const Placeholder x = Input({3});
  Functional model({x}, {connect(Dense({.units = 1}), connect(ForSix(), connect(Looks(), x)))}),
      six({x}, {connect(ForSix(), x)});
  EXPECT_EQ(model(full({6, 3}, 1)).shape(), (Shape{6, 1}));
  EXPECT_EQ(six(full({6, 3}, 1)).shape(), (Shape{6, 3}));
}

TEST(FunctionalModel, LongChainsDoNotRecurse) {
  Placeholder x = Input({-1});
  const Placeholder input = x;
  const Flatten flatten;
  for (int i = 0; i < 2000; ++i) x = connect(flatten, x);
  Functional model({input}, {x});
  EXPECT_EQ(values(model(full({1, 1}, 3))), (std::vector<float>{3}));
  for (int i = 0; i < 400000; ++i) x = connect(flatten, x);
  EXPECT_TRUE(Functional({input}, {x}).path().empty());
}

}  // namespace
}  // namespace espalier
