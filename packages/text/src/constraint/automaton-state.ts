import type { Machine } from './machine.js';

/** Reading a symbol in [low, high] leads to `target`. */
interface Edge {
  readonly low: number;
  readonly high: number;
  readonly target: number;
}

/** A state of one rule. Calls enter another rule or a machine, and continue at `target` when it ends. */
export interface State {
  readonly edges: Edge[];
  readonly calls: { readonly rule: number; readonly target: number }[];
  readonly machines: { readonly machine: Machine; readonly target: number }[];
  readonly jumps: number[];
  isEnd: boolean;
}
