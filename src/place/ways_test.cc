// One function in all ways: results, new values, aliases of values, retraces, parts of a batch. Held against
// sums that are written out here.
#include "place/ways_test.h"

#include "base/rule_of_test.h"

namespace espalier {
namespace {

// w and v are updated, and read behind that; a count is; a scale is not.
OnProcess summing(int64_t) {
  Variable w = stored_variable(1, "w"), v = stored_variable(2, "v"),
           count(Tensor::scalar(int64_t{0}), {.name = "count"}), scale = stored_variable(3, "scale");
  const auto body = [=](std::span<const Tensor> in) mutable {
    const Tensor total = sum_of_all(in[0]), before = w.read();
    w.assign(before + total * scale.read());
    v.assign_sub(total);
    count.assign_add(1);
    return std::vector<Tensor>{in[0] * w.read(), total + v.read(), before};
  };
  return {{w, v, count, scale}, TracedFunction(body, {.name = "summing"})};
}

// What it should hold behind the turns of these numbers of rows.
struct Summed {
  Numbers w = all_of(1), v = all_of(2), before = {};
  double count = 0;
  void add(int64_t rows, int64_t turn) {
    before = w;
    w = w + sums_of(rows, turn) * 3;
    v = v + sums_of(rows, turn) * -1;
    ++count;
  }
  std::vector<Numbers> all() const { return {w, v, {count}, all_of(3)}; }
};

void expect_summed(const Way& way, const OnWay& sum, const OfReplicas& results, Summed& wanted, int64_t rows,
                   int64_t turn) {
  wanted.add(rows, turn);
  ASSERT_EQ(results.size(), way.kind.replicas);
  for (size_t i = 0; i < results.size(); ++i) {
    const auto own = rows_of_replica(rows, i, results.size());
    EXPECT_EQ(results[i][0].type().shape, (Shape{own.second - own.first, kWidth}));
    EXPECT_EQ(numbers_in(results[i][0]), rows_times(turn, own, wanted.w)) << "replica " << i;
    EXPECT_EQ(numbers_in(results[i][1]), sums_of(rows, turn) + wanted.v) << "replica " << i;
    EXPECT_EQ(numbers_in(results[i][2]), wanted.before) << "replica " << i;
  }
  EXPECT_EQ(sum.all_held(), wanted.all());
}

class NewValues : public OnEachWay {};
ESPALIER_ON_WAYS(NewValues, {});

TEST_P(NewValues, AndResultsAreThoseOfAllRows) {
  const OnWay sum(*way, summing);
  Summed wanted;
  for (int64_t turn = 0; turn < 4; ++turn) {
    SCOPED_TRACE(turn);
    expect_summed(*way, sum, sum(rows_for(*way, kRows, turn)), wanted, kRows, turn);
  }
}

// Replicas do not look at each other's results.
TEST_P(NewValues, EachReplicaKnowsItsPlace) {
  const OnWay place(*way, [](int64_t) {
    Variable seen = stored_variable(0, "seen");
    const auto body = [=](std::span<const Tensor> in) mutable {
      seen.assign_add(sum_of_all(in[0]));
      return std::vector<Tensor>{replica_id()};
    };
    return OnProcess{{seen}, TracedFunction(body, {})};
  });
  // Of workers the first is the last then.
  for (const bool turned : {false, false, true, false}) {
    way->renew(turned);
    const OfReplicas results = place(rows_for(*way, kRows, 0));
    for (size_t i = 0; i < replicas; ++i) {
      const size_t rank = turned && way->kind.processes > 1 ? (i + 1) % replicas : i;
      EXPECT_EQ(numbers_in(results[i][0]), Numbers{static_cast<double>(rank)});
    }
  }
}

// A program belongs to the place that it was made for.
TEST_P(NewValues, OneFunctionRunsAloneAndInAWay) {
  const OnWay sum(*way, summing);
  // Of as many rows as a replica has: nothing is combined, and then all of it is.
  const int64_t own_rows = kRows / static_cast<int64_t>(replicas);
  const auto alone = [&](int64_t turn) {
    for (size_t i = 0; i < sum.processes().size(); ++i) {
      const Tensor all = rows_between_of(turn, 0, own_rows);
      const RunContext context({.threads = 1,
                                .device = way->devices.empty()      ? nullptr
                                          : way->kind.processes > 1 ? way->devices[i].get()
                                                                    : nullptr});
      const RunScope scope(context);
      sum.processes()[i].function.call({&all, 1});
    }
  };
  Summed wanted;
  for (int64_t turn = 0; turn < 6; turn += 2) {
    SCOPED_TRACE(turn);
    alone(turn);
    wanted.add(own_rows, turn);
    EXPECT_EQ(sum.all_held(), wanted.all());
    expect_summed(*way, sum, sum(rows_for(*way, kRows, turn + 1)), wanted, kRows, turn + 1);
  }
}

// Also of large ones, which a device keeps in another way.
TEST_P(NewValues, EqualArgumentsAndOthersInTurn) {
  const OnWay sum(*way, summing);
  Summed wanted;
  for (const int64_t rows : {kRows, 5 * kRows}) {
    for (const int64_t turn : {1, 1, 2, 1, 3}) {
      SCOPED_TRACE(cat(rows, " rows, turn ", turn));
      const OfReplicas arguments = rows_for(*way, rows, turn);
      expect_summed(*way, sum, sum(arguments), wanted, rows, turn);
      // The very same tensors once more.
      expect_summed(*way, sum, sum(arguments), wanted, rows, turn);
    }
  }
}

TEST_P(NewValues, ThoseOfARandomStateAreEqualOnAll) {
  const OnWay draw(*way, [](int64_t) {
    Generator generator(7);
    Variable w(Tensor::of(std::vector<int32_t>(kWidth)), {.name = "w"});
    const auto body = [=](std::span<const Tensor> in) mutable {
      const Tensor drawn = generator.integers({kWidth}, 0, 100);
      w.assign_add(drawn);
      return std::vector<Tensor>{drawn, in[0]};
    };
    return OnProcess{{w, generator.step_variable(), generator.key_variable()}, TracedFunction(body, {})};
  });
  Generator same(7);
  Numbers w = all_of(0);
  for (int64_t turn = 0; turn < 3; ++turn) {
    const OfReplicas results = draw(rows_for(*way, kRows, turn));
    const Numbers drawn = numbers_in(same.integers({kWidth}, 0, 100));
    for (const std::vector<Tensor>& each : results) EXPECT_EQ(numbers_in(each[0]), drawn);
    w = w + drawn;
    EXPECT_EQ(draw.all_held(), (std::vector<Numbers>{w, {static_cast<double>(turn + 1)}, {7}}));
  }
}

// What of the same tensors is read and written.

class Aliasing : public OnEachWay {};
ESPALIER_ON_WAYS(Aliasing, {});

Variable counting_variable(double first, const char* name) {
  return Variable(counting(first), {.name = name});
}

TEST_P(Aliasing, TwoVariablesSwapTheirValues) {
  const OnWay swap(*way, [](int64_t) {
    Variable a = counting_variable(0, "a"), b = counting_variable(5000, "b");
    const auto body = [=](std::span<const Tensor> in) mutable {
      const Tensor before = a.read();
      a.assign(b.read());
      b.assign(before);
      return std::vector<Tensor>{in[0], a.read()};
    };
    return OnProcess{{a, b}, TracedFunction(body, {})};
  });
  const Numbers a = swap.held(0), b = swap.held(1);
  for (int64_t turn = 0; turn < 4; ++turn) {
    const OfReplicas results = swap(rows_for(*way, kRows, turn));
    EXPECT_EQ(swap.all_held(), (turn % 2 ? std::vector<Numbers>{a, b} : std::vector<Numbers>{b, a})) << turn;
    for (const auto& each : results) EXPECT_EQ(numbers_in(each[1]), turn % 2 ? a : b);
  }
}

// As b = old a, while a is written.
TEST_P(Aliasing, AnOldValueOfOneIsTheNewOneOfAnother) {
  const OnWay shift(*way, [](int64_t) {
    Variable a = counting_variable(0, "a"), b = counting_variable(5000, "b"),
             c = counting_variable(9000, "c");
    const auto body = [=](std::span<const Tensor> in) mutable {
      c.assign(b.read());
      b.assign(a.read());
      a.assign(a.read() + sum_of_all(in[0]));
      return std::vector<Tensor>{c.read()};
    };
    return OnProcess{{a, b, c}, TracedFunction(body, {})};
  });
  std::vector<Numbers> wanted = shift.all_held();
  for (int64_t turn = 0; turn < 5; ++turn) {
    const OfReplicas results = shift(rows_for(*way, kRows, turn));
    wanted = {wanted[0] + sums_of(kRows, turn), wanted[0], wanted[1]};
    EXPECT_EQ(shift.all_held(), wanted) << turn;
    for (const auto& each : results) EXPECT_EQ(numbers_in(each[0]), wanted[2]);
  }
}

TEST_P(Aliasing, AVariableIsAnArgumentToo) {
  const OnWay add(*way, [](int64_t) {
    Variable w = counting_variable(1, "w");
    const auto body = [=](std::span<const Tensor> in) mutable {
      w.assign_add(all_reduce({in[0]})[0]);
      return std::vector<Tensor>{in[0] * 2, w.read()};
    };
    return OnProcess{{w}, TracedFunction(body, {})};
  });
  Numbers wanted = add.held(0);
  for (int turn = 0; turn < 4; ++turn) {
    OfReplicas arguments;
    for (size_t i = 0; i < replicas; ++i) arguments.push_back({add.of(i).variables[0].read()});
    const OfReplicas results = add(arguments);
    const Numbers before = wanted;
    wanted = before * static_cast<double>(1 + replicas);
    EXPECT_EQ(add.held(0), wanted) << turn;
    for (size_t i = 0; i < replicas; ++i) {
      EXPECT_EQ(numbers_in(results[i][0]), before * 2);
      EXPECT_EQ(numbers_in(results[i][1]), wanted);
      for (const Numbers& each : numbers_of_replicas(arguments[i][0]))
        EXPECT_EQ(each, before) << "the argument";
    }
  }
}

TEST_P(Aliasing, OneTensorIsTwoArguments) {
  const OnWay twice(*way, [](int64_t) {
    const auto body = [](std::span<const Tensor> in) {
      return std::vector<Tensor>{in[0] + in[1], in[0] * in[1]};
    };
    return OnProcess{{}, TracedFunction(body, {})};
  });
  for (int64_t turn = 0; turn < 3; ++turn) {
    OfReplicas arguments = rows_for(*way, kRows, turn);
    for (auto& each : arguments) each.push_back(each[0]);
    const OfReplicas results = twice(arguments);
    for (size_t i = 0; i < replicas; ++i) {
      const Numbers x = rows_times(turn, rows_of(i), all_of(1));
      EXPECT_EQ(numbers_in(results[i][0]), x * 2);
      Numbers squares = x;
      for (double& each : squares) each *= each;
      EXPECT_EQ(numbers_in(results[i][1]), squares);
    }
  }
}

TEST_P(Aliasing, ANewValueIsAConstantOrThatOfTwo) {
  const OnWay set(*way, [](int64_t) {
    Variable a = stored_variable(1, "a"), b = stored_variable(2, "b"), c = stored_variable(3, "c"),
             d = stored_variable(4, "d");
    const auto body = [=](std::span<const Tensor> in) mutable {
      const Tensor next = b.read() + sum_of_all(in[0]);
      a.assign(full({kWidth}, 7));
      b.assign(next);
      c.assign(next);
      d.assign(a.read());
      return std::vector<Tensor>{next, full({kWidth}, 7)};
    };
    return OnProcess{{a, b, c, d}, TracedFunction(body, {})};
  });
  Numbers b = all_of(2);
  for (int64_t turn = 0; turn < 4; ++turn) {
    set(rows_for(*way, kRows, turn));
    b = b + sums_of(kRows, turn);
    EXPECT_EQ(set.all_held(), (std::vector<Numbers>{all_of(7), b, b, all_of(7)})) << turn;
  }
}

// Another program in the middle, then the one before.

class Retraces : public OnEachWay {};
ESPALIER_ON_WAYS(Retraces, {});

TEST_P(Retraces, AsManyOtherRowsAsThereAre) {
  const OnWay sum(*way, summing);
  Summed wanted;
  int64_t turn = 0;
  for (const int64_t rows : {12, 12, 24, 12, 36, 24}) {
    SCOPED_TRACE(rows);
    expect_summed(*way, sum, sum(rows_for(*way, rows, turn)), wanted, rows, turn);
    ++turn;
  }
}

TEST_P(Retraces, ATrainableFlagAndADTypeOfReads) {
  const OnWay add(*way, [](int64_t) {
    Variable w = stored_variable(0, "w"), count(Tensor::scalar(int64_t{0}), {.name = "count"});
    w.state()->autocast = true;
    const auto body = [=](std::span<const Tensor> in) mutable {
      const Tensor read = w.read();
      count.assign_add(read.dtype() == DType::kBF16 ? 10 : 1);
      w.assign(sum_of_all(in[0]) * (w.trainable() ? 1 : 2));
      return std::vector<Tensor>{count.read() * (w.trainable() ? 1 : 100)};
    };
    return OnProcess{{w, count}, TracedFunction(body, {})};
  });
  const auto expect = [&](int64_t turn, double times, double count, double factor) {
    const OfReplicas results = add(rows_for(*way, kRows, turn));
    EXPECT_EQ(add.all_held(), (std::vector<Numbers>{sums_of(kRows, turn) * times, {count}})) << turn;
    for (const auto& each : results) EXPECT_EQ(numbers_in(each[0]), Numbers{count * factor}) << turn;
  };
  const auto set_trainable = [&](bool trainable) {
    for (const OnProcess& process : add.processes()) Variable(process.variables[0]).set_trainable(trainable);
  };
  expect(0, 1, 1, 1);
  expect(1, 1, 2, 1);
  set_trainable(false);
  expect(2, 2, 3, 100);
  {
    const AutocastScope narrow(DType::kBF16);
    expect(3, 2, 13, 100);
    set_trainable(true);
    expect(4, 1, 23, 1);
  }
  expect(5, 1, 24, 1);
}

// Parts of a batch that are empty, or not as large as others.

class EmptyParts : public OnEachWay {};
ESPALIER_ON_WAYS(EmptyParts, {});

TEST_P(EmptyParts, NoRowsAtAllGiveResultsOfSizeZero) {
  const OnWay sum(*way, summing);
  Summed wanted;
  int64_t turn = 0;
  for (const int64_t rows : {12, 0, 0, 12}) {
    SCOPED_TRACE(rows);
    expect_summed(*way, sum, sum(rows_for(*way, rows, turn)), wanted, rows, turn);
    ++turn;
  }
}

class UnevenParts : public OnEachWay {};
ESPALIER_ON_WAYS(UnevenParts, {{"host", "it has all rows"},
                               {"device", "it has all rows"},
                               {"devices2", "one program is run: RefusedParts"},
                               {"interpreter2", "one program is run: RefusedParts"},
                               {"interpreter3", "one program is run: RefusedParts"}});

TEST_P(UnevenParts, AddUpToTheBatch) {
  const OnWay sum(*way, summing);
  Summed wanted;
  int64_t turn = 0;
  // Some are of no rows, and the first part is of two sizes of others.
  for (const int64_t rows : {7, 6, 8, 1, 12, 2, 7, 0, 5}) {
    SCOPED_TRACE(rows);
    expect_summed(*way, sum, sum(rows_for(*way, rows, turn)), wanted, rows, turn);
    ++turn;
  }
}

class RefusedParts : public OnEachWay {};
ESPALIER_ON_WAYS(RefusedParts, {{"host", "it has all rows"},
                                {"device", "it has all rows"},
                                {"pools2", "a program a part: UnevenParts"},
                                {"pools3", "a program a part: UnevenParts"},
                                {"shards4", "a program a part: UnevenParts"},
                                {"shards4devices2", "parts of one size run together: UnevenParts"},
                                {"staged2", "a program a process: UnevenParts"}});

TEST_P(RefusedParts, WhereOneProgramIsRunChangeNothing) {
  const OnWay sum(*way, summing);
  Summed wanted;
  expect_summed(*way, sum, sum(rows_for(*way, kRows, 0)), wanted, kRows, 0);
  for (const int64_t rows : {7, 1}) {
    EXPECT_EQ(rule_of([&] { sum(rows_for(*way, rows, 1)); }), "strategy.values");
    EXPECT_EQ(sum.all_held(), wanted.all());
  }
  expect_summed(*way, sum, sum(rows_for(*way, kRows, 2)), wanted, kRows, 2);
}

// Of pools alone: a process knows its own part.
class UnevenUpdates : public OnEachWay {};
ESPALIER_ON_WAYS(UnevenUpdates, {{"host", "it has all rows"},
                                 {"device", "it has all rows"},
                                 {"devices2", "one program is run: RefusedParts"},
                                 {"interpreter2", "one program is run: RefusedParts"},
                                 {"interpreter3", "one program is run: RefusedParts"},
                                 {"staged2", "no process sees the program of another"}});

TEST_P(UnevenUpdates, ThatFollowTheNumberOfRowsAreRefused) {
  const OnWay count(*way, [](int64_t) {
    Variable rows(Tensor::scalar(int64_t{0}), {.name = "rows"});
    const auto body = [=](std::span<const Tensor> in) mutable {
      rows.assign_add(in[0].size(0));
      return std::vector<Tensor>{sum_of_all(in[0])};
    };
    return OnProcess{{rows}, TracedFunction(body, {})};
  });
  count(rows_for(*way, kRows, 0));
  const Numbers before = count.held(0);
  EXPECT_EQ(rule_of([&] { count(rows_for(*way, 7, 1)); }), "strategy.variable");
  EXPECT_EQ(count.held(0), before);
  EXPECT_EQ(before, Numbers{static_cast<double>(kRows) / static_cast<double>(replicas)});
}

}  // namespace
}  // namespace espalier
