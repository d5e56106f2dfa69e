// Pictures of ImageMagick, avifenc and libheif in every format that is read, and in those that are named.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeImage } from '../../../packages/vision/dist/index.js';
import { runTool } from './run-tool.mjs';

const GRADIENT = ['-size', '97x61', 'gradient:red-blue', '-depth', '8'];
const PLASMA = ['-seed', '7', '-size', '120x90', 'plasma:fractal', '-depth', '8'];
/** Decoders interpolate colours of half the resolution differently. */
const MOST_MEAN = 2.5;
const HALF = [...PLASMA, '-alpha', 'set', '-channel', 'A', '-evaluate', 'set', '60%', '+channel'];
const ORIENTATIONS = [
  'TopLeft',
  'TopRight',
  'BottomRight',
  'BottomLeft',
  'LeftTop',
  'RightTop',
  'RightBottom',
  'LeftBottom',
];

/** Entries [file, arguments of convert before it]. */
const BY_CONVERT = [
  ['grey-1.png', [...PLASMA, '-monochrome', '-define', 'png:bit-depth=1']],
  ['grey-8.png', [...PLASMA, '-colorspace', 'Gray']],
  ['palette.png', [...PLASMA, '-colors', '16', '-type', 'Palette']],
  ['color-8.png', PLASMA],
  ['color-16.png', [...PLASMA, '-depth', '16', '-define', 'png:bit-depth=16']],
  ['alpha.png', HALF],
  ['interlaced.png', [...PLASMA, '-interlace', 'PNG']],
  ['one-pixel.png', ['-size', '1x1', 'xc:orange']],
  ['420.jpg', [...PLASMA, '-sampling-factor', '4:2:0', '-quality', '90']],
  ['422.jpg', [...PLASMA, '-sampling-factor', '4:2:2', '-quality', '90']],
  ['444.jpg', [...PLASMA, '-sampling-factor', '4:4:4', '-quality', '95']],
  ['progressive.jpg', [...PLASMA, '-interlace', 'JPEG']],
  ['rough.jpg', [...PLASMA, '-quality', '20']],
  ['grey.jpg', [...PLASMA, '-colorspace', 'Gray']],
  ['cmyk.jpg', [...GRADIENT, '-colorspace', 'CMYK', '-quality', '95', '-sampling-factor', '1x1']],
  ...ORIENTATIONS.map((name) => [`${name}.jpg`, [...GRADIENT, '-orient', name, '-quality', '95']]),
  ['lossy.webp', [...PLASMA, '-quality', '80']],
  ['lossless.webp', [...PLASMA, '-define', 'webp:lossless=true']],
  ['alpha.webp', [...HALF, '-define', 'webp:lossless=true']],
  ['plain.gif', [...PLASMA, '-colors', '64']],
  ['87.gif', [...PLASMA, '-colors', '8', 'GIF87:']],
  ['none.tif', [...PLASMA, '-compress', 'None']],
  ['lzw.tif', [...PLASMA, '-compress', 'LZW']],
  ['zip.tif', [...PLASMA, '-compress', 'Zip']],
  ['packbits.tif', [...PLASMA, '-compress', 'RLE']],
  ['jpeg.tif', [...PLASMA, '-compress', 'JPEG', '-quality', '92']],
  ['16.tif', [...PLASMA, '-depth', '16']],
  ['grey.tif', [...PLASMA, '-colorspace', 'Gray']],
  ['fax.tif', [...PLASMA, '-monochrome', '-compress', 'Group4']],
  ['cmyk.tif', [...GRADIENT, '-colorspace', 'CMYK']],
  ['big-endian.tif', [...PLASMA, '-endian', 'MSB']],
  ['alpha.tif', HALF],
  ['24.bmp', [...PLASMA, 'BMP3:']],
  ['32.bmp', [...HALF, 'BMP:']],
  ['os2.bmp', [...PLASMA, '-colors', '64', 'BMP2:']],
  ['8.bmp', [...PLASMA, '-colors', '200', '-type', 'Palette', 'BMP3:']],
  ['4.bmp', [...PLASMA, '-colors', '12', '-type', 'Palette', 'BMP3:']],
  ['1.bmp', [...PLASMA, '-monochrome', 'BMP3:']],
  ['rle.bmp', [...PLASMA, '-colors', '40', '-type', 'Palette', '-compress', 'RLE', 'BMP3:']],
  ['16.bmp', [...PLASMA, '-define', 'bmp:subtype=RGB565', 'BMP:']],
];
const BY_AVIFENC = [
  ['420.avif', ['-y', '420', '-q', '80']],
  ['444.avif', ['-y', '444', '-q', '95']],
  ['10-bit.avif', ['-d', '10', '-q', '80']],
  ['lossless.avif', ['--lossless']],
  ['alpha.avif', ['-q', '90']],
];
/** Pictures that are refused with their name. */
const NAMED = [
  ['photo.heic', /this is HEIC/],
  ['icon.ico', /a Windows icon/],
  ['map.pnm', /portable bitmap/],
  ['layers.psd', /a Photoshop file/],
];
const SVG =
  '<?xml version="1.0"?><!-- a square --><svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><rect width="60" height="40" fill="white"/><rect x="10" y="10" width="20" height="20" fill="#c81e1e"/></svg>';

