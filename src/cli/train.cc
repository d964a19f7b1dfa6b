#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>

#include "base/env.h"
#include "base/format.h"
#include "base/input_file.h"
#include "base/shortest.h"
#include "cli/resumable_fit.h"
#include "cli/save_place.h"
#include "cli/strategy_flags.h"
#include "cli/train_flags.h"
#include "cli/train_images.h"
#include "cli/train_table.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "espalier/tables.h"
#include "plan/facts.h"
#include "strategy/replicas.h"
#include "tables/table_reading.h"

namespace espalier::cli {
namespace {

// Whether a table begins as text that is no number does: a header, or cells of words.
bool has_words(const CsvTable& table) {
  if (table.rows() == 0 || table.had_header()) return true;
  for (int64_t column = 0; column < table.columns(); ++column) {
    if (!table.number(0, column)) return true;
  }
  return false;
}

[[noreturn]] void ask_for_label(const CsvTable& table, const std::string& path) {
  std::string names;
  for (const std::string& name : table.names()) names += cat(names.empty() ? "" : ", ", name);
  throw ValueError("train.label", cat(path, " is a table; which of its columns is to be learned? ", names),
                   cat("add --label ", table.names().back()));
}

bool is_image_file(const std::string& path) {
  const std::string ending = CLI::detail::to_lower(std::filesystem::path(path).extension().string());
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

// Of a folder of IDX files or a table of numbers.
HashedExamples digits_at(const std::string& path) {
  if (!std::filesystem::is_directory(path)) check_table_file(path);
  if (std::filesystem::is_directory(path)) {
    try {
      return read_digits(path);
    } catch (const IoError& error) {
      if (error.rule() != "digits.file") throw;
      throw IoError(error.rule(), cat(error.message(), ", nor a sub-folder of images for each class"),
                    list_images(path).empty() || !is_image_folder(folder_above(path))
                        ? ""
                        : cat("--data ", folder_above(path)));
    }
  }
  if (is_image_file(path)) {
    const std::string above = folder_above(folder_above(path));
    throw ValueError(
        "train.images",
        cat(path,
            " is one image, and a model learns from a folder with a sub-folder of images for each "
            "class"),
        is_image_folder(above) ? cat("--data ", above) : "");
  }
  const CsvTable table = read_table(path);
  if (has_words(table)) ask_for_label(table, path);
  return digits_in(table, path);
}

TrainPlan plan_in(const std::string& path, const std::string& label) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none))
    throw ValueError("plan.folder", cat(path, " is a folder, and a plan is a file of TOML"),
                     command({"train", "--data", path}));
  try {
    const std::string folder = path == "-" ? "" : std::filesystem::path(path).parent_path().string();
    return read_plan(read_text(path), source_name(path), folder, label);
  } catch (const FormatError& error) {
    const bool table = path.ends_with(".csv") || path.ends_with(".csv.gz") || path.ends_with(".tsv");
    if (!table || (error.rule() != "plan.syntax" && error.rule() != "plan.size")) throw;
    throw FormatError(error.rule(), cat(path, " looks like a table, and a plan is TOML"),
                      command({"train", "--data", path, "--label", label.empty() ? "COLUMN" : label}));
  }
}

TrainPlan with_flags(TrainPlan plan, const TrainFlags& flags) {
  const TrainPlan written = plan;
  for (const auto& change : flags.changes) change(plan);
  const auto forget = [&](const char* path, bool changed) {
    if (changed) std::erase_if(plan.places, [&](const auto& place) { return place.first.starts_with(path); });
  };
  forget("data.file", plan.data.file != written.data.file);
  forget("data.ignore", plan.data.ignore != written.data.ignore);
  forget("data.include", plan.data.include != written.data.include);
  forget("data.image_size", plan.data.image_size != written.data.image_size);
  forget("model.path", plan.model.path != written.model.path);
  forget("model.threshold", plan.model.threshold != written.model.threshold);
  forget("model.positive", plan.model.positive != written.model.positive);
  forget("fit.class_weight", plan.fit.class_weight != written.fit.class_weight);
  if (!flags.hidden.empty()) {
    plan.model.layers = hidden_layers(flags.hidden, plan.data.label.empty());
    plan.model.compare_linear = false;
  }
  settle_device(*flags.verb, plan);
  return plan;
}

