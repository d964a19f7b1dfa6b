// Names of features within features.
#pragma once

#include <string>
#include <vector>

#include "validate/metadata_files.h"

namespace espalier {

using FeaturePath = std::vector<std::string>;

// "trip.day"; a step with a point, a quote or a parenthesis in it stands in quotes: 'a.b'.c. As the keys of
// Anomalies are written.
std::string path_text(const FeaturePath& path);
tfmd::Path path_message(const FeaturePath& path);
FeaturePath child_of(FeaturePath path, const std::string& step);

}  // namespace espalier
