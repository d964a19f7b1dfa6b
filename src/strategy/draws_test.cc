// All ops, functions and layers that draw: they are found by looking at each, and each draws for a row of a
// batch what one device draws for it.
#include "strategy/draws_test.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/philox.h"
#include "eager/trace.h"
#include "ir/builder.h"
#include "ops/registry.h"

namespace espalier {
namespace {

// Whether a graph draws, in what its ops stand for and in its regions, too.
bool draws(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op == &op_random_bits) return true;
    for (const GraphPtr& region : graph.regions(node))
      if (draws(*region)) return true;
    if (!node.op->decompose) continue;
    GraphBuilder builder;
    const SinkScope scope(builder);
    std::vector<Tensor> inputs;
    for (const ValueId input : graph.inputs(node))
      inputs.push_back(builder.argument(cat("in", inputs.size()), graph.type(input)));
    for (const Tensor& result : node.op->decompose({node.attributes.get(), inputs, graph.regions(node)}))
      builder.result("out", result);
    if (draws(*builder.finish())) return true;
  }
  return false;
}

// Gives every attribute that names a type a dtype.
struct FillTypes final : FieldVisitor {
  explicit FillTypes(DType dtype) : dtype(dtype) {}
  void field(const char*, bool&) override {}
  void field(const char*, int64_t&) override {}
  void field(const char*, double&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, Dims&) override {}
  void field(const char*, DType& value) override { value = dtype; }
  void field(const char*, TensorType& value) override { value = {dtype, {2}}; }
  void field(const char*, Literal& value) override { value = Literal::splat({dtype, {}}, int64_t{1}); }
  void word(const char*, int&, std::span<const char* const>) override {}
  DType dtype;
};

// A graph of a call of the op on operands that it takes; null: of none of those that are tried.
std::shared_ptr<Graph> some_call(const OpDef& op) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const Shape& shape : {Shape{2, 2}, Shape{2}, Shape{}}) {
      for (const size_t count : {1, 2, 3, 4, 0}) {
        for (const DType first : {dtype, DType::kBool}) {
          try {
            GraphBuilder builder;
            const SinkScope scope(builder);
            if (op.sample) {
              op.sample(dtype);
              return builder.finish();
            }
            std::shared_ptr<Attributes> attributes = op.attributes ? op.attributes() : nullptr;
            FillTypes fill(dtype);
            if (attributes) attributes->fields(fill);
            std::vector<Tensor> inputs;
            for (size_t k = 0; k < count; ++k)
              inputs.push_back(builder.argument(cat("in", k), {k == 0 ? first : dtype, shape}));
            builder.emit({op, attributes, inputs, {}});
            return builder.finish();
          } catch (const Error&) {
          }
        }
      }
    }
  }
  return nullptr;
}

// An op that draws numbers for the rows it sees, and asks nobody where in the batch they are.
std::vector<Tensor> draw_by_itself(const DecomposeContext& c) {
  const Shape& shape = c.in(0).shape();
  return {c.in(0) * random_uniform(shape, 3, 4, 0, 1, DType::kF32, {.global_shape = shape})};
}
void batch_by_itself(BatchContext& c);
const OpDef op_by_itself = {
    .name = "by_itself",
    .doc = "x times numbers of its own.",
    .composite = true,
    .infer =
        [](InferContext& c) {
          c.require_dtype(c.in(0).dtype == DType::kF32, "c1", "takes f32, got ", c.in(0));
          c.result(c.in(0));
        },
    .decompose = draw_by_itself,
    .batch = batch_by_itself,
};
void batch_by_itself(BatchContext& c) { c.outputs.push_back(emit(op_by_itself, nullptr, {c.in(0)})); }

Tensor by_itself(const Tensor& x) { return emit(op_by_itself, nullptr, {x}); }

struct NoiseByItself : Layer {
  NoiseByItself() : Layer("noise_by_itself") {}
  Tensor call(const Tensor& x) override { return by_itself(x); }
};

