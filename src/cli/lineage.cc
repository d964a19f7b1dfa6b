// espalier lineage: what a model was made of.
#include <filesystem>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/sha256.h"
#include "cli/common.h"
#include "cli/train_images.h"
#include "espalier/error.h"
#include "tables/image_files.h"
#include "tables/provenance.h"

namespace espalier::cli {
namespace {

struct LineageRun {
  std::string model;
  bool verify = false;
  Results results;
};

// What a file is today, held against what it was when a model was trained on it.
enum class Today { kSame, kChanged, kAbsent, kUnknown };
Today today(const FileSource& source) {
  if (source.sha256.empty()) return Today::kUnknown;
  if (!posix_env().exists(source.file)) return Today::kAbsent;
  return digest_file(source.file).sha256 == source.sha256 ? Today::kSame : Today::kChanged;
}
const char* name(Today state) {
  constexpr const char* kNames[] = {"unchanged", "changed", "not there", "unknown"};
  return kNames[static_cast<size_t>(state)];
}

// A path that begins at the folder in which the model was trained is looked for from the present one.
std::string lineage_text(Today state, const std::string& path) {
  return state == Today::kAbsent && !path.starts_with('/')
             ? cat(name(state), ": looked for ", std::filesystem::absolute(path).lexically_normal().string())
             : name(state);
}

std::string lineage_text(const char* head, const FileSource& source) {
  std::string out =
      headed_line(head, cat(source_name(source.file), source.rows ? cat(", ", *source.rows, " rows") : ""));
  out += headed_line("", source.sha256.empty() ? "read from a stream: what it held is not known"
                                               : cat(source.bytes, " bytes, sha256 ", source.sha256));
  if (!source.licence.empty()) out += headed_line("", cat("licence ", source.licence));
  if (!source.origin.empty()) out += headed_line("", cat("from ", source.origin));
  return out;
}

nlohmann::ordered_json source_json(const FileSource& source) {
  nlohmann::ordered_json out = {{"file", source.file}};
  if (source.rows) out["rows"] = *source.rows;
  if (!source.sha256.empty()) {
    out["bytes"] = source.bytes;
    out["sha256"] = source.sha256;
  }
  if (!source.licence.empty()) out["licence"] = source.licence;
  if (!source.origin.empty()) out["origin"] = source.origin;
  return out;
}

// What the images are today. Models of earlier versions know their number alone; `found` is what there is
// now, where that was counted.
Today images_today(const ImageSource& source, int64_t kept, std::optional<int64_t>& found) {
  std::error_code none;
  if (source.place == "-" || !std::filesystem::exists(source.place, none)) return Today::kAbsent;
  const int64_t now = count_images(source.place);
  if (now > 0 && !source.sha256.empty() && digest_images(source.place).sha256 == source.sha256)
    return Today::kSame;
  found = now;
  return !source.sha256.empty() || *found != kept ? Today::kChanged : Today::kUnknown;
}

std::string images_text(Today state, const ImageSource& source, int64_t kept, std::optional<int64_t> found) {
  if (state == Today::kUnknown) return cat("as many, ", kept, "; whether they are the same is not known");
  const std::string text = lineage_text(state, source.place);
  if (!found) return text;
  return *found == kept ? cat(text, ", as many images, of other names or bytes")
                        : cat(text, ", ", *found, *found == 1 ? " image" : " images");
}

// What a model of images says of them, held against what is there.
void lineage_of_images(const LineageRun& run, const ImageSource& source) {
  const std::string description = posix_env().read_file(run.model + "/model.json");
  std::error_code none;
  const bool there = source.place != "-" && std::filesystem::exists(source.place, none);
  const int64_t kept = source.train_rows + source.test_rows;
  std::optional<int64_t> found;
  const Today state = run.verify ? images_today(source, kept, found) : Today::kUnknown;
  if (run.results.json) {
    nlohmann::ordered_json body = {{"model", run.model}, {"model_json_sha256", sha256_of(description)}};
    body["data"] = {{"images", source.place}};
    if (!source.sha256.empty()) {
      body["data"]["bytes"] = source.bytes;
      body["data"]["sha256"] = source.sha256;
    }
    if (!source.licence.empty()) body["data"]["licence"] = source.licence;
    if (!source.origin.empty()) body["data"]["origin"] = source.origin;
    if (run.verify) body["data"]["today"] = name(state);
    if (run.verify && there) body["data"]["today_images"] = found.value_or(kept);
    body["split"] = {{"seed", source.seed}, {"learn", source.train_rows}, {"judge", source.test_rows}};
    run.results.write_json("lineage", body);
  } else {
    std::string text =
        headed_line("model", cat(run.model, ", model.json has sha256 ", sha256_of(description)));
    text += headed_line("data", cat(source.place, ", ", kept, " images"));
    text += headed_line("", source.sha256.empty()
                                ? std::string("images are held against what is there by their number alone")
                                : cat(source.bytes, " bytes, sha256 of names and bytes ", source.sha256));
    if (!source.licence.empty()) text += headed_line("", cat("licence ", source.licence));
    if (!source.origin.empty()) text += headed_line("", cat("from ", source.origin));
    if (run.verify) text += headed_line("", cat("today: ", images_text(state, source, kept, found)));
    run.results.write(text + headed_line("images", cat(source.train_rows, " training, ", source.test_rows,
                                                       " test, seed ", source.seed)));
  }
  if (there)
    run.results.suggest({"evaluate", run.model, source.place});
  else
    run.results.suggest({"info", run.model});
  if (run.verify && state != Today::kSame) throw Exit{state == Today::kChanged ? 1 : 3};
}

void lineage(const LineageRun& run) {
  const LoadedModel model = load_model(run.model);
  const std::optional<Lineage> found = read_lineage(model, run.model);
  if (!found && model.has_file(kImagesFile)) {
    if (const std::optional<ImageSource> images = read_image_source(model, run.model))
      return lineage_of_images(run, *images);
  }
  if (!found) {
    throw ValueError("model.lineage", cat(run.model, " says nothing of the data that it was trained on"),
                     "train it with `espalier train`");
  }
  std::vector<std::pair<const char*, const FileSource*>> sources = {{"data", &found->data}};
  if (found->test) sources.emplace_back("test", &*found->test);
  if (found->schema) sources.emplace_back("schema", &*found->schema);
  const std::string description = posix_env().read_file(run.model + "/model.json");
  nlohmann::ordered_json body = {{"model", run.model}, {"model_json_sha256", sha256_of(description)}};
  std::string text = headed_line("model", cat(run.model, ", model.json has sha256 ", sha256_of(description)));
  bool changed = false, unsure = false;
  for (const auto& [head, source] : sources) {
    body[head] = source_json(*source);
    text += lineage_text(head, *source);
    if (!run.verify) continue;
    const Today state = today(*source);
    changed = changed || state == Today::kChanged;
    unsure = unsure || state == Today::kAbsent || state == Today::kUnknown;
    body[head]["today"] = name(state);
    text += headed_line("", cat("today: ", lineage_text(state, source->file)));
  }
  if (!found->environment.empty()) body["schema"]["environment"] = found->environment;
  body["split"] = {{"kind", found->split},
                   {"seed", found->seed},
                   {"learn", found->train_rows},
                   {"stop", found->validation_rows},
                   {"judge", found->test_rows}};
  text += headed_line("rows", cat(found->train_rows, " training, ", found->validation_rows, " validation, ",
                                  found->test ? *found->test->rows : found->test_rows,
                                  " test: ", found->split, ", seed ", found->seed));
  if (run.results.json)
    run.results.write_json("lineage", body);
  else
    run.results.write(text);
  if (!run.verify) run.results.suggest({"lineage", run.model, "--verify"});
  if (run.verify) run.results.suggest({"info", run.model});
  if (changed || unsure) throw Exit{changed ? 1 : 3};
}

constexpr const char* kLineageExamples =
    R"(Files are identified by the SHA-256 hash of their content, not by their name;
for a folder of images the names count, too.

Example:
  espalier lineage model/ --verify
      Verify that the training files are unchanged.

Exit codes: 0 done or unchanged, 1 a file has changed since training, 2 usage
error or bad input, 3 undecided: a file was not found, or an old model does not
tell enough of its images to compare them.)";

}  // namespace

void add_lineage(CLI::App& app) {
  auto run = std::make_shared<LineageRun>();
  CLI::App* verb =
      app.add_subcommand("lineage", "Show what a model was trained on: files, licence, origin, rows");
  verb->add_option("model", run->model, "Model folder, as written by `espalier train`")
      ->option_text("FOLDER")
      ->required();
  verb->add_flag("--verify", run->verify, "Verify that the training files are unchanged");
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  verb->footer(kLineageExamples);
  verb->callback([run] { lineage(*run); });
}

}  // namespace espalier::cli
