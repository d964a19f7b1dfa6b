// Errors of functions that take no tensor, or call the user's own code.
#include <gtest/gtest.h>

#include "espalier/espalier.h"

namespace espalier {
namespace {

struct Asks : Callback {
  static void model_outside_of_hooks() { model(); }
};

struct Misspells : Layer {
  void build(const TensorType& x) override { add_weight("factor", {x.shape.back()}, "ones"); }
  Tensor call(const Tensor& x) override { return x * weight("facto"); }
};

TEST(Errors, CallsNameTheUsersLine) {
  const Tensor none, x = full({2, 3}, 1);
  const CsvTable table = parse_csv("a,y\n1,2\n2,4\n3,5\n");
  const std::vector<std::function<void()>> mistakes = {
      [&] { none.type(); },
      [&] { none.dtype(); },
      [&] { none.shape(); },
      [&] { none.rank(); },
      [&] { none.size(0); },
      [&] { table.column("b"); },
      [&] { parse_csv(""); },
      [&] { ColumnProgram::from_json("{"); },
      [&] {
        (Examples{x, full({2}, 1, DType::kI32)}.slice(1, 3));
      },
      [&] {
        (Examples{x, full({2}, 1, DType::kI32)}.split(3));
      },
      [&] { Sequential{Dense({.units = 1})}.optimizer(); },
      [&] {
        MeanSquaredError().sums(x, full({3, 3}, 1));
      },
      [&] {
        MeanSquaredError().of_rows(x, full({3, 3}, 1));
      },
      [&] { Asks::model_outside_of_hooks(); },
      [&] { Misspells()(x); },
  };
  for (size_t i = 0; i < mistakes.size(); ++i) {
    try {
      mistakes[i]();
      ADD_FAILURE() << "mistake " << i << " is not refused";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(" at call_sites_test.cc:"), std::string::npos) << error.what();
      // A layer's own line stands before that of its call.
      EXPECT_EQ(std::string(error.what()).find(", called at ") != std::string::npos,
                i + 1 == mistakes.size());
    }
  }
}

}  // namespace
}  // namespace espalier
