// fit on a device beside the same loop written by hand: batches uploaded, one program a step that is given
// its variables for good, no download. In turn; prints a line a model. Exit 1 where fit learned nothing, 2
// without a plugin. usage: bench_device_fit PLUGIN [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "espalier/espalier.h"
#include "ir/sink.h"
#include "pjrt/open.h"
#include "text/text.h"

using namespace espalier;

namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Case {
  const char* name;
  int64_t hidden, batch, rows;
};
constexpr Case kCases[] = {{"784-128-10, batch 64", 128, 64, 8192},
                           {"784-512-10, batch 256", 512, 256, 16384}};

Sequential network(int64_t hidden) {
  set_seed(1);
  Sequential model{Dense({.units = hidden, .activation = "relu"}), Dense({.units = 10})};
  model.compile({.optimizer = Adam{}});
  return model;
}

std::vector<Tensor> batch_of(const Tensor& x, const Tensor& y, int64_t first, int64_t size) {
  return {slice(x, {first, 0}, {first + size, x.size(1)}), slice(y, {first}, {first + size})};
}

// Its variables lie on the device, by the places of the program's inputs.
class HandWritten {
 public:
  HandWritten(Device& device, const Case& c, const Tensor& x, const Tensor& y) : device_(device) {
    Sequential model = network(c.hidden);
    const std::vector<Tensor> first = batch_of(x, y, 0, c.batch);
    model.fit(first[0], first[1], {.batch_size = c.batch, .shuffle = false});
    const auto graph = parse_program(model.step_program(first[0], first[1]));
    std::map<std::string, size_t> place;
    for (size_t i = 0; i < graph->inputs().size(); ++i) {
      const GraphInput& input = graph->inputs()[i];
      const TensorType& type = graph->type(input.value);
      // Values do not matter for its speed, only that they are sound: ones for weights of rows, else small.
      inputs_.push_back(
          device.upload(full(type.shape, is_float(type.dtype) ? 0.01 : 1, type.dtype).node()->dense()));
      if (input.kind == InputKind::kVariable)
        place[input.name] = i;
      else
        arguments_.push_back(i);
    }
    std::vector<Alias> aliases;
    for (size_t i = 0; i < graph->outputs().size(); ++i) {
      const GraphOutput& output = graph->outputs()[i];
      if (output.kind == OutputKind::kUpdate) aliases.push_back({place.at(output.name), i});
    }
    donated_.assign(inputs_.size(), false);
    for (const Alias& alias : aliases) donated_[alias.input] = true;
    updates_ = aliases;
    program_ = device.compile(*graph, {.aliases = aliases});
  }
  void step(const Literal& x, const Literal& y) {
    inputs_[arguments_[0]] = device_.upload(x);
    inputs_[arguments_[1]] = device_.upload(y);
    const std::vector<RemoteArrayPtr> outputs = program_->run(inputs_, donated_, RunContext::current());
    for (const Alias& update : updates_) inputs_[update.input] = outputs[update.output];
  }
  void finish() const { inputs_[updates_[0].input]->download(); }

 private:
  Device& device_;
  std::vector<RemoteArrayPtr> inputs_;
  std::vector<char> donated_;
  std::vector<size_t> arguments_;
  std::vector<Alias> updates_;
  std::shared_ptr<const DeviceProgram> program_;
};

bool run(const Case& c, Device& device, const std::string& plugin, int rounds) {
  const Tensor x = Generator(3).uniform({c.rows, 784}), y = argmax(slice(x, {0, 0}, {c.rows, 10}), 1);
  const int64_t steps = c.rows / c.batch;
  HandWritten hand(device, c, x, y);
  std::vector<std::vector<Tensor>> batches;
  for (int64_t i = 0; i < steps; ++i) batches.push_back(batch_of(x, y, i * c.batch, c.batch));
  Sequential model = network(c.hidden);
  const DeviceScope scope(plugin);
  double first = 0, last = 0;
  const auto fit = [&] {
    const auto begin = Clock::now();
    last = model.fit(x, y, {.batch_size = c.batch}).back().at("loss");
    return since(begin) / static_cast<double>(steps);
  };
  const auto by_hand = [&] {
    const auto begin = Clock::now();
    for (const std::vector<Tensor>& batch : batches)
      hand.step(batch[0].node()->dense(), batch[1].node()->dense());
    hand.finish();
    return since(begin) / static_cast<double>(steps);
  };
  fit();
  first = last;
  by_hand();
  std::vector<double> ratios, ours, theirs;
  for (int i = 0; i < rounds; ++i) {
    ours.push_back(fit());
    theirs.push_back(by_hand());
    ratios.push_back(theirs.back() / ours.back());
  }
  const auto median = [](std::vector<double>& values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  };
  std::printf("%s: fit %.0f us a step, by hand %.0f us; speed of fit to that by hand %.2f\n", c.name,
              1e6 * median(ours), 1e6 * median(theirs), median(ratios));
  return last < first;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: bench_device_fit PLUGIN [ROUNDS]\n", stderr);
    return 2;
  }
  const pjrt::DevicePtr device = pjrt::open_device(argv[1]);
  bool sane = true;
  for (const Case& c : kCases) sane = run(c, *device, argv[1], argc > 2 ? std::atoi(argv[2]) : 9) && sane;
  return sane ? 0 : 1;
}
