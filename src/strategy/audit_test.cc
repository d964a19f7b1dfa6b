// That replicas notice other bits, whichever they are, and name who has them.
#include "strategy/audit.h"

#include <cstring>
#include <memory>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/espalier.h"
#include "ir/sink.h"
#include "place/interpreter_place.h"
#include "strategy/replicas.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

// The same value but for the lowest bit of this byte.
Tensor with_flipped_bit(const Tensor& value, size_t byte) {
  const auto* const from = static_cast<const std::byte*>(value.bytes());
  std::vector<std::byte> bytes(from, from + value.type().bytes());
  bytes.at(byte) ^= std::byte{1};
  return make_concrete(Literal::copy(value.type(), bytes.data()));
}

// As a run has them: of several types and sizes, the generator's state behind all others.
std::vector<Variable> variables_of_a_run() {
  const auto variable = [](const char* name, const Tensor& value) {
    return Variable(value, {.name = name, .trainable = false});
  };
  const Tensor weights = Tensor::of<float>({0.5f, -2, 3, 0.25f, 7});
  return {variable("kernel", weights),
          variable("moment", full({2, 3}, 1e-3)),
          variable("half", convert(weights, DType::kBF16)),
          variable("seen", Tensor::of(std::vector<bool>{true, false}, {2})),
          variable("total", Tensor::of<double>({1e300, -1})),
          variable("count", Tensor::scalar(int64_t{12})),
          variable("random/key", Tensor::scalar(uint64_t{5})),
          variable("random/step", Tensor::scalar(uint64_t{0}))};
}

// What an audit behind step 7 says on each of `world` workers, where worker `rank` is given bits by `change`.
std::vector<std::string> sentences(int world,
                                   const std::function<void(int rank, std::vector<Variable>&)>& change) {
  std::vector<std::string> out(static_cast<size_t>(world));
  on_each_worker(world, [&](const Strategy& workers) {
    std::vector<Variable> variables = variables_of_a_run();
    change(workers.worker(), variables);
    try {
      workers.replicas()->audits().require_equal_behind(7, variables);
    } catch (const RunError& error) {
      EXPECT_EQ(error.rule(), "strategy.audit");
      out[static_cast<size_t>(workers.worker())] = error.message();
    }
  });
  return out;
}

void flip(Variable variable, size_t byte = 0) { variable.assign(with_flipped_bit(variable.read(), byte)); }

TEST(Audit, EachVariableIsNamed) {
  const std::vector<Variable> all = variables_of_a_run();
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string path = all[i].path();
    SCOPED_TRACE(path);
    // The first byte and the last one.
    for (const size_t byte : {size_t{0}, all[i].type().bytes() - 1}) {
      const auto said = sentences(3, [&](int rank, std::vector<Variable>& variables) {
        if (rank == 2) flip(variables[i], byte);
      });
      for (const std::string& sentence : said)
        EXPECT_TRUE(sentence.starts_with(
            cat("variable \"", path, "\" of rank 2 differs from that of ranks 0, 1 behind step 7")))
            << sentence;
    }
  }
}

TEST(Audit, EqualBitsAreNotMentioned) {
  for (const std::string& sentence : sentences(3, [](int, std::vector<Variable>&) {}))
    EXPECT_EQ(sentence, "");
}

TEST(Audit, OfSeveralTheSmallestIsNamed) {
  const auto said = sentences(2, [](int rank, std::vector<Variable>& variables) {
    if (rank == 1) flip(variables[6]), flip(variables[4]);
  });
  for (const std::string& sentence : said)
    EXPECT_EQ(sentence.find("variable \"random/key\""), 0u) << sentence;
}

// Most are right; of as many the camp of the lowest rank is, whatever their hashes are.
TEST(Audit, WhoIsOddFollowsFromNumbersThenFromRanks) {
  struct Camps {
    std::vector<size_t> byte_of;  // which is flipped on each rank; 9: none
    const char* sentence;
  };
  const Camps all[] = {{{9, 3}, " of rank 1 differs from that of rank 0 "},
                       {{3, 9}, " of rank 1 differs from that of rank 0 "},
                       {{3, 9, 9}, " of rank 0 differs from that of ranks 1, 2 "},
                       {{3, 3, 9, 9}, " of ranks 2, 3 differs from that of ranks 0, 1 "},
                       {{9, 3, 3, 9}, " of ranks 1, 2 differs from that of ranks 0, 3 "},
                       {{3, 5, 9}, " of ranks 1, 2 differs from that of rank 0 "},
                       {{3, 9, 5, 9, 3}, " of ranks 1-3 differs from that of ranks 0, 4 "}};
  for (const Camps& camps : all) {
    for (size_t variable = 0; variable < 2; ++variable) {
      const auto said =
          sentences(static_cast<int>(camps.byte_of.size()), [&](int rank, std::vector<Variable>& variables) {
            const size_t byte = camps.byte_of[static_cast<size_t>(rank)];
            if (byte < 9) flip(variables[variable], byte);
          });
      for (const std::string& sentence : said)
        EXPECT_NE(sentence.find(camps.sentence), std::string::npos)
            << sentence << " instead of" << camps.sentence;
    }
  }
}

TEST(Audit, RowsAreComparedBehindTheVariables) {
  for (const size_t odd : {0, 1}) {
    const auto errors = errors_of_workers(2, [&](const Strategy& workers) {
      std::vector<Tensor> rows{full({4, 2}, 1), Tensor::of<int32_t>({1, 2, 3, 4})};
      if (workers.worker() == 1) rows[odd] = with_flipped_bit(rows[odd], 15);
      workers.replicas()->audits().require_equal_in("evaluate", variables_of_a_run(), rows);
    });
    for (const std::string& error : errors)
      EXPECT_NE(error.find("the data of rank 1 differs from that of rank 0 in evaluate"), std::string::npos)
          << error;
  }
  on_each_worker(2, [](const Strategy& workers) {
    workers.replicas()->audits().require_equal_in("evaluate", variables_of_a_run(),
                                                  std::vector<Tensor>{full({4, 2}, 1)});
  });
}

