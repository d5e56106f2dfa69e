import { attention } from '../families/attention/oracle.js';
import { causalConv } from '../families/causal_conv/oracle.js';
import { columnAffine } from '../families/column_affine/oracle.js';
import { conv2d } from '../families/conv2d/oracle.js';
import { elementwise } from '../families/elementwise/oracle.js';
import { embed } from '../families/embed/oracle.js';
import { gatherRows } from '../families/gather_rows/oracle.js';
import { kvAppend } from '../families/kv_append/oracle.js';
import { kvCopy } from '../families/kv_copy/oracle.js';
import { layerNorm } from '../families/layer_norm/oracle.js';
import { linear } from '../families/linear/oracle.js';
import { localAttention } from '../families/local_attention/oracle.js';
import { moeCombine } from '../families/moe_combine/oracle.js';
import { moeLinear } from '../families/moe_linear/oracle.js';
import { moeRoute } from '../families/moe_route/oracle.js';
import { poolRows } from '../families/pool_rows/oracle.js';
import { rmsNorm } from '../families/rms_norm/oracle.js';
import { rope } from '../families/rope/oracle.js';
import { ropeTable } from '../families/rope_table/oracle.js';
import { sample } from '../families/sample/oracle.js';
import { segmentAttention } from '../families/segment_attention/oracle.js';
import type { ConformanceFamily } from './conformance-case.js';

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
