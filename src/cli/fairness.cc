// espalier fairness choose: from questions that people can answer to a gate.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/listed_names.h"
#include "base/shell_words.h"
#include "base/shortest.h"
#include "cli/scored_flags.h"
#include "cli/slice_flags.h"
#include "cli/table_flags.h"
#include "format/toml.h"
#include "gate/fairness_tree.h"
#include "report/table.h"
#include "tables/scored_table.h"
#include "tables/table_reading.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

// What is asked beside the tree, and answered in any words.
constexpr struct {
  const char *key, *text;
} kWords[] = {{"harm", "Who could be harmed by a wrong decision, and how?"},
              {"stakeholders", "Who has a say in this: who was asked?"},
              {"groups", "Which columns name the groups, as sex or sex,race?"}};

struct ChooseRun {
  std::string answers, data;
  double max = 0.1;
  std::vector<std::string> groups;
  ScoredColumns scored;
  TableReading table;
  Results results;
};

TreeAnswers read_answers(const std::string& path) {
  const TomlDocument document(read_text(path), source_name(path), "answers");
  const toml::table* table = &document.root();
  if (const toml::node* inside = table->get("answers"); inside && inside->is_table())
    table = inside->as_table();
  std::vector<std::string> known;
  for (const auto& [key, text] : kWords) known.emplace_back(key);
  for (const TreeQuestion& question : tree_questions()) known.emplace_back(question.key);
  document.check_keys(*table, "question", known);
  TreeAnswers out;
  for (const auto& [key, node] : *table) {
    if (!node.is_string())
      document.fail("answers.type", node, cat(key.str(), " is answered with text, not ", toml_type(node)));
    out[std::string(key.str())] = node.as_string()->get();
  }
  return out;
}

std::string line_of(const std::string& question) {
  std::fputs(cat(question, "\n> ").c_str(), stderr);
  std::string out;
  if (!std::getline(std::cin, out))
    throw ValueError("fairness.answer", cat("no answer to: ", question.substr(0, question.find('\n'))),
                     "give all of them with --answers FILE");
  return out;
}
// The word of a choice, which may be said by its number.
std::string ask(const TreeQuestion& question) {
  std::string text(question.text);
  for (size_t i = 0; i < question.choices.size(); ++i)
    text += cat("\n  ", i + 1, "  ", question.choices[i].word, ": ", question.choices[i].text);
  const std::string said = line_of(text);
  for (size_t i = 0; i < question.choices.size(); ++i) {
    if (said == std::to_string(i + 1)) return std::string(question.choices[i].word);
  }
  return said;
}
TreeAnswers ask_all(const ChooseRun& run) {
  TreeAnswers out;
  for (const auto& [key, text] : kWords) {
    if (std::string_view(key) != "groups" || run.groups.empty()) out[key] = line_of(text);
  }
  for (TreePath path = follow(out); path.metric.empty(); path = follow(out)) {
    const TreeQuestion& open = *path.asked.back();
    out[std::string(open.key)] = ask(open);
  }
  return out;
}

// What the metric costs between the groups of one slicing of the data.
struct Priced {
  std::string slicing;
  std::vector<GroupRate> groups;
  std::optional<FairnessPrice> price;  // none where base rates may be the same
  bool measured = false;               // by scores, or of a usual model
};
Priced priced(std::string_view metric, const SlicingFigures& by, const Confusion& all, bool measured) {
  Priced out{.slicing = by.name(), .groups = {}, .price = {}, .measured = measured};
  const SliceMetric base_rate("prevalence");
  std::vector<const SliceFigures*> slices;
  for (const SliceFigures& slice : by.slices) {
    const Figure figure = base_rate(slice, 0);
    if (slice.slice.thin || !figure.value || *figure.value == 0 || *figure.value == 1) continue;
    slices.push_back(&slice);
    out.groups.push_back({slice.slice.name, slice.slice.rows, *figure.value});
  }
  if (out.groups.size() < 2) return out;
  const auto [low, high] = std::ranges::minmax_element(out.groups, {}, &GroupRate::base_rate);
  const auto slice = [&](auto group) -> const SliceFigures& {
    return *slices[static_cast<size_t>(group - out.groups.begin())];
  };
  const Figure gap = base_rate.difference(slice(high), slice(low), 0);
  if (gap.interval && gap.interval->low <= 0) return out;
  const ModelRates rates = measured ? model_rates(all) : usual_rates(*rate("prevalence")(all));
  out.price = price_of(metric, out.groups, rates);
  return out;
}

