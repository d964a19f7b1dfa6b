// Runs of `espalier launch` for the tests of what breaks them.
#pragma once

#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/sha256.h"
#include "cli/verb_test.h"

namespace espalier::cli {

// A fresh folder with a table of `rows` rows and a plan for it: two hidden layers of `units`, four batches an
// epoch.
inline std::string folder_to_launch(const std::string& name, int rows = 96, int units = 8, int epochs = 4) {
  const std::string folder = fresh_folder(name);
  std::string text = "a,b,label\n";
  for (int i = 0; i < rows; ++i) {
    const double a = std::sin(i * 1.7), b = std::cos(i * 2.3);
    text += cat(a, ",", b, ",", a * b > 0 ? "yes" : "no", "\n");
  }
  write_file(folder + "/table.csv", text);
  const std::string layer =
      cat("[[model.layers]]\ntype = \"Dense\"\nunits = ", units, "\nactivation = \"relu\"\n");
  write_file(folder + "/plan.toml", cat("[data]\nfile = \"table.csv\"\nlabel = \"label\"\n", layer, layer,
                                        "[optimizer]\ntype = \"Adam\"\nlearning_rate = 0.01\n",
                                        "[fit]\nepochs = ", epochs, "\nbatch_size = ", rows / 4, "\n"));
  return folder;
}

inline std::string weights_hash(const std::string& model) {
  return sha256_of(posix_env().read_file(model + "/weights.safetensors"));
}

// The weights that one device learns of the plan of `folder`.
inline std::string one_device_hash(const std::string& folder) {
  const Outcome run =
      call_command(cat("train ", folder, "/plan.toml --deterministic --force --model ", folder, "/one"));
  EXPECT_EQ(run.code, 0) << run.error;
  return weights_hash(folder + "/one");
}

// The words that train the plan of `folder` as a worker.
inline std::string worker_words(const std::string& folder, const std::string& flags = "") {
  return cat(build_folder(), "/espalier train ", folder, "/plan.toml --strategy multiworker --force --model ",
             folder, "/model ", flags);
}

// The words that start `program` on `ranks` ranks.
inline std::string launch_words(int ranks, const std::string& flags, const std::string& program) {
  return cat(build_folder(), "/espalier launch -n ", ranks, " ", flags, " -- ", program);
}

// `script` as a word of sh. It has no single quotes.
inline std::string shell_words(const std::string& script) { return cat("sh -c '", script, "'"); }

// `program`, on one rank behind `instead`, which may be an exec.
inline std::string but_on(int rank, const std::string& instead, const std::string& program) {
  return shell_words(cat("[ $ESPALIER_RANK = ", rank, " ] && ", instead, "; exec ", program));
}

// Of a record: seconds from the last collective that a rank ended to the verdict. A rank breaks behind it,
// at the begin of its next step.
inline double seconds_to_verdict(const nlohmann::json& start, int rank) {
  double out = 1e9;
  for (const auto& call : start["ranks"].at(static_cast<size_t>(rank))["collectives"]) {
    if (!call["done_seconds_ago"].is_null()) out = call["done_seconds_ago"].get<double>();
  }
  return out;
}

}  // namespace espalier::cli
