import type { RooflinePoint, RooflineReport } from '../../../src/playground-api/playground-types.js';

const WIDTH = 320;
const HEIGHT = 200;
const LEFT = 44;
const BOTTOM = 28;
const TOP = 10;

/**
 * Operations per second over operations per byte, both on logarithmic axes. The slope is the limit set by memory
 * bandwidth; the flat part is the best rate of any step.
 */
export function RooflineChart({ report }: { readonly report: RooflineReport }) {
  const { points, readBytesPerSecond } = report;
  const peak = Math.max(...points.map(({ operationsPerSecond }) => operationsPerSecond));
  const ridge = peak / readBytesPerSecond;
  const xs = points.map(({ operationsPerByte }) => operationsPerByte);
  const xRange = decades(Math.min(...xs, ridge), Math.max(...xs, ridge));
  const lowest = Math.min(...points.map(({ operationsPerSecond }) => operationsPerSecond));
  const yRange = decades(Math.min(lowest, xRange[0] * readBytesPerSecond), peak * 1.2);
  const x = (value: number) => LEFT + (WIDTH - LEFT - 8) * position(value, xRange);
  const y = (value: number) => HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * position(value, yRange);
  const roof = [
    [xRange[0], xRange[0] * readBytesPerSecond],
    [ridge, peak],
    [xRange[1], peak],
  ] as const;
  return (
    <svg class="roofline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={description(report)}>
      {ticks(xRange).map((value) => (
        <g key={`x${value}`}>
          <line class="grid" x1={x(value)} x2={x(value)} y1={TOP} y2={HEIGHT - BOTTOM} />
          <text x={x(value)} y={HEIGHT - BOTTOM + 12} text-anchor="middle">
            {short(value)}
          </text>
        </g>
      ))}
      {ticks(yRange).map((value) => (
        <g key={`y${value}`}>
          <line class="grid" x1={LEFT} x2={WIDTH - 8} y1={y(value)} y2={y(value)} />
          <text x={LEFT - 4} y={y(value) + 3} text-anchor="end">
            {short(value)}
          </text>
        </g>
      ))}
      <polyline class="roof" points={roof.map(([a, b]) => `${x(a)},${y(b)}`).join(' ')} />
      {points.map((point, index) => (
        <g key={point.name}>
          <circle class="step" cx={x(point.operationsPerByte)} cy={y(point.operationsPerSecond)} r="4" />
          <StepName
            point={point}
            x={x(point.operationsPerByte)}
            y={y(point.operationsPerSecond)}
            index={index}
          />
        </g>
      ))}
      <text x={(LEFT + WIDTH) / 2} y={HEIGHT - 3} text-anchor="middle">
        operations per byte
      </text>
    </svg>
  );
}

/** Alternately below and above its point, so that neighbours do not overlap, and on the side with more room. */
function StepName(props: {
  readonly point: RooflinePoint;
  readonly x: number;
  readonly y: number;
  readonly index: number;
}) {
  const { point, x, y, index } = props;
  const isRight = x > WIDTH * 0.7;
  return (
    <text
      x={isRight ? x - 6 : x + 6}
      y={y + (index % 2 === 0 ? 12 : -7)}
      text-anchor={isRight ? 'end' : 'start'}
    >
      {point.name}
    </text>
  );
}

/** Describes the chart in words. */
function description({ points, readBytesPerSecond }: RooflineReport): string {
  const steps = points.map(
    ({ name, operationsPerByte, operationsPerSecond }) =>
      `${name}: ${short(operationsPerSecond)} operations per second at ${short(operationsPerByte)} operations per byte`,
  );
  return `Roofline. Memory bandwidth: ${short(readBytesPerSecond)} bytes per second. ${steps.join('. ')}.`;
}

function decades(smallest: number, largest: number): readonly [number, number] {
  return [10 ** Math.floor(Math.log10(smallest)), 10 ** Math.ceil(Math.log10(largest))];
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
