// Pages in frames of a browser, and what a script says of them there.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/scratch_test.h"
#include "report/chromium_test.h"

namespace espalier {

inline constexpr const char* kReaders = R"(
      const all = selector => [...document.querySelectorAll(selector)], wrong = [];
      const ids = all('[id]').map(element => element.id);
      ids.filter((id, i) => ids.indexOf(id) !== i).forEach(id => wrong.push('twice: ' + id));
      all('table').filter(table => !table.caption || !table.caption.textContent).forEach(table => wrong.push('caption: ' + table.id));
      all('th:not([scope])').forEach(th => wrong.push('scope: ' + th.textContent));
      all('a[href^="#"]').filter(a => !document.getElementById(a.hash.slice(1))).forEach(a => wrong.push('link: ' + a.hash));
      all('input:not([aria-label]), svg:not([aria-hidden]):not([aria-label])').forEach(each => wrong.push('name: ' + each.outerHTML));
      all('select').filter(select => !select.labels.length).forEach(select => wrong.push('label: ' + select.id));
      if (all('h1').length !== 1 || all('main, nav, header, footer').length !== 4) wrong.push('landmarks');
      let before = 0;
      all('h1, h2, h3').forEach(h => { if (h.tagName[1] > before + 1) wrong.push('heading: ' + h.textContent); before = +h.tagName[1]; });
      const rgb = text => text.match(/[\d.]+/g).map(Number);
      const light = ([r, g, b]) => [r, g, b].map(c => (c /= 255, c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
          .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
      const behind = element => { const own = rgb(getComputedStyle(element).backgroundColor);
        return own.length < 4 || own[3] > 0 ? own : element.parentElement ? behind(element.parentElement) : [255, 255, 255]; };
      let seen = 0;
      all('body *').filter(element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()) && !element.closest('script, style, noscript')).forEach(element => {
        const style = getComputedStyle(element), ink = rgb(element.ownerSVGElement ? style.fill : style.color);
        const [a, b] = [light(ink), light(behind(element.ownerSVGElement ? element.closest('th, td') : element))].sort((x, y) => y - x);
        ++seen;
        if ((a + 0.05) / (b + 0.05) < 4.5) wrong.push('contrast ' + ((a + 0.05) / (b + 0.05)).toFixed(2) + ': ' + element.outerHTML.slice(0, 200));
      });
      return {wrong: wrong.slice(0, 10), dark: matchMedia('(prefers-color-scheme: dark)').matches, seen})";

// Where the verdict ends, in heights of the screen.
inline constexpr const char* kFirstScreen = R"(
      const bottom = element => element.getBoundingClientRect().bottom / innerHeight;
      return {wide: document.documentElement.scrollWidth / innerWidth, sentence: bottom(document.querySelector('.sentence')),
              items: [...document.querySelectorAll('.verdict > .items > li')].map(bottom)})";

class FramedPage : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_chromium()) GTEST_SKIP() << "there is no `chromium` here, which this test opens the page in";
  }
  // Tests run beside each other.
  static std::string own_folder() {
    const char* name = testing::UnitTest::GetInstance()->current_test_info()->name();
    return std::filesystem::absolute(fresh_folder(cat("page-", name))).string();
  }
  // The page in frames of these sizes, each with what `probe`, the body of an async function, returns there.
  struct Frames {
    Opened opened;
    std::vector<nlohmann::json> probed;
  };
  static Frames framed(const std::string& page, const std::string& probe,
                       const std::vector<std::array<int, 2>>& sizes = {{1280, 720}},
                       const std::string& flags = "") {
    const std::string folder = own_folder();
    std::ofstream(folder + "/page.html") << page << "<script>(async () => {" << probe
                                         << "})().catch(error => 'failed: ' + error).then(result => "
                                            "parent.postMessage(JSON.stringify(result), '*'))</script>";
    std::ofstream frame(folder + "/frame.html");
    frame << "<!doctype html><title>frames</title><style>html{color-scheme:light dark}</style>\n";
    for (const auto& [width, height] : sizes) {
      frame << "<iframe style=\"border:0\" src=\"page.html\" width=\"" << width << "\" height=\"" << height
            << "\"></iframe><p></p>\n";
    }
    frame
        << "<script>onmessage = event => {"
           "const i = Array.from({length: frames.length}, (_, i) => frames[i]).indexOf(event.source), out = "
           "document.querySelectorAll('p')[i];"
           "out.id = 'probe-' + i; out.textContent = encodeURIComponent(event.data).replaceAll(\"'\", '%27')}"
           "</script>";
    frame.close();
    Frames out{open_in_chromium(folder, "frame.html", flags), {}};
    for (size_t i = 0; i < sizes.size(); ++i)
      out.probed.push_back(
          nlohmann::json::parse(decoded(text_of_id(out.opened.dom, cat("probe-", i))), nullptr, false));
    return out;
  }
  static std::string decoded(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        out += text[i];
      } else {
        out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)), i += 2;
      }
    }
    return out;
  }
  // Of what kFirstScreen says: all is on it, with three items.
  static void expect_first_screen(const Frames& frames) {
    for (const nlohmann::json& screen : frames.probed) {
      EXPECT_LE(screen["wide"], 1) << screen;
      EXPECT_LE(screen["sentence"], 1) << screen;
      ASSERT_EQ(screen["items"].size(), 3u) << screen;
      for (const double bottom : screen["items"]) EXPECT_LE(bottom, 1) << screen;
    }
    EXPECT_EQ(frames.opened.messages, "");
  }
  // Captions, scopes, names, targets, and contrast of 4.5 as WCAG 2 has it, in the light and in the dark.
  static void expect_readable(const std::string& page, int least_texts) {
    for (const bool dark : {false, true}) {
      const Frames frames =
          framed(page, kReaders, {{1280, 720}}, dark ? "--blink-settings=preferredColorScheme=0" : "");
      EXPECT_EQ(frames.probed[0]["dark"], dark);
      EXPECT_EQ(frames.probed[0]["wrong"].size(), 0u) << frames.probed[0]["wrong"].dump(1);
      EXPECT_GT(frames.probed[0].value("seen", 0), least_texts);
    }
  }
};

}  // namespace espalier
