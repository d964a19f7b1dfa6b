#include "text/c.h"

#include <algorithm>
#include <cctype>

#include "text/c_forms.h"
#include "text/c_functions.h"
#include "text/c_plan.h"
#include "text/c_steps.h"
#include "text/c_types.h"

namespace espalier {
namespace {

using namespace c_text;

void check(const Graph& graph, const CExportOptions& options) {
  const std::string& name = options.name;
  const auto allowed = [](unsigned char c) { return c == '_' || (c < 128 && std::isalnum(c)); };
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ||
      !std::all_of(name.begin(), name.end(), allowed))
    throw ValueError("c.name", cat("a name in C is letters, digits and _, and begins with no digit; got \"",
                                   comment_text(name), "\""));
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind == OutputKind::kUpdate)
      throw UnsupportedError("c.update", cat("the graph gives the variable ", output.name,
                                             " a new value, which a constant array cannot take"));
  }
}

std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// An array of the caller's.
struct Parameter {
  std::string name, given;  // in C, and in the graph
  TensorType type;
  bool result = false;

  std::string declaration() const { return cat(result ? "" : "const ", c_type(type.dtype), " *", name); }
};

std::vector<Parameter> parameters_of(const Graph& graph) {
  std::vector<Parameter> out;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const GraphInput& input = graph.inputs()[i];
    if (input.kind != InputKind::kVariable)
      out.push_back({input_name(graph, i), input.name, graph.type(input.value)});
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    out.push_back({output_name(graph, i), output.name, graph.type(output.value), true});
  }
  return out;
}

class File {
 public:
  File(const Graph& graph, const std::map<std::string, Literal>& variables, const CExportOptions& options)
      : options_(options),
        graph_(without_halves(*with_c_forms(graph))),
        parameters_(parameters_of(*graph_)),
        plan_(make_plan(graph_, wide(graph, variables), options.caller_scratch ? "scratch->" : "scratch.")) {}

  std::string header() const {
    const std::string guard = in_capitals(options_.name) + "_H";
    return cat(comment(), "#ifndef ", guard, "\n#define ", guard, "\n\n#include <stdint.h>\n\n",
               declarations(), "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n", about(), prototype(),
               ";\n#ifdef __cplusplus\n}\n#endif\n\n", "#endif\n");
  }

  std::string source() const {
    std::string steps;
    std::set<std::string> called;
    for (const Step& step : plan_.steps) steps += print_step(plan_, step, called);
    for (const size_t output : plan_.copies) steps += print_copy(plan_, output, called);
    std::string out = cat(comment(), "#include <stddef.h>\n#include <stdint.h>\n\n", declarations(), "\n",
                          about(), prototype(), ";\n\n");
    for (const Array& one : plan_.arrays)
      out += array(one.name, one.data.type().dtype, one.data.expanded().raw(), one.data.type().elements());
    if (plan_.scratch_bytes && !options_.caller_scratch)
      out += cat("\nstatic ", options_.name, "_scratch scratch;\n");
    out += cat("\n", functions(called), prototype(), " {\n", null_check(), steps, "  return 0;\n}\n");
    return out;
  }

 private:
  // Values as the graph without 16-bit floats takes them; those of another type are not touched.
  static std::map<std::string, Literal> wide(const Graph& graph, std::map<std::string, Literal> variables) {
    for (const GraphInput& input : graph.inputs()) {
      const auto found = variables.find(input.name);
      if (found != variables.end() && found->second.type() == graph.type(input.value))
        found->second = without_halves(found->second);
    }
    return variables;
  }

  std::string comment() const {
    std::string out = cat("/* ", options_.name, ": a model as plain C99.\n");
    for (const Parameter& parameter : parameters_)
      out += cat(" * ", parameter.name, ": ", parameter.type, " \"", comment_text(parameter.given), "\"\n");
    for (const std::string& note : options_.notes) out += cat(" * ", comment_text(note), "\n");
    return out + " */\n";
  }

  std::string declarations() const {
    const std::string capitals = in_capitals(options_.name);
    std::string out = "/* Elements of each array, and bytes of scratch memory. */\n";
    for (const Parameter& parameter : parameters_)
      out += cat("#define ", capitals, "_", in_capitals(parameter.name), "_SIZE ", parameter.type.elements(),
                 "\n");
    out += cat("#define ", capitals, "_SCRATCH_SIZE ", plan_.scratch_bytes, "\n");
    if (!plan_.scratch_bytes && !options_.caller_scratch) return out;
    out += "\ntypedef union {\n";
    if (!plan_.scratch_bytes) out += "  uint8_t unused;\n";
    for (const DType dtype : plan_.scratch_dtypes)
      out +=
          cat("  ", c_type(dtype), " ", member_of(dtype), "[", plan_.scratch_bytes / size_of(dtype), "];\n");
    return out + cat("} ", options_.name, "_scratch;\n");
  }

  std::string prototype() const {
    std::string arguments;
    const auto add = [&](const std::string& one) { arguments += (arguments.empty() ? "" : ", ") + one; };
    for (const Parameter& parameter : parameters_) add(parameter.declaration());
    if (options_.caller_scratch) add(options_.name + "_scratch *scratch");
    return cat("int ", options_.name, "_predict(", arguments.empty() ? "void" : arguments, ")");
  }

  std::string about() const {
    return cat("/* Gives 0; 1, and computes nothing, where an argument is NULL.",
               plan_.scratch_bytes && !options_.caller_scratch
                   ? " One call at a time: its scratch memory is static."
                   : " Any number of threads may call it at once, each with arrays of its own.",
               " */\n");
  }

  std::string null_check() const {
    std::string condition;
    const auto add = [&](const std::string& name) {
      condition += cat(condition.empty() ? "" : " || ", name, " == NULL");
    };
    for (const Parameter& parameter : parameters_) add(parameter.name);
    if (options_.caller_scratch) add("scratch");
    return condition.empty() ? "" : cat("  if (", condition, ") return 1;\n");
  }

  const CExportOptions& options_;
  std::shared_ptr<const Graph> graph_;
  std::vector<Parameter> parameters_;
  Plan plan_;
};

}  // namespace

CExport print_c(const Graph& graph, const std::map<std::string, Literal>& variables,
                const CExportOptions& options) {
  check(graph, options);
  const File file(graph, variables, options);
  return {file.source(), file.header()};
}

}  // namespace espalier
