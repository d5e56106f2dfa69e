// Shared by the scripts: a program that multiplies with one mapped matrix repeatedly.
import { openDevice } from '../../dist/index.js';

/** Starts a step of `layers` products of `rows` rows; returns its promise. */
export async function startChain({ file, width, rows, layers, value }) {
  const device = await openDevice({ kind: 'cpu', threads: 2 });
  const weight = device.map({ path: file, offsetBytes: 0, sizeBytes: width * width * 4 });
  const matrix = { kind: 'plain', dtype: 'F32', rows: width, columns: width, weight };
  const program = device.record(
    { label: 'chain', maxRows: rows, maxOutputs: 0, precision: 'high' },
    (ops) => {
      let x = ops.input('x', 'T', { axis: 'D', size: width });
      for (let i = 0; i < layers; i++) x = ops.linear(x, matrix);
      ops.output('y', x);
    },
  );
  const zeros = new Int32Array(rows);
  const step = {
    tokens: zeros,
    positions: zeros,
    slots: zeros,
    outputRows: new Int32Array(0),
    inputs: { x: new Float32Array(rows * width).fill(value) },
  };
  return { running: program.run(step, { read: ['y'] }) };
}
