#include "validate/message_text.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "validate/message_memory.h"

namespace espalier {
namespace {

namespace pb = google::protobuf;

constexpr int kMostDepth = 100;  // of messages, as in binary

// The fewest digits that read back as the same number; with a point where exponents from -4 to 15 need none.
std::string python_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[400];
  char* const most = text + sizeof text;
  const std::string scientific(text, std::to_chars(text, most, value, std::chars_format::scientific).ptr);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent < -4 || exponent >= 16) return scientific;
  const std::string out(text, std::to_chars(text, most, value, std::chars_format::fixed).ptr);
  return out.find('.') == std::string::npos ? out + ".0" : out;
}

// Six digits, or as many more as the same float needs.
double nearest_decimal(float value) {
  double decimal = value;
  for (int digits = 6; digits < 10 && std::isfinite(value); ++digits) {
    char text[32];
    const char* end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr;
    std::from_chars(text, end, decimal);
    if (static_cast<float>(decimal) == value) break;
  }
  return decimal;
}

class NumberPrinter : public pb::TextFormat::FastFieldValuePrinter {
 public:
  void PrintFloat(float value, pb::TextFormat::BaseTextGenerator* out) const override {
    out->PrintString(python_number(nearest_decimal(value)));
  }
  void PrintDouble(double value, pb::TextFormat::BaseTextGenerator* out) const override {
    out->PrintString(python_number(value));
  }
};

struct FirstError : pb::io::ErrorCollector {
  std::string text;
  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (text.empty())
      text = line < 0 ? message : cat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  void AddWarning(int, pb::io::ColumnNumber, const std::string&) override {}
};

// `Message type "x.y" has no field named "z".` -> a field of x.y that is close to z.
std::string near_field(const std::string& error) {
  std::vector<std::string> quoted;
  for (size_t at = 0; (at = error.find('"', at)) != std::string::npos;) {
    const size_t end = error.find('"', at + 1);
    if (end == std::string::npos) break;
    quoted.push_back(error.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  const pb::Descriptor* type = quoted.size() == 2 && error.find(" has no field named ") != std::string::npos
                                   ? pb::DescriptorPool::generated_pool()->FindMessageTypeByName(quoted[0])
                                   : nullptr;
  if (!type) return "";
  std::vector<std::string> known;
  for (int i = 0; i < type->field_count(); ++i) known.push_back(type->field(i)->name());
  const std::vector<std::string> close = nearest(quoted[1], known);
  return close.empty() ? "" : cat("write ", close[0]);
}

}  // namespace

std::string text_of_message(const pb::Message& message) {
  pb::TextFormat::Printer printer;
  printer.SetDefaultFieldValuePrinter(new NumberPrinter);  // the printer owns it
  printer.SetExpandAny(true);
  printer.SetHideUnknownFields(true);
  std::string out;
  if (!printer.PrintToString(message, &out)) throw InternalError("a message cannot be printed");
  return out;
}

void parse_message_text(std::string_view text, pb::Message& message) {
  check_text_memory(text);
  FirstError error;
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMostDepth);
  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&stream, &message))
    throw FormatError("metadata.text", error.text, near_field(error.text));
}

}  // namespace espalier
