/**
 * A panel of a picture: lines over a common x axis that begins at 0. A logarithmic axis spans powers of ten.
 *
 * @typedef {{ label: string, points: [x: number, y: number][] }} Line
 * @typedef {{ title: string, lines: Line[], isLogarithmic?: boolean }} Panel
 */

const [WIDTH, HEIGHT] = [260, 180];
const [LEFT, TOP, GAP, BOTTOM] = [50, 30, 60, 45];
const COLOURS = ['#1f6feb', '#d1242f', '#1a7f37', '#8250df'];

/**
 * Draws panels side by side as an SVG.
 *
 * @param {string} xTitle
 * @param {Panel[]} panels
 */
export function drawPanels(xTitle, panels) {
  const width = LEFT + panels.length * (WIDTH + GAP);
  const drawn = panels.map((panel, index) => drawPanel(panel, xTitle, LEFT + index * (WIDTH + GAP)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${TOP + HEIGHT + BOTTOM}" font-family="sans-serif" font-size="11">`,
    `<title>${panels.map(({ title }) => title).join('; ')}, by ${xTitle}</title>`,
    `<rect width="100%" height="100%" fill="white"/>`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

function drawPanel({ title, lines, isLogarithmic = false }, xTitle, left) {
  const points = lines.flatMap((line) => line.points);
  const most = Math.max(1e-9, ...points.map(([, y]) => y));
  const least = isLogarithmic ? Math.min(...points.map(([, y]) => Math.max(y, 0.01)), most) : 0;
  const ticks = isLogarithmic ? powersOfTen(least, most) : steps(most);
  const [low, high] = [ticks[0], ticks.at(-1)];
  const xMost = Math.max(1e-9, ...points.map(([x]) => x));
  const share = isLogarithmic
    ? (y) => Math.log(Math.max(y, low) / low) / Math.log(high / low)
    : (y) => y / high;
  const placeX = (x) => (left + (x / xMost) * WIDTH).toFixed(1);
  const placeY = (y) => (TOP + HEIGHT * (1 - share(y))).toFixed(1);
  const grid = ticks.map(
    (tick) =>
      `<path d="M${left} ${placeY(tick)}h${WIDTH}" stroke="#ddd"/><text x="${left - 5}" y="${placeY(tick)}" dy="4" text-anchor="end">${tick}</text>`,
  );
  const places = [...new Set(points.map(([x]) => x))].map(
    (x) => `<text x="${placeX(x)}" y="${TOP + HEIGHT + 15}" text-anchor="middle">${x}</text>`,
  );
  const curves = lines.map(({ label, points: own }, index) => {
    const colour = COLOURS[index % COLOURS.length];
    const path = own.map(([x, y]) => `${placeX(x)},${placeY(y)}`).join(' ');
    const dots = own.map(
      ([x, y]) => `<circle cx="${placeX(x)}" cy="${placeY(y)}" r="2.5" fill="${colour}"/>`,
    );
    const name = `<text x="${left + 8}" y="${TOP + 14 + 14 * index}" fill="${colour}">${label}</text>`;
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>${dots.join('')}${name}`;
  });
  const titles = [
    `<text x="${left}" y="${TOP - 12}" font-weight="bold">${title}</text>`,
    `<text x="${left + WIDTH / 2}" y="${TOP + HEIGHT + 35}" text-anchor="middle">${xTitle}</text>`,
  ];
  return [...grid, ...places, ...titles, ...curves].join('\n');
}

function powersOfTen(least, most) {
  const first = Math.floor(Math.log10(least));
  const last = Math.max(Math.ceil(Math.log10(most)), first + 1);
  return Array.from({ length: last - first + 1 }, (_, index) =>
    Number((10 ** (first + index)).toPrecision(1)),
  );
}

/** Round numbers from 0 to at least `most`, about five of them. */
function steps(most) {
  const unit = 10 ** Math.floor(Math.log10(most / 5));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((candidate) => candidate * 5 >= most);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) =>
    Number((index * step).toPrecision(6)),
  );
}
