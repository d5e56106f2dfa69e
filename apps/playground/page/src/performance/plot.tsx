import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { theme } from '../settings/theme.js';

/** A line in a plot. */
export interface PlotLine {
  readonly label: string;
  readonly values: readonly number[];
  /** Name of the style sheet's custom property with its colour. */
  readonly color: string;
}

/** Plots lines over time. The caption shows the latest values as text, also for screen readers. */
export function Plot(props: {
  readonly title: string;
  readonly seconds: readonly number[];
  readonly lines: readonly PlotLine[];
  readonly format: (value: number) => string;
}) {
  const { title, seconds, lines, format } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const colors = theme.value;
  useEffect(() => {
    const element = place.current!;
    const width = element.clientWidth;
    plot.current = new uPlot(plotOptions(lines, format, width), [[], ...lines.map(() => [])], element);
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
        {title}
        {lines.map(({ label, values, color }) => (
          <span class="plot-key" key={label}>
            <i class={`swatch ${color}`} />
            {label} {format(values.at(-1) ?? 0)}
          </span>
        ))}
      </figcaption>
      <div ref={place} class="plot-place" aria-hidden="true" />
    </figure>
  );
}

const HEIGHT = 110;

function plotOptions(
  lines: readonly PlotLine[],
  format: (value: number) => string,
  width: number,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const axis = { stroke: color('faint'), grid: { stroke: color('line'), width: 1 }, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, size: 18, values: (_, ticks) => ticks.map((tick) => (tick === 0 ? 'now' : `${tick} s`)) },
      { ...axis, size: 62, values: (_, ticks) => ticks.map(format) },
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
