import type { AnswerSettings } from './answer-settings.js';
import { changeSettings, settings } from './settings.js';

type NumberName = {
  [Name in keyof AnswerSettings]: AnswerSettings[Name] extends number | null ? Name : never;
}[keyof AnswerSettings];

/** A numeric setting that may be empty. Values out of range are ignored. */
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
  return (
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
        onInput={({ currentTarget }) => {
          const { value, validity, valueAsNumber } = currentTarget;
          if (value === '' && !validity.badInput) changeSettings({ [name]: null });
          else if (validity.valid) changeSettings({ [name]: valueAsNumber });
        }}
      />
    </label>
  );
}
