// Training on files that no worker holds whole, as `espalier launch -n 4 -- build/release/example_files
// BACKUP FILES...`: each worker opens its files and no others, and any number goes on from the backup of a
// run that was killed. Of .npy files of rows it learns the sign of the first column.
#include <iostream>

#include <espalier/espalier.h>

using namespace espalier;

// Which rows were trained on: how many in an epoch, and the sum of a hash of the bytes of each.
struct PrintRows final : Callback {
  bool chief_only() const override { return true; }
  bool wants_rows() const override { return true; }
  void on_epoch_rows(int epoch, int64_t rows, uint64_t ids) override {
    std::cout << "epoch " << epoch << ": " << rows << " rows, " << ids << std::endl;
  }
};

int main(int argc, char** argv) try {
  if (argc < 3) throw std::invalid_argument("usage: files BACKUP FILES...");
  const std::vector<std::string> files(argv + 2, argv + argc);
  const strategy::MultiWorkerMirrored workers;
  const auto scope = workers.scope();
  set_seed(1);
  const Dataset data = Dataset::from_files(files, [](const std::string& path) { return read_rows(path); },
                                           {.shards = argc - 2})
                           .map([](const Tensor& row) -> Tensors {
                             return {row, Tensor::scalar(static_cast<int32_t>(row.data<float>()[0] > 0))};
                           })
                           .batch(1000);
  Sequential model{Dense({.units = 2})};
  // The files are the logical shards, so that the weights do not depend on the number of workers.
  model.compile({.optimizer = SGD{.learning_rate = 0.1}, .logical_shards = argc - 2});
  const auto epochs = model.fit(data, {.epochs = 2,
                                       .callbacks = {BackupAndRestore({.path = argv[1], .save_freq = 7}),
                                                     std::make_shared<PrintRows>()}});
  if (workers.told_to_go()) return workers.kPreempted;
  std::cout.precision(9);
  if (workers.worker() == 0) std::cout << "loss " << epochs.back().at("loss") << "\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
