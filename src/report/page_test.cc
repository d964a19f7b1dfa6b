#include "report/page.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/error.h"
#include "report/choice.h"
#include "report/histogram.h"
#include "report/html_table.h"
#include "report/interval_chart.h"
#include "report/swatches.h"
#include "report/threshold_panel.h"

namespace espalier {
namespace {

bool has(const Html& html, const std::string& markup) {
  return html.markup().find(markup) != std::string::npos;
}

TEST(Html, TextIsEscaped) {
  EXPECT_EQ(Html("<a href='x'>\"&\x01\n").markup(), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;\xef\xbf\xbd\n");
  EXPECT_EQ(element("p", {{"title", "\" onclick=\"x"}}, "a<b").markup(),
            "<p title=\"&quot; onclick=&quot;x\">a&lt;b</p>");
  EXPECT_EQ(element("input", {{"value", "1"}, {"class", ""}}).markup(), "<input value=\"1\">");
  EXPECT_EQ(script_data("\"</script>\"").markup(),
            "<script type=\"application/json\">\"\\u003c/script>\"</script>");
}

TEST(Html, CountsAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

TEST(HtmlTable, HasCaptionScopesAndFullNumbers) {
  HtmlTable table{.id = "t", .caption = "A & B", .columns = {{"name"}, {"share", "part / whole", true}}};
  table.rows.push_back({{.content = "x"}, {.content = "0.333", .number = 1.0 / 3, .title = "1 / 3"}});
  const Html html = drawn(table);
  EXPECT_TRUE(has(html, "<caption id=\"t-caption\">A &amp; B</caption>"));
  EXPECT_TRUE(has(html, "<th scope=\"row\">x</th>"));
  EXPECT_TRUE(has(html, "<td class=\"number\" data-v=\"0.3333333333333333\" title=\"1 / 3\">0.333</td>"));
  table.rows.push_back({{.content = "alone"}});
  EXPECT_THROW(drawn(table), ValueError);
}

TEST(HtmlTable, HeatHasThreeStepsToEachSide) {
  EXPECT_EQ(heat(0.019), "");
  EXPECT_EQ(heat(-0.02), "heat low1");
  EXPECT_EQ(heat(0.05), "heat high2");
  EXPECT_EQ(heat(-0.3), "heat low3");
}

TEST(IntervalChart, PlacesDotsOnTheScale) {
  IntervalChart chart{.caption = "c", .rows = {{.name = "a", .value = 0.25, .interval = Span{0, 0.5}}}};
  chart.rows.push_back({.name = "b", .title = "0 / 0"});
  const Html html = drawn(chart);
  EXPECT_TRUE(has(html, ">0.0</text>") && has(html, ">0.2</text>") && has(html, ">0.6</text>"));
  // From 2 to 98 % of the width, so that dots at the ends are whole.
  EXPECT_TRUE(has(html, "<circle cx=\"42.00%\""));
  EXPECT_TRUE(has(html, "x1=\"2.00%\" x2=\"82.00%\""));
  EXPECT_TRUE(has(html, ">undefined</td>"));
  for (const double value : {0.0, -1e-12, 1e15, 0.7}) {
    chart = {.caption = "one value", .rows = {{.name = "a", .value = value}}};
    EXPECT_TRUE(has(drawn(chart), "<circle")) << value;
    EXPECT_LT(drawn(chart).markup().size(), 3000u) << "a few ticks";
  }
}

TEST(Swatches, AreSquaresThatSayTheirColours) {
  const Html two = swatches({"#f6ede4", "#292420"});
  EXPECT_TRUE(has(two, "role=\"img\" aria-label=\"colours #f6ede4 #292420\"")) << two.markup();
  EXPECT_TRUE(has(two, "<rect x=\"12\" width=\"12\" height=\"12\" fill=\"#292420\">")) << two.markup();
  EXPECT_TRUE(swatches({}).empty());
  for (const char* bad : {"red", "#12345", "#12345g", "url(#a)", "1234567"})
    EXPECT_THROW(swatches({bad}), ValueError) << bad;
  const IntervalChart chart{.caption = "c",
                            .rows = {{.name = "skin=1", .value = 0.5, .swatches = {"#f6ede4"}}}};
  EXPECT_TRUE(has(drawn(chart), "skin=1<svg class=\"swatches\""));
}

TEST(Histogram, ScalesEachSideToItsHighestBar) {
  const double positives[] = {0, 10, 5, 0}, negatives[] = {1000, 1, 0, 0};
  const Html html = mirrored_histogram(positives, negatives);
  EXPECT_TRUE(has(html, "d=\"M0 20H50V0H100V10H150V20H200V20Z\" class=\"positives\""));
  EXPECT_TRUE(has(html, "d=\"M0 20H0V40H50V21H100V20H200V20Z\" class=\"negatives\"")) << "few are not none";
  EXPECT_FALSE(has(mirrored_histogram({}, {}), "positives"));
}

TEST(Page, LinksToItsSectionsAndSaysTheVerdictFirst) {
  Page page{.title = "<T>", .sections = {{"one", "First", "body"}, {"two", "Second", "body"}}};
  page.verdict = {.standing = Standing::kBlocked, .word = "Blocked", .sentence = "Why <not>."};
  for (int i = 0; i < 5; ++i)
    page.verdict->items.push_back({.what = "item", .number = "1", .limit = "2", .next = "do"});
  const std::string out = html(page);
  EXPECT_LT(out.find("Why &lt;not&gt;."), out.find("id=\"one\""));
  for (const char* id : {"verdict", "one", "two"})
    EXPECT_NE(out.find(std::string("href=\"#") + id), out.npos) << id;
  EXPECT_NE(out.find("<summary>2 more</summary>"), out.npos) << "three items are open";
  EXPECT_NE(out.find("default-src &#39;none&#39;"), out.npos);
  EXPECT_EQ(out, html(page));
  page.sections[0].body = std::string(kMostPageBytes, 'x');
  EXPECT_THROW(html(page), ValueError);
}

TEST(ThresholdPanel, SendsWeightsOnlyWhereTheyDiffer) {
  ThresholdPanel panel{.id = "p", .caption = "c", .slices = {{.name = "a", .bins = {}}}, .rates = {}};
  panel.slices[0].bins.resize(1002);
  panel.slices[0].bins[7][1] = {.rows = 3, .weight = 3, .squares = 3};
  const std::string zeros(994, ',');
  EXPECT_TRUE(has(drawn(panel), cat("[\",,,,,,,3", zeros, "\"]")));
  panel.slices[0].bins[7][1] = {.rows = 3, .weight = 1.5, .squares = 0.75};
  EXPECT_TRUE(has(drawn(panel),
                  cat("[\",,,,,,,3", zeros, "\",\",,,,,,,1.5", zeros, "\",\",,,,,,,0.75", zeros, "\"]")));
}

TEST(Choice, ShowsAPanelForEachOption) {
  const Html html = choice("c", "Metric:", {{"a", "1"}, {"b", "2"}});
  EXPECT_TRUE(has(html, "<label for=\"c\">Metric: </label>"));
  EXPECT_TRUE(has(html, "<option>b</option>"));
  EXPECT_TRUE(has(html, "<p class=\"panel-name\">b</p>2"));
}

}  // namespace
}  // namespace espalier
