import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { theme } from '../settings/theme.js';
import { WINDOW_SECONDS } from './samples.js';

/** A line in a plot. */
export interface PlotLine {
  readonly label: string;
  readonly values: readonly number[];
  /** The value in the caption. */
  readonly shown: number;
  /** Name of the style sheet's custom property with its colour. */
  readonly color: string;
}

/** Plots lines over the last minute. The caption shows values as text, also for screen readers. */
export function Plot(props: {
  readonly title: string;
  /** Title of the upright axis. */
  readonly unit: string;
  /** Seconds of each value, at most 0 = now. */
  readonly seconds: readonly number[];
  readonly lines: readonly PlotLine[];
  /** A value in the caption. */
  readonly format: (value: number) => string;
  /** A value at the axis, without its unit; default: like the caption's. */
  readonly tick?: (value: number) => string;
}) {
  const { title, unit, seconds, lines, format, tick = format } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const colors = theme.value;
  useEffect(() => {
    const element = place.current!;
    const options = plotOptions({ lines, tick, unit, width: element.clientWidth });
    plot.current = new uPlot(options, [[], ...lines.map(() => [])], element);
    const resize = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
    // The colours are read once, so a new theme needs a new plot.
  }, [colors]);
  useEffect(() => {
    plot.current?.setData([[...seconds], ...lines.map(({ values }) => [...values])]);
  });
  return (
    <figure class="plot">
      <figcaption>
        <strong>{title}</strong>
        {lines.map(({ label, shown, color }) => (
          <span class="plot-key" key={label}>
            <i class={`swatch ${color}`} />
            {label} {format(shown)}
          </span>
        ))}
      </figcaption>
      <div ref={place} class="plot-place" aria-hidden="true" />
    </figure>
  );
}

const HEIGHT = 150;
const TICKS = [-60, -45, -30, -15, 0];
/** Least distance between labels of the upright axis, in pixels. */
const LABEL_SPACE = 28;

function plotOptions(parts: {
  readonly lines: readonly PlotLine[];
  readonly tick: (value: number) => string;
  readonly unit: string;
  readonly width: number;
}): uPlot.Options {
  const { lines, tick, unit, width } = parts;
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: color('faint'),
    font: '11px system-ui, sans-serif',
    labelFont: '11px system-ui, sans-serif',
    labelSize: 16,
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: () => [-WINDOW_SECONDS, 0] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 20,
        label: 'time in seconds',
        splits: () => TICKS,
        values: (_, ticks) => ticks.map((value) => (value === 0 ? 'now' : String(value))),
      },
      { ...axis, size: 46, space: LABEL_SPACE, label: unit, values: (_, ticks) => ticks.map(tick) },
    ],
    series: [
      {},
      ...lines.map(({ label, color: name }) => ({
        label,
        stroke: color(name),
        width: 1.5,
        points: { show: false },
      })),
    ],
  };
}
