import { AIMS, COPY_RATE, MANY, PEER, REQUIRED, VARIANTS } from './figures.mjs';

/** The table of all results of a file: `{ parts: { [title]: { checks, seconds, data, about } } }`. */
export function summaryLines({ parts }) {
  const titles = Object.keys(parts);
  const rows = titles.map((title) => {
    const { checks, seconds } = parts[title];
    const count = (ok) => String(checks.filter((each) => each.ok === ok).length);
    return [title, count(true), count(false), count(null), seconds.toFixed(0)];
  });
  const failed = titles.flatMap((title) =>
    parts[title].checks
      .filter(({ ok }) => ok === false)
      .map(({ what, detail }) => `  ${title}: ${what}: ${short(detail)}`),
  );
  const commits = [...new Set(titles.map((title) => parts[title].about?.commit))];
  return [
    '',
    `commit ${commits.join(', ')}`,
    ...columns([['part', 'passed', 'failed', 'not run', 's'], ...rows]),
    ...(failed.length > 0 ? ['failed:', ...failed.slice(0, 40)] : []),
    ...speedLines(parts),
  ];
}

function speedLines(parts) {
  const rows = VARIANTS.flatMap((variant) => {
    const data = parts[`speed ${variant}`]?.data;
    return data ? ['decode', 'prefill'].flatMap((kind) => rateRows(variant, kind, data)) : [];
  });
  if (rows.length === 0) return [];
  return [
    '',
    ...columns([['tokens/s', 'here', 'peer', 'ratio', 'required', 'aim', 'of the copy rate', ''], ...rows]),
  ];
}

/** Rows of one variant; the share of the copy rate counts the weights of one sequence's token. */
function rateRows(variant, kind, { rates, bytesPerToken }) {
  return Object.entries(rates[kind]).map(([count, { median }]) => {
    const peer = PEER[variant][kind][count];
    const name = `${variant} ${kind} ${count}`;
    const share =
      kind === 'decode' && count === '1' ? `${((100 * median * bytesPerToken) / COPY_RATE).toFixed(0)}%` : '';
    if (!peer) return manyRow(name, median, share, kind === 'decode' ? MANY[variant]?.[count] : undefined);
    const ratio = median / peer;
    const [required, aim] = [REQUIRED[kind], kind === 'decode' && count !== '1' ? null : AIMS[kind][variant]];
    const verdict = ratio < required ? 'MISSED' : aim && ratio >= aim ? 'aim reached' : 'ok';
    const numbers = [
      median.toFixed(0),
      String(peer),
      ratio.toFixed(2),
      required.toFixed(1),
      aim?.toFixed(1) ?? '-',
    ];
    return [name, ...numbers, share, verdict];
  });
}

/** A row without a figure of the peer: required and target rates are in tokens per second. */
function manyRow(name, median, share, { required, aim } = {}) {
  const verdict = !required ? '' : median < required ? 'MISSED' : aim && median >= aim ? 'aim reached' : 'ok';
  return [name, median.toFixed(0), '-', '-', String(required ?? '-'), String(aim ?? '-'), share, verdict];
}

function columns(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
      .join('  ')
      .trimEnd(),
  );
}

function short(text) {
  const line = text.replaceAll('\n', ' ');
  return line.length > 160 ? `${line.slice(0, 157)}...` : line;
}
