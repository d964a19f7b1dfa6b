#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/format.h"
#include "cli/train_digits.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

constexpr const char* kPlaces[] = {"../shared/data/mnist", "build/data/digits.csv.gz"};

std::string find_digits() {
  for (const char* place : kPlaces) {
    if (std::filesystem::exists(place)) return place;
  }
  throw IoError("quickstart.data", cat("found no digits at ", kPlaces[0], " or ", kPlaces[1]),
                "run scripts/fetch-digits, or name a folder with --data");
}

}  // namespace

void add_quickstart(CLI::App& app) {
  auto run = std::make_shared<DigitsRun>(DigitsRun{.verb = "quickstart"});
  CLI::App* verb =
      app.add_subcommand("quickstart", "Train a first model on handwritten digits and look at it");
  verb->add_option("--data", run->plan.data.file, "As in train; found by itself when left out");
  add_seed(*verb, run->plan.fit.seed);
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  add_threads(*verb);
  verb->callback([run] {
    std::string& data = run->plan.data.file;
    if (data.empty()) data = find_digits();
    // Small sets need more passes for as many steps.
    run->plan.fit.epochs = data.ends_with(".gz") ? 60 : 5;
    std::fprintf(stderr, "training on the digits of %s\n", data.c_str());
    train_digits(*run, load_digits(data));
    if (run->results.json || run->results.out != "-") return;
    std::printf(
        "\nnext:\n"
        "  make test    hold the engine against its oracles\n"
        "  %s    what it can compute\n"
        "  %s\n",
        command({"info", "--ops"}).c_str(),
        command({"train", "--data", data, "--hidden", "256", "--epochs", "10"}).c_str());
  });
}

}  // namespace espalier::cli
