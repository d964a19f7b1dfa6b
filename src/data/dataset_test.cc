#include "espalier/dataset.h"

#include <filesystem>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "data/dataset_pipelines_test.h"
#include "espalier/function.h"
#include "format/npy.h"
#include "ir/sink.h"

namespace espalier {
namespace {

Dataset dataset_rows(int64_t count) { return Dataset::from_tensor_slices(counting({count})); }
std::vector<int32_t> dataset_values(const Dataset& dataset) {
  std::vector<int32_t> out;
  for (const Tensors& element : dataset) {
    const auto all = convert(element[0], DType::kI32).to_vector<int32_t>();
    out.insert(out.end(), all.begin(), all.end());
  }
  return out;
}

TEST(Dataset, RandomPipelinesGiveWhatPlainLoopsGive) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const Pipeline p = RandomPipelines(seed, false).next();
    ASSERT_EQ(all_of(p.dataset), p.expected) << seed << ": " << to_string(p.dataset);
    const int64_t count = p.dataset.cardinality();
    if (count != Dataset::kUnknown) {
      EXPECT_EQ(count, static_cast<int64_t>(p.expected.size())) << seed << ": " << to_string(p.dataset);
    }
  }
}

TEST(Dataset, StaysAtItsEnd) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Dataset dataset = RandomPipelines(seed, true).next().dataset;
    DatasetIterator iterator(dataset, 0);
    rest_of(iterator);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(iterator.next()) << to_string(dataset);
  }
  const Dataset again = Dataset::from_generator([]() -> ElementSource {
    return [i = 0]() mutable { return ++i == 2 ? std::nullopt : std::optional(Tensors{counting({1})}); };
  });
  DatasetIterator iterator(again, 0);
  EXPECT_EQ(rest_of(iterator).size(), 1u);
  EXPECT_FALSE(iterator.next());
}

TEST(Dataset, CardinalityIsKnownInfiniteOrUnknown) {
  const Dataset unknown =
      Dataset::from_generator([]() -> ElementSource { return [] { return std::optional<Tensors>(); }; });
  const Dataset forever = dataset_rows(3).repeat();
  EXPECT_EQ(forever.cardinality(), Dataset::kInfinite);
  EXPECT_EQ(forever.batch(2).shuffle(3).prefetch(1).enumerate().cardinality(), Dataset::kInfinite);
  EXPECT_EQ(forever.take(7).cardinality(), 7);
  EXPECT_EQ(forever.skip(7).shard(2, 1).cardinality(), Dataset::kInfinite);
  EXPECT_EQ(forever.repeat(0).cardinality(), 0);
  EXPECT_EQ(dataset_rows(0).repeat().cardinality(), 0);
  EXPECT_EQ(unknown.batch(2).cardinality(), Dataset::kUnknown);
  EXPECT_EQ(unknown.repeat().cardinality(), Dataset::kInfinite);
  EXPECT_EQ(unknown.repeat(2).take(3).cardinality(), Dataset::kUnknown);
  EXPECT_EQ(unknown.take(0).cardinality(), 0);
  EXPECT_EQ(unknown.concatenate(forever).cardinality(), Dataset::kInfinite);
  EXPECT_EQ(unknown.concatenate(dataset_rows(2)).cardinality(), Dataset::kUnknown);
  EXPECT_EQ(Dataset::zip({forever, dataset_rows(5), forever}).cardinality(), 5);
  EXPECT_EQ(Dataset::zip({forever, unknown}).cardinality(), Dataset::kUnknown);
  EXPECT_EQ(Dataset::zip({forever, forever}).cardinality(), Dataset::kInfinite);
  EXPECT_EQ(dataset_rows(3).repeat(int64_t{1} << 62).cardinality(), std::numeric_limits<int64_t>::max());
}

TEST(Dataset, EmptyOnesStayEmpty) {
  for (const Dataset& empty :
       {dataset_rows(0), dataset_rows(3).take(0), dataset_rows(3).skip(9), Dataset::from_files({})}) {
    EXPECT_TRUE(dataset_values(empty).empty());
    EXPECT_TRUE(dataset_values(empty.shuffle(4).batch(2).repeat().prefetch(2)).empty());
    EXPECT_TRUE(dataset_values(empty.padded_batch(2)).empty());
    EXPECT_TRUE(dataset_values(Dataset::zip({empty, dataset_rows(2)})).empty());
    EXPECT_EQ(dataset_values(empty.concatenate(dataset_rows(2))), (std::vector<int32_t>{0, 1}));
  }
}

