import { quantizeCheckpoint } from '@markbase/loader';

const report = await quantizeCheckpoint('models/gemma-4-e2b-it', 'models/gemma-4-e2b-it-mlx', {
  mode: 'affine', // or mxfp4, mxfp8, nvfp4, which fix bits and groups
  bits: 4,
  groupSize: 64,
  rules: [
    { match: '**.self_attn.*', bits: 8 },
    { match: 'embed_vision.**', skip: true },
  ],
  resume: true, // continues after an abort or a crash
  onProgress: ({ doneBytes, totalBytes }) =>
    process.stderr.write(`\r${Math.round((100 * doneBytes) / totalBytes)} %`),
});
console.log(report.quantized.length, 'matrices quantised', report.targetBytes, 'bytes');
