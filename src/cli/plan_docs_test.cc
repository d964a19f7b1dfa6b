// docs/plan.md says of every key what its declaration says.
#include "base/env.h"
#include "cli/verb_test.h"
#include "plan/text.h"

namespace espalier::cli {
namespace {

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string rows_of(const std::string& prefix, const Fields& fields) {
  std::string out;
  for (const Field& field : fields) {
    if (const auto* group = std::get_if<Fields>(&field.target)) {
      out += rows_of(cat(prefix, field.key, "."), *group);
      continue;
    }
    const bool tables = std::holds_alternative<Many>(field.target);
    const std::string initial = field.required ? "must be given"
                                : tables       ? "below"
                                               : cat("`", value_text(field), "`");
    out += cat("| `", prefix, field.key, "` | ", cell(allowed(field)), " | ", cell(initial), " | ",
               cell(field.meaning), " |\n");
  }
  return out;
}

// The table of the keys, below a heading.
std::string table_of(const std::string& heading, const Fields& fields) {
  const std::string head = cat("\n", heading, "\n\n");
  if (fields.empty()) return head + "No keys but `type`.\n";
  return cat(head, "| key | value | default | meaning |\n|---|---|---|---|\n", rows_of("", fields));
}

// The tables of all that the tag can say.
std::string tables_of(OneOf one, const std::string& heading) {
  std::string out;
  for (size_t i = 0; i < one.names.size(); ++i) {
    one.choose(i);
    if (!one.names[i].empty())
      out += table_of(cat(heading, " `", one.tag, " = \"", one.names[i], "\"`"), one.fields());
  }
  return out;
}

std::string reference() {
  TrainPlan plan = table_plan();
  plan.data.label = "x";
  const Fields top = fields_of(plan);
  plan.data.label = "";
  LayerPlan layer;
  InitializerPlan initializer;
  RatePlan rate;
  LossPlan loss;
  CallbackPlan callback;
  return cat(table_of("## `[data]`", std::get<Fields>(top[0].target)),
             table_of("## `[model]`", std::get<Fields>(top[1].target)),
             tables_of(one_of(layer), "### `[[model.layers]]`"),
             tables_of(one_of(initializer), "### An initializer, `{ ... }` with"),
             tables_of(one_of(plan.optimizer), "## `[optimizer]`"),
             tables_of(one_of(rate), "### `learning_rate`, `{ ... }` with"),
             tables_of(one_of(loss), "## `[loss]`"), table_of("## `[fit]`", std::get<Fields>(top[4].target)),
             table_of("## `[distribute]`", std::get<Fields>(top[5].target)),
             table_of("## `[device]`", std::get<Fields>(top[6].target)),
             tables_of(one_of(callback), "## `[[callbacks]]`"));
}

TEST(PlanDocs, SayOfEveryKeyWhatItsDeclarationSays) {
  const std::string docs = posix_env().read_file("docs/plan.md"), wanted = reference();
  // Line by line, so that a difference is seen.
  std::istringstream lines(wanted);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) section = line;
    EXPECT_NE(docs.find(line + "\n"), std::string::npos) << section << "\n" << line;
  }
  EXPECT_NE(docs.find(wanted), std::string::npos) << "the whole of it must be\n" << wanted;
}

TEST(PlanDocs, TheExampleTrains) {
  const std::string docs = posix_env().read_file("docs/plan.md"), fence = "```toml\n";
  const size_t begin = docs.find(fence) + fence.size();
  const std::string text = docs.substr(begin, docs.find("```", begin) - begin);
  const TrainPlan plan = read_plan(text, "docs/plan.md");
  EXPECT_EQ(plan.model.layers.size(), 3u);
  EXPECT_EQ(plan.callbacks.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<WarmUpPlan>(std::get<OptimizerOf<AdamW>>(plan.optimizer).learning_rate));
  const std::string folder = fresh_folder("plan-docs");
  std::string people = "age,sex,city,income\n";
  for (int i = 0; i < 100; ++i)
    people += cat(20 + i * 7 % 40, i % 5 ? ",f" : ",m", i % 3 ? ",Ulm," : ",Bonn,",
                  i * i % 7 < 3 ? "low\n" : "high\n");
  write_file(folder + "/people.csv", people);
  call_verb(add_train,
            {write_file(folder + "/plan.toml", text), "--epochs", "1", "--model", folder + "/model"});
  EXPECT_TRUE(posix_env().exists(folder + "/model/weights.safetensors"));
}

}  // namespace
}  // namespace espalier::cli
