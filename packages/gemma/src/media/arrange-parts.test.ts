import type { ModelConfig } from '@markbase/loader';
import type { ContentPart } from '@markbase/text';
import { expect, test } from 'vitest';
import { arrangeParts } from './arrange-parts.js';

const media: ContentPart[] = [{ type: 'audio' }, { type: 'image' }];
const kinds = (family: ModelConfig['family']) =>
  arrangeParts(media, 'What is that?', { config: { family } as ModelConfig }).map(({ type }) => type);

test('media come before the text, except for sound in 12B', () => {
  expect(kinds('gemma4')).toEqual(['audio', 'image', 'text']);
  expect(kinds('gemma4_unified')).toEqual(['image', 'text', 'audio']);
});
