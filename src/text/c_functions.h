// Elementary functions in C, for files that may not call a library.
#pragma once

#include <set>
#include <string>

namespace espalier::c_text {

// The definitions of these functions and of those they call, each once and before its use. Known names:
// exp_f32, expm1_f32, log_f32, log1p_f32, tanh_f32, logistic_f32, erf_f32, erfc_f32, sqrt_f32, floor_f32,
// ceil_f32, rint_f32, round_f32, pow_f32, sine_f32, cosine_f32, tan_f32, atan2_f32, cbrt_f32, remainder_f32,
// lgamma_f32, reduced_f32, and of u64 ones_u64, width_u64.
std::string functions(const std::set<std::string>& names);

}  // namespace espalier::c_text
