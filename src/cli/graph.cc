// espalier graph: a program as this build understands it.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/common.h"
#include "cli/show_step.h"
#include "cli/strategy_flags.h"
#include "espalier/error.h"
#include "passes/inline_composites.h"
#include "runtime/lowering.h"
#include "text/text.h"

namespace espalier::cli {
namespace {

struct GraphOptions {
  std::string program, after;
  DistributePlan distribute;
  Results results;
  bool dot = false, text = false, primitives = false;
  const CLI::App* verb = nullptr;
};

nlohmann::ordered_json values(const Graph& graph, const auto& list) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const auto& entry : list)
    out.push_back({{"name", entry.name}, {"type", to_string(graph.type(entry.value))}});
  return out;
}

// The program's text, with "..." for constants that are long to read.
std::string short_text(const Graph& program) {
  constexpr size_t kMost = 64;
  const std::string text = print_program(program), begin = "dense<";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t from = text.find(begin, at);
    from = from == text.npos ? text.size() : from + begin.size();
    out.append(text, at, from - at);
    at = from;
    const size_t end = text.find('>', from);
    if (end == text.npos || end - from <= kMost) continue;
    out += "...";
    at = end;
  }
  return out;
}

// The program as passes and lowerings leave it, up to the one called `after`.
std::shared_ptr<const Graph> passed(std::shared_ptr<const Graph> program, const std::string& after) {
  const std::vector<std::string> names = passes_and_lowerings();
  if (std::ranges::find(names, after) == names.end()) throw_unknown("graph.after", "pass", after, names);
  return graph_after(std::move(program), after);
}

// The text of a plan's step.
std::string step_after(const GraphOptions& options) {
  try {
    return step_of_plan(options.program, options.after, [&](TrainPlan& plan) {
      take_strategy(*options.verb, options.distribute, plan.distribute);
    });
  } catch (const ValueError& error) {
    if (error.rule() != "function.after" || options.after != "strategy") throw;
    throw ValueError("graph.strategy", "the step of one device has nothing to combine",
                     "--strategy mirrored --devices 2");
  }
}

void graph(const GraphOptions& options) {
  std::shared_ptr<const Graph> program;
  if (options.program.ends_with(".toml")) {
    program = parse_program(step_after(options), options.program);
  } else {
    if (options.distribute != DistributePlan())
      throw ValueError("graph.strategy", cat(source_name(options.program),
                                             " is a program, and --strategy and --devices are for plans"));
    program = read_program(options.program);
    if (!options.after.empty()) program = passed(program, options.after);
  }
  if (options.primitives) program = inline_composites(*program);
  if (options.dot || options.text)
    return options.results.write(options.dot ? to_dot(*program) : print_program(*program));
  if (options.results.json) {
    return options.results.write_json("graph", {{"name", program->name()},
                                                {"nodes", program->nodes().size()},
                                                {"inputs", values(*program, program->inputs())},
                                                {"outputs", values(*program, program->outputs())}});
  }
  std::string text = cat(program->name(), ": ", program->nodes().size(), " nodes\n");
  for (const GraphInput& input : program->inputs())
    text += cat("  input  ", input.name, " ", program->type(input.value), "\n");
  for (const GraphOutput& output : program->outputs())
    text += cat("  output ", output.name, " ", program->type(output.value), "\n");
  options.results.write(cat(text, "\n", short_text(*program)));
  options.results.suggest({"graph", options.program, "--dot"});
}

}  // namespace

void add_graph(CLI::App& app) {
  auto options = std::make_shared<GraphOptions>();
  CLI::App* verb = app.add_subcommand("graph", "Print a StableHLO program, or the training step of a plan");
  options->verb = verb;
  verb->add_option("program", options->program,
                   "StableHLO module in generic form (- for standard input), or a plan (.toml), whose first "
                   "training step is traced and not run")
      ->option_text("FILE|PLAN")
      ->required();
  verb->add_option(
          "--after", options->after,
          "Print the program after this pass: fold, simplify, swap_dot, cse or dce; or, as this CPU runs it, "
          "after decompose (composites without code of their own) or integer_products (products of 8-bit "
          "integers in f32); for a plan also after this rewrite: trace (the forward pass), add_gradients, "
          "widen_gradients, strategy (several devices), fold_observations, update, check_numerics or "
          "keep_results (default: a program as it is, the step of a plan after all rewrites)")
      ->option_text("NAME");
  add_strategy(*verb, options->distribute);
  CLI::Option* dot = verb->add_flag("--dot", options->dot,
                                    "Print the graph in the DOT language of Graphviz (not with --text)");
  verb->add_flag("--text", options->text,
                 "Print StableHLO text alone, with every constant in full (default: a summary of inputs and "
                 "outputs, and the "
                 "text with long constants as ...)")
      ->excludes(dot);
  verb->add_flag("--inline-composites", options->primitives,
                 "Replace composites by StableHLO ops before printing");
  options->results.add_json(*verb);
  options->results.add_out(*verb);
  verb->footer(
      "Examples:\n"
      "  espalier graph program.mlir\n"
      "  espalier graph plan.toml --after trace\n"
      "  espalier graph program.mlir --dot | dot -Tsvg > program.svg\n"
      "\n"
      "Exit codes: 0 done, 2 usage error or bad input.");
  verb->callback([options] { graph(*options); });
}

}  // namespace espalier::cli
