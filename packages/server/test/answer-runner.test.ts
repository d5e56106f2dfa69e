import { openAnswers } from '@markbase/text';
import { describe, expect, it, vi } from 'vitest';
import { AnswerRunner } from '../src/answering/answer-runner.js';
import { ByteBudget } from '../src/limits/byte-budget.js';
import { ServerMetrics } from '../src/metrics.js';
import { checkedOptions } from '../src/server-options.js';
import { serveDemo } from './serve-demo.js';

const demo = serveDemo({}, { maxSequences: 2 });
const metrics = new ServerMetrics(() => ({}), {});
const stories = () => ({
  served: checkedOptions({ model: { id: 'demo', model: demo.model } }).models[0]!,
  options: { messages: [{ role: 'user' as const, content: 'Tell me a story about a seal.' }] },
  count: 1,
});

function place(client: string) {
  const controller = new AbortController();
  const control = { signal: controller.signal, abort: (reason: unknown) => controller.abort(reason) };
  return { client, control, metrics, claim: new ByteBudget(1e6, 1e6).claim(client) };
}

describe('AnswerRunner', () => {
  it('releases the slot of an answer that nobody reads, and of one whose reader stops', async () => {
    const plan = stories();
    const runner = new AnswerRunner(checkedOptions({ models: [plan.served] }));
    const left = place('a');
    await runner.open(plan, left).answer;
    expect(runner.busy).toBe(1);
    left.control.abort(new TypeError('left'));
    expect(runner.busy).toBe(0);

    const { events } = await runner.open(plan, place('a')).answer;
    for await (const _ of events()) break;
    expect(runner.busy).toBe(0);
    await vi.waitFor(() => expect(demo.model.idleSequences).toBe(2), { timeout: 10_000 });
  });

  it('stops running and waiting answers', async () => {
    const plan = stories();
    const runner = new AnswerRunner(checkedOptions({ models: [plan.served], limits: { concurrent: 1 } }));
    const running = await runner.open(plan, place('a')).answer;
    const waiting = runner.open(plan, place('b')).answer;
    const reading = (async () => {
      for await (const _ of running.events());
    })();
    runner.stop(new TypeError('stopped'));
    await expect(reading).rejects.toThrow('stopped');
    await expect(waiting).rejects.toThrow('stopped');
    expect(runner.busy).toBe(0);
  });

  it('logs that calls could not be read, but not what they say', async () => {
    const entries: unknown[][] = [];
    const log = (...entry: unknown[]) => void entries.push(entry);
    const { served, ...plan } = stories();
    const runner = new AnswerRunner(
      checkedOptions({
        models: [served],
        logger: { info: log, warn: log, error: log },
        // The demo model does not write such calls, so the warning is added to its answers.
        openAnswers: async (...args) =>
          (await openAnswers(...args)).map((answer) => ({
            promptTokens: answer.promptTokens,
            async *events() {
              for await (const event of answer.events())
                yield event.type === 'finish' ? { ...event, warnings: ['secret', 'secret'] } : event;
            },
          })),
      }),
    );
    const limited = { ...plan, served, options: { ...plan.options, maxTokens: 2 } };
    const { events } = await runner.open(limited, place('a')).answer;
    for await (const _ of events());
    expect(entries).toEqual([[expect.stringContaining('could not be read'), { model: 'demo', calls: 2 }]]);
  });
});
