import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { describeError } from '../api/describe-error.js';
import { postJson } from '../api/playground-api.js';
import { changeSettings, settings } from './settings.js';

const CHECK_AFTER_MS = 300;

/** A JSON schema for answers, and whether it is one that the server supports. */
export function SchemaField() {
  const { schema } = settings.value;
  const problem = useSignal<string | null>(null);
  const isValid = useSignal(false);
  useEffect(() => {
    isValid.value = false;
    problem.value = null;
    if (schema.trim() === '') return;
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const body = { schema: JSON.parse(schema) as unknown };
        const { reason } = await postJson<{ reason: string | null }>('schema', body, abort.signal);
        problem.value = reason;
        isValid.value = reason === null;
      } catch (error) {
        if (abort.signal.aborted) return;
        problem.value =
          error instanceof SyntaxError ? `It is not JSON: ${error.message}` : describeError(error);
      }
    }, CHECK_AFTER_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [schema]);
  return (
    <div class="field">
      <label class="field">
        JSON schema of answers
        <textarea
          rows={4}
          class="code-field"
          spellcheck={false}
          placeholder={'{ "type": "object", … }'}
          value={schema}
          aria-invalid={problem.value !== null}
          aria-describedby="schema-state"
          onInput={({ currentTarget }) => changeSettings({ schema: currentTarget.value })}
        />
      </label>
      <p id="schema-state" class={problem.value ? 'error' : 'hint'} role="status">
        {problem.value ??
          (isValid.value
            ? '✓ The schema is valid. Also tell the model what you want.'
            : 'Empty: answers are free.')}
      </p>
    </div>
  );
}
