import { expect, it } from 'vitest';
import { markbase } from './run-markbase.js';

it('does not listen on the network without a key', async () => {
  const { status, stderr } = await markbase(['playground', '--host', '0.0.0.0', '--port', '0'], {
    env: { MARKBASE_API_KEY: '' },
  });
  expect({ status, stderr }).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('MARKBASE_API_KEY'),
  });
});

it('reports that a port is in use', async () => {
  const { createServer } = await import('node:net');
  const taken = createServer();
  await new Promise<void>((resolve) => {
    taken.listen(0, '127.0.0.1', resolve);
  });
  const { port } = taken.address() as { port: number };
  const { status, stderr } = await markbase(['playground', '--no-open', '--port', String(port)]);
  taken.close();
  expect({ status, stderr }).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^error: --port: expected a free port, or 0 for any.*\n$/),
  });
});