// An example of each op that draws, by its name.
const std::map<std::string, MakeDraw>& ops_that_draw() {
  static const std::map<std::string, MakeDraw> out{
      {"dropout", [] { return [](const Tensor& x) { return dropout(x, 0.5, 3, 4); }; }},
      {"random_bits", [] {
         return [](const Tensor& x) {
           return convert(shift_right_logical(random_bits(x.shape(), 7, 3), 8), DType::kF32) * 0x1p-24 * x;
         };
       }}};
  return out;
}

// Logits of five classes for each slice of x, and x times what was drawn by them.
Tensor even_classes(const Tensor& x) { return broadcast_in_dim(full({5}, 0), {x.size(0), 5}, {1}); }
Tensor of_classes(const Tensor& x, const Tensor& drawn) {
  Shape shape = Dims::filled(x.rank(), 1);
  shape[0] = x.size(0);
  return x * reshape(reduce_sum(convert(drawn, DType::kF32), {1}), shape);
}
// A number that says an order of seven.
Tensor place_of_first(const Tensor& order) {
  return reduce_sum(convert(order, DType::kF32) * convert(arange(7) * arange(7), DType::kF32), {0});
}
Generator& drawn_from() { return default_generator(); }

// Of each function of ops.h that takes a key and a step, and of all that random.h declares; what has no place
// in a batch has no example.
const std::map<std::string, MakeDraw>& functions_that_draw() {
  const auto always = [](const Draw& draw) { return MakeDraw([draw] { return draw; }); };
  // By a step of the generator, which loops and regions count.
  const auto keyed = [always](auto draw) {
    return always([draw](const Tensor& x) { return draw(x, drawn_from().key(), drawn_from().next_step()); });
  };
  static const std::map<std::string, MakeDraw> out{
      {"ops.h random_bits", ops_that_draw().at("random_bits")},
      {"ops.h dropout", keyed([](const Tensor& x, const Tensor& key, const Tensor& step) {
         return dropout(x, 0.25, key, step);
       })},
      {"ops.h random_uniform", keyed([](const Tensor& x, const Tensor& key, const Tensor& step) {
         return x * random_uniform(x.shape(), key, step, 2, 3);
       })},
      {"ops.h random_normal", keyed([](const Tensor& x, const Tensor& key, const Tensor& step) {
         return x * random_normal(x.shape(), key, step, 1, 2);
       })},
      {"ops.h truncated_normal", keyed([](const Tensor& x, const Tensor& key, const Tensor& step) {
         return x * truncated_normal(x.shape(), key, step);
       })},
      {"ops.h random_integers", keyed([](const Tensor& x, const Tensor& key, const Tensor& step) {
         return x * convert(random_integers(x.shape(), key, step, -9, 9), DType::kF32);
       })},
      {"ops.h random_categorical", keyed([](const Tensor& x, const Tensor& key, const Tensor& step) {
         return of_classes(x, random_categorical(even_classes(x), 4, key, step));
       })},
      // An order of what is no row; one of rows is refused.
      {"ops.h random_permutation", keyed([](const Tensor& x, const Tensor& key, const Tensor& step) {
         return x * place_of_first(random_permutation(7, key, step));
       })},
      {"ops.h shuffle", keyed([](const Tensor& x, const Tensor& key, const Tensor& step) {
         return x * place_of_first(shuffle(arange(7), key, step));
       })},
      {"random.h random_uniform", always([](const Tensor& x) { return x * random_uniform(x.shape()); })},
      {"random.h random_normal", always([](const Tensor& x) { return x * random_normal(x.shape()); })},
      {"random.h uniform", always([](const Tensor& x) { return x * drawn_from().uniform(x.shape(), 2, 3); })},
      {"random.h normal", always([](const Tensor& x) { return x * drawn_from().normal(x.shape(), 1, 2); })},
      {"random.h truncated_normal",
       always([](const Tensor& x) { return x * drawn_from().truncated_normal(x.shape()); })},
      {"random.h integers", always([](const Tensor& x) {
         return x * convert(drawn_from().integers(x.shape(), 0, 1000), DType::kF32);
       })},
      {"random.h categorical",
       always([](const Tensor& x) { return of_classes(x, drawn_from().categorical(even_classes(x), 4)); })},
      {"random.h permutation",
       always([](const Tensor& x) { return x * place_of_first(drawn_from().permutation(7)); })},
      {"random.h shuffle",
       always([](const Tensor& x) { return x * place_of_first(drawn_from().shuffle(arange(7))); })},
      {"random.h key", {}},
      {"random.h next_step", {}},
  };
  return out;
}

