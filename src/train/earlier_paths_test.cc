#include "train/earlier_paths.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/espalier.h"
#include "format/checkpoint.h"
#include "ir/sink.h"
#include "train/unsealed_test.h"

namespace espalier {
namespace {

std::string earlier_place(const std::string& name) {
  const std::string path = testing::TempDir() + "/espalier-earlier-" + name;
  std::filesystem::remove_all(path);
  return path;
}

// Two towers of one shape: dense is that of the first input, and was that of the last.
Functional towers(uint64_t seed) {
  set_seed(seed);
  const Placeholder a = Input({3}), b = Input({3});
  const Placeholder left = connect(Dense({.units = 2, .activation = "tanh"}), a);
  const Placeholder right = connect(Dense({.units = 2}), b);
  return Functional({a, b}, {connect(Dense({.units = 1}), connect(Concatenate(), {left, right}))});
}
Tensor some_rows(uint64_t seed) { return Generator(seed).normal({12, 3}); }
std::vector<float> said_by(Model& model) {
  return model.predict({some_rows(1), some_rows(2)}).to_vector<float>();
}

// With the names of versions before.
std::string as_before(std::string text) {
  constexpr const char* kNow = "functional/dense/";
  constexpr const char* kOther = "functional/dense_1/";
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace(kNow, "\x01");
  replace(kOther, kNow);
  replace("\x01", kOther);
  return text;
}

// A file of weights as a version before wrote it.
void make_earlier(const std::string& path) {
  SafeTensors file = read_safetensors(path);
  file.metadata.clear();
  for (NamedArray& array : file.arrays) array.name = as_before(array.name);
  write_safetensors(path, file);
}

// And a whole model.
void make_model_earlier(const std::string& folder) {
  make_earlier(folder + "/weights.safetensors");
  for (const char* name : {"model.json", "inference.mlir", "training.mlir"}) {
    const std::string path = folder + "/" + name;
    posix_env().write_file(path, as_before(posix_env().read_file(path)));
  }
  drop_checksums(folder);
  auto description = nlohmann::ordered_json::parse(posix_env().read_file(folder + "/model.json"));
  const std::string weights = posix_env().read_file(folder + "/weights.safetensors");
  description["weights_crc32"] = crc32_of(weights.data(), weights.size());
  posix_env().write_file(folder + "/model.json", description.dump(2) + "\n");
}

TEST(EarlierPaths, WeightsOfBothKindsOfFilesGoWhereTheyWere) {
  Functional model = towers(3);
  const std::vector<float> said = said_by(model);
  const std::string folder = earlier_place("weights"), bare = earlier_place("bare.safetensors");
  model.save(folder);
  const auto loaded = [&](const std::string& path, const LoadWeightsOptions& options = {}) {
    Functional other = towers(4);
    EXPECT_NE(said_by(other), said);
    load_weights(other, path, options);
    return said_by(other);
  };
  EXPECT_EQ(loaded(folder + "/weights.safetensors"), said);
  std::filesystem::copy_file(folder + "/weights.safetensors", bare);
  EXPECT_EQ(loaded(bare), said);
  make_earlier(folder + "/weights.safetensors");
  EXPECT_EQ(loaded(folder + "/weights.safetensors"), said);

  // Alone nobody knows.
  std::filesystem::remove(bare);
  std::filesystem::copy_file(folder + "/weights.safetensors", bare);
  Functional other = towers(4);
  const std::vector<float> own = said_by(other);
  try {
    load_weights(other, bare);
    ADD_FAILURE() << "loaded";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "load_weights.order");
    EXPECT_EQ(error.message(),
              bare +
                  " does not say in which order its layers are numbered: "
                  "\"functional/dense/kernel\" was \"functional/dense_1/kernel\" before models "
                  "ran the first input of a layer first");
  }
  EXPECT_EQ(said_by(other), own);
  LoadWeightsOptions named;
  for (const char* part : {"kernel", "bias"}) {
    named.names[cat("functional/dense/", part)] = cat("functional/dense_1/", part);
    named.names[cat("functional/dense_1/", part)] = cat("functional/dense/", part);
  }
  EXPECT_EQ(loaded(bare, named), said);
  std::filesystem::remove_all(folder);
  std::filesystem::remove(bare);
}

TEST(EarlierPaths, SavedModelsOfBothKindsLoadAndAreSavedAgain) {
  Functional model = towers(3);
  const std::vector<float> said = said_by(model);
  for (const bool earlier : {false, true}) {
    SCOPED_TRACE(earlier);
    const std::string folder = earlier_place("model"), again = earlier_place("again");
    model.save(folder);
    if (earlier) make_model_earlier(folder);
    LoadedModel loaded = load_model(folder);
    EXPECT_EQ(said_by(loaded), said);
    loaded.save(again);
    LoadedModel twice = load_model(again);
    EXPECT_EQ(said_by(twice), said);
    Functional other = towers(4);
    EXPECT_NE(said_by(other), said);
    load_weights(other, again + "/weights.safetensors");
    EXPECT_EQ(said_by(other), said);
    std::filesystem::remove_all(folder);
    std::filesystem::remove_all(again);
  }
}

struct EarlierKilled {};

TEST(EarlierPaths, ARunOfAVersionBeforeGoesOnToTheSameBits) {
  const std::string path = earlier_place("run.checkpoint");
  const auto run = [&](int64_t dies_after) {
    Functional model = towers(3);
    model.compile({.optimizer = Adam{.learning_rate = 0.05}, .loss = MeanSquaredError(), .metrics = {"mae"}});
    int64_t steps = 0;
    const auto dies = LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
      if (++steps == dies_after) throw EarlierKilled();
    }});
    const auto stop = EarlyStopping({.monitor = "loss", .patience = 9, .restore_best_weights = true});
    const std::vector<Logs> logs =
        model.fit({some_rows(1), some_rows(2)}, {slice(some_rows(3), {0, 0}, {12, 1})},
                  {.epochs = 4,
                   .batch_size = 4,
                   .callbacks = {BackupAndRestore({.path = path, .save_freq = 2}), stop, dies}});
    std::vector<float> out = said_by(model);
    for (const Logs& epoch : logs) {
      for (const auto& [name, value] : epoch) out.push_back(static_cast<float>(value));
    }
    return out;
  };
  const std::vector<float> whole = run(-1);
  EXPECT_THROW(run(8), EarlierKilled);
  Checkpoint file = parse_checkpoint(posix_env().read_file(path));
  EXPECT_EQ(std::erase_if(file.run, [](const auto& one) { return one.first.starts_with("earlier/"); }), 4u)
      << "two variables of each tower";
  for (NamedArray& array : file.variables) array.name = as_before(array.name);
  size_t kept = 0;
  for (auto& callback : file.callbacks) {
    std::map<std::string, Literal> before;
    for (auto& [name, value] : callback) {
      kept += name.find("functional/dense") != name.npos;
      before.emplace(as_before(name), std::move(value));
    }
    callback = std::move(before);
  }
  EXPECT_EQ(kept, 6u) << "the best weights";
  write_checkpoint(path, file);
  EXPECT_EQ(run(-1), whole);
}