/** Writes all pictures into a folder; returns their names. */
export function makePictures(folder) {
  const names = [];
  for (const [name, options] of BY_CONVERT) {
    const kind = options.at(-1);
    const isKind = /^[A-Z0-9]+:$/.test(kind);
    const path = join(folder, name);
    runTool('convert', isKind ? [...options.slice(0, -1), `${kind}${path}`] : [...options, path]);
    names.push(name);
  }
  for (const [name, options] of BY_AVIFENC) {
    const source = join(folder, name === 'alpha.avif' ? 'alpha.png' : 'color-8.png');
    runTool('avifenc', ['-j', '1', '-s', '8', ...versioned(options), source, join(folder, name)]);
    names.push(name);
  }
  writeFileSync(join(folder, 'drawing.svg'), SVG);
  const jpeg = readFileSync(join(folder, '444.jpg'));
  writeFileSync(join(folder, 'no-end.jpg'), jpeg.subarray(0, -2));
  runTool('heif-enc', ['-o', join(folder, 'photo.heic'), join(folder, 'color-8.png')]);
  for (const [name] of NAMED.slice(1)) runTool('convert', [join(folder, 'color-8.png'), join(folder, name)]);
  return [...names, 'drawing.svg', 'no-end.jpg', ...NAMED.map(([name]) => name)];
}

/** Older versions of avifenc have quantisers from 63 to 0 instead of a quality. */
function versioned(options) {
  const hasQuality = runTool('avifenc', ['--help']).includes('--qcolor');
  const at = options.indexOf('-q');
  if (hasQuality || at < 0) return options;
  const quantiser = String(Math.round((63 * (100 - Number(options[at + 1]))) / 100));
  return [...options.slice(0, at), '--min', quantiser, '--max', quantiser, ...options.slice(at + 2)];
}

/** Compares a picture with ImageMagick's (or avifdec's) pixels: the size, and the mean difference in 1 of 255. */
export async function checkPicture(folder, name) {
  const path = join(folder, name);
  const expected = NAMED.find(([named]) => named === name)?.[1];
  if (expected !== undefined) {
    const message = await decodeImage(path).then(
      () => 'it was read',
      (error) => error.message,
    );
    return { name, by: 'the name in the error', isRight: expected.test(message), figure: 'refused' };
  }
  const warnings = [];
  if (name === 'drawing.svg') {
    const { width, height, data } = await decodeImage(path);
    const at = (x, y) => [...data.subarray(3 * (y * width + x), 3 * (y * width + x) + 3)].join(' ');
    const isRight =
      `${width}x${height}` === '60x40' && at(20, 20) === '200 30 30' && at(50, 5) === '255 255 255';
    return { name, by: 'what was drawn', isRight, figure: `${at(20, 20)} inside` };
  }
  const image = await decodeImage(path, { onWarning: (text) => warnings.push(text) });
  const { by, size, pixels } = reference(folder, name);
  const isWarned = name !== 'no-end.jpg' || warnings.length === 1;
  if (size !== `${image.width}x${image.height}` || pixels.length !== image.data.length) {
    return { name, by, isRight: false, figure: `${image.width}x${image.height} instead of ${size}` };
  }
  const total = image.data.reduce((sum, value, index) => sum + Math.abs(value - pixels[index]), 0);
  const mean = total / pixels.length;
  return {
    name,
    by,
    isRight: isWarned && mean <= MOST_MEAN,
    figure: `mean difference ${mean.toFixed(2)} of 255`,
    mean,
  };
}

function reference(folder, name) {
  let path = join(folder, name);
  let by = 'ImageMagick';
  if (name.endsWith('.avif')) {
    path = join(folder, `${name}.png`);
    runTool('avifdec', ['-j', '1', join(folder, name), path]);
    by = 'avifdec';
  }
  // Viewers show a JPEG as RGB and lay transparent parts over white.
  const shown = [
    path,
    '-auto-orient',
    '-background',
    'white',
    '-alpha',
    'remove',
    '-alpha',
    'off',
    '-colorspace',
    'sRGB',
  ];
  const size = runTool('convert', [...shown, '-format', '%wx%h', 'info:']).toString();
  return { by, size, pixels: runTool('convert', [...shown, '-type', 'TrueColor', '-depth', '8', 'rgb:-']) };
}