template <class Made>
MakeDraw layer_of(const Made& made) {
  return [made] {
    return [layer = std::make_shared<std::decay_t<decltype(made())>>(made())](const Tensor& x) {
      const TrainingScope training(true);
      return (*layer)(x);
    };
  };
}
template <class Made>
MakeDraw merging(const Made& made) {
  return [made] {
    return [layer = std::make_shared<std::decay_t<decltype(made())>>(made())](const Tensor& x) {
      return (*layer)({x, x});
    };
  };
}
Draw of_images(const Draw& draw) {
  return [draw](const Tensor& x) {
    return draw(
        reshape(broadcast_to(reshape(x, {x.size(0), 12, 1}), {x.size(0), 12, 12}), {x.size(0), 12, 12, 1}));
  };
}
MakeDraw on_images(const MakeDraw& make) {
  return [make] { return of_images(make()); };
}

// An example of each layer that a header declares, on f32[rows, 3, 4].
const std::map<std::string, MakeDraw>& layers() {
  static const std::map<std::string, MakeDraw> out{
      {"Dense", layer_of([] { return Dense({.units = 2}); })},
      {"Flatten", layer_of([] { return Flatten(); })},
      {"Activation", layer_of([] { return Activation("gelu"); })},
      {"Dropout", layer_of([] { return Dropout(0.5); })},
      {"BatchNormalization", layer_of([] { return BatchNormalization(); })},
      {"ReLU", layer_of([] { return ReLU(); })},
      {"Reshape", layer_of([] { return Reshape({12}); })},
      {"LayerNormalization", layer_of([] { return LayerNormalization(); })},
      {"Embedding",
       [] {
         return [layer = std::make_shared<Embedding>(EmbeddingOptions{.input_dim = 9, .output_dim = 2})](
                    const Tensor& x) { return (*layer)(convert(x * 0, DType::kI32)); };
       }},
      {"Conv2D", on_images(layer_of([] { return Conv2D({.filters = 2}); }))},
      {"MaxPooling2D", on_images(layer_of([] { return MaxPooling2D(); }))},
      {"AveragePooling2D", on_images(layer_of([] { return AveragePooling2D(); }))},
      {"GlobalAveragePooling2D", on_images(layer_of([] { return GlobalAveragePooling2D(); }))},
      {"Add", merging([] { return Add(); })},
      {"Multiply", merging([] { return Multiply(); })},
      {"Maximum", merging([] { return Maximum(); })},
      {"Minimum", merging([] { return Minimum(); })},
      {"Subtract", merging([] { return Subtract(); })},
      {"Average", merging([] { return Average(); })},
      {"Concatenate", merging([] { return Concatenate(); })},
  };
  return out;
}
// Of which the others are made.
const std::set<std::string> kBases{"Merge", "Model"};

// Whether a layer draws while it trains.
bool layer_draws(const MakeDraw& make) {
  const auto graph = function(make()).graph(std::vector<Tensor>{ones({2, 3, 4})});
  return draws(*graph);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return (std::stringstream() << file.rdbuf()).str();
}

// What `text` declares by a pattern, whose first group is the name.
std::set<std::string> declared(const std::string& text, const std::string& pattern) {
  const std::regex declaration(pattern);
  std::set<std::string> out;
  for (std::sregex_iterator i(text.begin(), text.end(), declaration), end; i != end; ++i)
    out.insert((*i)[1].str());
  return out;
}
std::set<std::string> layers_in(const std::string& text) {
  std::set<std::string> out;
  for (const std::string& name : declared(text, R"(\nclass (\w+)(?: final)? : public (?:Layer|Merge) \{)"))
    if (!kBases.contains(name)) out.insert(name);
  return out;
}
std::set<std::string> keyed_functions_in(const std::string& text) {
  return declared(text, R"(\n\S*Tensor>? (\w+)\([^;]*Operand key, Operand step[^;]*\);)");
}
std::set<std::string> generator_functions_in(const std::string& text) {
  return declared(text, R"(\n\s*Tensor (\w+)\([^;]*;)");
}

