// Claim: pictures, sounds and videos of every common kind are read, with the numbers that an independent decoder gives; the rest is named.
// usage: node bench/media-corpus.mjs [--folder DIR] [--json] [--help]
//   --folder  where the files are kept; default: a temporary folder, which is removed
// Needs built packages, and ffmpeg, sox, ImageMagick, avifenc and heif-enc: apt-get install ffmpeg sox libsox-fmt-all imagemagick
// libavif-bin libheif-examples
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkPicture, makePictures } from './lib/media-corpus/pictures.mjs';
import { hasTool } from './lib/media-corpus/run-tool.mjs';
import { checkSound, makeSounds } from './lib/media-corpus/sounds.mjs';
import { checkVideo, makeVideos } from './lib/media-corpus/videos.mjs';

const { values: flags } = parseArgs({
  options: {
    folder: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (flags.help) {
  console.log('usage: node bench/media-corpus.mjs [--folder DIR] [--json]');
  process.exit(0);
}
const absent = ['ffmpeg', 'sox', 'convert', 'avifenc', 'heif-enc'].filter((tool) => !hasTool(tool));
if (absent.length > 0) {
  console.error(
    `${absent.join(', ')} needed: apt-get install ffmpeg sox libsox-fmt-all imagemagick libavif-bin libheif-examples`,
  );
  process.exit(2);
}
const folder = flags.folder ?? mkdtempSync(join(tmpdir(), 'markbase-corpus-'));
const results = [];
try {
  for (const [kind, make, check] of [
    ['sounds', makeSounds, checkSound],
    ['pictures', makePictures, checkPicture],
    ['videos', makeVideos, checkVideo],
  ]) {
    const own = join(folder, kind);
    mkdirSync(own, { recursive: true });
    const checked = [];
    for (const name of make(own)) {
      const result = await check(own, name).catch((error) => ({
        name,
        by: '',
        isRight: false,
        figure: error.message,
      }));
      checked.push({ kind, ...result });
      if (!flags.json && !result.isRight)
        console.log(`WRONG ${kind}/${name}: ${result.figure} (${result.by})`);
    }
    results.push(...checked);
    if (!flags.json) summarise(kind, checked);
  }
} finally {
  if (flags.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
if (flags.json) console.log(JSON.stringify(results, null, 2));
else
  console.log(
    `${results.filter(({ isRight }) => isRight).length} of ${results.length} files are read or named as expected`,
  );
process.exitCode = results.every(({ isRight }) => isRight) ? 0 : 1;

function summarise(kind, checked) {
  const right = checked.filter(({ isRight }) => isRight);
  console.log(`${kind}: ${right.length} of ${checked.length}`);
  for (const by of new Set(checked.map((result) => result.by))) {
    const part = checked.filter((result) => result.by === by);
    const decibels = part.flatMap(({ decibel }) => (Number.isFinite(decibel) ? [decibel] : []));
    const means = part.flatMap(({ mean }) => (mean === undefined ? [] : [mean]));
    const least = decibels.length > 0 ? `, at least ${Math.min(...decibels).toFixed(0)} dB` : '';
    const most = means.length > 0 ? `, mean difference at most ${Math.max(...means).toFixed(2)} of 255` : '';
    console.log(`  compared with ${by}: ${part.length}${least}${most}`);
  }
}