// The plan, and the flags beside it, which count more.
TrainPlan plan_of(const TrainFlags& flags) {
  const TrainPlan plan = with_flags(!flags.plan.empty()   ? plan_in(flags.plan, flags.label)
                                    : flags.label.empty() ? image_plan()
                                                          : table_plan(),
                                    flags);
  if (plan.data.file.empty()) {
    if (flags.plan.empty()) throw CLI::RequiredError("--data, or a plan,");
    throw ValueError("plan.required", cat(source_name(flags.plan), ": data needs file"), "add --data FILE");
  }
  const double share = plan.data.test_fraction;
  if (!(share > 0 && share < 1)) {
    throw ValueError("train.test_fraction",
                     cat("the share of test rows must lie between 0 and 1, got ", shortest(share)));
  }
  return plan;
}

// Without links and ".." in its folder; its last part stays, as a linked file keeps its name.
std::filesystem::path settled(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::filesystem::path whole = std::filesystem::absolute(path);
  const std::filesystem::path last = whole.filename();
  if (last == "." || last == "..") return std::filesystem::weakly_canonical(whole);
  return std::filesystem::weakly_canonical(whole.parent_path()) / last;
}

// As a file in the folder of `out` says it.
std::string text_beside(TrainPlan plan, const std::string& out) {
  if (out != "-") {
    const auto folder = settled(out).parent_path();
    for_paths(plan, [&](std::string& path) {
      if (!path.empty() && path != "-" && path[0] != '/')
        path = settled(path).lexically_relative(folder).string();
    });
  }
  return write_plan(plan);
}

// Raises for flags that would count for nothing: without a label `data` holds images.
void check_no_table_flags(const TrainFlags& flags, const std::string& data) {
  std::string wrong;
  for (const char* name :
       {"--test", "--split", "--ignore", "--include", "--missing", "--not-missing", "--task",
        "--strip-label-dots", "--merge-labels", "--schema", "--environment", "--quarantine", "--slice",
        "--threshold", "--positive", "--delimiter", "--header", "--names", "--decimal"}) {
    if (flags.verb->count(name)) wrong += cat(wrong.empty() ? "" : ", ", name);
  }
  if (wrong.empty()) return;
  const bool one = wrong.find(',') == wrong.npos;
  throw ValueError("train.images", cat(data, " holds images: ", wrong, one ? " is" : " are", " for tables"),
                   cat("leave ", one ? "it" : "them", " out"));
}

void write_shown(const TrainPlan& plan, const Results& results) {
  results.write(text_beside(plan, results.out));
  if (results.out != "-") results.suggest({"train", results.out});
}

ImagesRun images_run(const TrainFlags& flags, const TrainPlan& plan) {
  return {.verb = "train",
          .plan = plan,
          .resume = flags.resume,
          .force = flags.force,
          .results = flags.results,
          .show_step = flags.show_step};
}

void train_digits(const TrainFlags& flags, const TrainPlan& plan) {
  const std::string& data = plan.data.file;
  if (!plan.data.image_size.empty())
    said_at(plan, "data.image_size", [&] {
      throw ValueError(
          "train.image_size",
          cat("image_size is for a folder with a sub-folder of JPEG and PNG files for each class, and ", data,
              " is none"));
    });
  const HashedExamples examples = digits_at(data);
  check_no_table_flags(flags, data);
  if (flags.write_plan) return write_shown(plan, flags.results);
  train_images(images_run(flags, plan), [&] { return rows_of_digits(examples, plan.data); });
  if (flags.show_step) return;
  flags.results.suggest({"evaluate", plan.model.path, data});
}

// `told`: the flags beside a plan of digits. Where no plan is given the files say what is fit for them.
void train_folder(const TrainFlags& flags, const TrainPlan& told) {
  const std::string& data = told.data.file;
  if (!told.data.test.empty())
    throw ValueError("train.test", "--test is for tables",
                     cat("put test images below ", data, "/test, others below ", data, "/train"));
  check_no_table_flags(flags, data);
  const ImageFolder folder = said_at(told, "data.image_size", [&] {
    return ImageFolder::look(data, told.data.test_fraction, told.data.image_size, flags.results);
  });
  TrainPlan plan = flags.plan.empty() ? with_flags(folder_plan(folder), flags) : told;
  if (flags.write_plan) {
    plan.data.image_size = {folder.height, folder.width};
    return write_shown(plan, flags.results);
  }
  train_images(images_run(flags, plan), [&] { return rows_of_folder(folder, plan.data, flags.results); });
  if (flags.show_step) return;
  if (folder.parted) return flags.results.suggest({"evaluate", plan.model.path, data});
  // One that the model was not trained on.
  flags.results.suggest(
      {"predict", plan.model.path, folder.test.paths.empty() ? data : folder.test.paths[0]});
}