std::vector<Priced> prices(const ChooseRun& run, const ScoredTable& rows,
                           const std::vector<std::string>& groups, std::string_view metric) {
  const SliceFlags slicing{.slices = groups};
  const Assessment assessment = slicing.assess(rows, rows.missing);
  std::vector<Priced> out;
  for (const SlicingFigures& by : assessment.by)
    out.push_back(priced(metric, by, assessment.overall.at[0], !run.scored.score.empty()));
  return out;
}

std::string sentence(const Priced& priced) {
  if (!priced.price)
    return cat("base rates by ", priced.slicing,
               " may be the same: equal values of other metrics can go with it");
  return cat("base rates by ", priced.slicing, " differ: ", priced.price->sentence,
             priced.measured ? "" : " (rates of a usual model: there is no --score)");
}
std::string share_text(double share) { return share > 1 ? "impossible" : fixed(share, 3); }

// Comments hold one line each.
std::string comment(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  return cat("# ", text, "\n");
}
std::string gates_text(const ChooseRun& run, const TreeAnswers& answers, const TreePath& path,
                       const std::vector<std::string>& groups, const std::vector<Priced>& all,
                       const std::string& positive) {
  std::string out =
      comment("A gate of fairness, chosen by `espalier fairness choose`; docs/gates.md has all keys.");
  for (size_t i = 0; i < path.asked.size(); ++i)
    out += comment(cat(path.asked[i]->text, " ", path.because[i]->text, "."));
  for (const Priced& one : all) {
    out += "#\n" + comment(sentence(one) + ".");
    for (size_t i = 0; one.price && i < one.groups.size(); ++i)
      out += comment(cat("  ", one.groups[i].group, ": base rate ", fixed(one.groups[i].base_rate, 3), ", ",
                         one.price->what, " ", share_text(one.price->of_groups[i])));
  }
  if (!positive.empty())
    out += cat("\npositive = ", toml_quoted(positive), "  # the class that rates count\n");
  out += "\n[answers]\n";
  for (const auto& [key, answer] : answers) out += cat(key, " = ", toml_quoted(answer), "\n");
  for (const std::string& group : groups)
    out += cat("\n[[gates]]\nmetric = ", toml_quoted(std::string(path.metric)),
               "\nbetween = ", toml_quoted(name_in_list(group)), "\nmax = ", shortest(run.max),
               "\nleast_rows = 30\nthin = \"left-out\"\n");
  return out;
}

Json path_json(const TreeAnswers& answers, const TreePath& path, const std::vector<Priced>& all,
               const std::string& gates) {
  Json out = {{"metric", path.metric}, {"answers", answers}, {"prices", Json::array()}, {"gates", gates}};
  for (const Priced& one : all) {
    Json groups = Json::array();
    for (size_t i = 0; i < one.groups.size(); ++i)
      groups.push_back({{"group", one.groups[i].group},
                        {"rows", one.groups[i].rows},
                        {"base_rate", one.groups[i].base_rate},
                        {"follows", one.price ? Json(one.price->of_groups[i]) : Json()}});
    out["prices"].push_back({{"by", one.slicing},
                             {"conflict", one.price.has_value()},
                             {"sentence", sentence(one)},
                             {"what_follows", one.price ? Json(one.price->what) : Json()},
                             {"measured", one.measured},
                             {"groups", groups}});
  }
  return out;
}

std::string path_text(const TreePath& path, const std::vector<Priced>& all, const Terminal& terminal) {
  std::string out =
      cat("metric: ", terminal.paint(Ink::kBold, path.metric), ", ", rate(path.metric).formula(), "\n");
  for (const TreeChoice* choice : path.because) out += cat("  since ", choice->text, "\n");
  if (path.because.back()->word == "doubtful")
    out += "  labels that repeat old decisions hide errors: have some checked by people who see no group\n";
  for (const Priced& one : all) {
    out += cat("\n", sentence(one), "\n");
    if (!one.price) continue;
    Table table({"group", "rows", "base rate", one.price->what});
    for (size_t i = 0; i < one.groups.size(); ++i)
      table.row({one.groups[i].group, one.groups[i].rows, fixed(one.groups[i].base_rate, 3),
                 share_text(one.price->of_groups[i])});
    out += table.text(terminal);
  }
  return out;
}

// The columns in a list. Raises ValueError[fairness.groups] for a value.
std::vector<std::string> groups_in(const std::string& text) {
  for (const std::string& group : listed_parts(text)) {
    if (const auto value = named_part(group))
      throw ValueError("fairness.groups",
                       cat("groups are columns, all of whose values are compared, got \"", group, "\""),
                       cat("--slice ", shell_words({name_in_list(value->name)}),
                           ", or, of a column of this name, ", shell_words({"--slice", quoted_text(group)})));
  }
  return names_listed(text);
}

