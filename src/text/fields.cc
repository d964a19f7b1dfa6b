#include "text/fields.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "ir/dispatch.h"
#include "text/dense.h"
#include "text/regions.h"

namespace espalier::text {
namespace {

constexpr size_t kMaxListed = 1 << 16;

// Attributes of StableHLO and CHLO that no op of ours needs: hints, and what types already say.
constexpr std::string_view kHints[] = {"precision_config",
                                       "algorithm",
                                       "compare_type",
                                       "indices_are_sorted",
                                       "unique_indices",
                                       "is_stable",
                                       "result_accuracy",
                                       "channel_handle",
                                       "has_side_effect",
                                       "api_version",
                                       "backend_config",
                                       "operand_layouts",
                                       "result_layouts",
                                       "call_target_name",
                                       "called_computations",
                                       "largest",
                                       "known_expanding_dimensions",
                                       "known_nonexpanding_dimensions"};

// Attributes that StableHLO ops carry under these names; any other of ours is discardable to others.
constexpr std::string_view kStablehlo[] = {"value",
                                           "iota_dimension",
                                           "broadcast_dimensions",
                                           "permutation",
                                           "dimensions",
                                           "dimension",
                                           "start_indices",
                                           "limit_indices",
                                           "strides",
                                           "edge_padding_low",
                                           "edge_padding_high",
                                           "interior_padding",
                                           "slice_sizes",
                                           "comparison_direction",
                                           "compare_type",
                                           "window_strides",
                                           "padding",
                                           "lhs_dilation",
                                           "rhs_dilation",
                                           "window_reversal",
                                           "feature_group_count",
                                           "batch_group_count",
                                           "window_dimensions",
                                           "base_dilations",
                                           "window_dilations",
                                           "exponent_bits",
                                           "mantissa_bits",
                                           "left_side",
                                           "lower",
                                           "unit_diagonal",
                                           "transpose_a",
                                           "is_stable",
                                           "indices_are_sorted",
                                           "unique_indices",
                                           "all_gather_dim",
                                           "scatter_dimension",
                                           "split_dimension",
                                           "concat_dimension",
                                           "split_count",
                                           "replica_groups",
                                           "source_target_pairs",
                                           "use_global_device_ids",
                                           "has_dynamic_root"};

// True where the name stands, false where it does not.
constexpr std::string_view kUnits[] = {"use_global_device_ids", "has_dynamic_root"};

// Lists that StableHLO leaves out for ones and zeros, and composites for what their operands say.
constexpr std::string_view kOptional[] = {"window_strides",  "base_dilations", "window_dilations",
                                          "lhs_dilation",    "rhs_dilation",   "padding",
                                          "window_reversal", "global_shape"};

struct EnumKind {
  std::string_view field, kind;
};
constexpr EnumKind kEnums[] = {{"comparison_direction", "comparison_direction"},
                               {"compare_type", "comparison_type"},
                               {"transpose_a", "transpose"}};

template <size_t N>
bool listed(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

class FieldReader final : public FieldVisitor {
 public:
  FieldReader(const Lexer& lexer, std::string_view op, size_t offset,
              const std::vector<NamedAttribute>& given, const std::vector<TensorType>& results)
      : lexer_(lexer), op_(op), offset_(offset), given_(given), results_(results), taken_(given.size()) {}

  using FieldVisitor::word;
  void field(const char* name, bool& value) override {
    const AttributeValue* a = find(name);
    if (!a) return;
    if (a->kind == AttributeValue::kUnit) {
      value = true;
    } else if (a->kind == AttributeValue::kBool || a->kind == AttributeValue::kInteger) {
      value = a->integer != 0;
    } else {
      wrong(name, *a, "a bool");
    }
  }
  void field(const char* name, int64_t& value) override {
    const AttributeValue* a = find(name);
    if (!a) return;
    if (a->kind == AttributeValue::kInteger) {
      value = a->integer;
    } else {
      value = integers(name, *a, 1)[0];
    }
  }
  void field(const char* name, double& value) override {
    const AttributeValue* a = find(name);
    if (!a) return;
    if (a->kind == AttributeValue::kReal || a->kind == AttributeValue::kInteger) {
      value = a->real;
    } else {
      wrong(name, *a, "a number");
    }
  }
  void field(const char* name, std::string& value) override {
    const AttributeValue* a = find(name);
    if (!a) return;
    if (a->kind != AttributeValue::kString && a->kind != AttributeValue::kSymbol) wrong(name, *a, "a string");
    value = a->string;
  }
  void field(const char* name, Dims& value) override {
    const std::string_view n = name;
    if (n == "padding.low" || n == "padding.high") {
      if (const AttributeValue* a = top("padding"))
        value = half_of_pairs(integers("padding", *a, kMaxListed), n == "padding.high");
    } else if (const AttributeValue* a = find(name)) {
      value = n == "replica_groups" ? groups(name, *a) : integers(name, *a, kMaxListed);
    } else if (std::strcmp(name, "shape") == 0 && !results_.empty()) {
      value = results_[0].shape;
    }
  }
  void field(const char* name, DType& value) override {
    if (const AttributeValue* a = find(name)) {
      if (a->kind != AttributeValue::kDType) wrong(name, *a, "an element type");
      value = a->types[0].dtype;
    } else if (std::strcmp(name, "dtype") == 0 && !results_.empty()) {
      value = results_[0].dtype;
    }
  }
  void field(const char* name, TensorType& value) override {
    if (const AttributeValue* a = find(name)) {
      if (a->kind != AttributeValue::kType || a->types.size() != 1) wrong(name, *a, "a type");
      value = a->types[0];
    } else if (std::strcmp(name, "type") == 0 && !results_.empty()) {
      value = results_[0];
    }
  }
  void field(const char* name, Literal& value) override {
    const AttributeValue* a = find(name);
    if (!a) lexer_.fail("text.attribute", cat(op_, " needs the attribute ", name), offset_);
    if (a->kind != AttributeValue::kLiteral) wrong(name, *a, "dense<...>");
    value = *a->literal;
  }
  void word(const char* name, int& value, std::span<const char* const> words) override {
    const AttributeValue* a = find(name);
    if (!a) return;
    if (a->kind != AttributeValue::kWord && a->kind != AttributeValue::kString) wrong(name, *a, "a word");
    for (size_t i = 0; i < words.size(); ++i) {
      if (a->string == words[i]) {
        value = static_cast<int>(i);
        return;
      }
    }
    std::string all;
    for (const char* one : words) all += cat(all.empty() ? "" : ", ", one);
    lexer_.fail("text.attribute", cat(op_, ": ", name, " is one of ", all, "; found ", a->string), a->offset);
  }

  void check_rest() const {
    for (size_t i = 0; i < given_.size(); ++i) {
      const std::string& name = given_[i].name;
      const bool foreign = name.find('.') != std::string::npos && !name.starts_with("espalier.");
      if (!taken_[i] && !foreign && !listed(kHints, name))
        lexer_.fail("text.attribute", cat("unsupported attribute ", name, " of ", op_),
                    given_[i].value.offset);
    }
  }

 private:
  const AttributeValue* top(std::string_view name) {
    for (size_t i = 0; i < given_.size(); ++i) {
      if (given_[i].name == name) {
        taken_[i] = true;
        return &given_[i].value;
      }
    }
    return nullptr;
  }
  const AttributeValue* find(std::string_view name) {
    if (const AttributeValue* a = top(name)) return a;
    if (const AttributeValue* a = top(cat("espalier.", name))) return a;
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos) return nullptr;
    const AttributeValue* outer = top(name.substr(0, dot));
    return outer ? outer->find(name.substr(dot + 1)) : nullptr;
  }
  [[noreturn]] void wrong(const char* name, const AttributeValue& a, const char* expected) const {
    lexer_.fail("text.attribute", cat(op_, ": ", name, " must be ", expected), a.offset);
  }
  static Dims half_of_pairs(const Dims& pairs, size_t half) {
    Dims out;
    for (size_t i = half; i < pairs.size(); i += 2) out.push_back(pairs[i]);
    return out;
  }
  // Rows of ids, filled up with -1, as groups that end by -1 each.
  Dims groups(const char* name, const AttributeValue& a) const {
    if (a.kind != AttributeValue::kLiteral || a.literal->type().rank() != 2)
      wrong(name, a, "a dense matrix of integers");
    const Dims all = integers(name, a, kMaxListed);
    const auto width = static_cast<size_t>(a.literal->type().shape[1]);
    Dims out;
    for (size_t row = 0; width && row < all.size(); row += width) {
      for (size_t i = row; i < row + width; ++i) {
        if (all[i] != -1) out.push_back(all[i]);
      }
      if (out.size() && out[out.size() - 1] != -1) out.push_back(-1);
    }
    return out;
  }
  Dims integers(const char* name, const AttributeValue& a, size_t limit) const {
    if (a.kind == AttributeValue::kIntegers) {
      if (limit == 1 && a.integers.size() != 1) wrong(name, a, "an integer");
      return a.integers;
    }
    const bool whole = a.kind == AttributeValue::kLiteral && !is_float(a.literal->type().dtype);
    if (!whole) wrong(name, a, limit == 1 ? "an integer" : "a list of integers");
    const int64_t count = a.literal->type().elements();
    if (count > static_cast<int64_t>(limit) || (limit == 1 && count != 1)) wrong(name, a, "a shorter list");
    const Literal all = a.literal->expanded();
    Dims out;
    visit_integral(all.type().dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<int64_t>(all.view().as<T>()[i]));
    });
    return out;
  }

