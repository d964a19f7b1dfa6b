// The verbs of the command, one file each. A verb adds its subcommand; its callback does the work.
#pragma once

#include <CLI/CLI.hpp>

namespace espalier::cli {

// Exit codes of every verb: 0 done or pass, 1 a check said no, 2 wrong use or bad input, 3 undecided, 4 our
// fault. A callback that ends with another code than 0 throws Exit; espalier::Error becomes 2 (InternalError
// 4). 130: Ctrl-C ended it. `launch` gives those of its program.
struct Exit {
  int code;
};

// Every add_<verb>, in the order of `espalier --help`.
using AddVerb = void (*)(CLI::App& app);
void add_quickstart(CLI::App& app);
void add_train(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_check(CLI::App& app);
void add_fairness(CLI::App& app);
void add_predict(CLI::App& app);
void add_threshold(CLI::App& app);
void add_export(CLI::App& app);
void add_quantize(CLI::App& app);
void add_import(CLI::App& app);
void add_info(CLI::App& app);
void add_lineage(CLI::App& app);
void add_graph(CLI::App& app);
void add_verify_parity(CLI::App& app);
void add_run(CLI::App& app);
void add_launch(CLI::App& app);
void add_doctor(CLI::App& app);
void add_agent(CLI::App& app);
void add_bench(CLI::App& app);
void add_data(CLI::App& app);

inline constexpr AddVerb kVerbs[] = {
    add_quickstart, add_train,    add_evaluate, add_check,  add_fairness, add_predict,       add_threshold,
    add_export,     add_quantize, add_import,   add_launch, add_doctor,   add_verify_parity, add_run,
    add_graph,      add_data,     add_bench,    add_info,   add_lineage,  add_agent};

}  // namespace espalier::cli
