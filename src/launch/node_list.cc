#include "launch/node_list.h"

#include <charconv>
#include <optional>

#include "base/digits.h"
#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr size_t kMostNodes = 65536, kLongestHostName = 255;
constexpr int kMostTasks = 65536, kMostBrackets = 8;

struct Range {
  int64_t first, last;
  size_t digits;
};

// Digits alone, and so few that no arithmetic with them overflows.
std::optional<int64_t> digits_of(std::string_view text) {
  if (text.empty() || text.size() > 12) return std::nullopt;
  int64_t out = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    out = 10 * out + (c - '0');
  }
  return out;
}

class NodeList {
 public:
  explicit NodeList(std::string_view text) : text_(text) {}

  std::vector<std::string> expand() {
    if (text_.empty()) refuse("is empty");
    while (true) {
      expand_name();
      if (at_ == text_.size()) return std::move(out_);
      ++at_;  // the comma
    }
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    throw ValueError(
        "cluster.nodes",
        cat("\"", shortened(text_), "\" ", why, ", at character ", at_ + 1, ": no list of hosts"),
        "n[01-03,7],m2");
  }

  // Up to the comma behind it, or the end.
  void expand_name() {
    std::vector<std::string> names(1);
    int brackets = 0;
    const size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] != ','; ++at_) {
      const char c = text_[at_];
      if (c == '[') {
        if (++brackets > kMostBrackets) refuse(cat("has more than ", kMostBrackets, " brackets in a name"));
        multiply(names, ranges());
        continue;
      }
      if (c == ']') refuse("has a ] without its [");
      if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) refuse("has a blank or a control character");
      for (std::string& name : names) name += c;
      if (names[0].size() > kLongestHostName)
        refuse(cat("has a name of more than ", kLongestHostName, " bytes"));
    }
    if (at_ == begin) refuse("has an empty name");
    // As Slurm itself.
    if (brackets && text_[at_ - 1] != ']') refuse("has a name that goes on behind its last ]");
    if (out_.size() + names.size() > kMostNodes) refuse(cat("has more than ", kMostNodes, " names"));
    for (std::string& name : names) out_.push_back(std::move(name));
  }

  // Between [ and ]; then `at_` is at the ].
  std::vector<Range> ranges() {
    std::vector<Range> out;
    const size_t end = text_.find(']', at_);
    if (end == text_.npos) refuse("has a [ without its ]");
    for (size_t from = at_ + 1; from <= end;) {
      const size_t until = std::min(text_.find(',', from), end);
      at_ = from;
      const std::string_view part = text_.substr(from, until - from);
      const size_t dash = part.find('-');
      const std::string_view low = part.substr(0, dash);
      const auto first = digits_of(low);
      const auto last = dash == part.npos ? first : digits_of(part.substr(dash + 1));
      if (!first || !last) refuse("has no number or range of numbers in its brackets");
      if (*last < *first) refuse("has a range that ends before it begins");
      out.push_back({*first, *last, low.size()});
      from = until + 1;
    }
    at_ = end;
    return out;
  }

  void multiply(std::vector<std::string>& names, const std::vector<Range>& by) const {
    size_t count = 0;
    for (const Range& range : by) {
      count += static_cast<size_t>(range.last - range.first) + 1;
      if (count > kMostNodes / names.size()) refuse(cat("has more than ", kMostNodes, " names"));
    }
    std::vector<std::string> out;
    out.reserve(names.size() * count);
    for (const std::string& name : names) {
      for (const Range& range : by) {
        for (int64_t number = range.first; number <= range.last; ++number) {
          std::string digits = cat(number);
          if (digits.size() < range.digits) digits.insert(0, range.digits - digits.size(), '0');
          out.push_back(name + digits);
        }
      }
    }
    if (out[0].size() > kLongestHostName) refuse(cat("has a name of more than ", kLongestHostName, " bytes"));
    names = std::move(out);
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> expand_node_list(std::string_view list) { return NodeList(list).expand(); }

std::vector<int> expand_task_counts(std::string_view list) {
  std::vector<int> out;
  const auto refuse = [&] {
    throw ValueError("cluster.nodes", cat("\"", shortened(list), "\" does not say how many tasks hosts have"),
                     "2(x3),1");
  };
  for (size_t from = 0; from <= list.size();) {
    const size_t until = std::min(list.find(',', from), list.size());
    std::string_view part = list.substr(from, until - from);
    int64_t times = 1;
    if (const size_t mark = part.find("(x"); mark != part.npos && part.ends_with(')')) {
      times = digits_of(part.substr(mark + 2, part.size() - mark - 3)).value_or(0);
      part = part.substr(0, mark);
    }
    const auto tasks = digits_of(part);
    if (!tasks || *tasks > kMostTasks || times < 1 || out.size() + static_cast<size_t>(times) > kMostNodes)
      refuse();
    out.insert(out.end(), static_cast<size_t>(times), static_cast<int>(*tasks));
    from = until + 1;
  }
  return out;
}

}  // namespace espalier
