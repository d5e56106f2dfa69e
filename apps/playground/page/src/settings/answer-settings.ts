/** How a conversation is answered. Null means the checkpoint's default. */
export interface AnswerSettings {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly minP: number | null;
  readonly repetitionPenalty: number | null;
  readonly maxTokens: number | null;
  readonly seed: number | null;
  /** Strings that end an answer, one per line. */
  readonly stop: string;
  readonly thinking: boolean;
  /** Offers the two demo tools to the model. */
  readonly tools: boolean;
  /** JSON schema of answers, as text; empty = answers are free. */
  readonly schema: string;
  /** What happens when a conversation no longer fits the context. */
  readonly whenFull: WhenFull;
}

/** Stop and ask, leave out the oldest turns, or replace them by a summary that the model writes. */
export type WhenFull = 'stop' | 'drop' | 'summarise';

/** Settings of a new visitor. */
export const DEFAULT_SETTINGS: AnswerSettings = {
  temperature: null,
  topP: null,
  topK: null,
  minP: null,
  repetitionPenalty: null,
  maxTokens: null,
  seed: null,
  stop: '',
  thinking: false,
  tools: false,
  schema: '',
  whenFull: 'stop',
};

/** The settings among the fields of an object; fields of another type are left out. */
export function knownSettings(fields: Readonly<Record<string, unknown>>): Partial<AnswerSettings> {
  const isValid = (name: string, value: unknown) => {
    if (name === 'whenFull') return value === 'stop' || value === 'drop' || value === 'summarise';
    const usual = DEFAULT_SETTINGS[name as keyof AnswerSettings];
    return usual === null ? value === null || typeof value === 'number' : typeof value === typeof usual;
  };
  return Object.fromEntries(
    Object.keys(DEFAULT_SETTINGS)
      .filter((name) => Object.hasOwn(fields, name) && isValid(name, fields[name]))
      .map((name) => [name, fields[name]]),
  );
}
