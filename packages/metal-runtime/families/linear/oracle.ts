import { type ConformanceFamily, ROW_COUNTS } from '../../conformance/conformance-case.js';
import { type AffineFormat, affineMatrix, plainMatrix, smallFloatMatrix } from '../../conformance/storage.js';
import { ALIKE, clippedCase, fusedCase, groupedNormCase, linearCase, routerCase } from './oracle-case.js';

const q = (
  seed: number,
  out: number,
  columns: number,
  bits: AffineFormat['bits'],
  groupSize: 32 | 64 | 128 = 64,
) => affineMatrix(seed, out, columns, { bits, groupSize, scaleDtype: 'BF16' });

const FORMATS = ([2, 3, 4, 5, 6, 8] as const).flatMap((bits) =>
  ([32, 64, 128] as const).map((groupSize) => ({ bits, groupSize })),
);

const SMALL_FLOATS = ['mxfp4', 'mxfp8', 'nvfp4'] as const;
const MIXED_FLOATS = SMALL_FLOATS.map((kind, i) => smallFloatMatrix(330 + i, 40, 256, kind));

const Q4 = q(81, 70, 1536, 4);
const SHARED = [q(82, 96, 1536, 4), q(83, 33, 1536, 8), q(84, 40, 1536, 4)];
const WIDE = [q(246, 140, 128, 4), q(247, 130, 128, 4), q(248, 5, 128, 4)];
const WIDE_PAIR = [q(249, 150, 128, 4), q(250, 150, 128, 4)];
const PAIR = [q(85, 130, 1536, 4), q(86, 130, 1536, 4)];
const SMALL = plainMatrix(87, 67, 256, 'BF16');

const UNLIKE_GROUPS = [q(305, 40, 512, 4), q(306, 40, 512, 4, 128)];
const STREAM = [q(300, 300, 768, 4), q(301, 40, 768, 4), q(302, 3, 768, 4)];
const STREAM_PAIR = [q(303, 290, 1024, 4), q(304, 290, 1024, 4)];
const TALL_PAIR = [q(251, 75, 192, 4), q(252, 75, 192, 4)];
const TALL_UNLIKE = [q(253, 70, 256, 4), q(254, 70, 256, 8)];
const DEEP_PAIR = [q(255, 30, 1536, 4), q(256, 30, 1536, 4)];

