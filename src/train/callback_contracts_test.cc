// Options, refusals, states and hooks of callbacks, each as a whole.
#include <cmath>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/scratch_test.h"
#include "base/shortest.h"
#include "espalier/array.h"
#include "espalier/callbacks.h"
#include "espalier/ops.h"
#include "train/deciding_callback.h"
#include "train/error_text_test.h"

namespace espalier {
namespace {

using Facts = std::map<std::string, std::string>;

// Zeros behind the last digit of a text say nothing.
std::string without_zeros(std::string text) {
  const size_t point = text.find_last_of('.'), last = text.find_last_not_of('0');
  const bool fraction =
      point != std::string::npos && text.find_first_not_of("0123456789", point + 1) == text.npos;
  return fraction ? text.substr(0, last == point ? point : last + 1) : text;
}

Facts options_of(const std::shared_ptr<Callback>& callback) {
  return dynamic_cast<const DecidingCallback&>(*callback).options();
}

TEST(CallbackContracts, OptionsAndTheirDefaults) {
  EXPECT_EQ(options_of(EarlyStopping()), (Facts{{"baseline", "none"},
                                                {"min_delta", "0"},
                                                {"mode", "auto"},
                                                {"monitor", "val_loss"},
                                                {"patience", "0"},
                                                {"restore_best_weights", "false"},
                                                {"start_from_epoch", "0"}}));
  EXPECT_EQ(options_of(EarlyStopping({.monitor = "loss",
                                      .min_delta = 0.1,
                                      .patience = 3,
                                      .mode = "min",
                                      .baseline = 0.25,
                                      .restore_best_weights = true,
                                      .start_from_epoch = 7})),
            (Facts{{"baseline", "0.25"},
                   {"min_delta", "0.1"},
                   {"mode", "min"},
                   {"monitor", "loss"},
                   {"patience", "3"},
                   {"restore_best_weights", "true"},
                   {"start_from_epoch", "7"}}));
  EXPECT_EQ(options_of(ReduceLROnPlateau()), (Facts{{"cooldown", "0"},
                                                    {"factor", "0.1"},
                                                    {"min_delta", "1e-04"},
                                                    {"min_lr", "0"},
                                                    {"mode", "auto"},
                                                    {"monitor", "val_loss"},
                                                    {"patience", "10"}}));
  EXPECT_EQ(options_of(ReduceLROnPlateau({.monitor = "mae",
                                          .factor = 0.5,
                                          .patience = 2,
                                          .mode = "max",
                                          .min_delta = 0.2,
                                          .cooldown = 4,
                                          .min_lr = 0.001})),
            (Facts{{"cooldown", "4"},
                   {"factor", "0.5"},
                   {"min_delta", "0.2"},
                   {"min_lr", "0.001"},
                   {"mode", "max"},
                   {"monitor", "mae"},
                   {"patience", "2"}}));
}

TEST(CallbackContracts, RefusalsNameTheOption) {
  const auto stopping = [](const EarlyStoppingOptions& options) {
    return error_text([&] { EarlyStopping(options); });
  };
  const auto plateau = [](const ReduceLROnPlateauOptions& options) {
    return without_zeros(error_text([&] { ReduceLROnPlateau(options); }));
  };
  EXPECT_EQ(stopping({.patience = -1}),
            "ValueError[early_stopping.patience] patience must not be negative, got -1");
  EXPECT_EQ(plateau({.factor = 1}), "ValueError[reduce_lr_on_plateau.factor] factor lies in [0, 1), got 1");
  EXPECT_EQ(plateau({.factor = -0.5}),
            "ValueError[reduce_lr_on_plateau.factor] factor lies in [0, 1), got -0.5");
  EXPECT_EQ(plateau({.patience = -2}),
            "ValueError[reduce_lr_on_plateau.patience] patience is not negative, got -2");
  EXPECT_EQ(plateau({.cooldown = -3}),
            "ValueError[reduce_lr_on_plateau.cooldown] cooldown is not negative, got -3");
  EXPECT_EQ(plateau({.min_lr = -0.5}),
            "ValueError[reduce_lr_on_plateau.min_lr] min_lr is not negative, got -0.5");
  EXPECT_EQ(plateau({.factor = 0, .patience = 0}), "nothing");
  for (const char separator : {'"', '\r', '\n', '\0'})
    EXPECT_EQ(error_text([&] { CSVLogger("x.csv", {.separator = separator}); }),
              "ValueError[csv_logger.separator] a quote or a line's end separates nothing")
        << static_cast<int>(separator);
  for (const char separator : {';', '\t', ' '})
    EXPECT_EQ(error_text([&] { CSVLogger("x.csv", {.separator = separator}); }), "nothing");
}

TEST(CallbackContracts, RatesOfASchedulerAreFiniteAndNotNegative) {
  const Tensor x = full({2, 1}, 1), y = full({2, 1}, 0);
  const auto text = [&](double second) {
    Sequential model{Dense({.units = 1})};
    model.compile({.optimizer = SGD{.learning_rate = 0.5}, .loss = MeanSquaredError()});
    std::vector<std::pair<int, double>> asked;
    const auto schedule = [&](int epoch, double rate) {
      asked.emplace_back(epoch, rate);
      return epoch == 1 ? second : 0.25;
    };
    const std::string out = without_zeros(
        error_text([&] { model.fit(x, y, {.epochs = 3, .callbacks = {LearningRateScheduler(schedule)}}); }));
    EXPECT_EQ(asked.front(), (std::pair<int, double>{0, 0.5}));
    EXPECT_EQ(asked.at(1), (std::pair<int, double>{1, 0.25}));
    return out;
  };
  const std::string refused =
      "ValueError[learning_rate_scheduler.rate] the rate of epoch 1 must be finite and not negative, got ";
  EXPECT_EQ(text(-1), refused + "-1");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), refused + "inf");
  EXPECT_EQ(text(std::numeric_limits<double>::quiet_NaN()), refused + "nan");
  EXPECT_EQ(text(0), "nothing") << "an epoch may stand still";
}

