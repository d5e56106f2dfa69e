import { attention } from './attention.js';
import type { ConformanceFamily } from './conformance-case.js';
import { elementwise } from './elementwise.js';
import { embed } from './embed.js';
import { gatherRows } from './gather-rows.js';
import { kvAppend } from './kv-append.js';
import { linear } from './linear.js';
import { moeCombine } from './moe-combine.js';
import { moeLinear } from './moe-linear.js';
import { moeRoute } from './moe-route.js';
import { rmsNorm } from './rms-norm.js';
import { rope, ropeTable } from './rope.js';
import { sample } from './sample.js';

/** Every kernel family's table. */
export const FAMILIES: readonly ConformanceFamily[] = [
  embed,
  rmsNorm,
  elementwise,
  ropeTable,
  rope,
  kvAppend,
  attention,
  gatherRows,
  linear,
  moeRoute,
  moeLinear,
  moeCombine,
  sample,
];
