/** Values of labels by their names, in a fixed order per metric. */
type Labels = Readonly<Record<string, string>>;

/** What every metric can be written as. */
export interface Metric {
  /** Lines of Prometheus' text format, version 0.0.4, the last one ended. */
  text(): string;
}

/** Content type of the text of metrics. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** A value per combination of labels that only grows. */
export class Counter implements Metric {
  readonly #name: string;
  readonly #help: string;
  readonly #samples = new Map<string, number>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  /** Adds to the value of these labels. */
  add(labels: Labels, amount = 1): void {
    const key = labelText(labels);
    this.#samples.set(key, (this.#samples.get(key) ?? 0) + amount);
  }

  text(): string {
    const samples = [...this.#samples].map(([labels, value]) => `${this.#name}${labels} ${value}\n`);
    return headText(this.#name, this.#help, 'counter') + samples.join('');
  }
}

/** Values that are read when the metrics are. */
export class Gauge implements Metric {
  readonly #name: string;
  readonly #help: string;
  readonly #read: () => readonly (readonly [Labels, number])[];

  constructor(name: string, help: string, read: () => readonly (readonly [Labels, number])[]) {
    this.#name = name;
    this.#help = help;
    this.#read = read;
  }

  text(): string {
    const samples = this.#read().map(([labels, value]) => `${this.#name}${labelText(labels)} ${value}\n`);
    return headText(this.#name, this.#help, 'gauge') + samples.join('');
  }
}

/** How often a measured value was at most each bound, per combination of labels. */
export class Histogram implements Metric {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #samples = new Map<string, { labels: Labels; counts: number[]; sum: number; count: number }>();

  /** @param bounds ascending */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
  }

  /** Counts one value. */
  observe(labels: Labels, value: number): void {
    const key = labelText(labels);
    const sample = this.#samples.get(key) ?? { labels, counts: this.#bounds.map(() => 0), sum: 0, count: 0 };
    this.#bounds.forEach((bound, index) => {
      if (value <= bound) sample.counts[index]! += 1;
    });
    sample.sum += value;
    sample.count += 1;
    this.#samples.set(key, sample);
  }

  text(): string {
    const name = this.#name;
    const samples = [...this.#samples.values()].map(({ labels, counts, sum, count }) => {
      const buckets = this.#bounds.map(
        (bound, index) => `${name}_bucket${labelText({ le: String(bound), ...labels })} ${counts[index]}\n`,
      );
      const all = `${name}_bucket${labelText({ le: '+Inf', ...labels })} ${count}\n`;
      const own = labelText(labels);
      return `${buckets.join('')}${all}${name}_sum${own} ${sum}\n${name}_count${own} ${count}\n`;
    });
    return headText(name, this.#help, 'histogram') + samples.join('');
  }
}

function headText(name: string, help: string, type: string): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`;
}

/** Such as `{model="demo"}`; empty without labels. */
function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
    return `${name}="${escaped}"`;
  });
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}
