// A program for any batch size.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier {

// The text of a program in which every integer that follows the batch size B stands as ${B}, ${2*B} or
// ${2*B+1}, and a dollar sign as $$.
class ProgramTemplate {
 public:
  // From the texts of one program at two batch sizes; nothing when they differ in more than integers, or in
  // an integer that is no a*B+b.
  static std::optional<ProgramTemplate> between(std::string_view first, int64_t first_batch,
                                                std::string_view second, int64_t second_batch);
  // Raises FormatError[template.*] with line and column for a dollar sign with anything else behind it.
  explicit ProgramTemplate(std::string text);

  // The program for `batch` rows. Raises ValueError[template.batch] for less than 0 or more than 2^31, and
  // when a number would be negative.
  std::string at(int64_t batch) const;
  const std::string& text() const { return text_; }
  // Whether any number follows the batch size.
  bool varies() const;

 private:
  std::string text_;
};

}  // namespace espalier
