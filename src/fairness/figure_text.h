// Figures of slices for people and for programs: what texts of assessments share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "fairness/assessment.h"
#include "report/terminal.h"

namespace espalier {

// Four digits, fewer behind the point of large numbers; "-" for none.
std::string number_of(const std::optional<double>& value);
// "0.1000 to 0.2000".
std::string between(const std::optional<Interval>& interval);
// "demographic parity".
std::string spaced(std::string_view name);
// "Female, old".
std::string values_of(const SliceFigures& slice);
// A line that names the slices which are thin, and why; "" without any.
std::string thin_text(const Assessment& assessment, const SlicingFigures& by, const Terminal& terminal);
// The slices of a slicing in the order of a metric, or in their own where values stand for colours, each with
// its interval drawn; the metric has the name that was asked for, perhaps an alias.
std::string metric_text(const Assessment& assessment, const SlicingFigures& by, const std::string& name,
                        size_t threshold, const Terminal& terminal);

// A line that says how rows were drawn again, and of which of these metrics intervals do not follow from
// that; "" where they were not.
std::string intervals_text(const Assessment& assessment, const std::vector<std::string>& metrics);

nlohmann::ordered_json json_of(const std::optional<double>& value);
nlohmann::ordered_json json_of(const std::optional<Interval>& interval);
nlohmann::ordered_json json_of(const Figure& figure);

}  // namespace espalier
