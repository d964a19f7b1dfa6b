#include <algorithm>

#include "ops/op_test.h"
#include "ops/support.h"

namespace espalier {
namespace {

// What an op's definition owes, or "" when all is there.
std::string missing_parts(const OpDef& op) {
  std::string out;
  const auto need = [&](bool ok, const char* what) {
    if (!ok) out += cat(out.empty() ? "" : ", ", what);
  };
  const std::string doc = op.doc ? op.doc : "";
  need(!doc.empty(), "doc");
  need(op.infer, "infer");
  need(op.composite ? op.decompose != nullptr : op.eval != nullptr, op.composite ? "decompose" : "eval");
  need(op.gradient || op.no_gradient || op.decompose, "gradient, or the reason why there is none");
  need(op.batch || op.composite, "batch");
  const DTypeFlags dtypes = supported_dtypes(op);
  need(std::count(dtypes.begin(), dtypes.end(), true) > 0,
       "a sample (its rule takes nothing under default attributes)");
  return out;
}

TEST(Completeness, DefinitionsOweNothing) {
  for (const OpDef* op : all_ops()) EXPECT_EQ(missing_parts(*op), "") << op->name;
}

// Every op has a test object. Those on the list may do without, each for its reason.
struct Exception {
  const char* op;
  const char* reason;
};
constexpr Exception kExceptions[] = {{"", ""}};
static_assert(std::size(kExceptions) <= 8);

TEST(Completeness, EveryOpHasATestObject) {
  std::string missing;
  for (const OpDef* op : all_ops()) {
    const bool excepted = std::any_of(std::begin(kExceptions), std::end(kExceptions),
                                      [&](const Exception& e) { return e.op == std::string_view(op->name); });
    EXPECT_FALSE(excepted && has_op_test(*op)) << op->name << " has a test object and stands on the list";
    if (!excepted && !has_op_test(*op)) missing += cat(" ", op->name);
  }
  if (!missing.empty()) GTEST_SKIP() << "without a test object:" << missing;
}

}  // namespace
}  // namespace espalier
