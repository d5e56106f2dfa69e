import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Latencies from a millisecond to minutes. */
const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** What is known about one model at any time. */
export interface ModelGauges {
  readonly running: number;
  readonly waiting: number;
  readonly busySequences: number;
  readonly sequences: number;
  readonly cacheBytes: number;
}

/** The numbers of one server, in Prometheus' format. */
export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #requests = this.#counter('requests_total', 'Requests by route and status', ['route', 'status']);
  readonly #promptTokens = this.#counter('prompt_tokens_total', 'Tokens of prompts', ['model']);
  readonly #cachedTokens = this.#counter(
    'prompt_cached_tokens_total',
    'Tokens of prompts that the caches held already',
    ['model'],
  );
  readonly #generatedTokens = this.#counter('generation_tokens_total', 'Generated tokens', ['model']);
  readonly #aborted = this.#counter('answers_aborted_total', 'Answers whose client left', ['model']);
  readonly #firstToken = this.#histogram(
    'time_to_first_token_seconds',
    'From the request to its first token',
  );
  readonly #betweenTokens = this.#histogram(
    'time_per_output_token_seconds',
    'Mean time between tokens of an answer',
  );
  readonly #answer = this.#histogram('request_latency_seconds', 'From the request to the end of its answer');

  /** @param gauges called whenever the numbers are read */
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
    gauge('requests_running', 'Answers that run', ({ running }) => running);
    gauge('requests_waiting', 'Answers that wait for their turn', ({ waiting }) => waiting);
    gauge('batch_sequences', 'Sequences that share steps now', ({ busySequences }) => busySequences);
    gauge('batch_sequences_limit', 'Most sequences that share steps', ({ sequences }) => sequences);
    gauge('kv_cache_bytes', 'Size of the caches of keys and values', ({ cacheBytes }) => cacheBytes);
    this.#describe(devices);
  }

  /** Content type of `text`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All numbers. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** A request was answered, or refused. */
  request(route: string, status: number): void {
    this.#requests.inc({ route, status: String(status) });
  }

  /** An answer ended. */
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

  /** The client of an answer left before its end. */
  abort(model: string): void {
    this.#aborted.inc({ model });
  }

  #describe(devices: Readonly<Record<string, string>>): void {
    const info = new Gauge({
      name: 'markbase_device_info',
      help: 'Device that runs a model; always 1',
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
