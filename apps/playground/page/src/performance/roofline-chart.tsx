import type { RooflineReport } from '../../../src/playground-api/playground-types.js';

const WIDTH = 360;
const HEIGHT = 260;
const LEFT = 62;
const RIGHT = 12;
const BOTTOM = 46;
const TOP = 12;

/**
 * Operations per second over operations per byte, both on logarithmic axes. The slope is the limit set by memory
 * bandwidth; the flat part is the best rate of any step. Points have the numbers of the rows of the table below.
 */
export function RooflineChart({ report }: { readonly report: RooflineReport }) {
  const { points, readBytesPerSecond } = report;
  const ys = points.map(({ operationsPerSecond }) => operationsPerSecond);
  const xs = points.map(({ operationsPerByte }) => operationsPerByte);
  const peak = Math.max(...ys);
  const ridge = readBytesPerSecond === null ? null : peak / readBytesPerSecond;
  const xRange = decades([...xs, ...(ridge === null ? [] : [ridge])]);
  const slopeStart = readBytesPerSecond === null ? peak : xRange[0] * readBytesPerSecond;
  const yRange = decades([...ys, slopeStart, peak * 1.2]);
  const x = (value: number) => LEFT + (WIDTH - LEFT - RIGHT) * position(value, xRange);
  const y = (value: number) => HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * position(value, yRange);
  const roof = [[xRange[0], slopeStart], ...(ridge === null ? [] : [[ridge, peak]]), [xRange[1], peak]];
  return (
    <svg class="roofline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={description(report)}>
      {ticks(xRange).map((value) => (
        <g key={`x${value}`}>
          <line class="grid" x1={x(value)} x2={x(value)} y1={TOP} y2={HEIGHT - BOTTOM} />
          <text x={x(value)} y={HEIGHT - BOTTOM + 15} text-anchor="middle">
            {short(value)}
          </text>
        </g>
      ))}
      {ticks(yRange).map((value) => (
        <g key={`y${value}`}>
          <line class="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={y(value)} y2={y(value)} />
          <text x={LEFT - 6} y={y(value) + 4} text-anchor="end">
            {short(value)}
          </text>
        </g>
      ))}
      <polyline class="roof" points={roof.map(([a, b]) => `${x(a!)},${y(b!)}`).join(' ')} />
      {points.map((point, index) => (
        <g key={point.name} class="step">
          <circle cx={x(point.operationsPerByte)} cy={y(point.operationsPerSecond)} r="8" />
          <text x={x(point.operationsPerByte)} y={y(point.operationsPerSecond) + 4} text-anchor="middle">
            {index + 1}
          </text>
        </g>
      ))}
      <text class="axis" x={(LEFT + WIDTH - RIGHT) / 2} y={HEIGHT - 8} text-anchor="middle">
        operations per byte read
      </text>
      <text
        class="axis"
        text-anchor="middle"
        transform={`translate(14 ${(HEIGHT - BOTTOM + TOP) / 2}) rotate(-90)`}
      >
        operations per second
      </text>
    </svg>
  );
}

/** Describes the chart in words. */
function description({ points, readBytesPerSecond }: RooflineReport): string {
  const steps = points.map(
    ({ name, operationsPerByte, operationsPerSecond }) =>
      `${name}: ${short(operationsPerSecond)} operations per second at ${short(operationsPerByte)} operations per byte`,
  );
  const rate = readBytesPerSecond === null ? 'not known' : `${short(readBytesPerSecond)} bytes per second`;
  return `Roofline. Memory bandwidth: ${rate}. ${steps.join('. ')}.`;
}

function decades(values: readonly number[]): readonly [number, number] {
  const low = 10 ** Math.floor(Math.log10(Math.min(...values)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...values)));
  return [low, Math.max(high, low * 10)];
}

function position(value: number, [low, high]: readonly [number, number]): number {
  return (Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low));
}

function ticks([low, high]: readonly [number, number]): number[] {
  const count = Math.round(Math.log10(high / low));
  return Array.from({ length: count + 1 }, (_, index) => low * 10 ** index);
}

/** `12 G`, `0.1`. */
function short(value: number): string {
  const units = ['', 'k', 'M', 'G', 'T', 'P'];
  const unit = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(value) / 3 + 1e-9)));
  return `${Number((value / 1000 ** unit).toPrecision(3))}${units[unit] ? ` ${units[unit]}` : ''}`;
}
