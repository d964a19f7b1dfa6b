#include "text/attribute_value.h"

#include <charconv>

#include "text/dense.h"

namespace espalier::text {
namespace {

// A list of attributes that are no integers; longer ones are no part of a real program.
constexpr size_t kMaxItems = 1 << 16;

[[noreturn]] void unsupported_type(const Lexer& lexer, size_t offset, size_t end) {
  lexer.fail("text.type",
             cat("unsupported type ", lexer.source().substr(offset, std::min<size_t>(end - offset, 60))),
             offset);
}

// tensor<?x8xf32>, tensor<?xf32, #stablehlo.bounds<4>>.
[[noreturn]] void open_size(const Lexer& lexer, size_t offset) {
  const size_t end = lexer.source().find_first_of(">\n", offset);
  const std::string_view type = lexer.source().substr(offset, std::min<size_t>(end - offset + 1, 60));
  lexer.fail("text.type", cat("unsupported type ", type, ": sizes that are not fixed are not read"), offset,
             kFixedSizes);
}

// [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] as StableHLO's names of the nine numbers.
void parse_conv_layout(Lexer& lexer, AttributeValue& out) {
  const auto put = [&](const std::string& name, Dims axes, bool list) {
    AttributeValue value;
    value.kind = list ? AttributeValue::kIntegers : AttributeValue::kInteger;
    value.offset = lexer.offset();
    if (list) {
      value.integers = std::move(axes);
    } else {
      value.integer = axes[0];
    }
    out.entries.push_back({name, std::move(value)});
  };
  const auto side = [&](const std::string& prefix, char batch, const std::string& batch_name, char feature,
                        const std::string& feature_name) {
    const size_t at = lexer.offset();
    int64_t batch_axis = -1, feature_axis = -1, axis = 0;
    Dims spatial;
    lexer.expect('[');
    while (!lexer.at(']')) {
      if (axis) lexer.expect(',');
      if (axis >= static_cast<int64_t>(kMaxItems)) lexer.fail("too many dimensions");
      if (lexer.kind() == Token::kWord) {
        const std::string_view word = lexer.text();
        (word == std::string_view(&batch, 1)     ? batch_axis
         : word == std::string_view(&feature, 1) ? feature_axis
                                                 : (lexer.fail_expected("a dimension"), axis)) = axis;
        lexer.advance();
      } else {
        const int64_t position = lexer.take_integer();
        if (position < 0 || position >= static_cast<int64_t>(kMaxItems))
          lexer.fail("a dimension out of range");
        while (static_cast<int64_t>(spatial.size()) <= position) spatial.push_back(-1);
        spatial[position] = axis;
      }
      ++axis;
    }
    lexer.advance();
    if (batch_axis < 0 || feature_axis < 0 || spatial.contains(-1))
      lexer.fail("text.attribute", "a layout of a convolution without all its dimensions", at);
    put(prefix + batch_name, {batch_axis}, false);
    put(prefix + feature_name, {feature_axis}, false);
    put(prefix + "_spatial_dimensions", std::move(spatial), true);
  };
  side("input", 'b', "_batch_dimension", 'f', "_feature_dimension");
  lexer.expect_word("x");
  side("kernel", 'i', "_input_feature_dimension", 'o', "_output_feature_dimension");
  if (!lexer.accept(Token::kArrow)) lexer.fail_expected("'->'");
  side("output", 'b', "_batch_dimension", 'f', "_feature_dimension");
}

// Behind "#stablehlo.dot<": a = [0], b = 1, ...
void parse_struct_body(Lexer& lexer, AttributeValue& out) {
  while (!lexer.at('>')) {
    if (!out.entries.empty()) lexer.expect(',');
    if (lexer.at('>')) return;
    NamedAttribute entry;
    entry.name = lexer.take(Token::kWord, "a name");
    lexer.expect('=');
    entry.value = parse_attribute(lexer);
    out.entries.push_back(std::move(entry));
    if (out.entries.size() > kMaxItems) lexer.fail("too many entries");
  }
}

void parse_hash(Lexer& lexer, AttributeValue& out) {
  const std::string_view name = lexer.text();
  lexer.advance();
  if (!lexer.at('<')) return;  // an alias
  if (name == "stablehlo" || name == "chlo" || name == "mhlo") {
    lexer.advance();
    if (lexer.kind() == Token::kWord) {
      lexer.advance();
      if (lexer.kind() == Token::kWord || lexer.kind() == Token::kString) {
        out.kind = AttributeValue::kWord;
        out.string = lexer.text();
        lexer.advance();
        lexer.expect('>');
        return;
      }
    }
    lexer.fail_expected("an enumerator");
  }
  if (name == "stablehlo.dot" || name == "stablehlo.gather" || name == "stablehlo.scatter" ||
      name == "stablehlo.conv" || name == "stablehlo.channel_handle") {
    out.kind = AttributeValue::kStruct;
    lexer.advance();
    if (name == "stablehlo.conv" && lexer.at('[')) {
      parse_conv_layout(lexer, out);
    } else {
      parse_struct_body(lexer, out);
    }
    return lexer.expect('>');
  }
  lexer.skip_balanced();
}

// Behind "array": <i64: 1, 2>.
void parse_array(Lexer& lexer, AttributeValue& out) {
  lexer.expect('<');
  const std::string_view element = lexer.take(Token::kWord, "an element type");
  if (element[0] == 'f' || element[0] == 'b') {
    while (!lexer.at('>')) lexer.advance();
    return lexer.advance();
  }
  out.kind = AttributeValue::kIntegers;
  if (lexer.accept(':')) {
    do {
      if (lexer.accept_word("true")) {
        out.integers.push_back(1);
      } else if (lexer.accept_word("false")) {
        out.integers.push_back(0);
      } else {
        out.integers.push_back(lexer.take_integer());
      }
    } while (lexer.accept(','));
  }
  lexer.expect('>');
}

void parse_list(Lexer& lexer, AttributeValue& out) {
  lexer.advance();
  out.kind = AttributeValue::kIntegers;
  while (!lexer.at(']')) {
    if (!out.integers.empty() || !out.items.empty()) lexer.expect(',');
    if (lexer.kind() == Token::kInteger && out.items.empty()) {
      out.integers.push_back(lexer.take_integer());
      if (lexer.accept(':')) lexer.take(Token::kWord, "a type");
      continue;
    }
    if (!out.integers.empty()) lexer.fail_expected("an integer");
    out.kind = AttributeValue::kList;
    out.items.push_back(parse_attribute(lexer));
    if (out.items.size() > kMaxItems) lexer.fail("too many items");
  }
  lexer.advance();
}

// A layout of memory, dense<[0, 1]> : tensor<2xindex>, says nothing of what a program computes. True when
// such a type was there.
bool skip_index_type(Lexer& lexer) {
  if (!lexer.at_word("tensor")) return false;
  const std::string_view rest = lexer.source().substr(lexer.offset());
  const size_t end = rest.find('>');
  if (end == std::string_view::npos || !rest.substr(0, end).ends_with("index")) return false;
  lexer.reset(lexer.offset() + end + 1);
  return true;
}

// Behind "dense". The type stands after the elements, so the body is read twice.
void parse_dense(Lexer& lexer, AttributeValue& out) {
  if (!lexer.at('<')) lexer.fail_expected("'<'");
  const size_t open = lexer.end();
  lexer.skip_balanced();
  lexer.expect(':');
  if (skip_index_type(lexer)) return;
  const TensorType type = parse_tensor_type(lexer);
  const size_t after = lexer.offset();
  lexer.reset(open);
  out.literal = std::make_shared<Literal>(parse_dense_body(lexer, type));
  out.kind = AttributeValue::kLiteral;
  if (!lexer.at('>')) lexer.fail_expected("'>'");
  lexer.reset(after);
}

void parse_word(Lexer& lexer, AttributeValue& out) {
  const std::string_view word = lexer.text();
  if (word == "tensor") {
    out.kind = AttributeValue::kType;
    out.types.push_back(parse_tensor_type(lexer));
    return;
  }
  lexer.advance();
  if (word == "true" || word == "false") {
    out.kind = AttributeValue::kBool;
    out.integer = word == "true";
  } else if (word == "unit") {
    out.kind = AttributeValue::kUnit;
  } else if (word == "dense") {
    parse_dense(lexer, out);
  } else if (word == "array") {
    parse_array(lexer, out);
  } else if (word == "dense_resource") {
    lexer.fail("text.attribute", "unsupported attribute dense_resource: its data stands elsewhere",
               out.offset);
  } else if (const auto dtype = parse_dtype(word)) {
    out.kind = AttributeValue::kDType;
    out.types.push_back({*dtype, {}});
  } else if (lexer.at('<') || lexer.at('(')) {
    lexer.skip_balanced();
  }
}

// A number, with the type that may stand behind it.
void parse_number(Lexer& lexer, AttributeValue& out) {
  const std::string_view text = lexer.text();
  if (lexer.kind() == Token::kInteger) {
    out.kind = AttributeValue::kInteger;
    out.integer = lexer.take_integer();
    out.real = static_cast<double>(out.integer);
  } else {
    out.kind = AttributeValue::kReal;
    if (lexer.kind() == Token::kHex) {
      uint64_t bits = 0;
      std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
      out.real = std::bit_cast<double>(bits);
      out.integer = static_cast<int64_t>(bits);
    } else {
      std::from_chars(text.data(), text.data() + text.size(), out.real);
    }
    lexer.advance();
  }
  if (lexer.accept(':')) lexer.take(Token::kWord, "a type");
}

}  // namespace

const AttributeValue* AttributeValue::find(std::string_view name) const {
  for (const NamedAttribute& entry : entries) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

TensorType parse_tensor_type(Lexer& lexer) {
  const size_t start = lexer.offset();
  if (!lexer.at_word("tensor")) {
    if (lexer.kind() == Token::kWord || lexer.kind() == Token::kBang)
      unsupported_type(lexer, start, lexer.end());
    lexer.fail_expected("a type");
  }
  lexer.advance();
  if (!lexer.at('<')) lexer.fail_expected("'<'");
  const std::string_view source = lexer.source();
  TensorType type;
  size_t i = lexer.end();
  while (i < source.size() && source[i] >= '0' && source[i] <= '9') {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(source.data() + i, source.data() + source.size(), size);
    i = static_cast<size_t>(end - source.data());
    if (error != std::errc() || i >= source.size() || source[i] != 'x' || type.rank() >= Lexer::kMaxDepth)
      unsupported_type(lexer, start, i);
    type.shape.push_back(size);
    ++i;
  }
  if (i < source.size() && source[i] == '?') open_size(lexer, start);
  size_t end = i;
  while (end < source.size() && source[end] != '>' && source[end] != ',' && source[end] != '\n') ++end;
  const auto dtype = parse_dtype(source.substr(i, end - i));
  const bool known_name = dtype && stablehlo_name(*dtype) == source.substr(i, end - i);
  if (!known_name || end >= source.size() || source[end] != '>')
    unsupported_type(lexer, start, std::min(end + 1, source.size()));
  type.dtype = *dtype;
  int64_t count = 1;
  for (const int64_t size : type.shape) {
    if (__builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count) || count > (int64_t{1} << 48))
      lexer.fail("text.type", cat("more than 2^48 elements: ", source.substr(start, end + 1 - start)), start);
  }
  lexer.reset(end + 1);
  return type;
}

std::vector<TensorType> parse_types(Lexer& lexer) {
  std::vector<TensorType> out;
  if (!lexer.accept('(')) {
    out.push_back(parse_tensor_type(lexer));
    return out;
  }
  while (!lexer.at(')')) {
    if (!out.empty()) lexer.expect(',');
    out.push_back(parse_tensor_type(lexer));
  }
  lexer.advance();
  return out;
}

std::pair<std::vector<TensorType>, std::vector<TensorType>> parse_function_type(Lexer& lexer) {
  auto inputs = parse_types(lexer);
  if (!lexer.accept(Token::kArrow)) lexer.fail_expected("'->'");
  return {std::move(inputs), parse_types(lexer)};
}

AttributeValue parse_attribute(Lexer& lexer) {
  Lexer::Nesting nesting(lexer);
  AttributeValue out;
  out.offset = lexer.offset();
  switch (lexer.kind()) {
    case Token::kInteger:
    case Token::kFloat:
    case Token::kHex:
      parse_number(lexer, out);
      return out;
    case Token::kString:
      out.kind = AttributeValue::kString;
      out.string = lexer.take_string();
      if (lexer.accept(':')) lexer.take(Token::kWord, "a type");
      return out;
    case Token::kSymbol:
      out.kind = AttributeValue::kSymbol;
      out.string = lexer.text();
      lexer.advance();
      return out;
    case Token::kHash:
      parse_hash(lexer, out);
      return out;
    case Token::kBang:
      lexer.advance();
      if (lexer.at('<')) lexer.skip_balanced();
      return out;
    case Token::kWord:
      parse_word(lexer, out);
      return out;
    case Token::kPunct:
      if (lexer.at('[')) {
        parse_list(lexer, out);
        return out;
      }
      if (lexer.at('{')) {
        out.kind = AttributeValue::kDict;
        parse_dictionary(lexer, out.entries);
        return out;
      }
      if (lexer.at('(')) {
        auto [inputs, results] = parse_function_type(lexer);
        out.kind = AttributeValue::kType;
        out.integer = static_cast<int64_t>(inputs.size());
        out.types = std::move(inputs);
        out.types.insert(out.types.end(), results.begin(), results.end());
        return out;
      }
      break;
    default:
      break;
  }
  lexer.fail_expected("an attribute");
}

void parse_dictionary(Lexer& lexer, std::vector<NamedAttribute>& out) {
  lexer.expect('{');
  bool first = true;
  while (!lexer.at('}')) {
    if (!first) lexer.expect(',');
    first = false;
    NamedAttribute entry;
    entry.name = lexer.kind() == Token::kString
                     ? lexer.take_string()
                     : std::string(lexer.take(Token::kWord, "an attribute's name"));
    if (lexer.accept('=')) {
      entry.value = parse_attribute(lexer);
    } else {
      entry.value.kind = AttributeValue::kUnit;
      entry.value.offset = lexer.offset();
    }
    out.push_back(std::move(entry));
    if (out.size() > kMaxItems) lexer.fail("too many attributes");
  }
  lexer.advance();
}

}  // namespace espalier::text