  const Lexer& lexer_;
  std::string_view op_;
  size_t offset_;
  const std::vector<NamedAttribute>& given_;
  const std::vector<TensorType>& results_;
  std::vector<bool> taken_;
};

std::string list_text(const Dims& dims) {
  std::string out;
  for (const int64_t value : dims) out += cat(out.empty() ? "" : ", ", value);
  return out;
}

std::string array_text(const Dims& dims) {
  return dims.empty() ? "array<i64>" : cat("array<i64: ", list_text(dims), ">");
}

// Pairs of integers as the dense tensor that StableHLO wants for padding.
std::string pairs_text(const Dims& dims) {
  std::string out = "dense<";
  if (!dims.empty()) {
    out += '[';
    for (size_t i = 0; i + 1 < dims.size(); i += 2)
      out += cat(i ? ", " : "", "[", dims[i], ", ", dims[i + 1], "]");
    out += ']';
  }
  return out + cat("> : tensor<", dims.size() / 2, "x2xi64>");
}

// Groups that end by -1 each as rows, filled up with -1.
std::string groups_text(const Dims& flat) {
  std::vector<std::string> rows;
  std::vector<size_t> sizes;
  bool open = false;
  for (size_t i = 0; i < flat.size(); ++i) {
    if (!open) rows.emplace_back(), sizes.push_back(0);
    open = flat[i] != -1;
    if (!open) continue;
    rows.back() += cat(sizes.back()++ ? ", " : "", flat[i]);
  }
  size_t width = 0;
  for (const size_t size : sizes) width = std::max(width, size);
  std::string out;
  for (size_t i = 0; width && i < rows.size(); ++i) {
    for (; sizes[i] < width; ++sizes[i]) rows[i] += cat(sizes[i] ? ", " : "", "-1");
    out += cat(i ? ", [" : "[[", rows[i], "]");
  }
  if (!out.empty()) out += ']';
  return cat("dense<", out, "> : tensor<", width ? rows.size() : 0, "x", width, "xi64>");
}