// Those of `names` that have no example.
std::string without_example(const std::set<std::string>& names,
                            const std::map<std::string, MakeDraw>& examples, const std::string& header = "") {
  std::string out;
  for (const std::string& name : names)
    if (!examples.contains(header + name)) out += cat(" ", header, name);
  return out;
}

TEST(EveryDraw, HasAnExample) {
  std::set<std::string> ops;
  for (const OpDef* op : all_ops()) {
    const std::shared_ptr<Graph> call = some_call(*op);
    ASSERT_TRUE(call) << op->name;
    if (draws(*call)) ops.insert(op->name);
  }
  EXPECT_EQ(ops.size(), 2);
  EXPECT_EQ(without_example(ops, ops_that_draw()), "") << "ops_that_draw() wants one";
  const std::set<std::string> functions = keyed_functions_in(text_of("include/espalier/ops.h")),
                              methods = generator_functions_in(text_of("include/espalier/random.h"));
  EXPECT_EQ(functions.size() + methods.size(), functions_that_draw().size());
  EXPECT_EQ(without_example(functions, functions_that_draw(), "ops.h "), "");
  EXPECT_EQ(without_example(methods, functions_that_draw(), "random.h "), "");
  std::set<std::string> all;
  for (const auto& header : std::filesystem::directory_iterator("include/espalier"))
    all.merge(layers_in(text_of(header.path())));
  EXPECT_EQ(all.size(), layers().size());
  EXPECT_EQ(without_example(all, layers()), "") << "layers() wants one";
}

// What is new, and in no table.
TEST(EveryDraw, IsFoundWithoutBeingListed) {
  const std::shared_ptr<Graph> call = some_call(op_by_itself);
  ASSERT_TRUE(call);
  EXPECT_TRUE(draws(*call));
  EXPECT_TRUE(layer_draws(
      [] { return [layer = std::make_shared<NoiseByItself>()](const Tensor& x) { return (*layer)(x); }; }));
  EXPECT_TRUE(layer_draws([] {
    return [](const Tensor& x) {
      return map(
          [](const Tensor& row) {
            return cond(sum_of(row) > 0, by_itself, [](const Tensor& r) { return r; }, {row});
          },
          x);
    };
  }));
  EXPECT_EQ(without_example({"Dropout", "GaussianNoise"}, layers()), " GaussianNoise");
  EXPECT_EQ(layers_in("\nclass GaussianNoise : public Layer {\n"), std::set<std::string>{"GaussianNoise"});
  EXPECT_EQ(keyed_functions_in(
                "\nTensor random_gamma(const Shape& shape, Operand key, Operand step,\n  DType t);\n"),
            std::set<std::string>{"random_gamma"});
  EXPECT_EQ(generator_functions_in("\n  Tensor gamma(const Shape& shape);\n"),
            std::set<std::string>{"gamma"});
}

// All of them: of ops, of functions, and of layers those that are seen to draw.
std::map<std::string, MakeDraw> all_that_draw() {
  std::map<std::string, MakeDraw> out;
  for (const auto& [name, make] : ops_that_draw()) out[cat("op ", name)] = make;
  for (const auto& [name, make] : functions_that_draw())
    if (make) out[name] = make;
  for (const auto& [name, make] : layers())
    if (layer_draws(make)) out[cat("layer ", name)] = make;
  return out;
}

// In each place all ops and layers and, of functions, every fifth, others in each; at night all of them.
void on_all(bool nightly,
            const std::function<void(const PlaceOfLoop&, const std::string&, const MakeDraw&)>& see) {
  const auto all = all_that_draw();
  ASSERT_TRUE(all.contains("layer Dropout"));
  size_t number = 0;
  for (const PlaceOfLoop& place : places_of_loops()) {
    ++number;
    for (const auto& [name, make] : all) {
      ++number;
      if (nightly || name.starts_with("op ") || name.starts_with("layer ") || number % 5 == 0)
        see(place, name, make);
    }
  }
}

