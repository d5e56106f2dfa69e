/** The instruction to write speech down, in the words that models were trained with. */
export const TRANSCRIPTION_INSTRUCTION = 'Transcribe the following speech segment.';
/** Maximum number of tokens in the text of a segment. A minute of fast speech has about 250 words. */
export const TRANSCRIPTION_MAX_TOKENS = 512;

const languageNames = new Intl.DisplayNames('en', { type: 'language' });

/**
 * The instruction for one segment, in the words that models were trained with.
 *
 * @param about ISO 639 code of the language, such as `en`; what the model should know about the recording
 */
export function transcriptionInstruction(about: {
  readonly language?: string;
  readonly prompt?: string;
}): string {
  const { language, prompt } = about;
  const name = language === undefined ? undefined : languageNames.of(language);
  const instruction =
    name === undefined
      ? TRANSCRIPTION_INSTRUCTION
      : `Transcribe the following speech segment in ${name} into ${name} text.`;
  return prompt === undefined ? instruction : `${instruction}\n${prompt}`;
}
