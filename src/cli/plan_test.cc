#include <cmath>
#include <random>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/ops.h"
#include "plan/text.h"

namespace espalier::cli {
namespace {

// Any value that a field allows, by the declaration that the reader checks.
class AnyPlan {
 public:
  explicit AnyPlan(uint64_t seed) : random_(seed) {}

  TrainPlan make() {
    TrainPlan plan = below(4) ? table_plan() : image_plan();
    if (plan.fit.epochs == table_plan().fit.epochs) plan.data.label = "a \"label\"";
    // The label says which keys there are.
    const std::string label = plan.data.label;
    fill(fields_of(plan));
    plan.data.label = label;
    return plan;
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  double any_double(const Range& range) {
    for (;;) {
      const double sizes[] = {
          0, 1, -1, 0.1, 1e-300, 1e300, 1e17, 123456789012345678.0, 12345678901234567890.0};
      double x = below(2) ? sizes[below(std::size(sizes))] : std::generate_canonical<double, 53>(random_);
      if (below(8) == 0) x = range.high;
      if (range.holds(x)) return x;
    }
  }
  int64_t any_whole(const Range& range) {
    const double low = std::max(range.low, -1e6), high = std::min(range.high, 1e6);
    return static_cast<int64_t>(low) + static_cast<int64_t>(below(static_cast<size_t>(high - low) + 1));
  }
  std::string any_text(const Field& field) {
    if (!field.choices.empty()) return field.choices[below(field.choices.size())];
    const std::string pieces[] = {"",  "a",   "\"", "\\", "\n",  "\t",  "\x01",
                                  "é", "'''", "]",  "#",  "x y", "\x7f"};
    std::string out = pieces[below(std::size(pieces))];
    if (field.range.holds(2)) out += pieces[below(std::size(pieces))];
    return field.range.holds(static_cast<double>(out.size())) ? out : "";
  }
  template <class F>
  auto list(F f) {
    std::vector<decltype(f())> out(below(4));
    for (auto& x : out) x = f();
    return out;
  }

  void fill(Fields fields) {
    for (Field& field : fields) {
      if (below(3)) std::visit([&](auto& target) { put(field, target); }, field.target);
    }
  }
  void put(const Field&, bool* x) { *x = below(2); }
  void put(const Field& field, int* x) { *x = static_cast<int>(any_whole(field.range)); }
  void put(const Field& field, int64_t* x) { *x = any_whole(field.range); }
  void put(const Field&, uint64_t* x) { *x = random_() >> below(64); }
  void put(const Field& field, double* x) {
    const bool unlimited = std::isinf(*x);
    *x = any_double(field.range);
    if (std::isinf(*x) && !unlimited) *x = std::numeric_limits<double>::max();
  }
  void put(const Field& field, std::optional<double>* x) {
    x->reset();
    if (below(2)) *x = std::clamp(any_double(field.range), -1e300, 1e300);
  }
  void put(const Field&, char* x) { *x = ",;\t|"[below(4)]; }
  void put(const Field& field, std::string* x) { *x = any_text(field); }
  void put(const Field& field, Dims* x) {
    *x = list([&] { return any_whole(field.range); });
  }
  void put(const Field& field, std::vector<int64_t>* x) {
    *x = list([&] { return any_whole(field.range); });
  }
  void put(const Field& field, std::vector<double>* x) {
    *x = list([&] { return std::clamp(any_double(field.range), -1e300, 1e300); });
  }
  void put(const Field& field, std::vector<std::string>* x) {
    *x = list([&] { return any_text(field); });
  }
  void put(const Field& field, ClassWeights* x) {
    *x = field.choices[below(2)];
    if (below(2))
      *x =
          std::map<std::string, double>{{"a.b", std::min(any_double(field.range), 1e300)}, {"", 1}, {"c", 2}};
  }
  void put(const Field&, Fields& fields) { fill(fields); }
  void put(const Field& field, Many& many) {
    many.resize(below(4));
    for (size_t i = 0; i < many.size(); ++i) {
      OneOf one = many.at(i);
      put(field, one);
    }
  }
  // Until its options fit together.
  void put(const Field&, OneOf& one) {
    for (int i = 0;; ++i) {
      const size_t kind = below(one.names.size());
      if (one.names[kind] == "piecewise_constant") continue;
      one.choose(kind);
      if (i < 50 || one.names[kind].empty()) fill(one.fields());
      try {
        return one.check();
      } catch (const ValueError&) {
      }
    }
  }

  std::mt19937_64 random_;
};

TEST(Plan, EveryPlanComesBackFromItsText) {
  size_t kinds = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const TrainPlan plan = AnyPlan(seed).make();
    const std::string text = write_plan(plan);
    std::string again;
    ASSERT_NO_THROW(again = write_plan(read_plan(text, "plan.toml"))) << text;
    ASSERT_EQ(again, text) << "seed " << seed;
    kinds |= size_t{1} << plan.optimizer.index();
  }
  EXPECT_EQ(kinds, 31u);
  // What the writer does not show it cannot lose: these are read into places of their own.
  const TrainPlan plan = read_plan(
      "[data]\nfile = \"f\"\nlabel = \"l\"\nignore = [\"a\", \"b\"]\n"
      "[[model.layers]]\ntype = \"Conv2D\"\nfilters = 3\nkernel_size = [5, 1]\n"
      "kernel_regularizer = { l2 = 0.5 }\nbias_regularizer = { l1 = 0.25 }\nbias_initializer = \"ones\"\n"
      "kernel_initializer = { type = \"TruncatedNormal\", stddev = 2 }\n"
      "[optimizer]\ntype = \"RMSprop\"\nrho = 0.5\n"
      "learning_rate = { schedule = \"cosine\", initial_learning_rate = 0.5, decay_steps = 7 }\n"
      "[fit]\nseed = \"18446744073709551615\"\nclass_weight = { \"a.b\" = 2 }\n"
      "[[callbacks]]\ntype = \"CSVLogger\"\npath = \"log.csv\"\nseparator = \";\"\n",
      "plan.toml");
  EXPECT_EQ(plan.data.ignore, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(plan.model.layers.size(), 1u);
  const auto& layer = std::get<Conv2DPlan>(plan.model.layers[0]);
  EXPECT_EQ(layer.filters, 3);
  EXPECT_EQ(layer.kernel_size, (Dims{5, 1}));
  EXPECT_EQ(layer.strides, (Dims{1, 1}));
  EXPECT_EQ(layer.kernel_regularizer.l2, 0.5);
  EXPECT_EQ(layer.kernel_regularizer.l1, 0);
  EXPECT_EQ(layer.bias_regularizer.l1, 0.25);
  EXPECT_EQ(std::get<NamedInitializer>(layer.bias_initializer).name, "ones");
  EXPECT_EQ(std::get<TruncatedNormalPlan>(layer.kernel_initializer).stddev, 2);
  const auto& optimizer = std::get<OptimizerOf<RMSprop>>(plan.optimizer);
  EXPECT_EQ(optimizer.rule.rho, 0.5);
  EXPECT_EQ(std::get<CosineDecay>(optimizer.learning_rate).decay_steps, 7);
  EXPECT_EQ(plan.fit.seed, ~uint64_t{0});
  EXPECT_EQ(std::get<1>(plan.fit.class_weight), (std::map<std::string, double>{{"a.b", 2}}));
  ASSERT_EQ(plan.callbacks.size(), 1u);
  EXPECT_EQ(std::get<CSVLoggerPlan>(plan.callbacks[0]).options.separator, ';');
}

// What stands beside a long value, or is long itself, stands above it.
TEST(Plan, CommentsFitTheLine) {
  TrainPlan plan = table_plan();
  plan.data.label = "kind";
  const std::string text = write_plan(plan);
  EXPECT_NE(text.find("\n# Cells read as missing values\nmissing = ["), std::string::npos) << text;
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    EXPECT_TRUE(line.size() <= 100 || line.find('#') == line.npos) << line;
  }
}

TEST(Plan, SchedulesByStepsComeBack) {
  const std::string rate =
      "learning_rate = { schedule = \"piecewise_constant\", boundaries = [10, 20], values = [0.1, 0.01, "
      "0.001] }";
  const std::string text = write_plan(read_plan("[optimizer]\ntype = \"SGD\"\n" + rate, "plan.toml"));
  EXPECT_NE(text.find(rate), std::string::npos) << text;
  EXPECT_EQ(write_plan(read_plan(text, "plan.toml")), text);
}

TEST(Plan, AWarmUpHasASchedule) {
  const std::string head = "[optimizer]\ntype = \"SGD\"\nlearning_rate = ";
  for (const char* then : {"0.5",
                           "{ schedule = \"exponential\", initial_learning_rate = 0.5, decay_steps = 2, "
                           "decay_rate = 0.25 }"}) {
    const std::string text = write_plan(read_plan(
        cat(head, "{ schedule = \"warm_up\", steps = 2, initial = 0.25, then = ", then, " }"), "plan.toml"));
    EXPECT_EQ(write_plan(read_plan(text, "plan.toml")), text);
    const TrainPlan plan = read_plan(text, "plan.toml");
    const RatePlan& rate = std::get<OptimizerOf<SGD>>(plan.optimizer).learning_rate;
    const std::vector<float> rates = make_schedule(rate)(iota({DType::kI64, {4}}, 0)).to_vector<float>();
    EXPECT_EQ(rates, *then == '0' ? (std::vector<float>{0.25f, 0.375f, 0.5f, 0.5f})
                                  : (std::vector<float>{0.25f, 0.375f, 0.5f, 0.25f}));
  }
}

TEST(Plan, WhatIsLeftOutIsTheDefault) {
  TrainPlan plan = table_plan();
  plan.data.label = "kind";
  EXPECT_EQ(write_plan(read_plan("[data]\nlabel = \"kind\"\n", "plan.toml")), write_plan(plan));
  EXPECT_EQ(write_plan(read_plan("data.label = \"kind\"\n[optimizer]\nbeta_1 = 0.9\n", "plan.toml")),
            write_plan(plan));
  EXPECT_EQ(write_plan(read_plan("", "plan.toml", "", "kind")), write_plan(plan));
  EXPECT_EQ(write_plan(read_plan("", "plan.toml")), write_plan(image_plan()));
  EXPECT_TRUE(read_plan("callbacks = []\n[data]\nlabel = \"kind\"\n", "plan.toml").callbacks.empty());
  EXPECT_EQ(std::get<double>(
                std::get<OptimizerOf<SGD>>(read_plan("[optimizer]\ntype = \"SGD\"", "plan.toml").optimizer)
                    .learning_rate),
            0.01);
}

TEST(Plan, MistakesNameTheirPlaceAndWhatIsKnown) {
  const struct {
    const char *text, *rule, *place, *says;
  } cases[] = {
      {"[data]\nfile = [", "plan.syntax", "line 2, column 9", "array"},
      {"[fit]\nseed = 1\n[.a]\n", "plan.syntax", "line 3, column 1", "TOML"},
      {"x = \"\\q\"", "plan.syntax", "line 1, column 7", "escape"},
      {"[data]\nfile = \"a.csv\nlabel = \"kind\"\n", "plan.syntax", "line 2, column 8", "no closing quote"},
      {"[data]\nfile = \"a\\\nlabel = \"kind\"\n", "plan.syntax", "line 2, column 8", "no closing quote"},
      {"[data]\nfile = '''a.csv\n", "plan.syntax", "line 2, column 8", "end it with '''"},
      {"[optimizer]\nlearning_rate = 0,001\n", "plan.syntax", "line 2, column 18",
       "the decimal sign is a point"},
      {"[data]\nfile = \"a\"\nfile = \"b\"", "plan.syntax", "line 3, column 8", "file"},
      {"[fit]\n[modle]\n", "plan.key", "line 2, column 2", "did you mean \"model\"?"},
      {"[fit]\n  epoch = 3\nbatch_size = 0", "plan.key", "line 2, column 3", "did you mean \"epochs\"?"},
      {"[data]\ntest = \"t.csv\"", "plan.key", "line 2, column 1", "without a label"},
      {"[[model.layers]]\ntype = \"Dense\"\nunits = 3\nrate = 0.5", "plan.key", "line 4, column 1",
       "model.layers[0] (Dense)"},
      {"[[model.layers]]\ntype = \"dense\"", "plan.choice", "line 2, column 8", "did you mean \"Dense\""},
      {"[[model.layers]]\nunits = 3", "plan.required", "line 1, column 1", "type, one of Dense, Dropout"},
      {"[[model.layers]]\ntype = \"Dense\"", "plan.required", "line 1, column 1", "needs units"},
      {"model.layers = [3]", "plan.type", "line 1, column 17", "a table with type"},
      {"model.layers = 3", "plan.type", "line 1, column 16", "a list of tables"},
      {"optimizer = \"Adam\"", "plan.type", "line 1, column 13", "a table with type"},
      {"[optimizer]\nlearning_rate = \"fast\"", "plan.type", "line 2, column 17",
       "a number of at least 0, or a table with schedule"},
      {"[optimizer]\nlearning_rate = { schedule = \"cosin\" }", "plan.choice", "line 2, column 30",
       "did you mean \"cosine\"?"},
      {"[optimizer]\nlearning_rate = { decay_steps = 3 }", "plan.required", "line 2, column 17",
       "schedule, one of cosine, exponential"},
      {"[optimizer]\nlearning_rate = -1", "plan.range", "line 2, column 17", "at least 0, not -1"},
      {"[optimizer]\nbeta_1 = 1", "plan.range", "line 2, column 10", "at least 0 and below 1, not 1"},
      {"[optimizer]\nlearning_rate = nan", "plan.range", "line 2, column 17", "not nan"},
      {"[optimizer]\nclipnorm = 1\nclipvalue = 1", "plan.options", "line 1, column 1", "clipvalue 1"},
      {"[optimizer]\nlearning_rate = { schedule = \"piecewise_constant\", boundaries = [1], values = [1] }",
       "plan.options", "line 2, column 17", "one more than boundaries"},
      {"[optimizer]\nlearning_rate = { schedule = \"warm_up\", steps = 2 }", "plan.required",
       "line 2, column 17", "needs then"},
      {"[optimizer]\nlearning_rate = { schedule = \"warm_up\", steps = 2, then = { schedule = \"warm_up\" } "
       "}",
       "plan.choice", "line 2, column 72", "known are cosine, exponential, piecewise_constant, polynomial"},
      {"[fit]\nepochs = 3.5", "plan.type", "line 2, column 10", "a whole number from 0 to 1073741824"},
      {"[fit]\nbatch_size = 0", "plan.range", "line 2, column 14", "from 1 to 1073741824, not 0"},
      {"[fit]\nseed = -1", "plan.range", "line 2, column 8", "not -1"},
      {"[fit]\nseed = \"-1\"", "plan.range", "line 2, column 8", "not \"-1\""},
      {"[[model.layers]]\ntype = \"Dense\"\nunits = 1\nactivation = \"\"", "plan.choice", "line 4, column 14",
       "did you mean \"linear\", as it is when left out?"},
      {"[[model.layers]]\ntype = \"Dense\"\nunits = 1\nactivation = \"\"", "plan.choice", "line 4, column 14",
       "linear, relu, "},
      {"[fit]\ndtype = \"bf6\"", "plan.choice", "line 2, column 9", "did you mean \"bf16\"?"},
      {"[fit]\nclass_weight = \"balance\"", "plan.choice", "line 2, column 16", "balanced"},
      {"[fit]\nclass_weight = { a = -1 }", "plan.range", "line 2, column 22", "fit.class_weight.a"},
      {"[fit]\nmetrics = [\"accurracy\"]", "plan.choice", "line 2, column 12", "accuracy"},
      {"[fit]\nshuffle = 1", "plan.type", "line 2, column 11", "true or false"},
      {"[data]\nlabel = 5", "plan.type", "line 2, column 9", "text"},
      {"[data]\nlabel = \"x\"\nignore = \"y\"", "plan.type", "line 3, column 10", "a list of texts"},
      {"[data]\nlabel = \"x\"\ndelimiter = \"::\"", "plan.range", "line 3, column 13",
       "one character, or none"},
      {"[[callbacks]]\ntype = \"EarlyStopping\"\nbaseline = true", "plan.type", "line 3, column 12", "none"},
      {"[[callbacks]]\ntype = \"CSVLogger\"\npath = \"\"\nseparator = \"ab\"", "plan.range",
       "line 4, column 13", "one character"},
      {"[[callbacks]]\ntype = \"ModelCheckpoint\"\npath = \"\"", "plan.options", "line 1, column 1",
       "callbacks[0]"},
      {"[[model.layers]]\ntype = \"Dense\"\nunits = 1\nkernel_initializer = { type = \"RandomUniform\", "
       "minval = 2 }",
       "plan.options", "line 4, column 22", "minval"},
  };
  for (const auto& wrong : cases) {
    try {
      read_plan(wrong.text, "plan.toml");
      ADD_FAILURE() << "accepted: " << wrong.text;
    } catch (const FormatError& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.rule(), wrong.rule) << text;
      EXPECT_NE(text.find(cat("plan.toml, ", wrong.place, ": ")), std::string::npos) << wrong.text << "\n"
                                                                                     << text;
      EXPECT_NE(text.find(wrong.says), std::string::npos) << wrong.text << "\n" << text;
    }
  }
}

TEST(Plan, WhatIsGivenTwiceNamesBothPlaces) {
  const struct {
    const char *text, *place, *says, *fix;
  } cases[] = {
      {"callbacks = []\n[[callbacks]]\ntype = \"TerminateOnNaN\"\n", "line 2, column 1",
       "callbacks is given twice, first in line 1", "remove line 1, in whose place [[callbacks]] goes"},
      {"[model]\npath = \"m\"\nlayers = []\n[[model.layers]]\ntype = \"Flatten\"\n", "line 4, column 1",
       "model.layers is given twice, first in line 3", "remove line 3, in whose place [[model.layers]] goes"},
      {"[fit]\nseed = 1\n[fit]\nepochs = 1\n", "line 3, column 1", "fit is given twice, first in line 1",
       "put the keys of both below one"},
      {"[[callbacks]]\ntype = \"TerminateOnNaN\"\n[callbacks]\n", "line 3, column 1",
       "callbacks is given twice, first in line 1", "[[callbacks]] adds one more"},
      {"[data]\nfile = \"a\"\n[fit]\nepochs = 1\n  epochs = 2\n", "line 5, column 12",
       "epochs is given twice, first in line 4", "leave one of them out"},
      {"[[model.layers]]\ntype = \"Dense\"\nunits = 1\nunits = 2\n", "line 4, column 9",
       "units is given twice, first in line 3", "leave one of them out"},
      {"fit.epochs = 1\nfit.epochs = 2\n", "line 2, column 14", "fit.epochs is given twice, first in line 1",
       "leave one of them out"},
      {"[fit]\nepochs = 1\nclass_weight = { a = 1, a = 2 }\n", "line 3, column 29", "'a'", ""},
  };
  for (const auto& twice : cases) {
    try {
      read_plan(twice.text, "plan.toml");
      ADD_FAILURE() << "accepted: " << twice.text;
    } catch (const FormatError& error) {
      EXPECT_EQ(error.rule(), "plan.syntax");
      EXPECT_TRUE(error.message().starts_with(cat("plan.toml, ", twice.place, ": "))) << error.message();
      EXPECT_NE(error.message().find(twice.says), std::string::npos) << error.message();
      EXPECT_EQ(error.fix(), twice.fix) << error.message();
    }
  }
}

TEST(Plan, CommentsNameWhatMayStandThere) {
  TrainPlan plan = table_plan();
  plan.data.label = "kind";
  const std::string text = write_plan(plan);
  for (const char* part :
       {"# Weight of each class in the loss: none, balanced, or as { CLASS = 3.0 }\n",
        "known are auto, accuracy,", " (default if layers are given: false)\ncompare_linear = true\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Plan, TextWithoutQuotesIsNamedWithTheCure) {
  const struct {
    const char *text, *place, *fix;
  } cases[] = {
      {"[data]\nlabel = income", "line 2, column 9", "\"income\""},
      {"[data]\nfile = ../my data.csv  # raw\nlabel = \"x\"", "line 2, column 8", "\"../my data.csv\""},
      {"[data]\r\nlabel = \"l\"\r\nignore = [\"\xc3\xa9\", id, \"b\"]\r\n", "line 3, column 17", "\"id\""},
      {"[data]\nignore = [\n  id,\n]", "line 3, column 3", "\"id\""},
      {"[optimizer]\nlearning_rate = { schedule = cosine, decay_steps = 3 }", "line 2, column 30",
       "\"cosine\""},
      {"[optimizer]\ntype = Adam\n", "line 2, column 8", "\"Adam\""},
      {"[fit]\nshuffle = True", "line 2, column 11", "true"},
      {"[fit]\nshuffle = False\n", "line 2, column 11", "false"},
      {"[data]\nlabel = true_income", "line 2, column 9", "\"true_income\""},
      {"[data]\nlabel = income \"\"", "line 2", ""},
      {"[data base]\n", "line 1", ""},
      {"[data]\nlabel income", "line 2", ""},
      {"label = ", "line 1", ""},
      {"", "", ""},
  };
  for (const auto& wrong : cases) {
    try {
      read_plan(wrong.text, "plan.toml");
      EXPECT_STREQ(wrong.text, "") << "accepted";
    } catch (const FormatError& error) {
      const std::string text = error.message(), fix = error.fix();
      EXPECT_EQ(error.rule(), "plan.syntax") << text;
      EXPECT_NE(text.find(cat("plan.toml, ", wrong.place)), std::string::npos) << wrong.text << "\n" << text;
      EXPECT_EQ(fix.empty(), std::string_view(wrong.fix).empty()) << wrong.text << "\n" << fix;
      EXPECT_TRUE(fix.ends_with(wrong.fix)) << wrong.text << "\n" << fix;
    }
  }
}

TEST(Plan, SizeAndDepthAreBounded) {
  const auto rule = [](const std::string& text) { return rule_of([&] { read_plan(text, "plan.toml"); }); };
  EXPECT_EQ(rule(std::string((1 << 20) + 1, '\n')), "plan.size");
  EXPECT_EQ(rule(std::string(1 << 20, '\n')), "nothing");
  EXPECT_EQ(rule("x = " + std::string(1 << 19, '[')), "plan.syntax");
  EXPECT_EQ(rule("x = " + std::string(100, '[') + std::string(100, ']')), "plan.syntax");
  std::string tables = "x = ", points = "x";
  for (int i = 0; i < 1 << 17; ++i) tables += "{a=";
  EXPECT_EQ(rule(tables), "plan.syntax");
  for (int i = 0; i < 1 << 18; ++i) points += ".x";
  EXPECT_EQ(rule(points + " = 1"), "plan.syntax");
  EXPECT_EQ(rule("[" + points + "]"), "plan.syntax");
  // Those of numbers, texts and comments are none.
  std::string numbers = "[fit]\nclass_weight = {";
  for (int i = 0; i < 300; ++i) numbers += cat(i ? ", " : " ", "\"a.b.c", i, "\" = 1.5");
  EXPECT_EQ(rule(numbers + " } # " + std::string(300, '.')), "nothing");
  // What toml++ takes for granted.
  for (const char* bare :
       {"caf\xc3\xa9 = 1", "a = \xef\xbb\x9c", "a = 1 \xc2\xa0", "a = \"x\"\xc3\xa9", "a = '''x''''\xc3\xa9"})
    EXPECT_EQ(rule(bare), "plan.syntax") << bare;
  EXPECT_EQ(rule("\xef\xbb\xbf[data] # caf\xc3\xa9\nfile = \"caf\xc3\xa9\"\nlabel = '\xc3\xa9'"), "nothing");
  // As deep as the bounds allow.
  std::string deep, lines;
  for (int i = 0; i < 250; ++i) deep += "x.";
  for (int i = 0; i < 7; ++i) lines += "[\n{ " + deep + "x = ";
  EXPECT_EQ(rule("[" + deep + "x]\n" + deep + "x = " + lines + "1"), "plan.syntax");
  std::string ends;
  for (int i = 0; i < 7; ++i) ends += "}\n]";
  EXPECT_EQ(rule("[" + deep + "x]\n" + deep + "x = " + lines + "1" + ends), "plan.key");
}

TEST(Plan, PathsBeginAtItsFolder) {
  const std::string text =
      "[data]\nfile = \"a.csv\"\nlabel = \"l\"\ntest = \"/b.csv\"\n[model]\npath = \"../m\"\n"
      "[[callbacks]]\ntype = \"CSVLogger\"\npath = \"log.csv\"\n";
  const TrainPlan plan = read_plan(text, "plan.toml", "plans");
  EXPECT_EQ(plan.data.file, "plans/a.csv");
  EXPECT_EQ(plan.data.test, "/b.csv");
  EXPECT_EQ(plan.model.path, "plans/../m");
  EXPECT_EQ(std::get<CSVLoggerPlan>(plan.callbacks[0]).path, "plans/log.csv");
  EXPECT_EQ(read_plan("[data]\nfile = \"-\"\nlabel = \"l\"", "plan.toml", "plans").data.file, "-");
}

TEST(Plan, TextBeyondUtf8IsRefused) {
  TrainPlan plan = table_plan();
  plan.data.label = "\xff";
  EXPECT_EQ(rule_of([&] { write_plan(plan); }), "toml.utf8");
}

}  // namespace
}  // namespace espalier::cli
