// Whom a table is about, whom it lacks, and which columns give that away.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/missing_words.h"
#include "espalier/columns.h"
#include "espalier/csv.h"
#include "evaluate/intervals.h"

namespace espalier {

// A share of rows with its Wilson interval.
struct ShareOfRows {
  int64_t rows = 0, of = 0;
  double share = 0;  // 0 of no rows
  Interval interval = {0, 1};
};
struct GroupBias {
  std::string group;  // a value of the column; kNoGroup for rows without one
  ShareOfRows rows;
  std::optional<double> expected = {};  // its share of the reference population
  bool off = false;                     // that lies outside of the interval, by kNoticeableShare or more
  std::optional<ShareOfRows> positives = {};  // of its rows that have a label
};
inline constexpr const char* kNoGroup = "(missing)";
inline constexpr double kNoticeableShare = 0.02;

// A column whose cells are missing more often in one group than in another, by kNoticeableMissing or more,
// and more than chance makes: the interval of the difference (Newcombe, its level by Bonferroni for all pairs
// of groups and all columns) does not hold 0.
struct MissingGap {
  std::string column, most, least;  // groups
  double share_of_most = 0, share_of_least = 0;
  Interval interval;
};
inline constexpr double kNoticeableMissing = 0.05;
// "height is missing in 0.300 of sex=F and 0.100 of sex=M (gap 0.200, interval 0.120 to 0.280)".
std::string text(const MissingGap& gap, const std::string& groups);

// How well another column tells the group: the area under the ROC curve of group against the rest. The
// column's values (numbers in twentieths) are scored by how often rows of even number are of the group, and
// rows of odd number are the test. The group of the largest area.
struct Proxy {
  std::string column, group;
  double area = 0.5;
  Interval interval;
};
inline constexpr double kProxyArea = 0.7;

struct ColumnBias {
  std::string column;
  std::vector<GroupBias> groups;    // by falling rows
  std::vector<MissingGap> missing;  // by falling difference
  std::vector<Proxy> proxies;       // areas of kProxyArea or more, by falling area
};
struct ThinCross {
  std::string name;  // "sex=Female, race=Other"
  int64_t rows = 0;
};
struct DataBias {
  std::vector<ColumnBias> columns;
  std::vector<ThinCross> thin;  // of each two of the columns, fewer rows than min_rows, none too; ascending
};

struct DataBiasOptions {
  std::vector<std::string> columns;       // whose values are groups
  std::string label = {}, positive = {};  // "" without one
  std::map<std::string, std::map<std::string, double>> reference =
      {};                                          // column, group: share of the population
  MissingWords missing = ColumnOptions{}.missing;  // words
  int64_t min_rows = 30;
};
// Raises ValueError: csv.column; bias.groups for a column of more than 50 values; bias.reference for a
// column that the table has not, a share that is none, or shares of a column whose sum is not 1 within 0.01;
// bias.positive for a label that no row has.
DataBias data_bias(const CsvTable& table, const DataBiasOptions& options);

}  // namespace espalier