// The first one of so many.
Replicas first_worker(int world, int64_t audit_steps) {
  std::vector<Replicas::Seat> places(1);
  places[0].communicator = local_communicators(world)[0];
  return Replicas(std::move(places), true, {}, audit_steps);
}

TEST(Audit, IsDueEverySoManySteps) {
  for (const int64_t each : {1, 3, 100}) {
    const Replicas two = first_worker(2, each);
    ASSERT_TRUE(two.audits().any());
    for (int64_t step = 1; step <= 300; ++step) EXPECT_EQ(two.audits().due(step), step % each == 0) << step;
  }
  const Replicas never = first_worker(2, 0), alone = first_worker(1, 1);
  EXPECT_FALSE(never.audits().any() || never.audits().due(5) || alone.audits().any() ||
               alone.audits().due(5));
}

// Whichever audit a strategy has: its sentence, its fix, and the step.
class ScriptedAudit final : public Audit {
 public:
  std::optional<Mismatch> first_mismatch(std::span<const Variable> variables) override {
    if (variables.size() < 2) return std::nullopt;
    return Mismatch{1, " of gpu:1 differs from that of gpu:0", ": said"};
  }
  const char* fix() const override { return "another gpu"; }
};

TEST(Audit, SaysWhatItsReplicasFindBehindAStep) {
  const Membership alone;
  const Audits audits(std::make_unique<ScriptedAudit>(), 5, HostCollectives(), alone);
  const std::vector<Variable> variables = variables_of_a_run();
  audits.require_equal_behind(5, std::span(variables).first(1));
  try {
    audits.require_equal_behind(10, variables);
    ADD_FAILURE() << "nothing was raised";
  } catch (const RunError& error) {
    EXPECT_EQ(error.rule(), "strategy.audit");
    const std::string text = error.what();
    EXPECT_NE(text.find("variable \"moment\" of gpu:1 differs from that of gpu:0 behind step 10: said"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("another gpu"), std::string::npos) << text;
  }
  // Devices of one process evaluate the same rows.
  audits.require_equal_in("evaluate", variables, {});
}

// In the interpreter all hold one value.
TEST(Audit, OfDevicesIsAProgramOfTheirPlace) {
  const RunContext context({.threads = 1});
  const InterpreterPlace place(1);
  const Mesh mesh;
  const std::unique_ptr<Audit> audit = audit_of_devices(place, context, mesh);
  const std::vector<Variable> variables = variables_of_a_run();
  EXPECT_FALSE(audit->first_mismatch(variables));
  EXPECT_FALSE(audit->first_mismatch(std::span(variables).first(2))) << "of others it is another program";
}

// Words that a sum could take for each other: near, far, of equal low bits.
std::vector<uint32_t> drawn_words(size_t count) {
  std::mt19937 random(3);
  std::vector<uint32_t> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = i % 3 == 0 ? static_cast<uint32_t>(i) : i % 3 == 1 ? random() : random() & 0xffff0000u;
  return out;
}
uint32_t hash_of_words(const std::vector<uint32_t>& words) {
  return hash_there(Tensor::of(words)).item<uint32_t>();
}

TEST(AuditHash, ExchangedElementsChangeIt) {
  const std::vector<uint32_t> words = drawn_words(40);
  const uint32_t hash = hash_of_words(words);
  EXPECT_EQ(hash_of_words(words), hash);
  for (size_t a = 0; a < words.size(); ++a) {
    for (size_t b = a + 1; b < words.size(); ++b) {
      std::vector<uint32_t> exchanged = words;
      std::swap(exchanged[a], exchanged[b]);
      EXPECT_NE(hash_of_words(exchanged), hash) << a << " and " << b;
    }
  }
}

// Two weights that changed their signs, say: nothing of one may cancel what the other changes.
TEST(AuditHash, TheSameBitOfTwoElementsChangesIt) {
  const std::vector<uint32_t> words = drawn_words(12);
  const uint32_t hash = hash_of_words(words);
  for (int bit = 0; bit < 32; ++bit) {
    for (size_t a = 0; a < words.size(); ++a) {
      for (size_t b = a; b < words.size(); ++b) {
        std::vector<uint32_t> flipped = words;
        flipped[a] ^= uint32_t{1} << bit;
        if (b != a) flipped[b] ^= uint32_t{1} << bit;
        EXPECT_NE(hash_of_words(flipped), hash) << "bit " << bit << " of " << a << " and " << b;
      }
    }
  }
}

TEST(AuditHash, EachByteOfEachTypeCounts) {
  for (const Variable& variable : variables_of_a_run()) {
    const Tensor value = variable.read();
    const uint32_t hash = hash_there(value).item<uint32_t>();
    for (size_t byte = 0; byte < value.type().bytes(); ++byte)
      EXPECT_NE(hash_there(with_flipped_bit(value, byte)).item<uint32_t>(), hash)
          << variable.path() << " " << byte;
  }
  const Tensor bytes = Tensor::of<uint8_t>({1, 2, 3});
  EXPECT_NE(hash_there(bytes).item<uint32_t>(), hash_there(Tensor::of<uint8_t>({1, 3, 2})).item<uint32_t>());
}

}  // namespace
}  // namespace espalier
