import { Counter, Gauge, Histogram, METRICS_TYPE, type Metric } from './prometheus.js';

/** Latencies from a millisecond to minutes. */
const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Current state of one model. */
export interface ModelGauges {
  readonly running: number;
  readonly waiting: number;
  readonly busySequences: number;
  readonly sequences: number;
  readonly cacheBytes: number;
  readonly heldCacheBytes: number;
  readonly idleCacheBytes: number;
}

/** Metrics of one server, in Prometheus' format. */
export class ServerMetrics {
  readonly #metrics: Metric[] = [];
  readonly #requests = this.#counter('requests_total', 'Requests by route and status');
  readonly #promptTokens = this.#counter('prompt_tokens_total', 'Prompt tokens');
  readonly #cachedTokens = this.#counter('prompt_cached_tokens_total', 'Prompt tokens found in the cache');
  readonly #generatedTokens = this.#counter('generation_tokens_total', 'Generated tokens');
  readonly #acceptedTokens = this.#counter(
    'guessed_tokens_accepted_total',
    'Generated tokens that were guessed',
  );
  readonly #rejectedTokens = this.#counter(
    'guessed_tokens_rejected_total',
    'Guessed tokens that turned out wrong',
  );
  readonly #aborted = this.#counter('answers_aborted_total', 'Answers ended because the client left');
  readonly #firstToken = this.#histogram(
    'time_to_first_token_seconds',
    'Time from the request to the first token',
  );
  readonly #betweenTokens = this.#histogram(
    'time_per_output_token_seconds',
    'Mean time between the tokens of an answer',
  );
  readonly #answer = this.#histogram(
    'request_latency_seconds',
    'Time from the request to the end of the answer',
  );

  /** @param gauges called each time the metrics are read */
  constructor(
    gauges: () => Readonly<Record<string, ModelGauges>>,
    devices: Readonly<Record<string, string>>,
  ) {
    const gauge = (name: string, help: string, pick: (values: ModelGauges) => number) => {
      const read = () =>
        Object.entries(gauges()).map(([model, values]) => [{ model }, pick(values)] as const);
      this.#metrics.push(new Gauge(`markbase_${name}`, help, read));
    };
    gauge('requests_running', 'Running answers', ({ running }) => running);
    gauge('requests_waiting', 'Waiting answers', ({ waiting }) => waiting);
    gauge('batch_sequences', 'Sequences in the current batch', ({ busySequences }) => busySequences);
    gauge('batch_sequences_limit', 'Maximum number of sequences in a batch', ({ sequences }) => sequences);
    gauge('kv_cache_bytes', 'Maximum size of the key-value caches', ({ cacheBytes }) => cacheBytes);
    gauge(
      'kv_cache_held_bytes',
      'Key-value caches of running answers',
      ({ heldCacheBytes }) => heldCacheBytes,
    );
    gauge(
      'kv_cache_idle_bytes',
      'Key-value caches of known prefixes',
      ({ idleCacheBytes }) => idleCacheBytes,
    );
    this.#describe(devices);
  }

  /** Content type of `text`. */
  get contentType(): string {
    return METRICS_TYPE;
  }

  /** All metrics as text. */
  text(): string {
    return this.#metrics.map((metric) => metric.text()).join('\n');
  }

  /** Counts a request that was answered or refused. */
  request(route: string, status: number): void {
    this.#requests.add({ route, status: String(status) });
  }

  /** Records a finished answer. */
  answer(
    model: string,
    numbers: {
      readonly promptTokens: number;
      readonly cachedTokens: number;
      readonly completionTokens: number;
      readonly acceptedTokens: number;
      readonly rejectedTokens: number;
      readonly firstTokenMs: number;
      readonly totalMs: number;
    },
  ): void {
    const { promptTokens, cachedTokens, completionTokens, firstTokenMs, totalMs } = numbers;
    this.#promptTokens.add({ model }, promptTokens);
    this.#cachedTokens.add({ model }, cachedTokens);
    this.#generatedTokens.add({ model }, completionTokens);
    this.#acceptedTokens.add({ model }, numbers.acceptedTokens);
    this.#rejectedTokens.add({ model }, numbers.rejectedTokens);
    this.#firstToken.observe({ model }, firstTokenMs / 1000);
    this.#answer.observe({ model }, totalMs / 1000);
    if (completionTokens < 2) return;
    this.#betweenTokens.observe({ model }, (totalMs - firstTokenMs) / 1000 / (completionTokens - 1));
  }

  /** Counts an answer whose client left before its end. */
  abort(model: string): void {
    this.#aborted.add({ model });
  }

  #describe(devices: Readonly<Record<string, string>>): void {
    const help = 'Device that runs the model; the value is always 1';
    const samples = Object.entries(devices).map(([model, device]) => [{ model, device }, 1] as const);
    const residentBytes = () => [[{}, process.memoryUsage.rss()]] as const;
    this.#metrics.push(
      new Gauge('markbase_device_info', help, () => samples),
      new Gauge('process_resident_memory_bytes', 'Resident memory of the process', residentBytes),
    );
  }

  #counter(name: string, help: string): Counter {
    const counter = new Counter(`markbase_${name}`, help);
    this.#metrics.push(counter);
    return counter;
  }

  #histogram(name: string, help: string): Histogram {
    const histogram = new Histogram(`markbase_${name}`, help, SECONDS);
    this.#metrics.push(histogram);
    return histogram;
  }
}
