import { useSignal } from '@preact/signals';
import type { AnswerSettings } from './answer-settings.js';
import { changeSettings, settings } from './settings.js';

type NumberName = {
  [Name in keyof AnswerSettings]: AnswerSettings[Name] extends number | null ? Name : never;
}[keyof AnswerSettings];

/** A numeric setting that may be empty. A value out of range is not taken, which the field says. */
export function NumberField(props: {
  readonly name: NumberName;
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  /** What an empty field means. */
  readonly hint: number | string;
}) {
  const { name, label, min, max, step, hint } = props;
  const problem = useSignal<string | null>(null);
  const range = `from ${min.toLocaleString('en')} to ${max.toLocaleString('en')}`;
  return (
    <div class="field">
      <label class="field row">
        {label}
        <input
          type="number"
          inputMode="decimal"
          min={min}
          max={max}
          step={step === 1 ? 1 : 'any'}
          placeholder={String(hint)}
          value={settings.value[name] ?? ''}
          aria-invalid={problem.value !== null}
          aria-describedby={problem.value === null ? undefined : `problem-${name}`}
          onInput={({ currentTarget }) => {
            const { value, validity, valueAsNumber } = currentTarget;
            const isEmpty = value === '' && !validity.badInput;
            problem.value =
              isEmpty || validity.valid
                ? null
                : `Use a ${step === 1 ? 'whole ' : ''}number ${range}. Until then, ${settings.value[name] ?? 'the default'} applies.`;
            if (isEmpty) changeSettings({ [name]: null });
            else if (validity.valid) changeSettings({ [name]: valueAsNumber });
          }}
        />
      </label>
      {problem.value && (
        <p class="error" id={`problem-${name}`} role="alert">
          {problem.value}
        </p>
      )}
    </div>
  );
}
