// The verbs of the command, one file each. A verb adds its subcommand; its callback does the work.
#pragma once

#include <string_view>

#include <CLI/CLI.hpp>

namespace espalier::cli {

// Exit codes of every verb: 0 done or pass, 1 a check said no, 2 usage error or bad input, 3 undecided, 4
// internal error. A callback that ends with another code than 0 throws Exit; espalier::Error becomes 2
// (InternalError 4). 130: Ctrl-C ended it. `launch` gives those of its program.
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
void add_devices(CLI::App& app);
void add_cache(CLI::App& app);
void add_compile(CLI::App& app);
void add_agent(CLI::App& app);
void add_bench(CLI::App& app);
void add_data(CLI::App& app);

struct Verb {
  std::string_view name;
  AddVerb add;
};
inline constexpr Verb kVerbs[] = {{"quickstart", add_quickstart},
                                  {"train", add_train},
                                  {"evaluate", add_evaluate},
                                  {"check", add_check},
                                  {"fairness", add_fairness},
                                  {"predict", add_predict},
                                  {"threshold", add_threshold},
                                  {"export", add_export},
                                  {"quantize", add_quantize},
                                  {"import", add_import},
                                  {"launch", add_launch},
                                  {"doctor", add_doctor},
                                  {"verify-parity", add_verify_parity},
                                  {"devices", add_devices},
                                  {"cache", add_cache},
                                  {"compile", add_compile},
                                  {"run", add_run},
                                  {"graph", add_graph},
                                  {"data", add_data},
                                  {"bench", add_bench},
                                  {"info", add_info},
                                  {"lineage", add_lineage},
                                  {"agent", add_agent}};

}  // namespace espalier::cli
