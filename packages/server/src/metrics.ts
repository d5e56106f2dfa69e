import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Latencies from a millisecond to minutes. */
const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Current state of one model. */
export interface ModelGauges {
  readonly running: number;
  readonly waiting: number;
  readonly busySequences: number;
  readonly sequences: number;
  readonly cacheBytes: number;
}

/** Metrics of one server, in Prometheus' format. */
export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #requests = this.#counter('requests_total', 'Requests by route and status', ['route', 'status']);
  readonly #promptTokens = this.#counter('prompt_tokens_total', 'Prompt tokens', ['model']);
  readonly #cachedTokens = this.#counter('prompt_cached_tokens_total', 'Prompt tokens found in the cache', [
    'model',
  ]);
  readonly #generatedTokens = this.#counter('generation_tokens_total', 'Generated tokens', ['model']);
  readonly #aborted = this.#counter('answers_aborted_total', 'Answers ended because the client left', [
    'model',
  ]);
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
      new Gauge({
        name: `markbase_${name}`,
        help,
        labelNames: ['model'],
        registers: [this.#registry],
        collect() {
          for (const [model, values] of Object.entries(gauges())) this.set({ model }, pick(values));
        },
      });
    };
    gauge('requests_running', 'Running answers', ({ running }) => running);
    gauge('requests_waiting', 'Waiting answers', ({ waiting }) => waiting);
    gauge('batch_sequences', 'Sequences in the current batch', ({ busySequences }) => busySequences);
    gauge('batch_sequences_limit', 'Maximum number of sequences in a batch', ({ sequences }) => sequences);
    gauge('kv_cache_bytes', 'Size of the key-value caches', ({ cacheBytes }) => cacheBytes);
    this.#describe(devices);
  }

  /** Content type of `text`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics as text. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Counts a request that was answered or refused. */
  request(route: string, status: number): void {
    this.#requests.inc({ route, status: String(status) });
  }

  /** Records a finished answer. */
  answer(
    model: string,
    numbers: {
      readonly promptTokens: number;
      readonly cachedTokens: number;
      readonly completionTokens: number;
      readonly firstTokenMs: number;
      readonly totalMs: number;
    },
  ): void {
    const { promptTokens, cachedTokens, completionTokens, firstTokenMs, totalMs } = numbers;
    this.#promptTokens.inc({ model }, promptTokens);
    this.#cachedTokens.inc({ model }, cachedTokens);
    this.#generatedTokens.inc({ model }, completionTokens);
    this.#firstToken.observe({ model }, firstTokenMs / 1000);
    this.#answer.observe({ model }, totalMs / 1000);
    if (completionTokens < 2) return;
    this.#betweenTokens.observe({ model }, (totalMs - firstTokenMs) / 1000 / (completionTokens - 1));
  }

  /** Counts an answer whose client left before its end. */
  abort(model: string): void {
    this.#aborted.inc({ model });
  }

  #describe(devices: Readonly<Record<string, string>>): void {
    const info = new Gauge({
      name: 'markbase_device_info',
      help: 'Device that runs the model; the value is always 1',
      labelNames: ['model', 'device'],
      registers: [this.#registry],
    });
    for (const [model, device] of Object.entries(devices)) info.set({ model, device }, 1);
    const memory = new Gauge({
      name: 'process_resident_memory_bytes',
      help: 'Resident memory of the process',
      registers: [this.#registry],
      collect() {
        this.set(process.memoryUsage.rss());
      },
    });
    memory.set(0);
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name: `markbase_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #histogram(name: string, help: string): Histogram {
    const registers = [this.#registry];
    return new Histogram({
      name: `markbase_${name}`,
      help,
      labelNames: ['model'],
      buckets: SECONDS,
      registers,
    });
  }
}