std::string bools_text(const Dims& dims) {
  std::string out = "array<i1";
  for (size_t i = 0; i < dims.size(); ++i) out += cat(i ? ", " : ": ", dims[i] ? "true" : "false");
  return out + ">";
}

// StableHLO types these integer attributes i32, all others i64.
bool is_i32(std::string_view name) { return name == "exponent_bits" || name == "mantissa_bits"; }

class FieldWriter final : public FieldVisitor {
 public:
  FieldWriter(const OpDef* op) : op_(op) {}

  using FieldVisitor::word;
  void field(const char* name, bool& value) override {
    if (!op_ || !listed(kUnits, name)) return put(name, value ? "true" : "false");
    if (value) put(name, "");
  }
  void field(const char* name, int64_t& value) override {
    if (nested(name, {value}, value == 0)) return;
    put(name, cat(value, is_i32(name) ? " : i32" : " : i64"));
  }
  void field(const char* name, double& value) override {
    put(name, cat(scalar_text(DType::kF64, &value), " : f64"));
  }
  void field(const char* name, std::string& value) override { put(name, quote(value)); }
  void field(const char* name, Dims& value) override {
    if (nested(name, value, value.empty())) return;
    const std::string_view n = name;
    if ((op_ && n == "shape") || (value.empty() && listed(kOptional, n))) return;
    if (op_ && n == "replica_groups") return put(name, groups_text(value));
    if (op_ && (n == "padding" || n == "source_target_pairs")) return put(name, pairs_text(value));
    if (op_ && n == "window_reversal") return put(name, bools_text(value));
    put(name, array_text(value));
  }
  void field(const char* name, DType& value) override {
    if (op_ && std::string_view(name) == "dtype") return;
    put(name, std::string(stablehlo_name(value)));
  }
  void field(const char* name, TensorType& value) override {
    if (op_ && std::string_view(name) == "type") return;
    put(name, type_text(value));
  }
  void field(const char* name, Literal& value) override {
    std::string text;
    append_dense(text, value);
    put(name, text);
  }
  void word(const char* name, int& value, std::span<const char* const> words) override {
    if (op_ && is_region_word(words)) {
      const std::string_view chosen = words[static_cast<size_t>(value)];
      if (!is_recognised(op_->name, chosen)) put(name, quote(chosen));
      return;
    }
    if (op_) {
      for (const EnumKind& known : kEnums) {
        if (known.field == name) return put(name, cat("#stablehlo<", known.kind, " ", words[value], ">"));
      }
    }
    put(name, quote(words[value]));
  }