export const linear: ConformanceFamily = {
  name: 'linear',
  cases: [
    ...FORMATS.flatMap((format, i) =>
      (['BF16', 'F16', 'F32'] as const).map((scaleDtype, j) => {
        const weight = affineMatrix(100 + 3 * i + j, 21, 256, { ...format, scaleDtype });
        return linearCase(`q${format.bits}g${format.groupSize} ${scaleDtype}`, 3, weight);
      }),
    ),
    ...(['F32', 'BF16', 'F16'] as const).flatMap((dtype, i) =>
      [1, 7, 16, 33, 256].map((columns) => linearCase(dtype, 3, plainMatrix(200 + i, 19, columns, dtype))),
    ),
    ...ROW_COUNTS.map((rows) => linearCase('q4g64', rows, Q4)),
    ...ROW_COUNTS.map((rows) => linearCase('bf16', rows, plainMatrix(210, 35, 2560, 'BF16'))),
    ...ROW_COUNTS.map((rows) => linearCase('q8g32', rows, q(211, 35, 5376, 8, 32))),
    linearCase('one output', 2, q(212, 1, 128, 4)),
    linearCase('many outputs', 2, q(213, 2051, 128, 4)),
    linearCase('view', 5, q(214, 50, 128, 5), 7),
    ...ROW_COUNTS.flatMap((rows) => [
      fusedCase({ title: 'three weights', rows, weights: SHARED, epilogue: 'store', hasResidual: true }),
      fusedCase({ title: 'q4', rows, weights: PAIR, epilogue: 'geglu', hasResidual: true, outputScale: 0.4 }),
      fusedCase({ title: 'bf16', rows, weights: [SMALL], epilogue: 'gegluMul', gainDtype: 'F32' }),
      fusedCase({ title: 'q4', rows, weights: [Q4], epilogue: 'softcap', gainDtype: 'F16' }),
      clippedCase(rows, SHARED, false),
      clippedCase(rows, PAIR, true),
      clippedCase(rows, [SMALL], false),
    ]),
    // 8-bit weights with few outputs, for which NVIDIA GPUs have separate kernels with float32 products.
    ...ROW_COUNTS.flatMap((rows) => [
      routerCase(rows, q(284, 21, 2816, 8), true),
      routerCase(rows, q(285, 20, 1056, 8, 32), false),
      // So few outputs that even a GPU of two multiprocessors has a simdgroup for each.
      routerCase(rows, q(320, 9, 1056, 8, 32), true),
      fusedCase({
        title: 'q8',
        rows,
        weights: [q(286, 19, 1536, 8)],
        epilogue: 'softcap',
        hasResidual: true,
      }),
    ]),
    // The same with many rows, as many as are taken one by one and more: one output more than a block, rows that do not fill one, wider
    // chunks of scales.
    ...[64, 67].flatMap((rows) => [
      routerCase(rows, q(307, 65, 2816, 8), true),
      routerCase(rows, q(308, 7, 1056, 8, 32), false),
      routerCase(rows, q(319, 6, 3072, 8, 32), true),
      fusedCase({
        title: 'q8g128',
        rows,
        weights: [q(309, 66, 1152, 8, 128)],
        epilogue: 'softcap',
        hasResidual: true,
      }),
    ]),
    groupedNormCase('q4', 9, q(218, 9 * 48, 256, 4), true),
    groupedNormCase('bf16', 8, plainMatrix(219, 8 * 33, 96, 'BF16'), false),
    // Tiles of many rows, and grouped norms, in every format.
    ...([2, 3, 5, 6] as const).map((bits, i) => linearCase(`q${bits}g32`, 13, q(220 + i, 21, 64, bits, 32))),
    ...([2, 3, 4, 5, 6, 8] as const).map((bits, i) =>
      groupedNormCase(`q${bits}`, 8, q(230 + i, 8 * 17, 64, bits, 32), true),
    ),
    groupedNormCase('f16', 8, plainMatrix(236, 8 * 17, 64, 'F16'), true),
    groupedNormCase('f32', 8, plainMatrix(237, 8 * 17, 64, 'F32'), true),
    // More outputs than the widest tile, for rows that fill a tile and for fewer.
    ...[13, 35].flatMap((rows) => [
      fusedCase({ title: 'wide, three weights', rows, weights: WIDE, epilogue: 'store', hasResidual: true }),
      fusedCase({ title: 'wide q4', rows, weights: WIDE_PAIR, epilogue: 'geglu' }),
    ]),
    ...([2, 3, 5, 6, 8] as const).map((bits, i) =>
      linearCase(`wide q${bits}`, 35, q(240 + i, 150, 128, bits)),
    ),
    linearCase('wide bf16', 35, plainMatrix(245, 150, 128, 'BF16')),
    // More rows than the smallest and the largest tile of many rows; an odd number of groups; columns shared between
    // threadgroups.
    ...[33, 65, 129].flatMap((rows) => [
      ...([2, 4, 6, 8] as const).map((bits, i) =>
        linearCase(`tall q${bits}`, rows, q(260 + i, 200, 192, bits)),
      ),
      linearCase('tall q4g128', rows, q(264, 130, 384, 4, 128)),
      linearCase('tall bf16', rows, plainMatrix(265, 150, 192, 'BF16')),
      fusedCase({ title: 'tall, three weights', rows, weights: WIDE, epilogue: 'store', hasResidual: true }),
      fusedCase({ title: 'tall', rows, weights: TALL_PAIR, epilogue: 'geglu', hasResidual: true }),
      fusedCase({ title: 'tall, unlike', rows, weights: TALL_UNLIKE, epilogue: 'geglu' }),
      fusedCase({ title: 'tall', rows, weights: [q(266, 140, 128, 6)], epilogue: 'softcap' }),
    ]),
    // Rows for the kernels for few rows on tensor cores, which fill one and go beyond it.
    ...[9, 16, 17, 31].flatMap((rows) => [
      ...([2, 4, 6, 8] as const).map((bits, i) =>
        linearCase(`few q${bits}`, rows, q(290 + i, 50, 320, bits)),
      ),
      linearCase('few bf16', rows, plainMatrix(294, 50, 320, 'BF16')),
      fusedCase({ title: 'few, three weights', rows, weights: WIDE, epilogue: 'store', hasResidual: true }),
      fusedCase({ title: 'few', rows, weights: DEEP_PAIR, epilogue: 'geglu', hasResidual: true }),
      fusedCase({ title: 'few, unlike', rows, weights: SHARED, epilogue: 'store', hasResidual: true }),
      fusedCase({ title: 'few, unlike groups', rows, weights: UNLIKE_GROUPS, epilogue: 'store' }),
    ]),
    // So many outputs that each simdgroup has its own blocks.
    ...[1, 5].flatMap((rows) => [
      linearCase('each q8', rows, q(295, 2100, 256, 8)),
      fusedCase({
        title: 'each q8',
        rows,
        weights: [q(296, 1000, 256, 8), q(297, 1000, 256, 8)],
        epilogue: 'geglu',
        hasResidual: true,
      }),
    ]),
    // Weights streamed to a multiprocessor: several groups of tiles, few outputs, wide rows, rows that fill a kernel.
    ...[1, 3, 4, 7, 11, 16].flatMap((rows) => [
      linearCase('stream', rows, q(298, 530, 512, 4)),
      fusedCase({ title: 'stream', rows, weights: STREAM, epilogue: 'store', hasResidual: true }),
      fusedCase({ title: 'stream', rows, weights: STREAM_PAIR, epilogue: 'geglu', hasResidual: true }),
    ]),
    ...[1, 2, 9].map((rows) => linearCase('stream', rows, q(299, 41, 4352, 4))),
    // The same weights for the tokens of many sequences.
    ...[17, 70].flatMap((rows) => [
      linearCase('batch', rows, q(298, 530, 512, 4)),
      fusedCase({ title: 'batch', rows, weights: STREAM_PAIR, epilogue: 'geglu', hasResidual: true }),
    ]),
    fusedCase({ title: 'batch', rows: 130, weights: STREAM, epilogue: 'store', hasResidual: true }),
    linearCase('batch, one chunk', 33, q(330, 140, 256, 4)),
    linearCase('batch, shares of long rows', 33, q(331, 140, 2048, 4)),
    linearCase('deep q4', 33, q(267, 50, 2048, 4)),
    linearCase('deep q6', 33, q(268, 50, 1600, 6)),
    fusedCase({ title: 'deep', rows: 33, weights: DEEP_PAIR, epilogue: 'geglu' }),
    fusedCase({ title: 'deep', rows: 33, weights: [q(269, 50, 1536, 8)], epilogue: 'gegluMul' }),
    clippedCase(33, [q(270, 50, 1536, 4), q(271, 35, 1536, 4), q(272, 20, 1536, 4)], false),
    ...[33, 70].flatMap((rows) => [
      clippedCase(
        rows,
        [273, 274, 275].map((seed) => plainMatrix(seed, 40, 192, 'BF16')),
        false,
        ALIKE,
      ),
      clippedCase(
        rows,
        [276, 277].map((seed) => plainMatrix(seed, 90, 192, 'BF16')),
        true,
        ALIKE,
      ),
    ]),
    // Rows that end within a span.
    ...[80, 208, 4304].map((columns) => linearCase('bf16', 41, plainMatrix(281, 70, columns, 'BF16'))),
    fusedCase({
      title: 'bf16',
      rows: 37,
      weights: [282, 283].map((seed) => plainMatrix(seed, 50, 336, 'BF16')),
      epilogue: 'geglu',
      hasResidual: true,
    }),
    // Rows with more than two groups of four columns per thread.
    fusedCase({
      title: 'long',
      rows: 33,
      weights: [q(284, 20, 3136, 4)],
      epilogue: 'store',
      hasResidual: true,
    }),
    // Gains of a type that kernels for NVIDIA GPUs do not load at once.
    fusedCase({
      title: 'gains of float32',
      rows: 33,
      weights: [q(321, 20, 1536, 4)],
      epilogue: 'store',
      hasResidual: true,
      gainDtype: 'F32',
    }),
    clippedCase(34, [q(278, 70, 192, 4), plainMatrix(279, 70, 192, 'BF16')], true, ALIKE),
    clippedCase(35, [plainMatrix(280, 70, 192, 'BF16')], false),
    // Small floats, alone and with others, for few rows and many.
    ...SMALL_FLOATS.flatMap((kind, i) => {
      const float = (seed: number, out: number, columns: number) =>
        smallFloatMatrix(340 + 10 * i + seed, out, columns, kind);
      return [
        ...ROW_COUNTS.map((rows) => linearCase(kind, rows, float(0, 35, 1536))),
        // Odd numbers of blocks, and of outputs; rows whose addresses are not aligned.
        ...[32, 96, 160].map((columns) => linearCase(kind, 13, float(1, 21, columns))),
        linearCase(kind, 5, float(2, 21, 96), 7),
        linearCase(`tall ${kind}`, 70, float(3, 70, 1056)),
        ...[9, 31].map((rows) => linearCase(`few ${kind}`, rows, float(7, 50, 320))),
        ...[1, 5].map((rows) => linearCase(`each ${kind}`, rows, float(8, 2100, 128))),
        ...[1, 3, 33].map((rows) =>
          fusedCase({
            title: kind,
            rows,
            weights: [float(4, 75, 192), float(5, 75, 192)],
            epilogue: 'geglu',
            hasResidual: true,
          }),
        ),
        groupedNormCase(kind, 8, float(6, 8 * 17, 64), true),
      ];
    }),
    ...[1, 35].flatMap((rows) => [
      fusedCase({ title: 'small floats', rows, weights: MIXED_FLOATS, epilogue: 'store' }),
      fusedCase({
        title: 'unlike small floats',
        rows,
        weights: [MIXED_FLOATS[0]!, MIXED_FLOATS[2]!],
        epilogue: 'geglu',
      }),
      clippedCase(rows, MIXED_FLOATS, false),
    ]),
    // Widths of the large towers, which are not multiples of a group.
    linearCase('bf16', 13, plainMatrix(215, 70, 4304, 'BF16')),
    linearCase('f16', 13, plainMatrix(216, 70, 1155, 'F16')),
    linearCase('f32', 13, plainMatrix(217, 70, 529, 'F32')),
  ],
};