// The lowest rate is reached and not gone below.
TEST(CallbackContracts, APlateauEndsAtTheLowestRate) {
  const Tensor x = full({2, 1}, 1), y = full({2, 1}, 0);
  Sequential model{Dense({.units = 1, .use_bias = false, .kernel_initializer = "zeros"})};
  model.compile({.optimizer = SGD{.learning_rate = 1}, .loss = MeanSquaredError()});
  std::vector<float> rates;
  const auto record = LambdaCallback({.on_epoch_begin = [&](int) {
    rates.push_back(model.optimizer().learning_rate().read().item<float>());
  }});
  // The loss is 0 from the first epoch on, so none behind it is better.
  model.fit(x, y,
            {.epochs = 7,
             .callbacks = {record, ReduceLROnPlateau(
                                       {.monitor = "loss", .factor = 0.5, .patience = 1, .min_lr = 0.2})}});
  EXPECT_EQ(rates, (std::vector<float>{1, 1, 0.5f, 0.25f, 0.2f, 0.2f, 0.2f}));
}

TEST(CallbackContracts, APlateauRaisesNoRate) {
  const Tensor x = full({2, 1}, 1), y = full({2, 1}, 0);
  Sequential model{Dense({.units = 1, .use_bias = false, .kernel_initializer = "zeros"})};
  model.compile({.optimizer = SGD{.learning_rate = 0.125}, .loss = MeanSquaredError()});
  model.fit(
      x, y,
      {.epochs = 4, .callbacks = {ReduceLROnPlateau({.monitor = "loss", .patience = 1, .min_lr = 0.5})}});
  EXPECT_EQ(model.optimizer().learning_rate().read().item<float>(), 0.125f) << "it began below the lowest";
}

// What a checkpoint of another model holds under the name of a variable.
TEST(CallbackContracts, TheBestWeightsOfAnotherModelAreRefused) {
  struct Loads final : Callback {
    explicit Loads(std::shared_ptr<Callback> callback) : callback(std::move(callback)) {}
    void on_train_begin(const Run&) override { callback->load_state(state); }
    std::shared_ptr<Callback> callback;
    CallbackState state;
  };
  const Tensor x = full({2, 1}, 1), y = full({2, 1}, 0);
  Sequential model{Dense({.units = 1, .use_bias = false})};
  model.compile({.optimizer = SGD{.learning_rate = 0}, .loss = MeanSquaredError()});
  model.predict(x);
  const auto stopping = EarlyStopping({.monitor = "loss", .patience = 9});
  const auto loads = std::make_shared<Loads>(stopping);
  const std::string path = model.variables()[0].path();
  loads->state.put("early_stopping/wait", 0);
  const auto text = [&](const Tensor& best) {
    loads->state.tensors["early_stopping/weights/" + path] = best;
    return error_text([&] { model.fit(x, y, {.callbacks = {stopping, loads}}); });
  };
  EXPECT_EQ(text(full({1, 2}, 7)), cat("FormatError[checkpoint.callback] the best \"", path,
                                       "\" is f32[1,2], the model's is f32[1,1]"));
  EXPECT_EQ(text(full({1, 1}, 7)), "nothing");
  EXPECT_EQ(model.variables()[0].read().item<float>(), 7) << "restored at the end of the run";
}

