#include "cli/interval_flags.h"

#include "base/format.h"

namespace espalier::cli {

void IntervalFlags::add(CLI::App& verb) {
  verb.add_option("--interval", method,
                  "Method of 95% intervals: wilson (closed forms: Wilson, Newcombe, DeLong, linearisation), "
                  "bootstrap (Poisson), or jackknife (20 buckets, as in TFMA)")
      ->check(one_of_words({"wilson", "bootstrap", "jackknife"}))
      ->option_text("wilson|bootstrap|jackknife [wilson]");
  verb.add_option("--replicates", replicates, "Number of bootstrap replicates")
      ->check(number_from(int64_t{2}, int64_t{100000}))
      ->option_text("N [200]");
  add_seed(verb, seed)
      ->description("Random seed for bootstrap replicates, jackknife buckets and permutations");
}

std::vector<std::string> IntervalFlags::words() const {
  std::vector<std::string> out;
  if (method != IntervalFlags().method) out.insert(out.end(), {"--interval", method});
  if (replicates != IntervalFlags().replicates) out.insert(out.end(), {"--replicates", cat(replicates)});
  if (seed != IntervalFlags().seed) out.insert(out.end(), {"--seed", cat(seed)});
  return out;
}

Resampling IntervalFlags::resampling() const {
  const IntervalMethod how = method == "bootstrap"   ? IntervalMethod::kBootstrap
                             : method == "jackknife" ? IntervalMethod::kJackknife
                                                     : IntervalMethod::kClosedForm;
  return {.method = how, .replicates = static_cast<size_t>(replicates), .seed = seed};
}

}  // namespace espalier::cli
