#include <algorithm>
#include <unordered_map>

#include "ir/builder.h"
#include "ops/registry.h"
#include "text/dense.h"
#include "text/fields.h"
#include "text/regions.h"
#include "text/text.h"

namespace espalier {
namespace text {
namespace {

using Names = std::vector<std::string>;

std::string symbol(std::string_view name) {
  bool plain = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
  for (const char c : name)
    plain &= std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
  return plain ? cat("@", name) : cat("@", quote(name));
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}
  std::string program(const Graph& graph) {
    out_ = cat("module ", symbol(graph.name()), " {\n");
    function(graph, "main", true);
    for (size_t i = 0; i < pending_.size(); ++i) {
      const auto [name, body] = pending_[i];
      function(*body, name, false);
    }
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  // A type interned by a graph that lives as long as the printer works has one address.
  const std::string& type(const TensorType& type) {
    std::string& text = types_[&type];
    if (text.empty()) text = type_text(type);
    return text;
  }

  void function(const Graph& graph, const std::string& name, bool is_main) {
    next_ = 0;
    Names names(graph.value_count());
    out_ += cat("  func.func ", is_main ? "public " : "private ", symbol(name), "(");
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const GraphInput& input = graph.inputs()[i];
      names[input.value] = cat("%arg", i);
      out_ += cat(i ? ", " : "", names[input.value], ": ", type(graph.type(input.value)));
      if (!is_main) continue;
      const char* key = input.kind == InputKind::kArgument   ? "name"
                        : input.kind == InputKind::kVariable ? "variable"
                                                             : "derived";
      out_ += cat(" {espalier.", key, " = ", quote(input.name));
      if (const auto alias = std::ranges::find(options_.aliases, i, &Alias::input);
          alias != options_.aliases.end())
        out_ += cat(", tf.aliasing_output = ", alias->output, " : i32");
      out_ += "}";
    }
    out_ += ")";
    if (!graph.outputs().empty()) out_ += " -> (";
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const GraphOutput& output = graph.outputs()[i];
      out_ += cat(i ? ", " : "", type(graph.type(output.value)));
      if (!is_main) continue;
      out_ += cat(" {espalier.", output.kind == OutputKind::kResult ? "name" : "update", " = ",
                  quote(output.name), "}");
    }
    out_ += graph.outputs().empty() ? " {\n" : ") {\n";
    body(graph, names, 2, "func.return");
    out_ += "  }\n";
  }

  void body(const Graph& graph, Names& names, size_t depth, const char* terminator) {
    for (const Node& node : graph.nodes()) print(graph, node, names, depth);
    std::vector<ValueId> results;
    for (const GraphOutput& output : graph.outputs()) results.push_back(output.value);
    indent(depth);
    out_ += cat("\"", terminator, "\"(");
    operands(names, results);
    out_ += ") : ";
    types(graph, results, false);
    out_ += " -> ()\n";
  }

