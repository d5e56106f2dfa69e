import { describe, expect, it } from 'vitest';
import { AdmissionQueue } from './admission-queue.js';

const never = new AbortController().signal;

/** Enters the queue, and records the name when it may start. */
function enter(queue: AdmissionQueue, started: string[], client: string, name: string, weight = 1) {
  return queue.enter(client, weight, never).then((leave) => {
    started.push(name);
    return leave;
  });
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('AdmissionQueue', () => {
  it('runs up to the limit at once, and the next when one ends', async () => {
    const queue = new AdmissionQueue({ concurrent: 2, queue: 10 });
    const started: string[] = [];
    const [first] = await Promise.all([enter(queue, started, 'a', '1'), enter(queue, started, 'a', '2')]);
    void enter(queue, started, 'a', '3');
    await settle();
    expect([started, queue.running, queue.waiting]).toEqual([['1', '2'], 2, 1]);
    first();
    first();
    await settle();
    expect([started, queue.running, queue.waiting]).toEqual([['1', '2', '3'], 2, 0]);
  });

  it('lets clients take turns, regardless of how many requests one has', async () => {
    const queue = new AdmissionQueue({ concurrent: 1, queue: 10 });
    const started: string[] = [];
    const leaves = [await enter(queue, started, 'a', 'a1')];
    for (const name of ['a2', 'a3', 'b1', 'b2', 'c1']) {
      void enter(queue, started, name[0]!, name).then((leave) => leaves.push(leave));
    }
    for (let index = 0; index < 6; index++) {
      await settle();
      leaves[index]!();
    }
    expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  });

  it('refuses at once when the queue is full, and says when to retry', async () => {
    const queue = new AdmissionQueue({ concurrent: 1, queue: 1 });
    await queue.enter('a', 1, never);
    void queue.enter('a', 1, never);
    const refusal = await queue.enter('b', 1, never).catch((error) => error);
    expect(refusal).toMatchObject({ status: 429, apiCode: 'queue_full' });
    expect(refusal.retryAfterSeconds).toBeGreaterThanOrEqual(1);
  });

  it('forgets requests that leave the queue, and serves the next', async () => {
    const queue = new AdmissionQueue({ concurrent: 2, queue: 10 });
    const started: string[] = [];
    await enter(queue, started, 'a', '1');
    const controller = new AbortController();
    const large = queue.enter('b', 2, controller.signal);
    void enter(queue, started, 'c', '2');
    await settle();
    expect(started).toEqual(['1']);
    controller.abort();
    await expect(large).rejects.toThrow('aborted');
    await settle();
    expect([started, queue.running, queue.waiting]).toEqual([['1', '2'], 2, 0]);
  });

  it('gives a request for more answers than may run at once all slots', async () => {
    const queue = new AdmissionQueue({ concurrent: 2, queue: 0 });
    const leave = await queue.enter('a', 5, never);
    expect(queue.running).toBe(2);
    leave();
    expect(queue.running).toBe(0);
  });

  it('gives a slot to the client with the fewest running answers', async () => {
    const queue = new AdmissionQueue({ concurrent: 4, queue: 10 });
    const started: string[] = [];
    const leaves = await Promise.all(
      ['a1', 'a2', 'a3', 'b1'].map((name) => enter(queue, started, name[0]!, name)),
    );
    for (const name of ['a4', 'b2', 'c1']) void enter(queue, started, name[0]!, name);
    for (const leave of leaves.slice(0, 3)) {
      leave();
      await settle();
    }
    // After the first has left, a has two running, b one, and c none; after the second, a and b have one, and a came
    // first.
    expect(started.slice(4)).toEqual(['c1', 'a4', 'b2']);
  });

  it('refuses the newest request of the client that fills the queue, and accepts that of another', async () => {
    const queue = new AdmissionQueue({ concurrent: 1, queue: 3 });
    await queue.enter('a', 1, never);
    const waiting = ['1', '2', '3'].map((name) => queue.enter('a', 1, never).then(() => name));
    const other = queue.enter('b', 1, never);
    await expect(waiting[2]).rejects.toMatchObject({ status: 429 });
    expect(queue.waiting).toBe(3);
    await expect(queue.enter('a', 1, never)).rejects.toMatchObject({ status: 429 });
    void other;
  });
});
