// The page that `espalier check` writes: what its first screen says of each gate.
#include <set>

#include "base/env.h"
#include "base/philox.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "report/framed_page_test.h"

namespace espalier::cli {
namespace {

// Of 3,000 rows, where women who are positive are found less often than men.
std::string page_people() {
  Philox random(4);
  std::string out = "paid,score,sex,age,city\n";
  for (int i = 0; i < 3000; ++i) {
    const bool woman = random.below(2), paid = random.below(10) < 4;
    const bool said = random.below(100) < (paid ? woman ? 55u : 75u : 10u);
    out += cat(paid ? "yes" : "no", ",", said ? 0.75 : 0.25, ",", woman ? "Female" : "Male", ",",
               18 + random.below(60), ",", random.below(2) ? "Oslo" : "Bonn", "\n");
  }
  return out;
}

const char* const kPageGates = R"toml(
[buckets]
age = [25, 45, 65]
[[gates]]
metric = "auc"
min = 0.6
[[gates]]
name = "cities are served alike"
criterion = "demographic_parity"
between = "city"
max = 0
severity = "warn"
[[gates]]
name = "enough is right"
metric = "accuracy"
min = 0.99
[[gates]]
name = "who paid is found at any age"
metric = "true_positive_rate"
each = "sex*age"
min = 0.65
decide = "proven-over"
[[gates]]
data = "drift"
[[gates]]
criterion = "equal_opportunity"
between = "sex"
max = 0.05
[[waivers]]
gate = "enough is right"
name = "A. Person"
reason = "The next model is < a month away."
expires = 2031-01-31
)toml";

struct CheckPage : FramedPage {
  const std::string folder = own_folder();
  const std::string scores = write_file(folder + "/scores.csv", page_people());