void expect_that_of_one_device(size_t way_number, bool nightly) {
  const WayToDraw& way = ways_to_draw()[way_number];
  on_all(nightly, [&](const PlaceOfLoop& place, const std::string& name, const MakeDraw& make) {
    EXPECT_EQ(difference_in(place, loop_of(make, way)), "")
        << name << ", " << way.name << ", on " << place.name;
    if (!place.uneven) return;
    EXPECT_EQ(difference_in(place, loop_of(make, way, kUneven)), "")
        << name << ", " << way.name << ", on " << place.name << ", parts of other sizes";
  });
}

class EveryDrawSlow : public testing::TestWithParam<size_t> {};
TEST_P(EveryDrawSlow, IsThatOfOneDevice) { expect_that_of_one_device(GetParam(), false); }
INSTANTIATE_TEST_SUITE_P(Ways, EveryDrawSlow, testing::Range(size_t{0}, ways_to_draw().size()));

class EveryDrawNightly : public testing::TestWithParam<size_t> {};
TEST_P(EveryDrawNightly, IsThatOfOneDevice) { expect_that_of_one_device(GetParam(), true); }
INSTANTIATE_TEST_SUITE_P(Ways, EveryDrawNightly, testing::Range(size_t{0}, ways_to_draw().size()));

TEST(EveryDraw, SlowAccumulatesWhatOneDeviceDoes) {
  on_all(true, [](const PlaceOfLoop& place, const std::string& name, const MakeDraw& make) {
    if (!place.uneven) return;
    EXPECT_EQ(difference_in(place, accumulating(make), 4e-6), "") << name << ", on " << place.name;
  });
}

void expect_fits_of_one_device(size_t ways, bool nightly) {
  size_t number = 0;
  on_all(nightly, [&](const PlaceOfLoop& place, const std::string& name, const MakeDraw& make) {
    ++number;
    for (size_t i = 0; i < ways_to_draw().size(); ++i) {
      if (!nightly && i != number % ways) continue;
      const WayToDraw& way = ways_to_draw()[i];
      EXPECT_EQ(difference_in(place, fitting(make, way), 4e-6), "")
          << name << ", " << way.name << ", on " << place.name;
    }
  });
}
TEST(EveryDraw, SlowInFitIsThatOfOneDevice) { expect_fits_of_one_device(4, false); }
TEST(EveryDraw, NightlyInFitIsThatOfOneDevice) { expect_fits_of_one_device(0, true); }

TEST(EveryDraw, SlowThatDoesNotAskForItsPlaceIsFound) {
  const MakeDraw planted = [] { return by_itself; };
  for (const PlaceOfLoop& place : places_of_loops()) {
    for (const WayToDraw& way : ways_to_draw())
      EXPECT_NE(difference_in(place, loop_of(planted, way)), "") << way.name << ", on " << place.name;
    EXPECT_NE(difference_in(place, fitting(planted, ways_to_draw()[0]), 4e-6), "") << place.name;
    if (!place.uneven) continue;
    EXPECT_NE(difference_in(place, accumulating(planted), 4e-6), "") << place.name;
  }
}

// ESPALIER_TEST_SEED draws others.
TEST(EveryDraw, NightlyOfAnySizesIsThatOfOneDevice) {
  const char* const seed = std::getenv("ESPALIER_TEST_SEED");
  Philox random(seed ? std::stoull(seed) : 1);
  const auto one_of = [&](const auto& all) {
    return *std::next(all.begin(), static_cast<std::ptrdiff_t>(random.below(all.size())));
  };
  const auto number = [&](uint64_t most) { return static_cast<int64_t>(1 + random.below(most)); };
  const auto all = all_that_draw();
  const auto places = places_of_loops();
  for (int i = 0; i < 1000; ++i) {
    const auto [name, make] = one_of(all);
    const WayToDraw way = one_of(ways_to_draw());
    const PlaceOfLoop place = one_of(places);
    DrawnBatches batches{number(40), number(24), number(5), number(6)};
    if (!place.uneven) batches = {batches.batch * 4, batches.batch * 2, batches.steps, batches.features};
    EXPECT_EQ(difference_in(place, loop_of(make, way, batches)), "")
        << name << ", " << way.name << ", on " << place.name << ", " << batches.rows << " rows by "
        << batches.batch << ", " << batches.steps << " steps of " << batches.features;
  }
}

}  // namespace
}  // namespace espalier
