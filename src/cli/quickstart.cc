#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/format.h"
#include "cli/train_images.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

// Whether the command was called where its sources are: elsewhere, as when it is installed, make is not
// there.
bool beside_sources() { return std::filesystem::exists("examples/digits.csv.gz"); }

// MNIST in the folder of data sets, or else the digits that travel with the command: where it is installed,
// and where it was built.
std::string find_digits() {
  namespace fs = std::filesystem;
  std::error_code none;
  const char* sets = std::getenv("ESPALIER_DATA");
  const fs::path mnist = fs::path(sets && *sets ? sets : "build/data") / "mnist";
  if (fs::exists(mnist, none)) return mnist.string();
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  for (const fs::path& place : {program.parent_path() / "../share/espalier/digits.csv.gz",
                                program.parent_path() / "../../examples/digits.csv.gz"}) {
    if (fs::exists(place, none)) return place.lexically_normal().string();
  }
  throw IoError("quickstart.data",
                cat("no digits lie beside ", program.string(),
                    ": --data names a folder of IDX files (MNIST) or a CSV of square images"),
                cat("or begin with a table of yours: ",
                    command({"train", "--data", "table.csv", "--label", "COLUMN"})));
}

std::string next_commands(const std::string& data) {
  const auto line = [](const std::vector<std::string>& words, const char* what) {
    return cat("  ", command(words), *what == 0 ? "" : "    ", what, "\n");
  };
  std::string out = "\nnext:\n";
  if (beside_sources()) out += "  make test    hold the engine against its oracles\n";
  out += line({"info", "--ops"}, "what it can compute");
  out += line({"train", "--data", "table.csv", "--label", "COLUMN"}, "a table of yours");
  return out + line({"train", "--data", data, "--hidden", "256", "--epochs", "10", "--model", "digits"}, "");
}

}  // namespace

void add_quickstart(CLI::App& app) {
  auto run = std::make_shared<ImagesRun>(ImagesRun{.verb = "quickstart"});
  CLI::App* verb = app.add_subcommand(
      "quickstart", "Train a first model on images of handwritten digits and print its accuracy");
  verb->add_option("--data", run->plan.data.file,
                   "Images of digits: a folder of IDX files (MNIST), or a CSV of square images, one per row, "
                   "with the label in the last column. Default: the folder mnist in $ESPALIER_DATA (or, if "
                   "that is not set, in build/data of the working folder) if it exists, else 1797 built-in "
                   "digits of 8x8 pixels")
      ->option_text("FILE|FOLDER");
  add_seed(*verb, run->plan.fit.seed);
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  add_threads(*verb);
  verb->footer(
      "No model is saved; the last lines show commands that save one.\n"
      "\n"
      "Example:\n"
      "  espalier quickstart\n"
      "\n"
      "Exit codes: 0 done, 2 usage error or bad input, 130 stopped by Ctrl-C.");
  verb->callback([run] {
    std::string& data = run->plan.data.file;
    if (data.empty()) data = find_digits();
    run->plan.model.path = "";
    // Small sets need more passes for as many steps.
    run->plan.fit.epochs = data.ends_with(".gz") ? 60 : 5;
    std::fprintf(stderr, "training on the digits of %s\n", data.c_str());
    train_images(*run, [&] { return rows_of_digits(read_digits(data), run->plan.data); });
    if (run->results.json || run->results.out != "-") return;
    std::fputs(next_commands(data).c_str(), stdout);
  });
}

}  // namespace espalier::cli