void choose(const ChooseRun& run) {
  run.results.keep({run.answers, run.data});
  TreeAnswers answers = run.answers.empty() ? ask_all(run) : read_answers(run.answers);
  const TreePath path = follow(answers);
  if (path.metric.empty()) {
    std::string known;
    for (const TreeChoice& choice : path.asked.back()->choices)
      known += cat(known.empty() ? "" : ", ", choice.word);
    throw ValueError("fairness.answer",
                     cat(source_name(run.answers), " lacks an answer to ", path.asked.back()->key, ", ",
                         path.asked.back()->text, " One of ", known));
  }
  if (run.groups.empty() && answers["groups"].empty())
    throw ValueError("fairness.groups", "a gate of fairness is between groups, and none are named",
                     "--slice COLUMN, or groups = \"COLUMN\" among the answers");
  const std::vector<std::string> groups = run.groups.empty() ? groups_in(answers["groups"]) : run.groups;
  answers["groups"] = names_in_list(groups);
  std::optional<ScoredTable> rows;
  if (!run.data.empty())
    rows = read_scores(run.data, run.table, run.scored, run.scored.missing.all(), run.results);
  const std::vector<Priced> all = rows ? prices(run, *rows, groups, path.metric) : std::vector<Priced>();
  const std::string gates =
      gates_text(run, answers, path, groups, all, rows ? rows->positive.value : run.scored.positive);
  if (run.results.json)
    return run.results.write_json("fairness choose", path_json(answers, path, all, gates));
  const bool to_file = run.results.out != "-";
  const std::string said = path_text(path, all, Terminal::of(to_file ? STDOUT_FILENO : STDERR_FILENO));
  run.results.write(gates);
  if (to_file)
    Results().write(said);
  else
    std::fputs(said.c_str(), stderr);
  std::vector<std::string> next = {"check"};
  const auto add = [&](const std::vector<std::string>& words) {
    next.insert(next.end(), words.begin(), words.end());
  };
  if (run.data.empty() || run.scored.score.empty()) {
    add({"MODEL", run.data.empty() ? "YOUR_ROWS.csv" : run.data});
  } else {
    add({"--scores", run.data});
    add(run.scored.words());
  }
  add(run.table.words());
  next.insert(next.end(), {"--gates", run.results.out});
  run.results.suggest_with_file(next, "gates.toml");
}

constexpr const char* kFairnessExamples =
    R"(The questions follow the fairness tree of Aequitas; docs/gates.md shows the
metric that each answer leads to. They are asked on standard error, or answered
by --answers.

Examples:
  espalier fairness choose --slice sex --out gates.toml
      Ask the questions, and write a gate that keeps the answers.
  espalier fairness choose --answers answers.toml --data scores.csv --label y \
      --score p --slice sex --out gates.toml
      Report trade-offs: which other metrics are forced apart if the base rates
      of the groups differ.

Exit codes: 0 done, 2 usage error or bad input.)";

}  // namespace

void add_fairness(CLI::App& app) {
  CLI::App* fairness = app.add_subcommand("fairness", "Choose a fairness metric and write it as a gate");
  fairness->require_subcommand(1);
  CLI::App* verb = fairness->add_subcommand(
      "choose", "Choose a fairness metric by answering questions, and write its gate");
  auto run = std::make_shared<ChooseRun>();
  verb->add_option("--answers", run->answers,
                   "TOML file of answers, or an earlier gates file that keeps them; no questions are asked")
      ->option_text("FILE");
  verb->add_option_function<std::string>(
          "--slice", [run](const std::string& text) { run->groups = groups_in(text); },
          "Sensitive columns, comma-separated: one gate per column")
      ->option_text("COLUMN,...");
  verb->add_option("--max", run->max, "Largest gap allowed between groups")
      ->check(number_from(0.0, 1.0))
      ->option_text("X [0.1]");
  CLI::Option* data = verb->add_option("--data", run->data,
                                       "Table of rows whose base rates are compared (- for standard input)");
  data->option_text("FILE");
  verb->option_defaults()->group("Columns of --data");
  add_scored_columns(*verb, run->scored);
  verb->option_defaults()->group("Table format");
  add_table_reading(*verb, run->table);
  verb->option_defaults()->group("Output");
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  verb->footer(kFairnessExamples);
  verb->callback([run] {
    if (!run->data.empty() && run->scored.label.empty()) throw CLI::RequiredError("--label");
    ScoredColumns of_rows = run->scored;
    of_rows.positive.clear();  // the gates keep it
    std::vector<std::string> flags = of_rows.words();
    if (flags.empty()) flags = run->table.words();
    if (run->data.empty() && !flags.empty()) throw CLI::RequiresError(flags[0], "--data");
    choose(*run);
  });
}

}  // namespace espalier::cli
