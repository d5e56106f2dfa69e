import { InvalidArgumentError, ShapeMismatchError } from '@markbase/core';
import { families } from '../../families/nodes.js';
import type { Ops, PortOps } from '../ops.js';
import type { Graph, Node } from './graph.js';
import { type RecorderLimits, Recording } from './recording.js';

/** The vocabulary, with the graph that it records into. */
export type Recorder = Ops & { readonly graph: Graph };

/** Begins a recording. Every size is checked here, once; replaying trusts the program. */
export function createRecorder(limits: RecorderLimits): Recorder {
  const recording = new Recording(limits);
  const graph: Graph = {
    // Each family pushes its own kinds of nodes, which make up the union.
    nodes: recording.nodes as Node[],
    values: recording.values,
    inputs: new Map(),
    outputs: new Map(),
  };
  const operations = Object.values(families).map(({ operations }) => operations(recording));
  return Object.assign({ graph }, ...operations, portsAndViews(recording, graph));
}

/** Operations that belong to no family. */
function portsAndViews(recording: Recording, { inputs, outputs }: Graph): PortOps {
  return {
    input(name, rows, { size, maxRows }) {
      expectNew('input', inputs, name);
      const value = recording.value<typeof rows, never>(rows, size, {
        ownRows: rows === 'S' ? maxRows : undefined,
      });
      inputs.set(name, value.id);
      return value;
    },

    output(name, value) {
      expectNew('output', outputs, name);
      outputs.set(name, value.id);
    },

    columns(x, { begin, width }) {
      if (begin < 0 || width < 1 || begin + width > x.width) {
        throw new ShapeMismatchError({
          operation: 'columns',
          argument: 'range',
          expected: `inside of [0, ${x.width})`,
          received: `[${begin}, ${begin + width})`,
        });
      }
      const { base, offset } = recording.values[x.id]!.view ?? { base: x.id, offset: 0 };
      return recording.value(x.rows, width, { view: { base, offset: offset + begin } });
    },

    scope: (name, body) => recording.scope(name, body),
  };
}

function expectNew(port: string, known: ReadonlyMap<string, number>, name: string): void {
  if (!known.has(name)) return;
  throw new InvalidArgumentError({
    argument: `${port} name`,
    expected: 'a name of its own',
    received: name,
  });
}