  void SetUp() override {}
  std::string page(const std::string& gates = kPageGates, const std::string& more = "") const {
    const Outcome said = call_command(cat("check --scores ", scores, " --label paid --score score --gates ",
                                          write_file(folder + "/gates.toml", gates),
                                          " --today 2030-05-01 --html ", folder, "/report.html ", more));
    EXPECT_TRUE(said.code == 1 || said.code == 3) << said.error;
    return posix_env().read_file(folder + "/report.html");
  }
  // What the verdict lists, as markup without tags behind what its sign is called.
  static std::vector<std::string> items(const std::string& page) {
    std::vector<std::string> out;
    const size_t end = page.find("</section>", page.find("id=\"verdict\""));
    for (size_t at = page.find("<li>"); at < end; at = page.find("<li>", at + 1)) {
      const size_t name = page.find("aria-label=\"", at) + 12;
      std::string text = page.substr(name, page.find('"', name) - name) + " ";
      for (size_t open = at; open < page.find("</li>", at); open = page.find('<', open)) {
        open = page.find('>', open) + 1;
        text += page.substr(open, page.find('<', open) - open);
      }
      out.push_back(text);
    }
    return out;
  }
  std::string evaluate(const std::string& more) const {
    return cat("next: espalier evaluate --scores ", scores, " --label paid --score score ", more);
  }
};

void expect_like(const std::string& text, const std::vector<std::string>& parts) {
  size_t at = 0;
  for (const std::string& part : parts) {
    const size_t found = text.find(part, at);
    EXPECT_NE(found, text.npos) << part << "\n  in " << text;
    if (found != text.npos) at = found + part.size();
  }
}

// The columns that lie furthest apart are drawn, the others named.
TEST_F(CheckPage, SlowAThousandColumnsStayWithinTwoMegabytes) {
  const auto wide = [](uint64_t seed, bool scored) {
    Philox random(seed);
    std::string out = scored ? "paid,score" : "paid";
    for (int c = 0; c < 1000; ++c) out += cat(",column ", c);
    for (int i = 0; i < 300; ++i) {
      out += cat(random.below(2) ? "\nyes" : "\nno", scored ? random.below(2) ? ",0.75" : ",0.25" : "");
      for (int c = 0; c < 1000; ++c) {
        if (c % 2)
          out += cat(",a category with a name ", random.below(9));
        else
          out += cat(",", static_cast<double>(random.below(1000)) / 7 + (scored && c % 100 == 0 ? 40 : 0));
      }
    }
    return out + "\n";
  };
  const std::string now = write_file(folder + "/wide.csv", wide(1, true)),
                    train = write_file(folder + "/train.csv", wide(2, false));
  const Outcome said = call_command(cat(
      "check --scores ", now, " --label paid --score score --train ", train, " --gates ",
      write_file(folder + "/wide.toml", "[[gates]]\ndata = \"drift\"\n"), " --html ", folder, "/wide.html"));
  EXPECT_EQ(said.code, 1) << said.error;
  const std::string page = posix_env().read_file(folder + "/wide.html");
  EXPECT_LT(page.size(), size_t{2} << 20);
  EXPECT_NE(page.find("Not drawn, and nearer to each other: "), page.npos);
  EXPECT_NE(page.find("column 500"), page.npos) << "one that moved";
}

TEST_F(CheckPage, EachGateHasItsNumberItsLimitAndOneCommand) {
  const std::vector<std::string> said = items(page());
  ASSERT_EQ(said.size(), 6u);
  expect_like(said[0], {"blocks who paid is found at any age: true positive rate for sex=Female, age=",
                        " is 0.", " (95 % interval 0.", " positives)", ", limit at least 0.65 next: ",
                        evaluate("--cross &#39;sex*age&#39; --bucket age=25,45,65 --metric "
                                 "true_positive_rate --threshold 0.5")
                            .substr(6)});
  expect_like(said[1], {"blocks equal_opportunity between sex: true positive rate for sex=Female is 0.",
                        " against 0.", "(gap 0.", "95 % interval 0.", ", limit at most 0.05 ",
                        evaluate("--slice sex --metric true_positive_rate --threshold 0.5")});
  expect_like(said[2], {"undecided data: drift: drift of the data cannot be judged", ", limit at most 0 ",
                        "next: espalier check --scores ", "--train train.csv"});
  expect_like(said[3], {"warns cities are served alike: selection rate for city=", ", limit at most 0 ",
                        evaluate("--slice city --metric selection_rate --threshold 0.5")});
  expect_like(said[5], {"passes auc: AUC is 0.", ", limit at least 0.6"});
  for (const std::string& item : said)
    EXPECT_EQ(item.find("limit"), item.rfind("limit")) << "said once: " << item;
  EXPECT_EQ(said[5].find("next:"), std::string::npos) << said[5];
}

TEST_F(CheckPage, AWaiverIsNamed) {
  const std::vector<std::string> said = items(page());
  expect_like(said[4], {"waived enough is right: accuracy is 0.", ", limit at least 0.99",
                        "; waived by A. Person until 2031-01-31: The next model is &lt; a month away."});
  EXPECT_EQ(said[4].find("next:"), std::string::npos) << said[4];
  // Of one slice, where another one blocks.
  std::string gates = kPageGates;
  gates.replace(gates.find("gate = \"enough is right\""), 24,
                "gate = \"who paid is found at any age\"\nslice = \"sex=Female, age=[45,65)\"");
  expect_like(items(page(gates))[1],
              {"blocks who paid is found at any age: ", "; waived by A. Person until 2031-01-31: "});
}

TEST_F(CheckPage, ItemsLeadToTheirSections) {
  const std::string written = page();
  for (const char* link : {"<a href=\"#slices\">who paid", "<a href=\"#fairness\">equal_opp",
                           "<a href=\"#slices\">auc", "<b>data: drift</b>"})
    EXPECT_NE(written.find(link), written.npos) << link;
  std::string train = page_people();
  train[train.find("0.75")] = '1';
  const std::string with_data = page(kPageGates, "--train " + write_file(folder + "/train.csv", train));
  EXPECT_NE(with_data.find("<a href=\"#data\">data: drift</a>"), with_data.npos);
  EXPECT_TRUE(items(with_data)[5].starts_with("passes data: drift: drift of the data has no fault"))
      << items(with_data)[5];
}

// Each word of them is taken by the command that it is of.
TEST_F(CheckPage, TheCommandsOfItemsWork) {
  std::set<std::string> seen;
  for (std::string item :
       items(page(cat("where = \"age < 70\"\n", kPageGates, "[[gates]]\nmetric = \"recall\"\nmin = 0.99\n"),
                  "--min-slice 5"))) {
    const size_t next = item.find("next: espalier ");
    if (next == item.npos || item.find("train.csv") != item.npos) continue;
    std::string line = item.substr(next + 15);
    for (size_t at = 0; (at = line.find("&#39;")) != line.npos;) line.replace(at, 5, "'");
    for (size_t at = 0; (at = line.find("&lt;")) != line.npos;) line.replace(at, 4, "<");
    const Outcome said = call_command(line);
    EXPECT_EQ(said.code, 0) << line << said.error;
    EXPECT_NE(said.output.find("age < 70"), std::string::npos) << line;
    seen.insert(line);
  }
  EXPECT_EQ(seen.size(), 4u);
}

// Rows with names; of one person the score is further from the truth than of anybody else.
std::string named_people() {
  std::string out = "name,paid,score,sex\n";
  for (int i = 0; i < 300; ++i)
    out += cat("Person ", i, i % 2 ? ",yes," : ",no,",
               i == 7   ? 0.01
               : i == 8 ? 0.875
               : i % 2  ? 0.75
                        : 0.25,
               ",", i % 3 ? "Female" : "Male", "\n");
  return out;
}

const char* const kOneGate = "[[gates]]\nmetric = \"accuracy\"\nmin = 0.999\n";

TEST_F(CheckPage, RowsStandInItWhereTheyWereAskedAndItSaysSo) {
  write_file(folder + "/scores.csv", named_people());
  const std::string without = page(kOneGate);
  EXPECT_EQ(without.find("Person "), without.npos);
  EXPECT_EQ(without.find("people's rows"), without.npos);
  EXPECT_NE(without.find("no row is in this file, and no value of fewer than 10 rows is named"),
            without.npos);
  const std::string with = page(kOneGate, "--with-rows 2");
  EXPECT_NE(with.find("This page holds 2 rows of people, as they are."), with.npos);
  EXPECT_LT(with.find("This page holds 2 rows"), with.find("id=\"verdict\"")) << "before all else";
  EXPECT_NE(with.find("The 2 of 300 rows whose score lies furthest from what is true, the worst first"),
            with.npos);
  expect_like(with.substr(with.find("id=\"rows\"")),
              {">9<", ">0.01<", ">0.99<", ">Person 7<", ">10<", ">0.875<", ">Person 8<"});
  for (int i = 0; i < 300; ++i)
    EXPECT_EQ(with.find(cat(">Person ", i, "<")) != with.npos, i == 7 || i == 8) << i;
  EXPECT_EQ(with.find("no row is in this file"), with.npos);
}

TEST_F(CheckPage, OneWithRowsIsVerifiedAsAskedAndDiffersElse) {
  write_file(folder + "/scores.csv", named_people());
  const std::string flags = cat("check --scores ", scores, " --label paid --score score --gates ", folder,
                                "/gates.toml --today 2030-05-01 "),
                    verify = cat("--verify ", folder, "/report.html"), asked = "--with-rows 2 --rare 5 ";
  page(kOneGate, asked);
  EXPECT_EQ(call_command(cat(flags, asked, verify)).code, 0);
  const Outcome without = call_command(cat(flags, verify));
  EXPECT_EQ(without.code, 1);
  EXPECT_NE(
      without.output.find("\n  the page shows 2 rows of the data, and this check 0; --with-rows 2 makes "
                          "them alike\n"),
      std::string::npos)
      << without.output;
  const Outcome again = call_command(cat(flags, asked, "--html ", folder, "/report.html"));
  EXPECT_NE(again.output.find(cat(" --with-rows 2 --rare 5 --verify ")), std::string::npos) << again.output;
  EXPECT_EQ(call_command(cat(flags, "--with-rows 2")).code, 2) << "there is no page to hold them";
}

TEST_F(CheckPage, RareIsWhatIsSaidToBe) {
  std::string rows = named_people();
  for (int i = 0; i < 6; ++i) rows += "Some One,yes,0.75,Neither\n";
  write_file(folder + "/scores.csv", rows);
  EXPECT_EQ(page(kOneGate, "--slice sex").find("Neither"), std::string::npos);
  const std::string looser = page(kOneGate, "--slice sex --rare 6");
  EXPECT_NE(looser.find("Neither"), std::string::npos);
  EXPECT_NE(looser.find("no value of fewer than 6 rows is named"), std::string::npos);
}

// People with names of their own, among whom some values are rare; scored or not.
std::string rare_people(uint64_t seed, bool scored) {
  Philox random(seed);
  std::string out = scored ? "paid,score,city,team,name\n" : "paid,city,team,name\n";
  for (int i = 0; i < 1500; ++i) {
    const bool paid = random.below(2);
    const std::string rare = i % 100 == 0 ? cat("Hamlet", i / 100 / 4) : random.below(2) ? "Oslo" : "Bonn";
    out += cat(paid ? "yes" : "no", scored ? paid ? ",0.75," : ",0.25," : ",", rare, ",",
               i < 9 && scored ? "Newcomers" : "Regulars", ",Person", scored ? "B" : "A", i, "\n");
  }
  return out;
}

TEST_F(CheckPage, NoValueRarerThanTenStandsAnywhereInIt) {
  const std::string evaluated = rare_people(1, true), learned = rare_people(2, false);
  write_file(folder + "/scores.csv", evaluated);
  const std::string train = write_file(folder + "/train.csv", learned);
  const std::string gates =
      "[[gates]]\nmetric = \"accuracy\"\nmax = 0.5\n[[gates]]\ndata = \"schema\"\n"
      "[[gates]]\ndata = \"drift\"\n[[gates]]\nmetric = \"accuracy\"\neach = \"city*team\"\nmin = 0.9\n";
  const std::string flags = cat("--slice city,team --cross city*team --train ", train);
  const auto named = [&](const std::string& written) {
    std::set<std::string> out;
    for (const std::string& rows : {evaluated, learned}) {
      const CsvTable table = parse_csv(rows);
      for (const char* column : {"city", "team", "name"}) {
        const int64_t at = table.column(column);
        std::map<std::string, int> counts;
        for (int64_t row = 0; row < table.rows(); ++row) ++counts[std::string(table.cell(row, at))];
        for (const auto& [value, count] : counts) {
          if (count < 10 && written.find(value) != written.npos) out.insert(value);
        }
      }
    }
    return out;
  };
  EXPECT_EQ(named(page(gates, flags)), std::set<std::string>());
  const std::set<std::string> all = named(page(gates, flags + " --rare 1"));
  for (const char* value : {"Hamlet0", "Newcomers"})
    EXPECT_TRUE(all.contains(value)) << "or this says nothing";
}

// Two of three slices are hidden, so that neither is what all rows have less the others.
TEST_F(CheckPage, NoFigureOfFewRowsStandsInItsVerdict) {
  std::string rows = "paid,score,sex\n";
  for (int i = 0; i < 1028; ++i)
    rows += cat(i % 2 ? "yes" : "no", ",",
                i % 7 == 0 ? 0.375
                : i % 2    ? 0.75
                           : 0.25,
                ",",
                i < 507    ? "F"
                : i < 1025 ? "M"
                           : "ZZ",
                "\n");
  write_file(folder + "/scores.csv", rows);
  const auto verdict = [&](const std::string& gate, const std::string& flags) {
    const Outcome said = call_command(cat("check --scores ", scores, " --label paid --score score --gates ",
                                          write_file(folder + "/gates.toml", "[[gates]]\n" + gate), " ",
                                          flags, " --html ", folder, "/report.html"));
    EXPECT_NE(said.code, 2) << said.error;
    const std::string written = posix_env().read_file(folder + "/report.html");
    const size_t begin = written.find("<section id=\"verdict\"");
    EXPECT_NE(begin, written.npos);
    return written.substr(begin, written.find("</section>", begin) - begin);
  };
  for (const char* gate : {"criterion = \"demographic_parity\"\nbetween = \"sex\"\nmax = 0.01\n",
                           "metric = \"accuracy\"\nslice = \"sex=ZZ\"\nmin = 0.999\n",
                           "metric = \"accuracy\"\neach = \"sex\"\nmax = 0.9999\n",
                           "metric = \"accuracy\"\nslice = \"sex=F\"\nmin = 0.1\n",
                           "metric = \"accuracy\"\neach = \"sex\"\nmin = 0.5\nleast_rows = 5\n"}) {
    const std::string said = verdict(gate, "");
    EXPECT_NE(said.find("no figure of it stands here"), said.npos) << said;
    EXPECT_NE(said.find("(rare)"), said.npos) << said;
    for (const char* figure : {" is 0.", " is 1", " rows)", "gap 0", "interval 0", "3 rows", "507"})
      EXPECT_EQ(said.find(figure), said.npos) << figure << " in " << said;
    EXPECT_EQ(verdict(gate, "--rare 1").find("no figure of it"), std::string::npos) << gate;
  }
}

TEST_F(CheckPage, ConditionsNameNoRareValue) {
  write_file(folder + "/scores.csv", rare_people(1, true));
  const std::string of_accuracy = "[[gates]]\nmetric = \"accuracy\"\nmax = 0.5\n",
                    of_slice = "[[gates]]\nmetric = \"accuracy\"\nslice = \"city=Hamlet0\"\nmax = 0.5\n";
  const std::string flag = "--where 'city!=\"Hamlet0\" and team != \"Newcomers\"'";
  for (const std::string& written :
       {page(of_accuracy, flag), page("where = 'city != \"Hamlet0\"'\n" + of_accuracy),
        page(of_accuracy, "--slice-where 'small: city in [\"Bonn\", \"Hamlet0\"]'"),
        page(of_accuracy + of_slice, "--where 'city!=\"Hamlet0\"'")}) {
    EXPECT_EQ(written.find("Hamlet0"), written.npos);
    EXPECT_EQ(written.find("Newcomers"), written.npos);
    EXPECT_NE(written.find("..."), written.npos) << "in its commands";
  }
  const std::string written = page(of_accuracy, flag);
  EXPECT_NE(written.find("scores.csv, where city != &quot;(rare)&quot; and team != &quot;(rare)&quot;: "),
            written.npos);
  EXPECT_EQ(call_command(cat("check --scores ", scores, " --label paid --score score --gates ", folder,
                             "/gates.toml --today 2030-05-01 ", flag, " --verify ", folder, "/report.html"))
                .code,
            0);
  const std::string looser = page(of_accuracy, flag + " --rare 2");
  EXPECT_NE(looser.find("Hamlet0&quot; and team"), looser.npos);
}

TEST_F(CheckPage, CommandsAndVerdictNameNoRareClass) {
  std::string rows = "kind,a,b,r\n";
  for (int i = 0; i < 300; ++i) rows += cat(i < 3 ? "Oddity" : i % 2 ? "aa" : "bb", ",0.5,0.3,0.2\n");
  write_file(folder + "/scores.csv", rows);
  const Outcome said = call_command(
      cat("check --scores ", scores, " --label kind --score aa=a,bb=b,Oddity=r --task classes --gates ",
          write_file(folder + "/gates.toml", "[[gates]]\nmetric = \"recall[Oddity]\"\nmin = 0.9\n"),
          " --html ", folder, "/report.html"));
  EXPECT_EQ(said.code, 1) << said.error;
  const std::string written = posix_env().read_file(folder + "/report.html");
  EXPECT_EQ(written.find("Oddity"), written.npos);
  EXPECT_NE(written.find("(rare) breaks its limit"), written.npos);
}

TEST_F(CheckPage, EachTableIsSavedAsCsvAndEachSectionHasALink) {
  write_file(folder + "/scores.csv", rare_people(1, true));
  const std::string train = write_file(folder + "/train.csv", rare_people(2, false));
  const std::string written =
      page("[[gates]]\nmetric = \"accuracy\"\nmax = 0.5\n[[gates]]\ndata = \"drift\"\n",
           cat("--slice city,team --with-rows 3 --train ", train));
  const auto ids_of = [&](const std::string& tag) {
    std::vector<std::string> out;
    const std::string begin = cat("<", tag, " id=\"");
    for (size_t at = written.find(begin); at != written.npos; at = written.find(begin, at + 1)) {
      const size_t from = at + begin.size();
      out.push_back(written.substr(from, written.find('"', from) - from));
    }
    return out;
  };
  const std::vector<std::string> tables = ids_of("table"), sections = ids_of("section");
  EXPECT_GE(tables.size(), 8u);
  for (const std::string& id : tables)
    EXPECT_NE(written.find(cat("data-table=\"", id, "\"")), written.npos) << id;
  EXPECT_GE(sections.size(), 8u);
  for (const std::string& id : sections)
    EXPECT_NE(written.find(cat("href=\"#", id, "\"")), written.npos) << id;
  // Those without a name are drawn from one that has it.
  size_t plain = 0, drawn = 0;
  for (size_t at = written.find("<table"); at != written.npos; at = written.find("<table", at + 1)) {
    const std::string tag = written.substr(at, written.find('>', at) - at);
    plain += tag.find(" id=") == tag.npos;
    drawn += tag.find("class=\"dots\"") != tag.npos;
  }
  EXPECT_EQ(plain, drawn);
}

TEST_F(CheckPage, TheWorstRowsOfEachTask) {
  const auto first = [&](const std::string& rows, const std::string& flags, const std::string& gate) {
    write_file(folder + "/scores.csv", rows);
    const Outcome said = call_command(cat("check --scores ", scores, " ", flags, " --gates ",
                                          write_file(folder + "/gates.toml", gate), " --with-rows 1 --html ",
                                          folder, "/report.html"));
    EXPECT_NE(said.code, 2) << said.error;
    const std::string written = posix_env().read_file(folder + "/report.html");
    const size_t line = written.find("<th scope=\"row\"", written.find("id=\"judged-rows\""));
    const size_t begin = written.find('>', line) + 1;
    return written.substr(begin, written.find('<', begin) - begin);
  };
  EXPECT_EQ(first("y,p\n1,1.5\n2,5\n3,3\n4,4\n", "--label y --score p --task regression",
                  "[[gates]]\nmetric = \"mae\"\nmax = 1\n"),
            "3");
  EXPECT_EQ(
      first("y,a,b,c\na,.8,.1,.1\nb,.3,.6,.1\nc,.1,.8,.1\na,.2,.5,.3\n",
            "--label y --score a=a,b=b,c=c --task classes", "[[gates]]\nmetric = \"accuracy\"\nmin = 0\n"),
      "4");
  EXPECT_EQ(first("q,y,p\n1,0,1\n1,2,.5\n2,2,.25\n2,1,0\n", "--label y --score p --query q",
                  "[[gates]]\nmetric = \"ndcg\"\nmin = 0\n"),
            "4");
}

struct SlowCheckPage : CheckPage {
  void SetUp() override { FramedPage::SetUp(); }
};

TEST_F(SlowCheckPage, TheFirstScreenHasTheVerdictAndTheWorstItems) {
  expect_first_screen(framed(page(), kFirstScreen, {{1280, 720}, {390, 844}}));
}

TEST_F(SlowCheckPage, IsReadByAllKindsOfReaders) { expect_readable(page(), 300); }

}  // namespace
}  // namespace espalier::cli
