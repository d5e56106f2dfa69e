import { DisposedError, InvalidArgumentError } from '@markbase/core';
import { AddonBuffer } from './addon-buffer.js';
import type { CacheLimits } from './cache-tables.js';
import type { DeviceBuffer } from './device-buffer.js';
import {
  callNative,
  type NativeCommand,
  type NativeDevice,
  type NativeMerge,
  type NativePort,
  type NativeProgram,
} from './native.js';
import { fromNativeError } from './native-error.js';
import type { Program, ProgramPlan, RecordOptions } from './program.js';
import { encodeNode, needsOf } from './recorder/families.js';
import { cacheKind, type Operand } from './recorder/family.js';
import { fuse } from './recorder/fusions/index.js';
import type { Merge } from './recorder/fusions/merge.js';
import type { Graph } from './recorder/graph.js';
import { type MemoryPlan, planMemory } from './recorder/plan.js';
import { strideOf } from './recorder/values.js';
import type { StepInput, StepResult } from './step.js';
import { StepEncoder } from './step-encoder.js';

/** Up to this many rows, the CPU's kernels for a few rows are as fast as those for many; measured on Zen 4. */
const FEW_ROWS = 8;
const INT32_LIMIT = 2 ** 31;
const ROW_SETS = { T: 0, N: 1, S: 2 } as const;

/** A graph that was fused, planned and passed to a device. */
export class RecordedProgram implements Program {
  readonly label: string;
  readonly plan: ProgramPlan;
  readonly #encoder: StepEncoder;
  #native: NativeProgram | null;

