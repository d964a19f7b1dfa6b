#include <algorithm>
#include <cmath>

#include "format/expression_node.h"

namespace espalier {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c & ~32) : c; }
template <char (*f)(char)>
std::string each(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), f);
  return out;
}

double characters(std::string_view text) {
  return static_cast<double>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

const std::vector<ExpressionFunction>& expression_functions() {
  static const std::vector<ExpressionFunction> all = {
      {.name = "abs", .of_number = [](double x) { return std::abs(x); }},
      {.name = "floor", .of_number = [](double x) { return std::floor(x); }},
      {.name = "ceil", .of_number = [](double x) { return std::ceil(x); }},
      {.name = "round", .of_number = [](double x) { return std::round(x); }},
      {.name = "sqrt", .of_number = [](double x) { return std::sqrt(x); }},
      {.name = "log", .of_number = [](double x) { return std::log(x); }},
      {.name = "exp", .of_number = [](double x) { return std::exp(x); }},
      {.name = "min", .arguments = 2, .of_numbers = [](double x, double y) { return y < x ? y : x; }},
      {.name = "max", .arguments = 2, .of_numbers = [](double x, double y) { return x < y ? y : x; }},
      {.name = "len", .number_of_text = characters},
      {.name = "lower", .of_text = each<lower>},
      {.name = "upper", .of_text = each<upper>},
      {.name = "contains",
       .arguments = 2,
       .truth_of_texts = [](std::string_view text,
                            std::string_view part) { return text.find(part) != text.npos; }},
      {.name = "starts_with",
       .arguments = 2,
       .truth_of_texts = [](std::string_view text, std::string_view part) { return text.starts_with(part); }},
      {.name = "ends_with",
       .arguments = 2,
       .truth_of_texts = [](std::string_view text, std::string_view part) { return text.ends_with(part); }},
      {.name = "number"},
      {.name = "text"},
      {.name = "coalesce", .arguments = 2},
  };
  return all;
}

}  // namespace espalier
