// espalier graph: a program as this build understands it.
#include <cstdio>
#include <filesystem>

#include "cli/files.h"
#include "cli/verbs.h"
#include "passes/inline_composites.h"
#include "text/text.h"

namespace espalier::cli {
namespace {

struct Options {
  std::string program;
  bool dot = false, text = false, primitives = false;
};

void graph(const Options& options) {
  std::shared_ptr<const Graph> program =
      parse_program(read_text(options.program), std::filesystem::path(options.program).filename().string());
  if (options.primitives) program = inline_composites(*program);
  if (options.dot || options.text) {
    const std::string text = options.dot ? to_dot(*program) : print_program(*program);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::printf("%s: %zu nodes\n", program->name().c_str(), program->nodes().size());
  for (const GraphInput& input : program->inputs())
    std::printf("  input  %s %s\n", input.name.c_str(), to_string(program->type(input.value)).c_str());
  for (const GraphOutput& output : program->outputs())
    std::printf("  output %s %s\n", output.name.c_str(), to_string(program->type(output.value)).c_str());
  std::puts("next: --text for StableHLO, --dot for Graphviz");
}

}  // namespace

void add_graph(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("graph", "Show a StableHLO program as it is understood");
  verb->add_option("program", options->program, "Text of a module")->required();
  CLI::Option* dot = verb->add_flag("--dot", options->dot, "Print it for Graphviz");
  verb->add_flag("--text", options->text, "Print it as StableHLO")->excludes(dot);
  verb->add_flag("--inline-composites", options->primitives,
                 "First replace composites by StableHLO's own ops");
  verb->callback([options] { graph(*options); });
}

}  // namespace espalier::cli