// Raises IoError that names the plan where that says what is not there.
void check_images_of(const TrainPlan& plan, const std::string& source) {
  try {
    said_at(plan, "data.file", [&] { check_images_at(plan.data.file); });
  } catch (const IoError& error) {
    if (!plan.places.contains("data.file") || !error.fix().empty()) throw;
    throw IoError(error.rule(), error.message(),
                  cat("paths in ", source, " begin at its folder; --data FOLDER names another"));
  }
}

// A folder of images has no column to learn.
void check_no_images(const TrainPlan& plan) {
  const std::string& data = plan.data.file;
  if (!is_image_folder(data) || list_images(data).empty()) return;
  said_at(plan, "data.label", [&] {
    throw ValueError("train.label", cat(data, " is a folder of images, whose sub-folders are the labels"),
                     "leave out --label");
  });
}

// A checkpoint of another name is not the one that was asked for, and may be the one that was meant.
void name_near_checkpoints(const TrainPlan& plan) {
  const std::string wanted = checkpoint_of(plan);
  if (posix_env().exists(wanted)) return;
  const std::string near = near_files(wanted);
  if (near.find(".checkpoint") != near.npos)
    std::fputs(cat("note: there is no ", wanted, "; ", near, "\n").c_str(), stderr);
}

std::vector<std::string> files_read(const TrainFlags& flags, const TrainPlan& plan) {
  return {flags.plan, plan.data.file, plan.data.test, plan.data.schema};
}

void train_by(const TrainFlags& flags, const TrainPlan& plan) {
  const std::vector<std::string> inputs = files_read(flags, plan);
  if (std::ranges::count(inputs, "-") > 1)
    throw ValueError("train.input",
                     "standard input is the plan, the data or the test; the others must lie elsewhere");
  flags.results.keep(inputs);
  if (!flags.write_plan && !flags.show_step) {
    check_folders(plan);
    probe_save_place(plan.model.path);
  }
  std::vector<Written> written = {{"--quarantine", plan.data.quarantine}, {"--out", flags.results.out}};
  for (const CallbackPlan& callback : plan.callbacks) {
    const auto* logger = std::get_if<CSVLoggerPlan>(&callback);
    if (!logger) continue;
    Results{.out = logger->path}.keep(inputs);
    written.push_back({"the log", logger->path});
  }
  keep_apart(written);
  if (flags.resume) name_near_checkpoints(plan);
  if (!plan.data.label.empty()) {
    check_no_images(plan);
    if (flags.write_plan) {
      check_label(plan);
      return write_shown(plan, flags.results);
    }
    for (const auto& [path, file] :
         {std::pair{"data.file", &plan.data.file}, {"data.test", &plan.data.test}}) {
      if (!file->empty()) said_at(plan, path, [&] { check_table_file(*file); });
    }
    return train_table({.plan = plan,
                        .resume = flags.resume,
                        .force = flags.force,
                        .results = flags.results,
                        .show_step = flags.show_step});
  }
  check_images_of(plan, source_name(flags.plan));
  is_image_folder(plan.data.file) ? train_folder(flags, plan) : train_digits(flags, plan);
}

void train(const TrainFlags& flags) {
  const TrainPlan plan = plan_of(flags);
  if (flags.write_plan) return train_by(flags, plan);
  const OnDevice device(prepare_device(plan.device, plan.distribute, true));
  by_strategy(plan.distribute, files_read(flags, plan), [&] {
    if (const auto& replicas = current_replicas()) replicas->membership().describe(plan_facts(plan));
    train_by(flags, plan);
  });
}

constexpr const char* kTrainExamples =
    R"(For a table, `train` infers the type of each column, holds out validation and
