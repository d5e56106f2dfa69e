import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../fixtures/seeded-random.js';
import { StopMatcher } from './stop-matcher.js';

function run(stops: string[], pieces: string[]): { shown: string[]; stop: string | null } {
  const matcher = new StopMatcher(stops);
  const shown = pieces.map((piece) => matcher.push(piece).text);
  return { shown: [...shown, matcher.flush()], stop: matcher.stop };
}

describe('StopMatcher', () => {
  it('holds back text that may become a stop string', () => {
    expect(run(['END'], ['abcE', 'N', 'x'])).toEqual({ shown: ['abc', '', 'ENx', ''], stop: null });
    expect(run(['END'], ['abcE', 'N', 'Dx', 'y'])).toEqual({ shown: ['abc', '', '', '', ''], stop: 'END' });
  });

  it('releases held text at the end', () => {
    expect(run(['END'], ['E', 'EN'])).toEqual({ shown: ['', 'E', 'EN'], stop: null });
  });

  it('picks the stop string that is completed first, or the longest of several', () => {
    expect(run(['bcd', 'c'], ['abcd'])).toEqual({ shown: ['ab', ''], stop: 'c' });
    expect(run(['c', 'bc'], ['abcd'])).toEqual({ shown: ['a', ''], stop: 'bc' });
  });

  it('finds stop strings that overlap with themselves', () => {
    expect(run(['aab'], ['a', 'a', 'a', 'b'])).toEqual({ shown: ['', '', 'a', '', ''], stop: 'aab' });
    expect(run(['abab!'], ['ababab!'])).toEqual({ shown: ['ab', ''], stop: 'abab!' });
  });

  it('lets everything through without stop strings', () => {
    expect(run([], ['a', 'b'])).toEqual({ shown: ['a', 'b', ''], stop: null });
  });

  it.each([[['']], [['x'.repeat(5000)]], [Array.from({ length: 65 }, (_, index) => `${index}`)]])(
    'refuses invalid stop strings',
    (stops) => {
      expect(() => new StopMatcher(stops)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    },
  );

  it('finds the same as a search in the whole text, however the text is split', () => {
    const random = new SeededRandom(11);
    const word = (longest: number): string =>
      Array.from({ length: random.integer(1, longest) }, () => random.pick(['a', 'b', 'c'])).join('');
    for (let round = 0; round < 3000; round++) {
      const stops = Array.from({ length: random.integer(1, 3) }, () => word(5));
      const pieces = Array.from({ length: random.integer(1, 6) }, () => word(6));
      const text = pieces.join('');
      const ends = stops.map((stop) => (text.includes(stop) ? text.indexOf(stop) + stop.length : Infinity));
      const end = Math.min(...ends);
      const longest = Math.max(...stops.filter((_, index) => ends[index] === end).map((stop) => stop.length));
      const { shown } = run(stops, pieces);
      expect(shown.join('')).toBe(end === Infinity ? text : text.slice(0, end - longest));
    }
  });
});