TEST(CallbackContracts, AnEpochWithoutALossCountsForNobodysPatience) {
  const auto stopping = EarlyStopping({.monitor = "loss", .patience = 1});
  const auto plateau = ReduceLROnPlateau({.monitor = "loss", .patience = 1});
  CallbackState before, after;
  stopping->on_epoch_end(0, {{"loss", 1}});
  plateau->on_epoch_end(0, {{"loss", 1}});
  for (const auto& callback : {stopping, plateau}) callback->save_state(before);
  for (const auto& callback : {stopping, plateau, TerminateOnNaN()})
    EXPECT_EQ(error_text([&] {
                callback->on_epoch_skipped(1, {{"loss", std::numeric_limits<double>::quiet_NaN()}});
              }),
              "nothing");
  for (const auto& callback : {stopping, plateau}) callback->save_state(after);
  ASSERT_EQ(after.tensors.size(), 5u);
  for (const char* name : {"early_stopping/wait", "early_stopping/best", "reduce_lr_on_plateau/wait",
                           "reduce_lr_on_plateau/best", "reduce_lr_on_plateau/cooldown"})
    EXPECT_EQ(after.number(name), before.number(name)) << name;
}

TEST(CallbackContracts, StatesAreReadAsTheyWereWritten) {
  CallbackState state;
  state.put("a", 2.5);
  state.put("most", 0x1p53);
  state.put("more", 0x1p53 + 2);
  state.put("none", 0);
  state.put_text("text", std::string("one\0\xff", 5));
  state.put_text("empty", "");
  EXPECT_EQ(state.number("a"), 2.5);
  EXPECT_EQ(state.count("most"), int64_t{1} << 53);
  EXPECT_EQ(state.count("none"), 0);
  EXPECT_EQ(state.text("text"), std::string("one\0\xff", 5));
  EXPECT_EQ(state.text("empty"), "");
  const auto text = [&](auto&& read) { return without_zeros(error_text(read)); };
  EXPECT_EQ(text([&] { state.count("a"); }),
            "FormatError[checkpoint.callback] \"a\" must count something, got 2.5");
  EXPECT_TRUE(text([&] { state.count("more"); }).starts_with("FormatError[checkpoint.callback] "));
  EXPECT_EQ(text([&] { state.number("b"); }),
            "FormatError[checkpoint.callback] a callback misses \"b\" as f64 of rank 0");
  EXPECT_EQ(text([&] { state.number("text"); }),
            "FormatError[checkpoint.callback] a callback misses \"text\" as f64 of rank 0, it is u8[5]");
  EXPECT_EQ(text([&] { state.text("a"); }),
            "FormatError[checkpoint.callback] a callback misses \"a\" as u8 of rank 1, it is f64[]");
  state.tensors["whole"] = full({}, 1, DType::kI64);
  EXPECT_EQ(text([&] { state.number("whole"); }),
            "FormatError[checkpoint.callback] a callback misses \"whole\" as f64 of rank 0, it is i64[]");
  state.tensors["many"] = full({2}, 1, DType::kF64);
  EXPECT_EQ(text([&] { state.number("many"); }),
            "FormatError[checkpoint.callback] a callback misses \"many\" as f64 of rank 0, it is f64[2]");
}

