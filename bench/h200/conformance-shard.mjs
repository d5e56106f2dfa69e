import { checkBriefly } from '../../packages/metal-runtime/conformance/check-briefly.ts';
import { checkCase } from '../../packages/metal-runtime/conformance/check-case.ts';
import { FAMILIES } from '../../packages/metal-runtime/conformance/index.ts';
import { openDevice } from '../../packages/metal-runtime/src/index.ts';

/**
 * Runs every `of`-th case from number `first` on, and prints `{ index, family, name }` before and `{ index, error, ms }`
 * after it. After the loss of the GPU nothing else would run, so the process ends and its caller continues after that case.
 *
 * @param {{ first: number, of: number, families: string[] | null, isBrief: boolean, mostRows: number | null, seconds: number }} shard
 *   seconds: no case starts after this time
 */
export async function conformance(shard, print) {
  const end = Date.now() + 1000 * shard.seconds;
  using device = await openDevice({ kind: 'cuda' });
  const check = shard.isBrief ? checkBriefly : checkCase;
  const all = FAMILIES.filter(({ name }) => shard.families?.includes(name) ?? true).flatMap(
    ({ name, cases }) =>
      cases
        .filter(({ rows }) => rows.count <= (shard.mostRows ?? Number.POSITIVE_INFINITY))
        .map((test, place) => ({ family: name, test, place })),
  );
  // Interleaved, so that all families have been covered when time runs out.
  const cases = all.sort((a, b) => a.place - b.place);
  print({ cases: cases.length, device: device.info.name });
  for (let index = shard.first; index < cases.length && Date.now() < end; index += shard.of) {
    const { family, test } = cases[index];
    print({ index, family, name: test.name });
    const start = performance.now();
    const error = await check(device, test).then(
      () => null,
      ({ message }) => message,
    );
    print({ index, error, ms: Math.round(performance.now() - start) });
    if (error?.includes('The GPU was lost')) return;
  }
  print({ isDone: true });
}