  constructor(device: NativeDevice, graph: Graph, options: RecordOptions) {
    this.label = options.label;
    const proposed = fuse(graph, options.fusions);
    // Values between merged commands are not stored and cannot be checked; commands that run as one cannot be timed separately.
    const merges = options.checkFinite || options.profile ? [] : proposed;
    const memory = planMemory(graph, merges);
    const { precision, maxRows, kernelsFor = maxRows <= FEW_ROWS ? 'few-rows' : 'many-rows' } = options;
    const encodeOptions = { isFast: precision === 'fast', hasFewRows: kernelsFor === 'few-rows' };
    const encoded = graph.nodes.map((node) => encodeNode(node, graph, encodeOptions));
    const inputs = ports(graph, memory, graph.inputs);
    const outputs = ports(graph, memory, graph.outputs);
    const sampler = samplerOf(graph, memory);
    const commands: NativeCommand[] = encoded.map((command, index) => ({
      family: command.family,
      label: graph.nodes[index]!.label,
      attributes: { ...command.attributes },
      operands: command.operands.map((operand) => toNativeOperand(operand, memory, device)),
    }));
    const native = callNative(() =>
      device.createProgram({
        label: options.label,
        maxRows: options.maxRows,
        maxOutputs: options.maxOutputs,
        arenaBytes: memory.arenaBytes,
        checkFinite: options.checkFinite ?? false,
        measuresTime: options.profile ?? false,
        commands,
        merges: encodeMerges(merges, graph),
        inputs,
        outputs,
        sampler,
      }),
    );
    this.#native = native;
    this.#encoder = new StepEncoder({
      ...options,
      ...limitsOf(graph),
      inputs,
      outputs,
    });
    this.plan = {
      commands: native.plan.map((command, index) => ({
        label: graph.nodes[index]!.label,
        ...command,
        weightBytes: encoded[index]!.weightBytes,
      })),
      arenaBytes: memory.arenaBytes,
      weightBytes: encoded.reduce((sum, command) => sum + command.weightBytes, 0),
    };
  }

  async run(
    step: StepInput,
    options: { read?: readonly string[]; signal?: AbortSignal } = {},
  ): Promise<StepResult> {
    const native = this.#native;
    if (!native) throw new DisposedError({ resource: `program "${this.label}"`, operation: 'run' });
    const { signal } = options;
    signal?.throwIfAborted();
    const encoded = this.#encoder.encode(step, options.read ?? []);
    const cancel = (): void => {
      Atomics.store(encoded.cancelFlag, 0, 1);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      await native.run(encoded);
      // Even if the abort came during the last command, the caller asked to stop.
      signal?.throwIfAborted();
    } catch (error) {
      signal?.throwIfAborted();
      throw fromNativeError(error);
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
    return this.#encoder.decode(encoded);
  }

  planStep({ rows, outputs, positions }: { rows: number; outputs: number; positions: number }) {
    if (!this.#native)
      throw new DisposedError({ resource: `program "${this.label}"`, operation: 'planStep' });
    const native = this.#native;
    return callNative(() => native.planStep(rows, outputs, positions)).map((dispatch) => {
      return { ...dispatch, label: this.plan.commands[dispatch.command]!.label };
    });
  }

  profile(): { label: string; kernel: string; milliseconds: number }[] {
    if (!this.#native) throw new DisposedError({ resource: `program "${this.label}"`, operation: 'profile' });
    const seconds = this.#native.seconds();
    return this.plan.commands.map(({ label, kernel }, index) => {
      return { label, kernel, milliseconds: seconds[index]! * 1000 };
    });
  }

  dispose(): void {
    this.#native?.dispose();
    this.#native = null;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function encodeMerges(merges: readonly Merge[], graph: Graph): NativeMerge[] {
  const indices = new Map(graph.nodes.map((node, index) => [node, index]));
  return merges
    .map(({ name, parts }) => ({ name, first: indices.get(parts[0]!)!, count: parts.length }))
    .sort((a, b) => a.first - b.first);
}

function toNativeOperand(
  operand: Operand,
  memory: MemoryPlan,
  device: NativeDevice,
): NativeCommand['operands'][number] {
  if (operand === null) return null;
  const isOutput = operand.isOutput ?? false;
  if ('buffer' in operand) return { buffer: nativeOf(operand.buffer, device), isOutput };
  return { arenaOffset: memory.offsetOf(operand.value), sizeBytes: memory.sizeOf(operand.value), isOutput };
}

function nativeOf(buffer: DeviceBuffer, device: NativeDevice): AddonBuffer['native'] {
  if (buffer instanceof AddonBuffer && buffer.owner === device) return buffer.native;
  throw new InvalidArgumentError({
    argument: 'buffer',
    expected: 'memory of the device that records the program',
    received: buffer instanceof AddonBuffer ? 'memory of another device' : typeof buffer,
  });
}

function ports(graph: Graph, memory: MemoryPlan, named: ReadonlyMap<string, number>): NativePort[] {
  return [...named].map(([name, id]) => {
    const value = graph.values[id]!;
    return {
      name,
      arenaOffset: memory.offsetOf(id),
      rowSet: ROW_SETS[value.rows],
      maxRows: value.maxRows,
      width: value.width,
      stride: strideOf(graph, id),
    };
  });
}

function samplerOf(graph: Graph, memory: MemoryPlan) {
  const node = graph.nodes.find((candidate) => candidate.kind === 'sample');
  if (!node) return null;
  return {
    tokens: memory.offsetOf(node.tokens),
    logprobs: memory.offsetOf(node.logprobs),
    topTokens: memory.offsetOf(node.topTokens),
    topLogprobs: memory.offsetOf(node.topLogprobs),
  };
}

/** Limits of a step from the caches and tables of a program. */
function limitsOf(graph: Graph) {
  const limits = { contextTokens: INT32_LIMIT, vocabulary: INT32_LIMIT, logitsWidth: 0 };
  const caches: (CacheLimits | null)[] = [null, null];
  for (const node of graph.nodes) {
    if (node.kind === 'embed') limits.vocabulary = Math.min(limits.vocabulary, node.table.rows);
    if (node.kind === 'sample') limits.logitsWidth = graph.values[node.logits]!.width;
    if (node.kind !== 'attention' && node.kind !== 'kvAppend' && node.kind !== 'kvCopy') continue;
    const { capacityTokens, windowTokens } = node.cache;
    if (windowTokens === null) limits.contextTokens = Math.min(limits.contextTokens, capacityTokens);
    const kind = cacheKind(node.cache);
    caches[kind] = smallest(caches[kind]!, node.cache);
  }
  return {
    ...limits,
    caches,
    needs: new Set(graph.nodes.flatMap(needsOf)),
    hasSegments: graph.nodes.some((node) => node.kind === 'segmentAttention'),
  };
}

/** Limits that two caches of one kind of layer share. */
function smallest(
  known: CacheLimits | null,
  { blockCount, capacityTokens, windowTokens }: CacheLimits,
): CacheLimits {
  return {
    blockCount: Math.min(known?.blockCount ?? blockCount, blockCount),
    capacityTokens: Math.min(known?.capacityTokens ?? capacityTokens, capacityTokens),
    windowTokens: windowTokens === null ? null : Math.max(known?.windowTokens ?? 0, windowTokens),
  };
}
