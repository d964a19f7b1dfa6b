#include <algorithm>
#include <array>

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
  return out;
}

TEST(Completeness, DefinitionsOweNothing) {
  for (const OpDef* op : all_ops()) EXPECT_EQ(missing_parts(*op), "") << op->name;
}

TEST(Completeness, SupportIsKnown) {
  std::string unknown;
  for (const OpDef* op : all_ops()) {
    const DTypeFlags dtypes = supported_dtypes(*op);
    if (std::count(dtypes.begin(), dtypes.end(), true) == 0) unknown += cat(" ", op->name);
  }
  EXPECT_EQ(unknown, "") << "the support table needs OpDef::sample of these";
}

TEST(Completeness, RulesRefuseCallsWithoutTheirOperands) {
  for (const OpDef* op : all_ops()) {
    const std::shared_ptr<Attributes> attributes = op->attributes ? op->attributes() : nullptr;
    try {
      infer_types(*op, attributes.get(), {}, {});
    } catch (const InternalError& error) {
      ADD_FAILURE() << op->name << ": " << error.what();
    } catch (const Error&) {
    }
  }
}

// Ops without a test object, each with the reason.
struct Exception {
  std::string_view op;
  const char* reason;
};
constexpr std::array<Exception, 0> kExceptions{};
static_assert(kExceptions.size() <= 8);

TEST(Completeness, EveryOpHasATestObject) {
  for (const OpDef* op : all_ops()) {
    const bool excepted = std::any_of(kExceptions.begin(), kExceptions.end(),
                                      [&](const Exception& e) { return e.op == op->name; });
    EXPECT_NE(has_op_test(*op), excepted)
        << op->name << ": needs an OP_TEST, or stands on the list and has one";
  }
}

}  // namespace
}  // namespace espalier
