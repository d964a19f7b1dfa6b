// What pages do when they are touched: choices, sorting, CSV, thresholds. All else is there without it.
#pragma once

namespace espalier {

inline constexpr const char* kPageScript = R"js(
(() => {
'use strict';
const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

for (const choice of all('.choice')) {
  const select = choice.querySelector('select'), panels = all(':scope > .panel', choice);
  const show = () => panels.forEach((panel, i) => { panel.hidden = i !== select.selectedIndex; });
  choice.classList.add('live');
  select.addEventListener('change', show);
  show();
}

const valueOf = cell => cell.dataset.v ?? cell.textContent.trim();
const isNumber = text => text !== '' && !Number.isNaN(Number(text));
// Numbers before words, and what has no value last in both directions.
const compare = (a, b, up) => {
  if ((a === '') !== (b === '')) return a === '' ? 1 : -1;
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  const [x, y] = isNumber(a) ? [Number(a), Number(b)] : [a, b];
  return x === y ? 0 : (x < y) === up ? -1 : 1;
};
for (const button of all('th .sort')) {
  button.addEventListener('click', () => {
    const head = button.closest('th'), body = head.closest('table').tBodies[0];
    const up = head.getAttribute('aria-sort') !== 'ascending';
    all('[aria-sort]', head.parentNode).forEach(other => other.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const key = row => valueOf(row.cells[head.cellIndex]);
    body.append(...Array.from(body.rows).sort((a, b) => compare(key(a), key(b), up)));
  });
}

// A text that a spreadsheet would run as a formula gets an apostrophe.
const field = text => {
  const safe = /^[=+\-@\t]/.test(text) && !isNumber(text) ? "'" + text : text;
  return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
};
const csv = table => Array.from(table.rows, row => Array.from(row.cells, cell => field(valueOf(cell))).join(',') + '\r\n').join('');
for (const button of all('.save')) {
  button.addEventListener('click', () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([csv(document.getElementById(button.dataset.table))], {type: 'text/csv'}));
    link.download = button.dataset.table + '.csv';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

// Outcomes are counted as TP, FP, TN, FN.
const none = () => ({rows: 0, weight: 0, squares: 0});
const add = (a, b) => ({rows: a.rows + b.rows, weight: a.weight + b.weight, squares: a.squares + b.squares});
const sum = (counts, times) => times.reduce((total, n, i) => n ? add(total, counts[i]) : total, none());
const weigh = (counts, times) => times.reduce((total, n, i) => total + n * counts[i].weight, 0);
const rateOf = (rate, counts) => {
  const whole = weigh(counts, rate.whole);
  return whole === 0 ? null : weigh(counts, rate.part) / whole;
};
const wilson = (share, rows, width) => {
  const w = width * width / rows, middle = (share + w / 2) / (1 + w);
  const half = width / (1 + w) * Math.sqrt(share * (1 - share) / rows + w / (4 * rows));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
};
for (const panel of all('.thresholds')) {
  const data = JSON.parse(panel.querySelector('script').textContent);
  const numbers = text => text.split(',').map(Number);
  // Of each label: what is said negative at each threshold, and what positive.
  const slices = data.slices.map(slice => slice.map(label => {
    const rows = numbers(label[0]), weight = label.length > 1 ? numbers(label[1]) : rows;
    const squares = label.length > 1 ? numbers(label[2]) : rows;
    const bins = rows.map((_, i) => ({rows: rows[i], weight: weight[i], squares: squares[i]}));
    const unsaid = [], said = [];
    let total = none();
    for (let i = 0; i + 1 < bins.length; ++i) unsaid[i] = total = add(total, bins[i]);
    total = none();
    for (let i = bins.length - 1; i-- > 0;) said[i] = total = add(total, bins[i + 1]);
    return {unsaid, said};
  }));
  const body = panel.querySelector('tbody'), rows = Array.from(body.rows);
  const [gaps, together] = ['.gaps', '.together'].map(name => panel.querySelector(name));
  const sliders = rows.map(row => row.querySelector('input')), every = panel.querySelector('.all input');
  const write = (cell, text, title, value) => {
    cell.textContent = text; cell.title = title; cell.dataset.v = value ?? '';
  };
  const fill = (cell, rate, counts) => {
    const value = rateOf(rate, counts), whole = sum(counts, rate.whole);
    if (value === null) return write(cell, 'undefined', rate.formula + ': divides by 0', null);
    const [low, high] = wilson(value, whole.weight ** 2 / whole.squares, data.width);
    const interval = low.toFixed(3) + ' to ' + high.toFixed(3);
    write(cell, value.toFixed(3), rate.formula + ' = ' + value.toFixed(6) + ', of ' + whole.rows + ' rows, ' + data.level + ' interval ' + interval, value);
    const small = document.createElement('small');
    small.textContent = interval;
    cell.append(small);
  };
  const update = () => {
    const counts = sliders.map((slider, i) => {
      const t = Number(slider.value), text = (t / 1000).toFixed(3), [no, yes] = slices[i];
      const line = rows[i].querySelector('.threshold');
      line.setAttribute('d', 'M' + t / 5 + ' 0V40');
      line.style.display = 'inline';
      rows[i].querySelector('output').textContent = text;
      rows[i].cells[1].dataset.v = text;
      return [yes.said[t], no.said[t], no.unsaid[t], yes.unsaid[t]];
    });
    const whole = counts.reduce((a, b) => a.map((one, i) => add(one, b[i])));
    data.rates.forEach((rate, r) => {
      rows.forEach((row, i) => fill(row.cells[r + 2], rate, counts[i]));
      fill(together.cells[r + 2], rate, whole);
      const compared = counts.filter((_, i) => data.compared[i]).map(of => rateOf(rate, of));
      const gap = compared.length < 2 || compared.includes(null) ? null : Math.max(...compared) - Math.min(...compared);
      write(gaps.cells[r + 2], gap === null ? 'undefined' : gap.toFixed(3), 'highest - lowest ' + rate.name, gap);
    });
  };
  every.addEventListener('input', () => {
    sliders.forEach(slider => { slider.value = every.value; });
    panel.querySelector('.all output').textContent = (every.value / 1000).toFixed(3);
    update();
  });
  sliders.forEach(slider => slider.addEventListener('input', update));
  update();
}
})();
)js";

}  // namespace espalier
