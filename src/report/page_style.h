// The look of pages: light and dark, narrow and wide, on paper. Colours are of Okabe and Ito's kind, which
// colour-blind people tell apart, and each has a sign, a place or a word beside it.
#pragma once

#include <string_view>

namespace espalier {

inline constexpr const char* kPageStyle = R"css(
:root{--paper:#fff;--ink:#1b1f24;--soft:#59636e;--line:#d1d9e0;--panel:#f6f8fa;--link:#0b5cad;
--pass:#00609a;--blocked:#b3400a;--undecided:#7a5600;--unjudged:#59636e;
--low1:#dbe9f6;--low2:#a9cbea;--low3:#74abdf;--high1:#fdebd3;--high2:#fbc98b;--high3:#f2a044;
--positives:#0072b2;--negatives:#d98200}
@media (prefers-color-scheme:dark){:root{--paper:#12161b;--ink:#e6eaef;--soft:#a3adb8;--line:#39424d;
--panel:#1b2128;--link:#7db7f5;--pass:#6cb8f0;--blocked:#ff9a6b;--undecided:#e9b949;--unjudged:#a3adb8;
--low1:#17324a;--low2:#1f4f7a;--low3:#27629f;--high1:#3d2a10;--high2:#6b4310;--high3:#925600;
--positives:#56b4e9;--negatives:#e69f00}}
*{box-sizing:border-box}
html{color-scheme:light dark;background:var(--paper);color:var(--ink);font:15px/1.45 system-ui,sans-serif}
body{margin:0 auto;max-width:76rem;padding:.75rem 1rem 2rem}
h1{font-size:1.15rem;margin:0}h2{font-size:1.25rem;margin:2rem 0 .5rem}h3{font-size:1.05rem;margin:1.5rem 0 .25rem}
p{margin:.4rem 0}header p,footer,small,.legend,.note{color:var(--soft)}header p{margin:0 0 .5rem;overflow-wrap:anywhere}
a{color:var(--link)}a.deep{color:inherit;text-decoration:none}a.deep:hover{text-decoration:underline}
.skip{position:absolute;left:-99rem}.skip:focus{position:static}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}main:focus{outline:none}
code{font:.87em ui-monospace,monospace;overflow-wrap:anywhere}
button,select{font:inherit;color:inherit;background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.15rem .5rem}
header .notice{border:1px solid var(--blocked);border-left-width:8px;border-radius:6px;padding:.3rem .9rem;color:var(--ink)}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1rem;margin:.75rem 0;padding:.4rem 0;border-block:1px solid var(--line)}
section{scroll-margin-top:.5rem}
.verdict{border:1px solid var(--line);border-left:8px solid var(--line);border-radius:6px;background:var(--panel);padding:.6rem .9rem}
.verdict h2{margin:0;font-size:1.5rem}.sentence{font-size:1.05rem;margin:.25rem 0 .5rem;overflow-wrap:anywhere}
.verdict.pass{border-left-color:var(--pass)}.verdict.blocked{border-left-color:var(--blocked)}
.verdict.undecided{border-left-color:var(--undecided)}.verdict.unjudged{border-left-color:var(--unjudged)}
.items{list-style:none;margin:0;padding:0}.items li{padding:.3rem 0;border-top:1px solid var(--line);overflow-wrap:anywhere}
.next{display:block;color:var(--soft)}.items .next{padding-left:1.5em}.next code{color:var(--ink)}
.sign{width:1em;height:1em;margin-right:.4em;vertical-align:-.1em;fill:none;stroke:currentColor;stroke-width:3;stroke-linecap:round}
.sign.pass{color:var(--pass)}.sign.blocked{color:var(--blocked)}.sign.undecided,.sign.warns,.sign.waived{color:var(--undecided)}.sign.unjudged{color:var(--unjudged)}
summary{cursor:pointer;padding:.2rem 0}
.scroll{overflow-x:auto;max-width:100%}.scroll th:first-child{position:sticky;left:0;background:var(--paper)}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.25rem 0}
caption{text-align:left;padding:.25rem 0;color:var(--soft)}
th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid var(--line);vertical-align:middle}
th{font-weight:600}tbody th{font-weight:400;overflow-wrap:anywhere;min-width:9rem}
th.number,td.number{text-align:right;white-space:nowrap}thead th.number{white-space:normal}.scroll thead th{vertical-align:bottom}
th small,td small{display:block;font-size:.82em}
tfoot th,tfoot td{border-top:2px solid var(--line)}
.sort{border:0;background:none;padding:0;font-weight:600;text-align:inherit;cursor:pointer}
th[aria-sort=ascending] .sort::after{content:" \2191"}th[aria-sort=descending] .sort::after{content:" \2193"}
.grey th,.grey td,td.grey{color:var(--soft)}.grey th,td.grey,th.grey{font-style:italic}.grey .dot{fill:var(--paper)!important;stroke:var(--soft)!important}.grey .whisker{stroke:var(--soft)!important;stroke-dasharray:3 3}
.heat.low1{background:var(--low1)}.heat.low2{background:var(--low2)}.heat.low3{background:var(--low3)}
.heat.high1{background:var(--high1)}.heat.high2{background:var(--high2)}.heat.high3{background:var(--high3)}
.right1{background:var(--low1)}.right2{background:var(--low2)}.right3{background:var(--low3)}
.wrong1{background:var(--high1)}.wrong2{background:var(--high2)}.wrong3{background:var(--high3)}
.heat{-webkit-print-color-adjust:exact;print-color-adjust:exact}
.low2::before{content:"\25bc\00a0"}.low3::before{content:"\25bc\25bc\00a0"}.high2::before{content:"\25b2\00a0"}.high3::before{content:"\25b2\25b2\00a0"}
.low2::before,.low3::before,.high2::before,.high3::before{font-size:.6em}
.key{display:inline-block;padding:.05rem .5rem;margin:0 .35rem .25rem 0;border:1px solid var(--line);color:var(--ink);font-size:.87em}
table.dots{width:100%;table-layout:fixed}.dots th:first-child{width:34%}.dots th:last-child,.dots td:last-child{width:8.5rem}
.dots th,.dots td{padding:.15rem .35rem}.dots caption{line-height:1.6}
.strip{display:block;width:100%;overflow:visible}.strip text{font-size:11px;fill:var(--soft);font-weight:400}
.tick{stroke:var(--line)}.across{stroke:var(--soft);stroke-width:2;stroke-dasharray:2 3}
.across-name{border-left:2px dashed var(--soft);padding-left:.4em;margin-left:.4em;white-space:nowrap}
.limit-line{stroke:var(--blocked);stroke-width:4}
.whisker{stroke:var(--positives);stroke-width:2}.dot{fill:var(--positives);stroke:var(--positives);stroke-width:2}
.histogram{display:block;width:calc(100% - 16px);height:44px;margin:0 8px}.positives{fill:var(--positives)}.negatives{fill:var(--negatives)}
.axis,.threshold{fill:none;stroke:var(--ink);vector-effect:non-scaling-stroke}.threshold{stroke-width:2}
.mark{stroke:var(--blocked);stroke-width:2;stroke-dasharray:4 2;vector-effect:non-scaling-stroke}
.histogram .threshold{display:none}
.thresholds input{display:block;width:100%;margin:0;accent-color:var(--link)}
.thresholds .scores{width:14rem;min-width:9rem}.thresholds label.all{display:block;max-width:32rem;margin:.5rem 0}
.swatches{margin-left:.4em;vertical-align:-.1em;outline:1px solid var(--line);-webkit-print-color-adjust:exact;print-color-adjust:exact}
.spread{width:12rem;min-width:9rem}
.panel-name{font-weight:600}.choice.live .panel-name{display:none}
[hidden]{display:none!important}
@media (max-width:600px){.next{white-space:nowrap;overflow-x:auto}body{padding:.5rem .65rem 2rem}.verdict{padding:.5rem .65rem}.verdict h2{font-size:1.3rem}
th,td{padding:.25rem .35rem}tbody th{min-width:6rem}.scroll th:first-child{max-width:9rem}
.dots,.dots thead,.dots tbody,.dots caption{display:block}.dots tr{display:grid;grid-template-columns:1fr auto;border-bottom:1px solid var(--line)}
.dots th,.dots td,.dots th:first-child,.dots th:last-child,.dots td:last-child{border:0;width:auto}.dots tr>:nth-child(2){grid-area:2/1/3/3}}
@media print{html{font-size:11px}.next{white-space:normal}.tools,nav,.skip,.choice>.scripted{display:none}.scroll{overflow:visible}
.choice.live .panel-name{display:block}tr{break-inside:avoid}h2,h3,caption{break-after:avoid}a{color:inherit}}
)css";

}  // namespace espalier