TEST(CallbackContracts, EachHookOfALambdaIsItsOwn) {
  std::vector<std::string> heard;
  const auto lambda = LambdaCallback(
      {.on_train_begin = [&](const Callback::Run& run) { heard.push_back(cat("begin ", run.epochs)); },
       .on_epoch_begin = [&](int epoch) { heard.push_back(cat("epoch ", epoch)); },
       .on_note = [&](const std::string& note) { heard.push_back("note " + note); },
       .on_batch_end =
           [&](int64_t step, const Logs& logs) {
             heard.push_back(cat("batch ", step, " ", shortest(logs.at("a"))));
           },
       .on_epoch_end =
           [&](int epoch, const Logs& logs) {
             heard.push_back(cat("end ", epoch, " ", shortest(logs.at("b"))));
           },
       .on_train_end = [&](const Logs& logs) { heard.push_back(cat("over ", shortest(logs.at("c")))); }});
  const auto none = LambdaCallback({});
  for (const auto& callback : {lambda, none}) {
    callback->on_train_begin({.epochs = 3});
    callback->on_epoch_begin(1);
    callback->on_note("x");
    callback->on_batch_end(2, {{"a", 4}});
    callback->on_epoch_end(5, {{"b", 6}});
    callback->on_train_end({{"c", 7}});
  }
  EXPECT_EQ(heard,
            (std::vector<std::string>{"begin 3", "epoch 1", "note x", "batch 2 4", "end 5 6", "over 7"}));
}

TEST(CsvLogger, GoesOnInItsFileAndInItsState) {
  const std::string path = fresh_folder("csv_contracts") + "/log.csv";
  const auto text = [&] { return posix_env().read_file(path); };
  // Somebody's editor took the last line's end.
  posix_env().write_file(path, "epoch,a,b\n0,1,2");
  const auto appends = CSVLogger(path, {.append = true});
  appends->on_train_begin({.logs = {"b", "a"}});
  EXPECT_EQ(text(), "epoch,a,b\n0,1,2") << "no step has ended";
  appends->on_epoch_end(1, {{"a", 0.1}, {"b", -3}});
  EXPECT_EQ(text(), "epoch,a,b\n0,1,2\n1,0.1,-3\n");
  CallbackState state;
  appends->save_state(state);
  EXPECT_EQ(state.text("csv_logger/text"), text());
  // A run that goes on writes what its state says over what is there.
  appends->on_epoch_end(2, {{"a", 1}, {"b", 1}});
  const auto again = CSVLogger(path);
  again->on_train_begin({.logs = {"a", "b"}});
  again->load_state(state);
  again->on_train_end({});
  EXPECT_EQ(text(), "epoch,a,b\n0,1,2\n1,0.1,-3\n");
  again->on_train_begin({.logs = {"a", "b"}});
  again->load_state(state);
  again->on_batch_end(1, {});
  again->on_epoch_end(2, {{"a", 5}, {"b", 6}});
  EXPECT_EQ(text(), "epoch,a,b\n0,1,2\n1,0.1,-3\n2,5,6\n");
  // Other columns.
  EXPECT_EQ(error_text([&] { appends->on_train_begin({.logs = {"a"}}); }),
            cat("ValueError[csv_logger.columns] \"", path,
                "\" begins with \"epoch,a,b\", this run has \"epoch,a\""));
  posix_env().write_file(path, std::string(300, 'x'));
  EXPECT_EQ(error_text([&] { appends->on_train_begin({.logs = {"a"}}); }),
            cat("ValueError[csv_logger.columns] \"", path, "\" begins with \"", std::string(200, 'x'),
                "\", this run has \"epoch,a\""));
  // An empty file, or none, gets its columns.
  posix_env().write_file(path, "");
  appends->on_train_begin({.logs = {"a"}});
  appends->on_train_end({});
  EXPECT_EQ(text(), "epoch,a\n");
  posix_env().remove_file(path);
  appends->on_train_begin({.logs = {"a"}});
  appends->on_batch_end(1, {});
  EXPECT_EQ(text(), "epoch,a\n");
  const auto semicolons = CSVLogger(path, {.separator = ';'});
  semicolons->on_train_begin({.logs = {"a,b", "c;d", "e\nf", "g\rh", "i\"j"}});
  semicolons->on_batch_end(1, {});
  EXPECT_EQ(text(), "epoch;a,b;\"c;d\";\"e\nf\";\"g\rh\";\"i\"\"j\"\n");
}

