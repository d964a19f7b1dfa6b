// Training on a source of one's own that can be killed and started again: the model goes on from the last
// checkpoint, and the source from its place in the data. usage: example_source CHECKPOINT
// [STEPS_BEFORE_IT_DIES]
#include <cmath>
#include <cstdlib>
#include <iostream>

#include <espalier/espalier.h>

using namespace espalier;

// Numbers 0 to 9999, dealt to the shards in turn: what there is to learn is twice the number's sine.
struct Counter final : DataSource {
  explicit Counter(DataShard shard) : now(shard.index), step(shard.count) {}
  std::optional<Tensors> next() override {
    if (now >= 10000) return std::nullopt;
    const float x = static_cast<float>(now) / 5000 - 1;
    now += step;
    return Tensors{Tensor::of<float>({x}), Tensor::of<float>({2 * std::sin(x)})};
  }
  // The place, for a process that goes on: where a file is read, its name and an offset.
  std::optional<std::string> save() override { return std::to_string(now); }
  void restore(std::string_view bytes) override { now = std::stoll(std::string(bytes)); }
  int64_t now, step;
};

int main(int argc, char** argv) try {
  if (argc < 2) throw std::invalid_argument("usage: source CHECKPOINT [STEPS_BEFORE_IT_DIES]");
  const int64_t dies_after = argc > 2 ? std::stoll(argv[2]) : -1;
  set_seed(1);
  const Dataset data =
      Dataset::from_source([](DataShard shard, uint64_t) { return std::make_unique<Counter>(shard); },
                           {.shards = 8, .elements = 10000})
          .shuffle(256)
          .batch(100)
          .prefetch(2);
  Sequential model{Dense({.units = 16, .activation = "tanh"}), Dense({.units = 1})};
  model.compile({.optimizer = Adam{.learning_rate = 0.01}, .loss = MeanSquaredError(), .metrics = {}});
  int64_t steps = 0;
  const auto history =
      model.fit(data, {.epochs = 3,
                       .callbacks = {BackupAndRestore({.path = argv[1], .save_freq = 10}),
                                     LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
                                       if (++steps == dies_after)
                                         std::_Exit(3);  // as a killed process, without a word
                                     }})}});
  std::cout << steps << " steps in this process\n";
  std::cout.precision(17);
  for (const Logs& logs : history) std::cout << "loss " << logs.at("loss") << "\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