// Two inner models, each of two layers.
TEST(EarlierPaths, ModelsWithinModelsAreNumberedAnewToo) {
  set_seed(0);
  const auto pair = [](const char* name) {
    const Placeholder a = Input({2}), b = Input({2});
    return Functional(
        {a, b}, {connect(Add(), {connect(Dense({.units = 2}), a), connect(Dense({.units = 2}), b)})}, name);
  };
  const Placeholder a = Input({2}), b = Input({2});
  Functional outer({a, b}, {connect(Add(), {connect(pair("in"), {a, b}), connect(pair("in"), {b, a})})},
                   "out");
  outer({full({1, 2}, 1), full({1, 2}, 2)});
  std::map<std::string, std::string> earlier;
  for (const Variable& variable : outer.variables()) {
    if (variable.path().ends_with("kernel")) earlier[variable.path()] = earlier_path(variable);
  }
  EXPECT_EQ(earlier,
            (std::map<std::string, std::string>{{"out/in/dense/kernel", "out/in_1/dense_1/kernel"},
                                                {"out/in/dense_1/kernel", "out/in_1/dense/kernel"},
                                                {"out/in_1/dense/kernel", "out/in/dense_1/kernel"},
                                                {"out/in_1/dense_1/kernel", "out/in/dense/kernel"}}));
  // Names that nobody numbers stay, and files say nothing of them.
  Sequential plain{Dense({.units = 1})};
  plain.predict(full({1, 2}, 1));
  std::vector<std::pair<std::string, Variable>> named;
  for (const Variable& variable : plain.variables()) named.emplace_back(variable.path(), variable);
  EXPECT_TRUE(earlier_paths(named).empty());
}

}  // namespace
}  // namespace espalier