TEST(ModelCheckpoint, FieldsOfItsPath) {
  const std::string folder = fresh_folder("checkpoint_fields");
  const Tensor x = full({2, 1}, 1);
  Sequential model{Dense({.units = 1, .use_bias = false, .kernel_initializer = "zeros"})};
  model.compile(
      {.optimizer = SGD{.learning_rate = 0}, .loss = {"ten", [](const Tensor&, const Tensor& outputs) {
                                                        return reduce_sum(outputs, {1}) * 0 + 10.375;
                                                      }}});
  const auto saved = [&](const ModelCheckpointOptions& given, int epoch) {
    ModelCheckpointOptions options = given;
    options.path = folder + "/" + given.path;
    model.fit(x, x,
              {.epochs = epoch,
               .batch_size = 1,
               .initial_epoch = epoch - 1,
               .callbacks = {ModelCheckpoint(options)}});
    const std::vector<std::string> names = posix_env().list_folder(folder);
    for (const std::string& name : names) std::filesystem::remove_all(folder + "/" + name);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(saved({.path = "a{epoch}b{epoch:03d}c"}, 12), Names{"a12b012c"});
  EXPECT_EQ(saved({.path = "{epoch:01d}{epoch:00d}"}, 12), Names{"1212"});
  EXPECT_EQ(saved({.path = "{epoch:09d}"}, 1), Names{"000000001"});
  EXPECT_EQ(saved({.path = "{loss}"}, 1), Names{"10.375"});
  EXPECT_EQ(saved({.path = "{loss:.0f}_{loss:.1f}_{loss:.9f}"}, 1), Names{"10_10.4_10.375000000"});
  EXPECT_EQ(saved({.path = "{epoch}.{batch}", .save_freq = 1}, 3), (Names{"3.1", "3.2"}));
  // Steps are those of the run from its first epoch on.
  EXPECT_EQ(saved({.path = "{epoch}.{batch}", .save_freq = 3}, 2), Names{"2.1"});
  EXPECT_EQ(saved({.path = "{epoch}.{batch}", .save_freq = 4}, 2), Names{"2.2"});
  const auto text = [&](const std::string& path) {
    const std::string whole = folder + "/" + path;
    const std::string out =
        error_text([&] { model.fit(x, x, {.callbacks = {ModelCheckpoint({.path = whole})}}); });
    const size_t at = out.find(whole);
    return at == std::string::npos ? out : out.substr(0, at) + path + out.substr(at + whole.size());
  };
  EXPECT_EQ(text("{epoch"), "ValueError[model_checkpoint.path] \"{epoch\": a field has no end: }");
  EXPECT_EQ(text("{epoh}"),
            "ValueError[model_checkpoint.path] unknown field \"epoh\": known are epoch, loss | did you mean "
            "\"epoch\"?");
  for (const char* format : {":d", ":02f", ":.2d", ":.:f", ":0/d", ":.3", ":002d", ":-2d"})
    EXPECT_EQ(text(cat("{epoch", format, "}")),
              cat("ValueError[model_checkpoint.path] \"{epoch", format, "}\": {epoch", format,
                  "} is no field: formats are 02d, for whole numbers, and .3f"));
}

TEST(ModelCheckpoint, ItsFilesStateAndRefusals) {
  const std::string folder = fresh_folder("checkpoint_state");
  const Tensor x = full({2, 1}, 1);
  Sequential model{Dense({.units = 1})};
  model.compile({.loss = MeanSquaredError()});
  model.fit(x, x, {.callbacks = {ModelCheckpoint({.path = folder + "/a", .files = {{"note.txt", "x"}}})}});
  EXPECT_EQ(posix_env().read_file(folder + "/a/note.txt"), "x");
  EXPECT_EQ(error_text([] { ModelCheckpoint({}); }), "ValueError[model_checkpoint.path] there is no path");
  EXPECT_EQ(error_text([] { ModelCheckpoint({.path = "x", .save_freq = -1}); }),
            "ValueError[model_checkpoint.save_freq] save_freq must not be negative, nor stand with "
            "save_best_only, got -1");
  // Versions before kept no count; a best that is not there is none.
  const auto saver = ModelCheckpoint({.path = "x", .save_best_only = true});
  CallbackState empty, kept;
  saver->load_state(empty);
  saver->save_state(kept);
  EXPECT_EQ(kept.tensors.size(), 1u);
  EXPECT_EQ(kept.count("model_checkpoint/steps"), 0);
  kept.put("model_checkpoint/best", 0.5);
  kept.put("model_checkpoint/steps", 7);
  saver->load_state(kept);
  saver->load_state(empty);
  CallbackState again;
  saver->save_state(again);
  EXPECT_EQ(again.number("model_checkpoint/best"), 0.5);
  EXPECT_EQ(again.count("model_checkpoint/steps"), 7);
}

}  // namespace
}  // namespace espalier
