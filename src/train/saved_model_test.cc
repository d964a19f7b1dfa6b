#include "espalier/saved_model.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/espalier.h"
#include "train/saved_files.h"
#include "train/unsealed_test.h"

namespace espalier {
namespace {

std::string fresh(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / cat("espalier-saved-", name);
  std::filesystem::remove_all(folder);
  return folder.string();
}

Tensor saved_model_rows(int64_t count, uint64_t seed = 1) { return Generator(seed).normal({count, 6}); }
Tensor classes_of(const Tensor& x) { return argmax(slice(x, {0, 0}, {x.size(0), 3}), 1); }

Sequential everything() {
  return Sequential{Dense({.units = 8, .activation = "relu"}), BatchNormalization(), Dropout(0.3),
                    Dense({.units = 3})};
}

// Two models of equal weights and state are trained alike.
void expect_same_training(Model& a, Model& b) {
  const Tensor x = saved_model_rows(96, 5), y = classes_of(x);
  for (Model* model : {&a, &b}) model->compile({.optimizer = SGD{.learning_rate = 0.1}});
  const auto first = a.fit(x, y, {.epochs = 2, .batch_size = 32});
  const auto second = b.fit(x, y, {.epochs = 2, .batch_size = 32});
  EXPECT_EQ(first, second);
  EXPECT_EQ(a.predict(x).to_vector<float>(), b.predict(x).to_vector<float>());
}

TEST(SavedModel, OfAMistypedNameIsToldByItsNeighbours) {
  Sequential model{Dense({.units = 1})};
  model.predict(saved_model_rows(1));
  const std::string folder = fresh("mistyped"), path = folder + "/flowers";
  std::filesystem::create_directory(folder);
  model.save(path);
  try {
    load_model(folder + "/flower");
    ADD_FAILURE() << "it is there";
  } catch (const IoError& error) {
    EXPECT_EQ(error.rule(), "load_model.path");
    EXPECT_EQ(error.fix(), cat("did you mean ", path, "?"));
  }
  std::filesystem::remove_all(folder);
}

TEST(SavedModel, PredictsTheSameBitsAtAnyBatchSize) {
  set_seed(3);
  Sequential model = everything();
  const Tensor x = saved_model_rows(1000);
  model.compile();
  model.fit(x, classes_of(x), {.epochs = 1, .batch_size = 50});
  const std::string path = fresh("any");
  model.save(path);
  LoadedModel loaded = load_model(path);
  EXPECT_EQ(loaded.fixed_batch(), 0);
  EXPECT_EQ(to_string(loaded.input_rows().at(0)), "f32[6]");
  for (const int64_t batch : {1, 7, 64, 1000}) {
    EXPECT_EQ(loaded.predict(x, batch).to_vector<float>(), model.predict(x, batch).to_vector<float>())
        << batch;
  }
  std::filesystem::remove_all(path);
}

// Where nothing has drawn numbers before, as in a process of its own, saving makes the generator.
TEST(SavedModel, OfLayersThatDrawNumbersIsSavedUntrained) {
  Sequential model{Dense({.units = 2}), Dropout(0.5)};
  const Tensor x = full({4, 6}, 1, DType::kF32);
  const std::vector<float> said = model.predict(x).to_vector<float>();
  const std::string path = fresh("untrained");
  model.save(path);
  EXPECT_EQ(load_model(path).predict(x).to_vector<float>(), said);
  std::filesystem::remove_all(path);
}

Functional saved_pair() {
  set_seed(2);
  const Placeholder left = Input({4}, {.name = "left"}), right = Input({4}, {.name = "right"});
  return Functional({left, right},
                    {connect(Dense({.units = 2, .name = "cls"}), connect(Concatenate(), {left, right}))});
}

// The rule, the message and the fix of what a call raises.
std::string saved_complaint(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return cat(error.kind(), "[", error.rule(), "] ", error.message(), error.fix().empty() ? "" : "; ",
               error.fix());
  }
  return "nothing";
}

TEST(SavedModel, KeepsTheNamesOfItsInputs) {
  Functional model = saved_pair();
  const Tensor x = full({3, 4}, 1);
  const std::vector<float> said = model({x, x * 2}).to_vector<float>();
  const std::string path = fresh("names");
  model.save(path);
  LoadedModel loaded = load_model(path);
  EXPECT_EQ(loaded.input_names(), (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(
      saved_complaint([&] {
        loaded.predict({x, full({3, 5}, 1)});
      }),
      "ShapeError[loaded_model.input] input \"right\" takes rows of f32[4], as many as each other has, got "
      "f32[3,5]");
  EXPECT_EQ(saved_complaint([&] {
              loaded.predict({x, full({3, 4}, 1, DType::kI32)});
            }),
            "DTypeError[loaded_model.dtype] input \"right\" is made for f32, got i32[3,4]");
  EXPECT_EQ(
      saved_complaint([&] {
        loaded.predict(Dataset::from_tensor_slices({full({4, 4}, 1), full({4, 4}, 1)}));
      }),
      "ShapeError[loaded_model.input] input \"left\" takes rows of f32[4], as many as each other has, got "
      "f32[4]; a row needs an axis of rows: .batch(32) of a dataset, expand_dims(x, 0)");
  // Floats of other dtypes, as the model in process takes them.
  EXPECT_EQ(loaded.predict({convert(x, DType::kF64), convert(x * 2, DType::kBF16)}).to_vector<float>(), said);
  // A folder of before there were names.
  std::string text = posix_env().read_file(path + "/model.json");
  for (const std::string name : {"left", "right"}) {
    const size_t begin = text.find(cat("\"name\": \"", name, "\""));
    ASSERT_NE(begin, std::string::npos);
    const size_t comma = text.rfind(',', begin);
    text.erase(comma, begin + cat("\"name\": \"", name, "\"").size() - comma);
  }
  posix_env().write_file(path + "/model.json", text);
  drop_checksums(path);
  LoadedModel old = load_model(path);
  EXPECT_TRUE(old.input_names().empty());
  EXPECT_EQ(old.predict({x, x * 2}).to_vector<float>(), said);
  std::filesystem::remove_all(path);
}

TEST(SavedModel, ThreadsPredictAtATimeInBatchesOfDifferentSizes) {
  Functional model = saved_pair();
  const Tensor x = Generator(3).normal({64, 4});
  const std::vector<float> said = model.predict({x, x}, 64).to_vector<float>();
  const std::string path = fresh("threads");
  model.save(path);
  LoadedModel loaded = load_model(path);
  std::atomic<int> wrong = 0;
  for (Model* shared : std::initializer_list<Model*>{&model, &loaded}) {
    std::vector<std::thread> threads;
    for (int64_t size = 1; size <= 8; ++size) {
      threads.emplace_back([&, size] {
        for (int i = 0; i < 10; ++i) wrong += shared->predict({x, x}, size + i).to_vector<float>() != said;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(wrong, 0);
  std::filesystem::remove_all(path);
}

Tensor thirds(int64_t count) {
  std::vector<int32_t> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int32_t>(i % 3);
  return Tensor::of(out, {count});
}

TEST(SavedModel, OfImagesAndOfIdsPredictsTheSameBitsAtAnyBatchSize) {
  set_seed(4);
  Sequential images{Conv2D({.filters = 4, .activation = "relu"}),
                    MaxPooling2D(),
                    Conv2D({.filters = 5, .strides = {2, 2}, .padding = "same"}),
                    LayerNormalization(),
                    AveragePooling2D(),
                    Flatten(),
                    Dense({.units = 3})};
  Sequential ids{Embedding({.input_dim = 9, .output_dim = 4}), LayerNormalization(), Flatten(),
                 Dense({.units = 3})};
  std::vector<int32_t> words(150 * 5);
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<int32_t>(i * i % 9);
  const std::string path = fresh("layers");
  for (const auto& [model, x] : {std::pair<Model*, Tensor>{&images, Generator(1).normal({150, 11, 10, 2})},
                                 {&ids, Tensor::of(words, {150, 5})}}) {
    model->compile();
    model->fit(x, thirds(150), {.epochs = 1, .batch_size = 50});
    model->save(path);
    LoadedModel loaded = load_model(path);
    EXPECT_EQ(loaded.fixed_batch(), 0);
    for (const int64_t batch : {1, 7, 64}) {
      EXPECT_EQ(loaded.predict(x, batch).to_vector<float>(), model->predict(x, batch).to_vector<float>())
          << batch;
    }
    std::filesystem::remove_all(path);
  }
}

TEST(SavedModel, IsTrainedFurtherWithoutItsLayers) {
  set_seed(4);
  Sequential model = everything();
  const Tensor x = saved_model_rows(64);
  model.compile();
  model.fit(x, classes_of(x), {.epochs = 1});
  const std::string path = fresh("tune");
  model.save(path);
  LoadedModel loaded = load_model(path);
  EXPECT_EQ(loaded.trainable_variables().size(), model.trainable_variables().size());
  // Dropout draws from the saved generator on one side, and on the other from that of the process, which
  // stands where it stood when the model was saved.
  expect_same_training(model, loaded);
  // And again, saved from the loaded one.
  const std::string again = fresh("tune-again");
  loaded.save(again);
  LoadedModel twice = load_model(again);
  expect_same_training(loaded, twice);
  std::filesystem::remove_all(path);
  std::filesystem::remove_all(again);
}

// Computes otherwise for each batch size.
struct Counts : Layer {
  Tensor call(const Tensor& x) override { return x * (1.0 / static_cast<double>(x.size(0))); }
};

// Follows the batch size up to a point.
struct Capped : Layer {
  Tensor call(const Tensor& x) override {
    const auto count = static_cast<double>(std::min<int64_t>(x.size(0), 1015));
    return x * count;
  }
};

TEST(SavedModel, AFormulaThatFailsAtAThirdSizeIsNone) {
  Sequential model{Capped()};
  model.predict(saved_model_rows(8), 8);
  const std::string path = fresh("capped");
  model.save(path);
  EXPECT_EQ(load_model(path).fixed_batch(), 8);
  std::filesystem::remove_all(path);
}

TEST(SavedModel, ASlashAtTheEndOfItsPathSaysNothing) {
  Sequential model{Dense({.units = 3})};
  model.predict(saved_model_rows(8));
  const std::string path = fresh("slash");
  for (int i = 0; i < 2; ++i) {
    model.save(path + "/");
    EXPECT_EQ(load_model(path + "/").variables().size(), 2u);
  }
  EXPECT_EQ(rule_of([&] { model.save(path + "/absent/below/"); }), "save.path");
  std::filesystem::remove_all(path);
}

TEST(SavedModel, KeepsWhatIsTrained) {
  Sequential model{Dense({.units = 3}), Dense({.units = 2})};
  model.predict(saved_model_rows(8));
  model.variables()[0].set_trainable(false);
  const std::string path = fresh("frozen");
  model.save(path);
  EXPECT_EQ(load_model(path).trainable_variables().size(), 3u);
  EXPECT_EQ(load_model(path).variables().size(), 4u);
  std::filesystem::remove_all(path);
}

TEST(SavedModel, WhatFollowsNoFormulaIsSavedForOneBatch) {
  Sequential model{Counts()};
  const Tensor x = saved_model_rows(8);
  model.predict(x, 8);
  const std::string path = fresh("fixed");
  model.save(path);
  LoadedModel loaded = load_model(path);
  EXPECT_EQ(loaded.fixed_batch(), 8);
  EXPECT_EQ(loaded.predict(x, 8).to_vector<float>(), model.predict(x, 8).to_vector<float>());
  EXPECT_THROW(loaded.predict(x, 4), ShapeError);
  std::filesystem::remove_all(path);
}

TEST(SavedModel, SeveralInputsAndOutputs) {
  const Placeholder a = Input({6}), b = Input({2});
  Functional model({a, b}, {connect(Concatenate(), {connect(Dense({.units = 2}), a), b}),
                            connect(Dense({.units = 1}), b)});
  const Tensor x = saved_model_rows(20), z = slice(x, {0, 1}, {20, 3});
  const Tensors said = model.predict_all({x, z});
  const std::string path = fresh("several");
  model.save(path);
  LoadedModel loaded = load_model(path);
  ASSERT_EQ(loaded.input_rows().size(), 2u);
  const Tensors again = loaded.predict_all({x, z}, 7);
  ASSERT_EQ(again.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(again[i].to_vector<float>(), said[i].to_vector<float>());
  EXPECT_THROW(loaded.predict_all({z, x}), ShapeError);
  std::filesystem::remove_all(path);
}

TEST(SavedModel, CarriesTextsAndReplacesOnlyItself) {
  Sequential model{Dense({.units = 2})};
  const std::string path = fresh("files");
  EXPECT_THROW(model.save(path), StateError) << "nobody knows its input";
  model.predict(saved_model_rows(4));
  model.save(path, {.files = {{"columns.json", "{}"}}});
  model.save(path, {.files = {{"columns.json", "{\"a\": 1}"}}});
  LoadedModel loaded = load_model(path);
  EXPECT_EQ(loaded.file("columns.json"), "{\"a\": 1}");
  EXPECT_FALSE(loaded.has_file("rows.json"));
  EXPECT_THROW(loaded.file("column.json"), ValueError);
  for (const char* name : {"model.json", "../out", "", ".hidden"})
    EXPECT_THROW(model.save(path, {.files = {{name, ""}}}), ValueError) << name;
  const std::string other = fresh("other");
  std::filesystem::create_directory(other);
  std::ofstream(other + "/mine.txt") << "mine";
  EXPECT_THROW(model.save(other), IoError);
  EXPECT_TRUE(std::filesystem::exists(other + "/mine.txt"));
  EXPECT_THROW(load_model(other), IoError);
  std::filesystem::remove_all(path);
  std::filesystem::remove_all(other);
}

TEST(SavedModel, AModelWithoutTextsSaysSo) {
  Sequential model{Dense({.units = 1})};
  model.predict(saved_model_rows(4));
  const std::string path = fresh("no_texts");
  model.save(path);
  try {
    load_model(path).file("columns.json");
    FAIL() << "there is none";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "unknown file \"columns.json\": there is none");
  }
}

TEST(SavedModel, NeverReplacesWhatIsSomebodyElses) {
  Sequential model{Dense({.units = 2})};
  model.predict(saved_model_rows(4));
  const std::string path = fresh("foreign");
  std::filesystem::create_directory(path);
  model.save(path);  // an empty folder is nobody's
  std::ofstream(path + "/mine.csv") << "mine";
  EXPECT_THROW(model.save(path), IoError);
  EXPECT_TRUE(std::filesystem::exists(path + "/mine.csv"));
  std::filesystem::remove(path + "/mine.csv");
  std::filesystem::create_directory(path + "/plots");
  EXPECT_NO_THROW(load_model(path));
  std::filesystem::remove(path + "/plots");
  std::ofstream(path + "/model.json") << "{\"class_name\": \"Sequential\"}";
  EXPECT_THROW(model.save(path), IoError) << "another program's model";
  EXPECT_THROW(model.save(path + "/none/model"), IoError);
  EXPECT_THROW(model.save(""), IoError);
  std::filesystem::remove_all(path);
  // A link stays one.
  const std::string link = fresh("link");
  model.save(path);
  std::filesystem::create_directory_symlink(path, link);
  model.save(link, {.files = {{"note.txt", "new"}}});
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(load_model(path).file("note.txt"), "new");
  std::filesystem::remove(link);
  std::filesystem::remove_all(path);
}

// Two models of other layers, other texts, but variables of the same names and types.
TEST(SavedModel, IsLoadedWholeWhileItIsReplaced) {
  const Tensor x = Tensor::of<float>({1, 2}, {1, 2});
  const std::string path = fresh("replaced");
  Sequential relu{Dense({.units = 2, .activation = "relu"})},
      exponential{Dense({.units = 2, .activation = "exponential"})};
  std::map<std::string, std::vector<float>> said;
  const auto texts = [](const std::string& name) {
    SaveOptions out{{{"name.txt", name}}};
    for (int i = 0; i < 25; ++i) out.files[cat(i)] = name;
    return out;
  };
  const auto save = [&](Sequential& model, const std::string& name) {
    set_seed(3);  // both are called "sequential" and begin with the same weights
    said[name] = model.predict(x).to_vector<float>();
    model.save(path, texts(name));
  };
  save(relu, "relu");
  save(exponential, "exponential");
  std::atomic<bool> done{false}, both{false};
  std::thread writer([&] {
    for (int i = 0; i < 8 || (!both && i < 1000); ++i) {
      relu.save(path, texts("relu"));
      exponential.save(path, texts("exponential"));
    }
    done = true;
  });
  std::map<std::string, int> loaded;
  while (!done) {
    try {
      LoadedModel model = load_model(path);
      const std::string name = model.file("name.txt");
      ++loaded[name];
      both = loaded.size() == 2;
      for (const auto& [file, text] : texts(name).files) EXPECT_EQ(model.file(file), text);
      EXPECT_EQ(model.predict(x).to_vector<float>(), said.at(name));
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  writer.join();
  EXPECT_EQ(loaded.size(), 2u);
  std::filesystem::remove_all(path);
}

TEST(SavedModel, LayersOfOneNameInsideAndOutsideStayApart) {
  const Tensor x = saved_model_rows(3);
  Dense outside({.units = 6, .name = "twin"});
  outside(x);
  const Placeholder in = Input({6});
  Functional model({in}, {connect(outside, connect(Dense({.units = 6, .name = "twin"}), in))}, "twins");
  const auto said = model.predict(x).to_vector<float>();
  const std::string path = fresh("twins");
  model.save(path);
  LoadedModel loaded = load_model(path);
  EXPECT_EQ(loaded.variables().size(), 4u);
  EXPECT_EQ(loaded.predict(x).to_vector<float>(), said);
  std::filesystem::remove_all(path);
}

TEST(SavedModel, DamageIsNamedWithItsFile) {
  Sequential model{Dense({.units = 2}), Dense({.units = 2})};
  model.predict(saved_model_rows(4));
  const std::string path = fresh("damaged");
  const auto refused = [&](const std::string& file, const std::string& from, const std::string& to,
                           std::string named = "") {
    if (named.empty()) named = file;
    std::filesystem::remove_all(path);
    model.save(path);
    drop_checksums(path);
    std::string text = posix_env().read_file(path + "/" + file);
    const size_t at = text.find(from);
    if (at == std::string::npos) return cat("no ", from);
    text.replace(at, from.size(), to);
    posix_env().write_file(path + "/" + file, text);
    try {
      load_model(path);
    } catch (const FormatError& error) {
      return error.message().find(named) == std::string::npos ? error.message() : std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused("model.json", "{", "["), "");
  EXPECT_EQ(refused("model.json", "espalier.model", "another"), "");
  EXPECT_EQ(refused("model.json", "\"row\": [", "\"row\": [-"), "");
  EXPECT_EQ(refused("model.json", "dense/kernel", "dense/colonel", "weights.safetensors"), "");
  EXPECT_EQ(refused("model.json", "\"trainable\": true", "\"trainable\": 1"), "");
  EXPECT_EQ(refused("weights.safetensors", "F32", "F64"), "");
  EXPECT_EQ(refused("model.json",
                    "\"weights_crc32\": ", "\"weights_crc32\": 7, \"other\": ", "weights.safetensors"),
            "");
  EXPECT_EQ(refused("model.json", "\"version\": 1", "\"version\": 1e999"), "");
  for (const char* outputs : {"7", "[7]", "[\"a\", \"a\"]", "{}"})
    EXPECT_EQ(refused("model.json", "\"version\"", cat("\"outputs\": ", outputs, ", \"version\"")), "")
        << outputs;
  EXPECT_EQ(
      refused("model.json", "\"version\"", "\"outputs\": [\"a\", \"b\"], \"version\"", "inference.mlir"), "");
  EXPECT_EQ(refused("inference.mlir", "dot_general", "dot_particular"), "");
  EXPECT_EQ(refused("inference.mlir", "${B}", "$B"), "");
  EXPECT_EQ(refused("inference.mlir", "dense/kernel", "dense/colonel"), "");
  EXPECT_NE(refused("model.json", "\"version\": 1", "\"version\": 2").find("UnsupportedError"),
            std::string::npos);
  std::filesystem::remove_all(path);
}

// A byte more in any file, a file less, a file more: each is named. CRC-32 finds every change of one byte.
TEST(SavedModel, EveryFileIsUnderItsChecksum) {
  Sequential model{Dense({.units = 2})};
  model.predict(saved_model_rows(4));
  const std::string path = fresh("checksums");
  const SaveOptions options{.files = {{"columns.json", "{\"a\": 1}"}, {"decision.json", "{}"}}};
  model.save(path, options);
  const auto files = posix_env().read_folder(path);
  EXPECT_EQ(files.size(), 6u);
  const auto said = [&](const std::map<std::string, std::string>& changed) {
    return saved_complaint([&] { read_model(changed, "model"); });
  };
  EXPECT_EQ(said(files), "nothing");
  for (const auto& [name, bytes] : files) {
    auto changed = files;
    char& byte = changed[name][bytes.size() / 2];
    byte = byte == 'x' ? 'y' : 'x';
    EXPECT_TRUE(said(changed).starts_with(cat("FormatError[saved_model.content] model/", name, ": ")))
        << said(changed);
    changed.erase(name);
    EXPECT_TRUE(
        said(changed).starts_with(cat("FormatError[saved_model.content] model/", name, ": is missing")))
        << said(changed);
  }
  // Of the description what it says, however it is written.
  auto changed = files;
  std::erase_if(changed["model.json"], [](char c) { return c == '\n' || c == ' '; });
  EXPECT_EQ(said(changed), "nothing");
  changed = files;
  const size_t units = changed["model.json"].find("\"fixed_batch\": 0");
  ASSERT_NE(units, std::string::npos);
  changed["model.json"].replace(units, 16, "\"fixed_batch\": 4");
  EXPECT_TRUE(
      said(changed).starts_with("FormatError[saved_model.content] model/model.json: is not as it was"))
      << said(changed);
  changed = files;
  changed["schema.pbtxt"] = "feature {}";
  EXPECT_TRUE(
      said(changed).starts_with("FormatError[saved_model.content] model/schema.pbtxt: is not the model's"))
      << said(changed);
  changed = files;
  changed[".directory"] = "of a file manager";
  EXPECT_EQ(said(changed), "nothing");
  changed = saved_files::with_file(files, "decision.json", "{\"threshold\": 0.3}");
  EXPECT_EQ(said(changed), "nothing");
  EXPECT_EQ(read_model(changed).file("decision.json"), "{\"threshold\": 0.3}");
  changed = saved_files::with_file(files, "note.txt", "one more");
  EXPECT_EQ(read_model(changed).file("note.txt"), "one more");
  std::filesystem::remove_all(path);
}

TEST(SavedModel, NamesThatAreNotUtf8AreRefused) {
  const std::string path = fresh("latin1");
  const auto rule = [&](const std::string& model_name, const std::string& layer_name) {
    struct Named : Model {
      Named(const std::string& name, const std::string& layer) : Model(name), out({.name = layer}) {}
      Dense out;
      Tensor call(const Tensor& x) override { return out(x); }
    } model(model_name, layer_name);
    model.predict(full({2, 3}, 1));
    return rule_of([&] { model.save(path); });
  };
  EXPECT_EQ(rule("caf\xe9", "dense"), "save.name");
  EXPECT_EQ(rule("model", "caf\xe9"), "save.name");
  EXPECT_FALSE(posix_env().exists(path));
  EXPECT_EQ(rule("model", "caf\xc3\xa9"), "nothing");
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace espalier