test rows, and saves the model together with its preprocessing, so that
`espalier predict` and `espalier evaluate` read raw rows.

Examples:
  espalier train --data people.csv --label income
      Predict the column income: train a model, print its test metrics and save
      it in model/.
  espalier train --data people.csv --label income --write-plan > plan.toml
  espalier train plan.toml --epochs 100
      Write the same run as a plan, a file of all settings; then train by the
      plan, with a flag that overrides it. docs/plan.md lists the keys of a
      plan (installed as share/doc/espalier/plan.md).
  espalier train --data pictures/
      Classify images: pictures/cats/*.jpg, pictures/dogs/*.png, ...
  espalier train --data mnist/ --hidden 256 --epochs 10
      Classify digits in IDX files.

Exit codes: 0 done, 2 usage error or bad input, 4 internal error, 130 stopped
by Ctrl-C.)";

}  // namespace

std::string step_of_plan(const std::string& plan, const std::string& after,
                         const std::function<void(TrainPlan&)>& change) {
  TrainFlags flags;
  CLI::App verb;  // none of whose flags is given
  add_data_flags(verb, flags);
  add_training_flags(verb, flags);
  flags.verb = &verb;
  flags.plan = plan;
  flags.force = true;
  flags.changes.push_back(change);
  std::string out;
  const int64_t batch = plan_of(flags).fit.batch_size;
  flags.show_step = [&](Model& model, const Tensor& x, const Tensor& y) {
    const auto first = [&](const Tensor& rows) {
      std::vector<int64_t> begin(rows.rank(), 0), end(rows.shape().begin(), rows.shape().end());
      end[0] = std::min(batch, end[0]);
      return slice(rows, begin, end);
    };
    out = model.step_program(first(x), first(y), after);
  };
  train(flags);
  return out;
}

void add_train(CLI::App& app) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* verb = app.add_subcommand("train", "Train a model on a table or on labelled images");
  flags->verb = verb;
  verb->add_option(
          "plan", flags->plan,
          "Plan: TOML file of all settings: what flags set, and also layers, optimizer, schedule and "
          "callbacks. Flags override the plan; paths in the plan are relative to the folder of the "
          "plan; - reads standard input")
      ->option_text("PLAN");
  verb->option_defaults()->group("Data");
  add_data_flags(*verb, *flags);
  verb->option_defaults()->group("Training");
  add_training_flags(*verb, *flags);
  verb->option_defaults()->group("Saving");
  add_saving_flags(*verb, *flags);
  verb->option_defaults()->group("Output");
  verb->add_flag(
      "--write-plan", flags->write_plan,
      "Write the settings of these flags as a plan, with every default, to standard output or --out, and do "
      "not train");
  flags->results.add_json(*verb);
  flags->results.add_out(*verb);
  add_threads(*verb);
  verb->footer(kTrainExamples);
  verb->callback([flags, verb] {
    const auto given = [&](const char* name, std::function<void(TrainPlan&)> change) {
      if (verb->count(name)) flags->changes.push_back(std::move(change));
    };
    const TableReading& table = flags->table;
    given("--label", [&](TrainPlan& plan) { plan.data.label = flags->label; });
    if (verb->count("--missing") + verb->count("--not-missing") > 0)
      flags->changes.push_back(
          [&](TrainPlan& plan) { plan.data.missing = flags->missing.changed(plan.data.missing); });
    given("--seed", [&](TrainPlan& plan) { plan.fit.seed = flags->seed; });
    given("--dtype", [&](TrainPlan& plan) { plan.fit.dtype = flags->dtype; });
    flags->changes.push_back(
        [&](TrainPlan& plan) { take_strategy(*verb, flags->distribute, plan.distribute); });
    flags->changes.push_back([&](TrainPlan& plan) { take_device(*verb, flags->device, plan.device); });
    given("--header", [&](TrainPlan& plan) { plan.data.header = table.header; });
    given("--decimal", [&](TrainPlan& plan) { plan.data.decimal = table.decimal; });
    given("--names", [&](TrainPlan& plan) { plan.data.names = table.names; });
    given("--delimiter", [&](TrainPlan& plan) {
      const char separator = table.separator();
      plan.data.delimiter = separator ? std::string(1, separator) : "";
    });
    train(*flags);
  });
}

}  // namespace espalier::cli
