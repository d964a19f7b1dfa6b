// Student's t distribution.
#pragma once

#include <cstdint>

namespace espalier {

// How many standard errors to each side hold `level` of the law with so many degrees of freedom: 2.093 for
// 0.95 and 19. Raises ValueError[evaluate.level] as normal_width() does, and for no degrees.
double student_width(double level, int64_t degrees);
// How often a number of that law lies as far from 0 as `t`, or further, on either side: 0.05 for 2.093
// and 19. Raises ValueError[evaluate.level] for no degrees.
double student_p(double t, int64_t degrees);

}  // namespace espalier