TEST(Dataset, SlicesShareTheMemoryOfTheirTensors) {
  const Tensor x = counting({4, 3});
  const Dataset dataset = Dataset::from_tensor_slices(x).shuffle(4, {.seed = 1});
  for (const Tensors& row : dataset) {
    const auto offset =
        static_cast<const std::byte*>(row[0].bytes()) - static_cast<const std::byte*>(x.bytes());
    EXPECT_TRUE(offset >= 0 && offset < 48) << offset;
  }
  EXPECT_EQ(dataset_values(Dataset::from_tensor_slices(full({2, 2}, 7, DType::kI32))),
            (std::vector<int32_t>{7, 7, 7, 7}));
}

TEST(Dataset, ElementsOfABatchAreAlike) {
  const Dataset uneven = dataset_rows(6).map([](const Tensor& x) {
    return full({x.item<int32_t>() / 4 + 1, 2}, 1);
  });
  const auto error_of = [](const Dataset& dataset) -> std::string {
    try {
      dataset_values(dataset);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  const std::string text = error_of(uneven.batch(6));
  EXPECT_NE(text.find("ShapeError[batch.shape]"), std::string::npos) << text;
  EXPECT_NE(text.find("tensor 0 of element 0 is f32[1,2], of element 4 it is f32[2,2]"), std::string::npos)
      << text;
  EXPECT_NE(text.find("padded_batch"), std::string::npos) << text;
  EXPECT_NE(text.find("dataset_test.cc"), std::string::npos) << text;
  EXPECT_EQ(error_of(uneven.batch(4)), "nothing") << "batches may differ";
  EXPECT_EQ(error_of(uneven.padded_batch(6)), "nothing");
  const Dataset ranks = dataset_rows(2).map([](const Tensor& x) {
    return full(x.item<int32_t>() ? Shape{2, 2} : Shape{2}, 1);
  });
  EXPECT_NE(error_of(ranks.padded_batch(2)).find("[padded_batch.shape]"), std::string::npos);
  const Dataset dtypes = dataset_rows(2).map(
      [](const Tensor& x) { return full({2}, 1, x.item<int32_t>() ? DType::kF32 : DType::kI32); });
  EXPECT_NE(error_of(dtypes.batch(2)).find("DTypeError[batch.dtype]"), std::string::npos);
  EXPECT_NE(error_of(dtypes.padded_batch(2)).find("DTypeError[padded_batch.dtype]"), std::string::npos);
  const Dataset counts = dataset_rows(2).concatenate(Dataset::zip({dataset_rows(2), dataset_rows(2)}));
  EXPECT_NE(error_of(counts.batch(4)).find("[batch.shape]"), std::string::npos);
}

// Elements lie at their own place in an array that is larger along both axes.
TEST(Dataset, PaddingStandsBehindTheElementsOfEachAxis) {
  const Dataset data = dataset_rows(2).map([](const Tensor& row) {
    return row.item<int32_t>() == 0 ? Tensor::of<float>({1, 2, 3, 4}, {2, 2})
                                    : Tensor::of<float>({5, 6, 7}, {1, 3});
  });
  const Tensors batch = *DatasetIterator(data.padded_batch(2)).next();
  EXPECT_EQ(batch[0].shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(batch[0].to_vector<float>(), (std::vector<float>{1, 2, 0, 3, 4, 0, 5, 6, 7, 0, 0, 0}));
}

TEST(Dataset, PaddingValuesAreNumbersOfTheirDtype) {
  const Dataset data =
      Dataset::zip({dataset_rows(2), dataset_rows(2)}).map([](const Tensor& x, const Tensor& y) -> Tensors {
        return {full({x.item<int32_t>() + 1}, 3), full({y.item<int32_t>() + 1}, 3, DType::kI32)};
      });
  const auto rule = [&](std::vector<Operand> given) {
    return rule_of([&] { dataset_values(data.padded_batch(2, {.padding_values = std::move(given)})); });
  };
  const Dataset batches = data.padded_batch(2, {.padding_values = {-0.5, 9}});
  const Tensors batch = *DatasetIterator(batches).next();
  EXPECT_EQ(batch[0].to_vector<float>(), (std::vector<float>{3, -0.5, 3, 3}));
  EXPECT_EQ(batch[1].to_vector<int32_t>(), (std::vector<int32_t>{3, 9, 3, 3}));
  EXPECT_EQ(rule({0}), "padded_batch.padding_values");
  EXPECT_EQ(rule({0, 0.5}), "operand.fraction");
  EXPECT_EQ(rule({0, int64_t{1} << 40}), "operand.value");
  EXPECT_EQ(rule({Tensor::of<float>({1}), 0}), "padded_batch.padding_values");
}

TEST(Dataset, ArgumentsAreChecked) {
  const Dataset data = dataset_rows(3);
  EXPECT_EQ(rule_of([] { Dataset::from_tensor_slices(TensorList()); }), "from_tensor_slices.rows");
  EXPECT_EQ(rule_of([] { Dataset::from_tensor_slices(full({}, 1)); }), "from_tensor_slices.rows");
  EXPECT_EQ(rule_of([] {
              Dataset::from_tensor_slices({full({2}, 1), full({3}, 1)});
            }),
            "from_tensor_slices.rows");
  EXPECT_EQ(rule_of([] { Dataset::from_generator({}); }), "from_generator.function");
  EXPECT_EQ(rule_of([] { dataset_values(Dataset::from_generator([] { return ElementSource(); })); }),
            "from_generator.function");
  EXPECT_EQ(rule_of([] { Dataset::from_files({}, {}); }), "from_files.reader");
  EXPECT_EQ(rule_of([] { Dataset::zip({}); }), "zip.datasets");
  EXPECT_EQ(rule_of([&] { data.map([](const Tensor& x) { return x; }, {.num_parallel_calls = 0}); }),
            "map.num_parallel_calls");
  EXPECT_EQ(rule_of([&] { data.batch(0); }), "batch.size");
  EXPECT_EQ(rule_of([&] { data.padded_batch(-1); }), "padded_batch.size");
  EXPECT_EQ(rule_of([&] { data.shuffle(0); }), "shuffle.buffer_size");
  EXPECT_EQ(rule_of([&] { data.repeat(-2); }), "repeat.count");
  EXPECT_EQ(rule_of([&] { data.prefetch(0); }), "prefetch.count");
  EXPECT_EQ(rule_of([&] { data.take(-1); }), "take.count");
  EXPECT_EQ(rule_of([&] { data.skip(-1); }), "skip.count");
  EXPECT_EQ(rule_of([&] { data.shard(0, 0); }), "shard.count");
  EXPECT_EQ(rule_of([&] { data.shard(2, 2); }), "shard.index");
  EXPECT_EQ(rule_of([&] { data.shard(2, -1); }), "shard.index");
  EXPECT_EQ(rule_of([] { Dataset().take(1); }), "dataset.undefined");
  EXPECT_EQ(rule_of([&] { data.concatenate(Dataset()); }), "dataset.undefined");
  EXPECT_EQ(rule_of([] { DatasetIterator iterator((Dataset())); }), "dataset.undefined");
  EXPECT_EQ(rule_of([] {
              Dataset deep = dataset_rows(1);
              for (int i = 0; i < 5000; ++i) deep = deep.take(1);
            }),
            "dataset.depth");
  EXPECT_EQ(rule_of([] {
              Dataset twice = dataset_rows(1);
              for (int i = 0; i < 60; ++i)
                twice = i % 2 ? twice.concatenate(twice) : Dataset::zip({twice, twice});
            }),
            "dataset.depth");
}

TEST(Dataset, GeneratorsKeepToTheirFirstElement) {
  const auto rule = [](const Tensors& second) {
    const Dataset data = Dataset::from_generator([second]() -> ElementSource {
      return [second, i = 0]() mutable -> std::optional<Tensors> {
        if (++i == 3) return std::nullopt;
        return i == 1 ? Tensors{full({2}, 1)} : second;
      };
    });
    return rule_of([&] { dataset_values(data); });
  };
  EXPECT_EQ(rule({full({5}, 1)}), "nothing") << "sizes may differ";
  EXPECT_EQ(rule({full({2, 1}, 1)}), "from_generator.signature");
  EXPECT_EQ(rule({full({2}, 1, DType::kI32)}), "from_generator.signature");
  EXPECT_EQ(rule({full({2}, 1), full({2}, 1)}), "from_generator.signature");
  EXPECT_EQ(rule({}), "dataset.element");
  EXPECT_EQ(rule({Tensor()}), "dataset.element");
  EXPECT_EQ(rule_of([] { dataset_values(dataset_rows(1).map([](const Tensor&) { return Tensors{}; })); }),
            "dataset.element");
}

TEST(Dataset, AnErrorComesAgainAndOnlyAfterWhatIsBeforeIt) {
  for (const int calls : {1, 4}) {
    const Dataset data = dataset_rows(10).map(
        [](const Tensor& x) {
          if (x.item<int32_t>() == 6) throw std::runtime_error("six");
          return x;
        },
        {.num_parallel_calls = calls});
    DatasetIterator iterator(data, 0);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(iterator.next()->at(0).item<int32_t>(), i);
    for (int i = 0; i < 2; ++i) EXPECT_THROW(iterator.next(), std::runtime_error) << calls;
    EXPECT_EQ(iterator.save().elements, 6);
    iterator.restore({.elements = 7});
    EXPECT_EQ(iterator.next()->at(0).item<int32_t>(), 7);
  }
}

TEST(Dataset, FilesAreReadOneAfterTheOther) {
  const std::string folder = testing::TempDir() + "/dataset_files";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const auto& [name, first] : {std::pair{"b", 5}, std::pair{"a", 0}, std::pair{"c", 7}}) {
    const Tensor part = counting({name == std::string("a") ? 5 : 2}, first);
    write_npy(cat(folder, "/part-", name, ".npy"), part.node()->dense());
  }
  EXPECT_EQ(dataset_values(Dataset::from_files({folder + "/part-*.npy"})),
            (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(dataset_values(Dataset::from_files({folder + "/part-c.npy", folder + "/part-[ab].npy"}).skip(1)),
            (std::vector<int32_t>{8, 0, 1, 2, 3, 4, 5, 6}));
  posix_env().write_file(folder + "/x[1].csv", "1,2\n3,4\n");
  EXPECT_EQ(dataset_values(Dataset::from_files({folder + "/x[1].csv"})), (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(rule_of([&] { Dataset::from_files({folder + "/none*.npy"}); }), "from_files.pattern");
  EXPECT_EQ(rule_of([&] { dataset_values(Dataset::from_files({folder + "/none.npy"})); }), "file.read");
  EXPECT_EQ(rule_of([&] { dataset_values(Dataset::from_files({folder + "/x.txt"})); }), "read_rows.path");
  EXPECT_EQ(rule_of([&] {
              dataset_values(Dataset::from_files({folder + "/part-a.npy", folder + "/x[[]1].csv"}));
            }),
            "from_files.signature");
  EXPECT_EQ(rule_of([&] {
              dataset_values(Dataset::from_files({"x"}, [](const std::string&) -> Tensors {
                return {full({2}, 1), full({3}, 1)};
              }));
            }),
            "from_files.rows");
}

TEST(Dataset, ARowOfAFileDoesNotKeepTheFile) {
  const Tensor array = counting({3, 2});
  const Dataset data = Dataset::from_files({"x"}, [array](const std::string&) { return Tensors{array}; });
  const auto begin = static_cast<const std::byte*>(array.bytes());
  for (const Tensors& row : data) {
    const auto* bytes = static_cast<const std::byte*>(row[0].bytes());
    EXPECT_TRUE(bytes < begin || bytes >= begin + 24);
  }
}

TEST(Dataset, IsReadTheSameWhileAFunctionIsTraced) {
  const Dataset data = dataset_rows(3).map([](const Tensor& x) { return x + 1; });
  const auto f = function([&](const Tensor& x) {
    Tensor sum = x;
    for (const Tensors& element : data) sum = sum + element[0].item<int32_t>();
    return sum;
  });
  EXPECT_EQ(f(Tensor::scalar(int32_t{10})).item<int32_t>(), 16);
}

// The first line of the error, with the user's lines.
template <class F>
std::string dataset_error(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string text = error.what();
    return text.substr(0, text.find("\n  fix"));
  }
  return "nothing";
}
std::string at_line(int line) { return cat(" at dataset_test.cc:", line); }

TEST(Dataset, MistakesNameTheUsersLines) {
  int loop_line = 0;
  const auto loop = [&](const Dataset& dataset) {
    return dataset_error([&] {
      loop_line = __LINE__ + 1;
      for (const Tensors& element : dataset) (void)element;
    });
  };
  const Dataset none;
  const auto undefined = [](int line) {
    return "StateError[dataset.undefined]" + at_line(line) + "\n  this dataset holds nothing";
  };
  const std::string looped = loop(none);
  EXPECT_EQ(looped, undefined(loop_line));
  EXPECT_EQ(dataset_error([&] { none.cardinality(); }), undefined(__LINE__));
  EXPECT_EQ(dataset_error([&] { to_string(none); }), undefined(__LINE__));
  EXPECT_EQ(dataset_error([] { read_rows("x.txt"); }),
            "ValueError[read_rows.path]" + at_line(__LINE__ - 1) +
                "\n  x.txt must end in .npy, -ubyte or .csv, the latter two perhaps with .gz");
  const Dataset pairs = Dataset::from_tensor_slices({counting({4}), counting({4})});
  const int map_line = __LINE__ + 1;
  const Dataset mapped = pairs.map([](const Tensor& x) { return x; });
  const auto refused = [&](int line) {
    return "ValueError[function.arguments]" + at_line(map_line) + ", called" + at_line(line) +
           "\n  the function takes 1 tensor, got 2";
  };
  EXPECT_EQ(loop(mapped), refused(loop_line));
  DatasetIterator iterator(mapped);
  EXPECT_EQ(dataset_error([&] { iterator.next(); }), refused(__LINE__));
}

TEST(Dataset, ANumberThatF32WouldRoundIsRefused) {
  const std::string path = testing::TempDir() + "/espalier-dataset-ids.csv";
  posix_env().write_file(path, "16777216,1\n16777217,1\n");
  try {
    read_rows(path);
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_EQ(error.rule(), "csv.exact");
    EXPECT_EQ(error.message(), path +
                                   ": line 2, cell 1: f32 does not hold 16777217 exactly, only whole numbers "
                                   "up to 16777216 each");
    EXPECT_EQ(
        error.fix(),
        "keep whole numbers in a .npy of i64 or f64, whose dtype read_rows() keeps; read_csv() gives cells "
        "as text");
  }
  std::filesystem::remove(path);
  // The cure.
  const std::string array = testing::TempDir() + "/espalier-dataset-ids.npy";
  write_npy(array, Tensor::of<int64_t>({16777217, 9007199254740993}).node()->dense());
  EXPECT_EQ(read_rows(array)[0].to_vector<int64_t>(), (std::vector<int64_t>{16777217, 9007199254740993}));
  std::filesystem::remove(array);
}

TEST(Dataset, AFileWithNamesIsToldWhereItBelongs) {
  const std::string path = testing::TempDir() + "/espalier-dataset-names.csv";
  posix_env().write_file(path, "age,sex\n3,4\n");
  try {
    read_rows(path);
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_EQ(error.message(), path + ": line 1, cell 1: \"age\" is not a number");
    EXPECT_EQ(error.fix(),
              "a file here is numbers alone, without a header: read_csv() takes one with names or "
              "text, and a ColumnProgram makes tensors of it");
  }
  std::filesystem::remove(path);
}

TEST(Dataset, SaysWhatItIs) {
  EXPECT_EQ(
      to_string(Dataset::from_tensor_slices({counting({4, 3}), counting({4})}).shuffle(4).repeat().batch(2)),
      "from_tensor_slices(4 rows of i32[3], i32[]).shuffle(4).repeat().batch(2)");
}

}  // namespace
}  // namespace espalier
