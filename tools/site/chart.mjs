import { figure } from './pages.mjs';

const BAR = 18;
const GAP = 6;
const LABEL = 210;
const WIDTH = 700;
const PLOT = WIDTH - LABEL - 90;

/**
 * Adds a chart after every table of figures.
 *
 * @param {string} markdown
 */
export function withCharts(markdown) {
  return markdown.replace(/(?:^\|.*\|$\n?)+/gm, (table) => {
    const chart = chartOf(table);
    return chart === null ? table : `${table}\n${figure(chart)}\n`;
  });
}

/**
 * A bar chart of a table: a group of bars per row, each group with a scale of its own, because rows differ in units. Null if a cell is
 * not a number.
 *
 * @param {string} table
 * @returns {string | null}
 */
export function chartOf(table) {
  const [[, ...columns] = [], , ...rows] = table
    .trim()
    .split('\n')
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const groups = rows.map(([name = '', ...cells]) => ({
    name,
    values: cells.map((cell) => ({ text: cell, value: Number(cell.replaceAll(',', '')) })),
  }));
  if (groups.length === 0 || groups.some(({ values }) => values.some(({ value }) => !(value > 0))))
    return null;
  const parts = [];
  let y = 0;
  for (const { name, values } of groups) {
    y += 24;
    parts.push(`<text x="0" y="${y - 8}" font-weight="600">${escaped(name)}</text>`);
    const most = Math.max(...values.map(({ value }) => value));
    for (const [index, { text, value }] of values.entries()) {
      const width = Math.max(1, Math.round((PLOT * value) / most));
      const middle = y + BAR / 2 + 5;
      parts.push(
        `<text x="${LABEL - 10}" y="${middle}" text-anchor="end">${escaped(columns[index] ?? '')}</text>`,
        `<rect x="${LABEL}" y="${y}" width="${width}" height="${BAR}" rx="3" class="bar-${index % 3}"/>`,
        `<text x="${LABEL + width + 8}" y="${middle}">${escaped(text)}</text>`,
      );
      y += BAR + GAP;
    }
  }
  const title = groups.map(({ name }) => name).join('; ');
  return `<svg viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="${escaped(`Bar chart: ${title}`)}">${parts.join('')}</svg>`;
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
