#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/isa.h"
#include "cli/info_model.h"
#include "espalier/threads.h"
#include "kernels/kernel.h"
#include "kernels/tile.h"
#include "ops/registry.h"
#include "ops/support.h"
#include "report/table.h"
#include "train/saved_files.h"

namespace espalier::cli {
namespace {

constexpr DType dtype_at(int i) { return static_cast<DType>(i); }

// How an op runs on a dtype it takes: by a kernel of its own, in fused tiles, or by its reference body.
const char* speed(const OpDef& op, DType dtype) {
  if (has_kernel(op, dtype)) return "fast";
  const std::shared_ptr<Attributes> attributes = op.attributes ? op.attributes() : nullptr;
  const DType inputs[] = {dtype, dtype, dtype};
  const DType result = &op == &op_compare ? DType::kBool : dtype;
  return op.fusion == Fusion::kElementwise && find_tile(op, attributes.get(), inputs, result) ? "fast"
                                                                                              : "ref";
}

const char* derived(const OpDef& op, bool rule) { return rule ? "rule" : op.decompose ? "parts" : "-"; }
const char* gradient(const OpDef& op) { return op.no_gradient ? "zero" : derived(op, op.gradient); }
const char* batching(const OpDef& op) { return derived(op, op.batch); }
const char* kind(const OpDef& op) { return op.composite ? "composite" : "primitive"; }

// Up to the first ';' or the first '.' that ends a sentence or stands before a constraint.
std::string meaning(const OpDef& op) {
  const std::string_view doc = op.doc ? op.doc : "";
  size_t end = std::min(doc.find("; "), doc.size());
  for (size_t i = 0; i < end; ++i) {
    const std::string_view rest = doc.substr(i);
    const bool constraint = rest.size() > 3 && rest[2] == 'c' && std::isdigit(rest[3]);
    if (rest == "." || (rest.starts_with(". ") && rest.size() > 2 && (std::isupper(rest[2]) || constraint)))
      end = i;
  }
  return std::string(doc.substr(0, end));
}

bool known(const DTypeFlags& taken) { return std::count(taken.begin(), taken.end(), true) > 0; }

// One cell for a family of dtypes: "-" when none is taken, "ref" when some kernel is missing, "?" when the
// rule could not be asked.
template <class Member>
std::string cell(const OpDef& op, const DTypeFlags& taken, Member member) {
  bool any = false, fast = true;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (!member(dtype_at(i)) || !taken[static_cast<size_t>(i)]) continue;
    any = true;
    fast = fast && std::string_view(speed(op, dtype_at(i))) == "fast";
  }
  if (!known(taken)) return "?";
  return !any ? "-" : fast ? "fast" : "ref";
}

std::string ops_table(const Terminal& terminal) {
  // The widths of the table without its meanings, and of the kinds in it; a narrow terminal gets neither.
  constexpr int kOtherColumns = 93, kLeast = 20;
  const bool meanings = !terminal.interactive || terminal.columns >= kOtherColumns + kLeast;
  const bool kinds = !terminal.interactive || terminal.columns >= kOtherColumns;
  const int width = terminal.interactive ? terminal.columns - kOtherColumns : 72;
  std::vector<std::string> head{"op",   "kind",  "f16",  "bf16",     "f32",      "f64",
                                "ints", "uints", "bool", "gradient", "batching", "meaning"};
  const auto shown = [&](auto row) {
    if (!meanings) row.pop_back();
    if (!kinds) row.erase(row.begin() + 1);
    return row;
  };
  Table table(shown(std::move(head)));
  for (const OpDef* op : all_ops()) {
    const DTypeFlags taken = supported_dtypes(*op);
    const auto one = [&](DType dtype) { return cell(*op, taken, [=](DType d) { return d == dtype; }); };
    table.row(shown(std::vector<TableCell>{
        op->name, kind(*op), one(DType::kF16), one(DType::kBF16), one(DType::kF32), one(DType::kF64),
        cell(*op, taken, is_signed_integer), cell(*op, taken, is_unsigned_integer), one(DType::kBool),
        gradient(*op), batching(*op), meanings ? fit_width(meaning(*op), width) : ""}));
  }
  return table.text(terminal) +
         "\nfast: a kernel or fused tiles  ref: the reference body  -: refused by the op's rule\n"
         "rule: a rule of its own  parts: by its decomposition  zero: no gradient, by definition\n"
         "all about one: info NAME; a wider terminal shows the meanings\n";
}

nlohmann::ordered_json ops_json(std::span<const OpDef* const> listed) {
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (const OpDef* op : listed) {
    const DTypeFlags taken = supported_dtypes(*op);
    nlohmann::ordered_json dtypes = nlohmann::ordered_json::object();
    for (int i = 0; i < kDTypeCount; ++i)
      dtypes[std::string(name(dtype_at(i)))] = taken[static_cast<size_t>(i)] ? speed(*op, dtype_at(i)) : "-";
    ops.push_back({{"op", op->name},
                   {"kind", kind(*op)},
                   {"dtypes", dtypes},
                   {"gradient", gradient(*op)},
                   {"batching", batching(*op)},
                   {"doc", op->doc ? op->doc : ""}});
  }
  return ops;
}

std::vector<const OpDef*> named_ops(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const OpDef* op : all_ops()) known.emplace_back(op->name);
  std::vector<const OpDef*> out;
  for (const std::string& wanted : names) {
    const OpDef* op = find_op(wanted);
    if (!op) {
      const std::vector<std::string> near = nearest(wanted, known);
      for (const std::string& run : {wanted, wanted + ".checkpoint"}) {
        if (run.ends_with(".checkpoint") && posix_env().exists(run))
          throw ValueError("info.op", cat("\"", run, "\" is a run that has not ended"),
                           "the command that began it goes on with it, given --resume");
      }
      if (names.size() > 1 && saved_files::holds_model(wanted))
        throw ValueError("info.op",
                         cat("\"", wanted, "\" is a saved model, and of those one is shown at a time"),
                         command({"info", wanted}));
      const std::string model = saved_files::near_models(wanted);
      throw ValueError("info.op",
                       cat("\"", wanted,
                           "\" is neither the folder of a model nor an op; layers, losses and optimizers "
                           "stand in the headers, and in docs/plan.md"),
                       !model.empty() ? model
                       : near.empty() ? cat(command({"info", "--ops"}), " lists the ops")
                                      : cat("did you mean \"", near[0], "\"?"));
    }
    out.push_back(op);
  }
  return out;
}

