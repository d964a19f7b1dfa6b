// What models are refused for - uncompiled, compiled wrongly, saved, loaded or cut for others - each as a
// whole.
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/scratch_test.h"
#include "espalier/espalier.h"
#include "format/onnx/model.h"
#include "format/safetensors.h"
#include "ir/sink.h"
#include "step/share_note.h"
#include "train/error_text_test.h"
#include "train/export.h"
#include "train/program.h"
#include "train/saved_files.h"

namespace espalier {
namespace {

Tensor ones_as(const Shape& shape, DType dtype = DType::kF32) { return full(shape, 1, dtype); }

TEST(ModelContracts, WhatNeedsACompiledModel) {
  const Tensor x = ones_as({2, 3}), y = ones_as({2}, DType::kI32);
  const Dataset batches = Dataset::from_tensor_slices({x, y}).batch(2);
  Sequential model{Dense({.units = 2})};
  const std::string behind = "] the model is not compiled | call compile() first";
  const auto expect = [&](const std::string& rule, const std::function<void()>& call) {
    EXPECT_EQ(error_text(call), "StateError[" + rule + behind);
  };
  expect("fit.compile", [&] { model.fit(x, y); });
  expect("fit.compile", [&] { model.fit(batches); });
  expect("evaluate.compile", [&] { model.evaluate(x, y); });
  expect("evaluate.compile", [&] { model.evaluate(batches); });
  expect("train_on_batch.compile", [&] { model.train_on_batch(x, y); });
  expect("step_program.compile", [&] { model.step_program(x, y); });
  expect("model.compile", [&] { model.optimizer(); });
  model.compile();
  const Tensor wrong = Tensor::of<int32_t>({0, 2});
  const std::string no_class = " label 2 of row 1 is no class: the outputs have 2, numbered from 0";
  EXPECT_EQ(error_text([&] { model.train_on_batch(x, wrong); }),
            "ValueError[train_on_batch.labels]" + no_class);
  EXPECT_EQ(error_text([&] { model.step_program(x, wrong); }), "ValueError[step_program.labels]" + no_class);
  EXPECT_EQ(error_text([] {
              Sequential().predict(full({1, 1}, 1));
            }),
            "StateError[sequential.empty] the model has no layers | add() some");
  EXPECT_EQ(error_text([] { EarlyStopping({.monitor = "loss"})->on_train_end({}); }), "nothing");
  EXPECT_EQ(error_text([] {
              TerminateOnNaN()->on_batch_end(1, {{"loss", std::numeric_limits<double>::infinity()}});
            }),
            "StateError[callback.model] a callback has a model while fit() calls its hooks");
}

TEST(ModelContracts, WhatCannotBeCompiled) {
  const Placeholder in = Input({3});
  Functional model(
      {in}, {connect(Dense({.units = 2, .name = "a"}), in), connect(Dense({.units = 2, .name = "b"}), in)});
  const auto outputs = [&](std::vector<OutputOptions> given) {
    return error_text([&] { model.compile({.outputs = std::move(given)}); });
  };
  const auto options = [](const ModelOptions& given) {
    return error_text([&] { Sequential{Dense({.units = 2})}.compile(given); });
  };
  const std::string rule = "ValueError[model.outputs] ";
  EXPECT_EQ(outputs({{.name = "a"}, {}}), rule + "1 of 2 outputs have a name: name all of them or none");
  EXPECT_EQ(outputs({{.name = "a"}}), rule + "the model has 2 outputs, options are for 1");
  EXPECT_EQ(outputs({{.name = "b"}, {.name = "b"}}), rule + "output \"b\" stands there twice");
  EXPECT_EQ(outputs({{.name = "a"}, {.name = "cc"}}), rule + "unknown output \"cc\": known are a, b");
  EXPECT_EQ(outputs({{.name = "b"}, {.name = "a"}}), "nothing");
  EXPECT_EQ(outputs({{}, {.loss_weight = std::numeric_limits<double>::quiet_NaN()}}),
            "ValueError[model.loss_weight] loss_weight of \"b\" must be finite, got nan");
  EXPECT_EQ(outputs({{.metrics = {metrics::Mean("x"), metrics::Mean("x")}}, {}}),
            "ValueError[metric.name] the logs have one \"a_x\" already | give the metric another name");
  EXPECT_EQ(options({.logical_shards = 4096}), "nothing");
  EXPECT_EQ(options({.logical_shards = 4097}),
            "ValueError[model.logical_shards] there are 0 to 4096 logical shards, got 4097");
  EXPECT_EQ(options({.logical_shards = -1}),
            "ValueError[model.logical_shards] there are 0 to 4096 logical shards, got -1");
  EXPECT_EQ(
      options({.run_eagerly = true, .logical_shards = 2}),
      "ValueError[strategy.eager] a model that runs eagerly trains on one device, in one piece | compile "
      "without run_eagerly");
  const auto scale = [&](const LossScale& given) { return options({.loss_scale = given}); };
  EXPECT_EQ(scale({.initial = 0}),
            "ValueError[loss_scale.initial] the loss scale must be positive and finite, got 0");
  EXPECT_TRUE(scale({.initial = 1e39}).starts_with("ValueError[loss_scale.initial] ")) << "no f32";
  EXPECT_EQ(scale({.growth_steps = 0}),
            "ValueError[loss_scale.growth_steps] growth_steps must be at least 1, got 0");
  EXPECT_EQ(scale({.growth_steps = 1}), "nothing");
}

TEST(ModelContracts, WhatALoadedModelTakes) {
  const std::vector<TensorType> one{{DType::kF32, {3}}}, two{{DType::kF32, {3}}, {DType::kI32, {}}};
  const std::vector<std::string> names{"left", "right"};
  const auto typed = [](const Tensors& given, const std::vector<TensorType>& rows,
                        const std::vector<std::string>& of = {}) {
    return error_text([&] { as_rows(given, rows, of); });
  };
  EXPECT_EQ(typed({ones_as({2, 3}), ones_as({2})}, one),
            "ValueError[loaded_model.inputs] the model takes 1 input, got 2");
  EXPECT_EQ(typed({ones_as({2, 3})}, two), "ValueError[loaded_model.inputs] the model takes 2 inputs, got 1");
  EXPECT_EQ(typed({ones_as({2, 3}, DType::kI32)}, one),
            "DTypeError[loaded_model.dtype] input 0 is made for f32, got i32[2,3]");
  EXPECT_EQ(typed({ones_as({2, 3}), ones_as({2})}, two, names),
            "DTypeError[loaded_model.dtype] input \"right\" is made for i32, got f32[2]");
  EXPECT_EQ(typed({ones_as({2, 3}), ones_as({2}, DType::kI64)}, two),
            "DTypeError[loaded_model.dtype] input 1 is made for i32, got i64[2]");
  EXPECT_EQ(as_rows(Tensors{ones_as({2, 3}, DType::kBF16), ones_as({2}, DType::kI32)}, two, {})[0].dtype(),
            DType::kF32);
  const auto batch = [](const Tensors& given, const std::vector<TensorType>& rows, int64_t fixed = 0,
                        const std::vector<std::string>& of = {}) {
    return error_text([&] { batch_of(given, rows, fixed, of); });
  };
  const std::string input = "ShapeError[loaded_model.input] input ";
  EXPECT_EQ(batch({ones_as({4, 3})}, one, 4), "nothing");
  EXPECT_EQ(batch_of(Tensors{ones_as({4, 3}), ones_as({4}, DType::kI32)}, two, 0, {}), 4);
  EXPECT_EQ(batch({ones_as({4, 2})}, one), input + "0 takes rows of f32[3], got f32[4,2]");
  EXPECT_EQ(batch({ones_as({3})}, one),
            input +
                "0 takes rows of f32[3], got f32[3] | a row needs an axis of rows: .batch(32) of a dataset, "
                "expand_dims(x, 0)");
  EXPECT_EQ(batch({ones_as({0, 3})}, one), input + "0 takes rows of f32[3], got f32[0,3]");
  EXPECT_EQ(batch({ones_as({4, 3}), ones_as({3}, DType::kI32)}, two, 0, names),
            input + "\"right\" takes rows of i32[], as many as each other has, got i32[3]");
  const std::string fix = " | give it as many at a time, or save or export it for any number of rows";
  EXPECT_EQ(batch({ones_as({4, 3})}, one, 1),
            "ShapeError[loaded_model.batch] this model was saved for batches of 1 row alone, got 4" + fix);
  EXPECT_EQ(batch({ones_as({1, 3})}, one, 5),
            "ShapeError[loaded_model.batch] this model was saved for batches of 5 rows alone, got 1" + fix);
  EXPECT_EQ(relative("a/b/c", "a"), "b/c");
  EXPECT_EQ(relative("ab/c", "a"), "ab/c");
  EXPECT_EQ(relative("a", "a"), "a");
}

TEST(ModelContracts, WhereAModelCanBeSaved) {
  const std::string folder = fresh_folder("model_contracts_save"), path = folder + "/model";
  Sequential model{Dense({.units = 2})};
  EXPECT_EQ(
      error_text([&] { model.save(path); }),
      "StateError[save.built] the model has seen no rows yet, so nobody knows what it takes | call fit, "
      "evaluate or predict first");
  model.predict(ones_as({2, 3}));
  const auto files = [&](const std::string& name) {
    return error_text([&] { model.save(path, {.files = {{name, "x"}}}); });
  };
  for (const char* name :
       {"model.json", "weights.safetensors", "inference.mlir", "training.mlir", "", ".x", "a/b"})
    EXPECT_EQ(files(name), cat("ValueError[save.files] a saved model cannot hold a file \"", name, "\""));
  EXPECT_FALSE(posix_env().exists(path));
  const auto save = [&] { return error_text([&] { model.save(path); }); };
  const auto refused = [&](const std::string& why) {
    return cat("IoError[save.path] ", path, " ", why, ", so it is not replaced | name another folder");
  };
  EXPECT_EQ(error_text([&] { model.save(""); }), "IoError[save.path] the path of a model must not be empty");
  posix_env().write_file(path, "x");
  EXPECT_EQ(save(), refused("is no folder"));
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  posix_env().write_file(path + "/a.txt", "x");
  EXPECT_EQ(save(), refused("exists and is no saved model"));
  for (const char* text : {"{}", "[]", "{", "{\"format\": \"other\"}", "{\"format\": 7}"}) {
    posix_env().write_file(path + "/model.json", text);
    EXPECT_EQ(save(), refused("exists and is no saved model")) << text;
  }
  std::filesystem::remove_all(path);
  EXPECT_EQ(files("a.txt"), "nothing");
  // Its own file is there no longer; somebody's stays.
  EXPECT_EQ(save(), "nothing");
  EXPECT_FALSE(posix_env().exists(path + "/a.txt"));
  posix_env().write_file(path + "/b.txt", "x");
  EXPECT_EQ(save(), refused("holds b.txt, which is not the model's"));
  EXPECT_EQ(files("b.txt"), "nothing") << "it is named";
  const LoadedModel loaded = load_model(path);
  EXPECT_EQ(loaded.file("b.txt"), "x");
  EXPECT_EQ(
      error_text([&] { loaded.file("c.txt"); }),
      "ValueError[loaded_model.file] unknown file \"c.txt\": known are b.txt | did you mean \"b.txt\"?");
}

// Every fact of the description that is not as it must be.
TEST(ModelContracts, WhatADescriptionMustSay) {
  const std::string path = fresh_folder("model_contracts_load") + "/model";
  Sequential model{Dense({.units = 2, .use_bias = false, .name = "d"})};
  model.predict(ones_as({2, 3}));
  model.save(path);
  const auto files = posix_env().read_folder(path);
  using Json = nlohmann::ordered_json;
  const auto text = [&](const std::function<void(Json&)>& change) {
    auto changed = files;
    Json description = Json::parse(changed.at("model.json"));
    description.erase("crc32");
    change(description);
    changed["model.json"] = description.dump();
    const std::string out = error_text([&] { read_model(changed, "m"); });
    const std::string begins = "FormatError[saved_model.content] m/";
    return out.starts_with(begins) ? out.substr(begins.size()) : out;
  };
  EXPECT_EQ(text([](Json&) {}), "nothing");
  const std::string inputs = "model.json: \"inputs\" have a \"name\" each, other than the others', or none",
                    integer = "\" needs an integer from ";
  const std::vector<std::pair<std::string, std::function<void(Json&)>>> cases{
      {"model.json: is no description of a model: \"format\" must be \"espalier.model\"",
       [](Json& j) { j["format"] = "espalier"; }},
      {"model.json: needs a text \"format\"", [](Json& j) { j.erase("format"); }},
      {"model.json: \"version" + integer + "1 to 2147483647", [](Json& j) { j["version"] = 0; }},
      {"model.json: \"version" + integer + "1 to 2147483647", [](Json& j) { j["version"] = 2147483648; }},
      {"UnsupportedError[saved_model.version] m has version 2, this program reads up to 1",
       [](Json& j) { j["version"] = 2; }},
      {"model.json: needs a text \"name\"", [](Json& j) { j["name"] = 3; }},
      {"model.json: \"fixed_batch" + integer + "0 to 2147483648", [](Json& j) { j["fixed_batch"] = -1; }},
      {"model.json: \"fixed_batch" + integer + "0 to 2147483648",
       [](Json& j) { j["fixed_batch"] = 2147483649; }},
      {"model.json: needs \"inputs\", a list", [](Json& j) { j["inputs"] = Json::array(); }},
      {"model.json: needs \"inputs\", a list",
       [](Json& j) {
         j["inputs"] = {{"a", 1}};
       }},
      {"model.json: an input needs \"dtype\" and \"row\"", [](Json& j) { j["inputs"][0] = 1; }},
      {"model.json: unknown dtype \"f31\"", [](Json& j) { j["inputs"][0]["dtype"] = "f31"; }},
      {"model.json: \"row\" needs a list of sizes", [](Json& j) { j["inputs"][0]["row"] = 3; }},
      {"model.json: \"row" + integer + "0 to 2147483648", [](Json& j) { j["inputs"][0]["row"][0] = -1; }},
      {inputs,
       [](Json& j) {
         j["inputs"].push_back(j["inputs"][0]);
         j["inputs"][1]["name"] = "a";
       }},
      {inputs,
       [](Json& j) {
         j["inputs"][0]["name"] = "a";
         j["inputs"].push_back(j["inputs"][0]);
       }},
      {"model.json: \"outputs\" needs a list of names", [](Json& j) { j["outputs"] = "a"; }},
      {"model.json: \"outputs\" needs names, each once",
       [](Json& j) {
         j["outputs"] = {"a", "a"};
       }},
      {"inference.mlir: has 1 results, the description names 2 outputs",
       [](Json& j) {
         j["outputs"] = {"a", "b"};
       }},
      {"weights.safetensors: is damaged: its checksum is another than the description's",
       [](Json& j) { j["weights_crc32"] = 7; }},
      {"model.json: \"weights_crc32" + integer + "0 to 4294967295", [](Json& j) { j["weights_crc32"] = -7; }},
      {"model.json: needs \"variables\"", [](Json& j) { j.erase("variables"); }},
      {"model.json: a variable needs \"path\" and \"trainable\"", [](Json& j) { j["variables"][0] = 1; }},
      {"model.json: needs a text \"path\"", [](Json& j) { j["variables"][0].erase("path"); }},
      {"inference.mlir: takes f32[1,3], where the description says f32[1,4]",
       [](Json& j) { j["inputs"][0]["row"] = {4}; }},
      {"inference.mlir: takes f32[1,3], where the description says f16[1,3]",
       [](Json& j) { j["inputs"][0]["dtype"] = "f16"; }},
      {"inference.mlir: has 1 arguments and 1 results for 2 inputs",
       [](Json& j) { j["inputs"].push_back(j["inputs"][0]); }},
  };
  for (const auto& [said, change] : cases) EXPECT_EQ(text(change), said);
  const std::string name = Json::parse(files.at("model.json"))["variables"][0]["path"];
  const auto of_variable = [&](const char* key, const Json& value) {
    return text([&](Json& j) { j["variables"][0][key] = value; });
  };
  EXPECT_EQ(of_variable("trainable", 1),
            cat("model.json: variable \"", name, "\" needs \"trainable\": true or false"));
  EXPECT_EQ(of_variable("frozen", 1),
            cat("model.json: variable \"", name, "\": \"frozen\" is true or false"));
  EXPECT_EQ(of_variable("path", "x"), "weights.safetensors: there is no array \"x\"");
  EXPECT_EQ(of_variable("penalty", 1),
            cat("model.json: the penalty on variable \"", name, "\" must be a text"));
  EXPECT_TRUE(of_variable("penalty", "x")
                  .starts_with(cat("model.json: the penalty on variable \"", name, "\" is no program: ")));
  EXPECT_EQ(text([](Json& j) { j["variables"].push_back(j["variables"][0]); }),
            cat("model.json: variable \"", name, "\" stands twice or has no path"));
  EXPECT_EQ(text([](Json& j) { j["variables"] = Json::array(); }),
            cat("inference.mlir: reads the unknown variable \"", name, "\""));
  EXPECT_EQ(
      error_text([] { load_model("/nowhere/at/all"); }),
      "IoError[load_model.path] /nowhere/at/all is no saved model: there is no /nowhere/at/all/model.json");
}

// Under the name of the layer with another number, where it is the only one.
TEST(ModelContracts, WeightsOfANamesake) {
  const std::string path = fresh_folder("model_contracts_namesake") + "/w.safetensors";
  Dense inside({.units = 1, .use_bias = false, .name = "d"});
  Sequential model{inside};
  model.predict(ones_as({1, 1}));
  const std::string name = model.name();
  const auto loaded = [&](const Layer& layer, const std::vector<std::string>& arrays,
                          const std::string& own) {
    SafeTensors file;
    for (const std::string& array : arrays) file.arrays.push_back({array, full({1, 1}, 5).node()->dense()});
    posix_env().write_file(path, safetensors_bytes(file));
    Variable(model.variables()[0]).assign(full({1, 1}, 0));
    std::string text = error_text([&] { load_weights(layer, path); });
    if (text.starts_with(cat("ValueError[load_weights.name] unknown array \"", own, "\""))) text = "unknown";
    EXPECT_EQ(model.variables()[0].read().item<float>(), text == "nothing" ? 5 : 0);
    return text;
  };
  const std::string own = model.path() + "/d/kernel";
  const auto of_model = [&](const std::vector<std::string>& arrays) { return loaded(model, arrays, own); };
  EXPECT_EQ(of_model({name + "_77777/d/kernel"}), "nothing");
  EXPECT_EQ(of_model({name + "_77777/d/kernel", name + "_88888/d/kernel"}), "unknown") << "there are two";
  EXPECT_EQ(of_model({name + "_88888/d/kernel", own}), "nothing") << "its own";
  EXPECT_EQ(loaded(inside, {own}, own), "nothing");
  EXPECT_EQ(loaded(inside, {"d/kernel"}, own), "unknown") << "a layer of a model is none of its own";
  for (const char* other : {"_", "7", "_7x", "x", "_x"})
    EXPECT_EQ(of_model({name + other + "/d/kernel"}), "unknown") << other;
}

TEST(ModelContracts, BatchesOfExports) {
  Sequential model{Dense({.units = 2})};
  const std::string path = fresh_folder("model_contracts_export") + "/model";
  model.predict(ones_as({2, 3}));
  model.save(path);
  LoadedModel any = load_model(path);
  EXPECT_EQ(error_text([&] { model_onnx(any, -1); }),
            "ValueError[export.batch] the model takes 1 or more rows, not -1");
  EXPECT_EQ(error_text([&] { model_stablehlo(any, {.batch = 0}); }),
            "ValueError[export.batch] the model takes 1 or more rows, not 0");
  EXPECT_EQ(error_text([&] { model_stablehlo(any, {.batch = 1}); }), "nothing");
}

TEST(ModelContracts, BatchesOfAnOnnxFile) {
  const auto file = [](const std::vector<std::optional<int64_t>>& batches) {
    onnx::Model out{.graph_name = "two", .inputs = {}, .outputs = {}, .initializers = {}, .nodes = {}};
    for (size_t i = 0; i < batches.size(); ++i) {
      const onnx::Dimension rows{batches[i], batches[i] ? "" : "N"};
      out.inputs.push_back({cat("x", i), DType::kF32, {{rows, {2, ""}}}});
      out.outputs.push_back({cat("y", i), DType::kF32, {{rows, {2, ""}}}});
      out.nodes.push_back({.op = "Neg", .inputs = {cat("x", i)}, .outputs = {cat("y", i)}});
    }
    return onnx::model_bytes(out);
  };
  const auto text = [&](const std::vector<std::optional<int64_t>>& batches) {
    return error_text([&] { read_onnx(file(batches)); });
  };
  const std::string different =
      "UnsupportedError[onnx.batch] the inputs \"x0\" and \"x1\" have different batches";
  EXPECT_EQ(text({std::nullopt, std::nullopt}), "nothing");
  EXPECT_EQ(text({3, 3}), "nothing");
  EXPECT_EQ(text({3, 4}), different);
  EXPECT_EQ(text({3, std::nullopt}), different);
  EXPECT_EQ(text({std::nullopt, 3}), different);
  EXPECT_EQ(read_onnx(file({std::nullopt})).fixed_batch(), 0);
  EXPECT_EQ(read_onnx(file({1})).fixed_batch(), 1);
  EXPECT_EQ(read_onnx(file({2})).fixed_batch(), 2);
  EXPECT_EQ(read_onnx(file({2})).input_rows(), (std::vector<TensorType>{{DType::kF32, {2}}}));
  EXPECT_EQ(read_onnx(file({2})).output_names(), std::vector<std::string>{}) << "one needs no name";
}

TEST(ModelContracts, RowsThatQuantize) {
  struct OfBatches : Layer {
    Tensor call(const Tensor& x) override { return x * (1.0 / static_cast<double>(x.size(0))); }
  };
  Sequential fixed{OfBatches(), Dense({.units = 2})};
  std::vector<int64_t> told;
  const auto run = [&](int64_t rows, int64_t batch) {
    told.clear();
    return error_text([&] {
      quantize(fixed, ones_as({rows, 3}),
               {.batch_size = batch, .on_rows = [&](int64_t n) { told.push_back(n); }});
    });
  };
  EXPECT_EQ(run(10, 4), "nothing");
  EXPECT_EQ(told, (std::vector<int64_t>{4, 8})) << "two rows are left over";
  EXPECT_EQ(run(3, 4), "nothing");
  EXPECT_EQ(told, std::vector<int64_t>{3});
  EXPECT_EQ(error_text([] {
              Sequential flat{Flatten()};
              quantize(flat, full({4, 3}, 1));
            }),
            "UnsupportedError[quantize.products] the model has no product of f32 by weights; one that is "
            "quantised already has none");
}

TEST(ModelContracts, WhoHasWhichRows) {
  const auto note = [](int world, std::string_view kind, int64_t rows, int shards, bool of_shards) {
    const Mesh mesh{.world = world, .kind = kind};
    DataShares shares(mesh, {});
    shares.logical_shards = shards;
    return share_note(mesh, shares, rows, of_shards ? "those of its shards of the data" : "");
  };
  EXPECT_EQ(note(4, "workers", 64, 0, false), "64 rows a step: 16 on each of 4 workers");
  EXPECT_EQ(note(2, "devices", 1, 0, false), "1 row a step: 0 or 1 on each of 2 devices");
  EXPECT_EQ(note(3, "devices", 10, 0, false), "10 rows a step: 3 or 4 on each of 3 devices");
  EXPECT_EQ(note(2, "workers", 10, 4, false),
            "10 rows a step: 4 logical shards, 2 of them on each of 2 workers");
  EXPECT_EQ(note(3, "workers", 10, 4, true),
            "10 rows a step: 4 logical shards, 1 or 2 of them on each of 3 workers");
  EXPECT_EQ(note(3, "workers", 10, 0, true),
            "10 rows a step: those of its shards of the data on each of 3 workers");
}

}  // namespace
}  // namespace espalier