  void indent(size_t depth) { out_.append(2 * depth, ' '); }
  void operands(const Names& names, std::span<const ValueId> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i) out_ += ", ";
      out_ += names[values[i]];
    }
  }
  void types(const Graph& graph, std::span<const ValueId> values, bool bare_single) {
    const bool bare = bare_single && values.size() == 1;
    if (!bare) out_ += '(';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i) out_ += ", ";
      out_ += type(graph.type(values[i]));
    }
    if (!bare) out_ += ')';
  }

  void print(const Graph& graph, const Node& node, Names& names, size_t depth) {
    const auto all = graph.inputs(node);
    const auto regions = graph.regions(node);
    const bool composite = node.op->composite;
    const size_t shown = composite || regions.empty()
                             ? all.size()
                             : explicit_inputs(node.op->name, all.size(), node.result_count);
    const auto inputs = all.first(shown);
    std::vector<ValueId> results(node.result_count);
    for (uint32_t i = 0; i < node.result_count; ++i) results[i] = node.first_result + i;

    indent(depth);
    const std::string name = cat("%", next_);
    if (results.size() == 1) names[results[0]] = name;
    for (size_t i = 0; results.size() > 1 && i < results.size(); ++i) names[results[i]] = cat(name, "#", i);
    if (!results.empty()) {
      ++next_;
      out_ += results.size() == 1 ? cat(name, " = ") : cat(name, ":", results.size(), " = ");
    }
    out_ += '"';
    out_ += composite ? "stablehlo.composite" : cat("stablehlo.", node.op->name);
    out_ += "\"(";
    operands(names, inputs);
    out_ += ')';
    std::string attributes;
    if (composite) {
      attributes = composite_text(graph, node);
    } else {
      attributes = attributes_text(*node.op, node.attributes);
      const bool product = node.op == &op_dot_general || node.op == &op_convolution;
      if (product && !options_.precision.empty() && is_float(graph.type(all[0]).dtype)) {
        const std::string of_each = cat("#stablehlo<precision ", options_.precision, ">");
        attributes.insert(1, cat("precision_config = [", of_each, ", ", of_each, "], "));
      }
      const std::string kept = print_regions(graph, node, names, depth, shown);
      if (!kept.empty())
        attributes = attributes.empty() ? cat("{", kept, "}") : cat("{", kept, ", ", attributes.substr(1));
    }
    if (!attributes.empty()) {
      out_ += ' ';
      out_ += attributes;
    }
    out_ += " : ";
    types(graph, inputs, false);
    out_ += " -> ";
    types(graph, results, true);
    out_ += '\n';
  }

  // The regions, and what words say in place of regions. Returns attributes that keep a region from being
  // read as a word.
  std::string print_regions(const Graph& graph, const Node& node, const Names& names, size_t depth,
                            size_t shown) {
    const auto captured = graph.inputs(node).subspan(shown);
    const auto regions = graph.regions(node);
    bool first = true;
    size_t next_region = 0;
    std::string kept;
    if (node.attributes) {
      for (const RegionWord& word : region_words(*node.attributes)) {
        if (word.word == "region" && next_region < regions.size()) {
          const Graph& region = *regions[next_region++];
          if (captured.empty() && region_word(node.op->name, region, word.words) >= 0)
            kept += cat(kept.empty() ? "" : ", ", "espalier.", word.field, " = \"region\"");
          print_region(region, captured, names, depth, first);
        } else {
          words_.push_back(region_of_word(graph, node, word));
          print_region(*words_.back(), {}, names, depth, first);
        }
      }
    }
    for (; next_region < regions.size(); ++next_region)
      print_region(*regions[next_region], captured, names, depth, first);
    if (!first) out_ += ')';
    return kept;
  }

  GraphPtr region_of_word(const Graph& graph, const Node& node, const RegionWord& word) {
    std::vector<TensorType> elements;
    for (uint32_t i = 0; i < node.result_count; ++i)
      elements.push_back({graph.type(node.first_result + i).dtype, {}});
    GraphPtr region = word_region(node.op->name, word.word, elements);
    if (!region)
      throw InternalError(cat(node.op->name, " with ", word.field, " = ", word.word, " has no text"));
    return region;
  }

  void print_region(const Graph& region, std::span<const ValueId> captured, const Names& names, size_t depth,
                    bool& first) {
    if (region.inputs().size() < captured.size())
      throw InternalError("a region that does not take all captures");
    const size_t declared = region.inputs().size() - captured.size();
    Names inner(region.value_count());
    std::string arguments;
    for (size_t i = 0; i < declared; ++i) {
      const ValueId value = region.inputs()[i].value;
      inner[value] = cat("%arg", next_, ".", i);
      arguments += cat(i ? ", " : "", inner[value], ": ", type(region.type(value)));
    }
    ++next_;
    for (size_t i = 0; i < captured.size(); ++i)
      inner[region.inputs()[declared + i].value] = names[captured[i]];
    out_ += first ? " ({\n" : ", {\n";
    first = false;
    if (!arguments.empty()) {
      indent(depth);
      out_ += cat("^bb0(", arguments, "):\n");
    }
    body(region, inner, depth + 1, "stablehlo.return");
    indent(depth);
    out_ += '}';
  }

  std::string composite_text(const Graph& graph, const Node& node) {
    std::string attributes = composite_attributes_text(node.attributes);
    std::string regions;
    for (const GraphPtr& region : graph.regions(node))
      regions += cat(regions.empty() ? "espalier.regions = [" : ", ", symbol(region_function(region)));
    if (!regions.empty()) {
      regions += ']';
      attributes = attributes.empty() ? cat("{", regions, "}")
                                      : cat(attributes.substr(0, attributes.size() - 1), ", ", regions, "}");
    }
    std::string key = cat(node.op->name, attributes);
    std::vector<TensorType> inputs;
    for (const ValueId input : graph.inputs(node)) {
      inputs.push_back(graph.type(input));
      key += type(graph.type(input));
    }
    std::string& function = functions_[key];
    if (function.empty()) {
      function = cat(node.op->name, ".", pending_.size());
      pending_.emplace_back(function,
                            decomposition(*node.op, node.attributes.get(), inputs, graph.regions(node)));
    }
    std::string out = "{";
    if (!attributes.empty()) out += cat("composite_attributes = ", attributes, ", ");
    return out + cat("decomposition = ", symbol(function), ", name = \"espalier.", node.op->name,
                     "\", version = ", node.op->version, " : i32}");
  }

  // The function that holds a composite's region; one for regions of equal content.
  std::string region_function(const GraphPtr& region) {
    for (const auto& [name, graph] : regions_[region->content_hash()]) {
      if (*graph == *region) return name;
    }
    std::string name = cat("region.", pending_.size());
    regions_[region->content_hash()].emplace_back(name, region);
    pending_.emplace_back(name, region);
    return name;
  }

  const PrintOptions& options_;
  std::string out_;
  size_t next_ = 0;  // number of the next value of this function
  std::unordered_map<const TensorType*, std::string> types_;
  std::vector<std::pair<std::string, GraphPtr>> pending_;
  std::unordered_map<std::string, std::string> functions_;
  std::unordered_map<uint64_t, std::vector<std::pair<std::string, GraphPtr>>> regions_;
  std::vector<GraphPtr> words_;  // kept alive for types_
};

}  // namespace
}  // namespace text

std::string print_program(const Graph& graph, const PrintOptions& options) {
  return text::Printer(options).program(graph);
}

}  // namespace espalier