// Everything about one op.
std::string description(const OpDef& op) {
  const DTypeFlags taken = supported_dtypes(op);
  std::string fast, slow;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (!taken[static_cast<size_t>(i)]) continue;
    (std::string_view(speed(op, dtype_at(i))) == "fast" ? fast : slow) += cat(" ", dtype_at(i));
  }
  std::string out = cat(op.name, " (", kind(op), ")\n  ", op.doc ? op.doc : "", "\n");
  if (!fast.empty()) out += cat("  fast kernel or tiles:", fast, "\n");
  if (!slow.empty()) out += cat("  reference body:", slow, "\n");
  out += cat("  gradient: ", gradient(op), op.no_gradient ? cat(" (", op.no_gradient, ")") : "",
             "  batching: ", batching(op), "\n");
  return out;
}

}  // namespace

void add_info(CLI::App& app) {
  struct Options {
    bool ops = false;
    std::vector<std::string> names;
    Results results;
  };
  CLI::App* verb =
      app.add_subcommand("info", "Show the ops and instruction set of this build, or describe a saved model");
  auto options = std::make_shared<Options>();
  verb->add_flag("--ops", options->ops, "List every op: dtypes, gradient, batching, meaning");
  verb->add_option("names", options->names,
                   "Ops to describe (meaning, constraints c1, c2, ..., dtypes), or a model folder (default: "
                   "print the number of ops, the instruction set and the number of threads)")
      ->option_text("OP ...|FOLDER");
  options->results.add_json(*verb);
  options->results.add_out(*verb);
  verb->footer(
      "Examples:\n"
      "  espalier info model/\n"
      "  espalier info dot_general\n"
      "\n"
      "Exit codes: 0 done, 2 usage error or bad input.");
  verb->callback([options] {
    const Results& results = options->results;
    const std::string_view isa = name(current_isa());
    if (options->names.size() == 1 && !find_op(options->names[0]) &&
        std::filesystem::is_directory(options->names[0]))
      return info_model(options->names[0], results);
    if (!options->names.empty()) {
      const std::vector<const OpDef*> ops = named_ops(options->names);
      if (results.json) return results.write_json("info", {{"ops", ops_json(ops)}});
      std::string text;
      for (const OpDef* op : ops) text += description(*op);
      results.write(text);
      return results.suggest({"info", "--ops"});
    }
    if (results.json) {
      nlohmann::ordered_json out = {{"instruction_set", isa},
                                    {"lacking", lacking_isa()},
                                    {"threads", threads()},
                                    {"op_count", all_ops().size()}};
      if (options->ops) out["ops"] = ops_json(all_ops());
      return results.write_json("info", out);
    }
    if (options->ops) {
      const Terminal terminal = results.terminal();
      results.write(ops_table(terminal));
      return results.suggest({"info", "--ops", "--json"});
    }
    const std::string lacking = lacking_isa();
    results.write(cat("ops              ", all_ops().size(), "\ninstruction set  ", isa,
                      lacking.empty() ? "" : cat(": ", lacking), "\nthreads          ", threads(), "\n"));
    results.suggest({"info", "--ops"});
  });
}

}  // namespace espalier::cli
