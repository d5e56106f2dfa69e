import { describe, expect, it } from 'vitest';
import { decodeAll } from '../../test/collect.js';
import { soundFile } from '../../test/sound-files.js';

interface Reference {
  readonly channel: number;
  readonly first: number;
  readonly step: number;
  /** Samples `first`, `first + step`, … times 32,768. */
  readonly samples: readonly number[];
}

/** Output of oggdec 1.4.2 (libvorbis 1.3.7) and opusdec 0.2 (libopus 1.3.1) for the files. */
const REFERENCES: readonly (readonly [name: string, reference: Reference])[] = [
  [
    'mono.ogg',
    {
      channel: 0,
      first: 100,
      step: 500,
      samples: [
        -3677, -1407, -5547, 16335, 6197, -858, 4049, 16296, -528, -7657, 4956, 10106, -10363, -15768, -15121,
        -6455, 16036, -6045, 6375, -14823, 7985, 16620,
      ],
    },
  ],
  [
    'stereo.ogg',
    {
      channel: 1,
      first: 50,
      step: 200,
      samples: [
        699, 449, 587, -7, 1199, 966, 694, 1960, 1176, 1294, 2024, 2043, 2472, 2543, 2749, 2927, 3211, 2828,
        3517, 4033, 3082, 4129,
      ],
    },
  ],
  [
    'mono.opus',
    {
      channel: 0,
      first: 100,
      step: 1000,
      samples: [
        6725, 5394, 10383, -9421, -1448, -12602, -12521, -13478, 1497, -5359, 5490, -1467, 13641, 12567,
        12672, 1020, 9242, -10317, -5341, -7207, -15992, -3076, -12413, -16433,
      ],
    },
  ],
  [
    'stereo.opus',
    {
      channel: 1,
      first: 100,
      step: 300,
      samples: [
        -3277, -5880, 2921, 5532, -2882, -5864, 4369, 5928, -3499, -5635, 3095, 5810, -3392, -4975, 3093,
        6191,
      ],
    },
  ],
];

describe('decoders', () => {
  it.each(REFERENCES)(
    'agree with the reference decoder on %s',
    async (name, { channel, first, step, samples }) => {
      const made = (await decodeAll(soundFile(name))).channels[channel]!;
      for (const [index, sample] of samples.entries()) {
        expect(Math.abs(made[first + index * step]! * 32_768 - sample)).toBeLessThan(3);
      }
    },
  );
});
