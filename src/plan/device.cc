#include "pjrt/find.h"
#include "plan/plan.h"

namespace espalier {

bool DevicePlan::is_cpu() const { return pjrt::plain_name(name) == "cpu"; }

}  // namespace espalier
