import { attention } from './attention.js';
import { causalConv } from './causal-conv.js';
import { columnAffine } from './column-affine.js';
import type { ConformanceFamily } from './conformance-case.js';
import { conv2d } from './conv2d.js';
import { elementwise } from './elementwise.js';
import { embed } from './embed.js';
import { gatherRows } from './gather-rows.js';
import { kvAppend } from './kv-append.js';
import { kvCopy } from './kv-copy.js';
import { layerNorm } from './layer-norm.js';
import { linear } from './linear.js';
import { localAttention } from './local-attention.js';
import { moeCombine } from './moe-combine.js';
import { moeLinear } from './moe-linear.js';
import { moeRoute } from './moe-route.js';
import { poolRows } from './pool-rows.js';
import { rmsNorm } from './rms-norm.js';
import { rope, ropeTable } from './rope.js';
import { sample } from './sample.js';
import { segmentAttention } from './segment-attention.js';

/** Every kernel family's table. */
export const FAMILIES: readonly ConformanceFamily[] = [
  embed,
  rmsNorm,
  elementwise,
  ropeTable,
  rope,
  kvAppend,
  kvCopy,
  attention,
  gatherRows,
  linear,
  moeRoute,
  moeLinear,
  moeCombine,
  layerNorm,
  conv2d,
  causalConv,
  localAttention,
  sample,
  columnAffine,
  poolRows,
  segmentAttention,
];
