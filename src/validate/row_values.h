// What readers of rows that name their values tell of them.
#pragma once

#include <cstdint>
#include <string_view>

#include "validate/table_rows.h"

namespace espalier {

class RowValues {
 public:
  virtual ~RowValues() = default;
  virtual void begin_row(int64_t number) = 0;
  // The row names a column, and says no more of it.
  virtual void named(std::string_view name) = 0;
  // The values that come next are those of a name in this row; maybe none will. Raises
  // FormatError[rows.twice] where the row had the name.
  virtual void present(std::string_view name) = 0;
  // What those are, before the first of them. They raise FormatError[rows.type] where they may not be.
  virtual void type(CellType type) = 0;
  virtual void whole(int64_t value) = 0;
  // `written`: as the file has it.
  virtual void real(double value, std::string_view written) = 0;
  virtual void real(float value) = 0;
  virtual void text(std::string_view text) = 0;
};

// A file of such rows.
class NamedBlocks : public TableBlocks {
 public:
  // Raises FormatError with the place.
  virtual void tell(const TableBlock& block, RowValues& out) const = 0;

  const std::vector<std::string>& names() const override { return none_; }
  const std::vector<std::string>& notes() const override { return none_; }

 private:
  std::vector<std::string> none_;
};

}  // namespace espalier
