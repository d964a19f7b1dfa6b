// Mutated plans: refused with a FormatError that names a line, or a plan that is written and read as itself.
#include "plan/plan.h"

#include "fuzz/mutate.h"

using namespace espalier;

namespace {

bool accept(const std::string& text) {
  TrainPlan plan;
  try {
    plan = read_plan(text, "plan");
  } catch (const FormatError& error) {
    if (error.message().find("line ") == std::string::npos) throw InternalError("a mistake without its line");
    return false;
  }
  const std::string written = write_plan(plan);
  if (write_plan(read_plan(written, "written")) != written)
    throw InternalError("written and read it is another plan");
  return true;
}

std::string written(TrainPlan plan) {
  plan.data.label = "kind";
  return write_plan(plan);
}

constexpr const char* kShort = R"(callbacks = []
data.file = "a.csv"
data.label = 'x'
[[model.layers]]
type = "Dense"
units = 0x10
kernel_initializer = { type = "VarianceScaling", scale = 2, mode = "fan_avg" }
kernel_regularizer.l2 = 1e-3
[[model.layers]]
type = "Dropout"
rate = 0.5e0
)";
constexpr const char* kLong = R"([data]
file = "images"
[[model.layers]]
type = "Conv2D"
filters = 8
kernel_size = [3, 3,]
[[model.layers]]
type = "ReLU"
max_value = inf
[[model.layers]]
type = "Reshape"
target_shape = [-1, 4]
[optimizer]
type = "SGD"
learning_rate = { schedule = "piecewise_constant", boundaries = [10, 20], values = [0.1, 0.01, 0.001] }
[loss]
type = "Huber"
delta = 0.5
[fit]
seed = "18446744073709551615"
class_weight = { "a.b" = 2, c = 0.5 }
metrics = ["auto", "accuracy"]
[[callbacks]]
type = "CSVLogger"
path = """log
.csv"""
[[callbacks]]
type = "ModelCheckpoint"
path = "at-{epoch:02d}"
[[callbacks]]
type = "EarlyStopping"
baseline = 0.5
)";

}  // namespace

int main(int argc, char** argv) {
  return fuzz::run(argc, argv, "fuzz_plan", {written(table_plan()), write_plan(image_plan()), kShort, kLong},
                   {"[",
                    "]",
                    "{",
                    "}",
                    "[[",
                    "]]",
                    "=",
                    ".",
                    ",",
                    "\"",
                    "'",
                    "\"\"\"",
                    "'''",
                    "#",
                    "\n",
                    "\\u0000",
                    "\\U0010FFFF",
                    "\\x",
                    "-1",
                    "0",
                    "1e308",
                    "1e999",
                    "nan",
                    "-inf",
                    "9223372036854775808",
                    "0xffffffffffffffff",
                    "1979-05-27T07:32:00Z",
                    "true",
                    "type = \"Conv2D\"\n",
                    "[[model.layers]]\n",
                    "[[callbacks]]\n",
                    "[optimizer]\n",
                    "{ schedule = \"cosine\", ",
                    "{ type = \"Constant\" }",
                    "a.b.c.",
                    "[[[[[[[[[[[[[[[[[[",
                    "\xff",
                    "\xef\xbb\xbf",
                    "\r\n"},
                   accept);
}