  std::string text() {
    for (const auto& [prefix, fields] : structs_) {
      if (prefix == "padding" && fields[0].values.empty()) continue;
      if (prefix == "channel_handle" && fields[0].is_default && fields[1].is_default) continue;
      parts_.emplace_back(prefix, struct_text(prefix, fields));
    }
    std::sort(parts_.begin(), parts_.end());
    std::string out;
    for (const auto& [name, value] : parts_) {
      out += out.empty() ? "{" : ", ";
      out += name;
      if (!value.empty()) out += " = ";
      out += value;
    }
    return out.empty() ? out : out + "}";
  }

 private:
  struct StructField {
    std::string name;
    Dims values;
    bool is_default;
  };

  void put(std::string_view name, std::string value) {
    const bool known = !op_ || listed(kStablehlo, name);
    parts_.emplace_back(known ? std::string(name) : cat("espalier.", name), std::move(value));
  }
  // Takes a field of a struct attribute.
  bool nested(std::string_view name, const Dims& values, bool is_default) {
    const size_t dot = name.find('.');
    if (!op_ || dot == std::string_view::npos) return false;
    structs_[std::string(name.substr(0, dot))].push_back(
        {std::string(name.substr(dot + 1)), values, is_default});
    return true;
  }

  std::string struct_text(const std::string& prefix, const std::vector<StructField>& fields) const {
    if (prefix == "padding") {
      Dims pairs;
      for (size_t i = 0; i < fields[0].values.size(); ++i) {
        pairs.push_back(fields[0].values[i]);
        pairs.push_back(fields[1].values[i]);
      }
      return pairs_text(pairs);
    }
    if (prefix == "channel_handle")
      return cat("#stablehlo.channel_handle<handle = ", fields[0].values[0], ", type = ", fields[1].values[0],
                 ">");
    if (std::strcmp(op_->name, "convolution") == 0) return layout_text(fields);
    const std::string kind = prefix == "dot_dimension_numbers"       ? "dot"
                             : prefix == "scatter_dimension_numbers" ? "scatter"
                                                                     : op_->name;
    std::string out;
    for (const StructField& field : fields) {
      if (field.is_default) continue;
      const std::string value = list_text(field.values);
      const bool scalar = field.name == "index_vector_dim";
      out += cat(out.empty() ? "" : ", ", field.name, " = ", scalar ? value : cat("[", value, "]"));
    }
    return cat("#stablehlo.", kind, "<", out, ">");
  }

  static std::string layout_text(const std::vector<StructField>& fields) {
    const auto find = [&](const std::string& name) -> const Dims& {
      for (const StructField& field : fields) {
        if (field.name == name) return field.values;
      }
      throw InternalError(cat("a convolution without ", name));
    };
    const auto side = [&](const std::string& prefix, const char* batch, const std::string& batch_name,
                          const char* feature, const std::string& feature_name) {
      const Dims& spatial = find(prefix + "_spatial_dimensions");
      std::vector<std::string> words(spatial.size() + 2);
      words.at(static_cast<size_t>(find(prefix + batch_name)[0])) = batch;
      words.at(static_cast<size_t>(find(prefix + feature_name)[0])) = feature;
      for (size_t i = 0; i < spatial.size(); ++i)
        words.at(static_cast<size_t>(spatial[i])) = std::to_string(i);
      std::string out;
      for (const std::string& word : words) out += cat(out.empty() ? "[" : ", ", word);
      return out + "]";
    };
    return cat("#stablehlo.conv<", side("input", "b", "_batch_dimension", "f", "_feature_dimension"), "x",
               side("kernel", "i", "_input_feature_dimension", "o", "_output_feature_dimension"), "->",
               side("output", "b", "_batch_dimension", "f", "_feature_dimension"), ">");
  }

  const OpDef* op_;  // null: of a composite
  std::vector<std::pair<std::string, std::string>> parts_;
  std::map<std::string, std::vector<StructField>> structs_;
};

std::string text_of_fields(const OpDef* op, const AttributesPtr& attributes) {
  if (!attributes) return "";
  FieldWriter writer(op);
  const_cast<Attributes&>(*attributes).fields(writer);
  return writer.text();
}

}  // namespace

bool is_region_word(std::span<const char* const> words) {
  return std::any_of(words.begin(), words.end(), [](const char* w) { return std::strcmp(w, "region") == 0; });
}

void read_fields(const Lexer& lexer, std::string_view name, size_t offset, Attributes& attributes,
                 const std::vector<NamedAttribute>& given, const std::vector<TensorType>& results) {
  FieldReader reader(lexer, name, offset, given, results);
  attributes.fields(reader);
  reader.check_rest();
}

std::string attributes_text(const OpDef& op, const AttributesPtr& attributes) {
  return text_of_fields(&op, attributes);
}
std::string composite_attributes_text(const AttributesPtr& attributes) {
  return text_of_fields(nullptr, attributes);
}

}  // namespace espalier::text
