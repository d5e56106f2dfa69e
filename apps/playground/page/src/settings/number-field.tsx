import { changeSettings, type Settings, settings } from './settings.js';

type NumberName = {
  [Name in keyof Settings]: Settings[Name] extends number | null ? Name : never;
}[keyof Settings];

/** A setting that is a number, or empty. What is out of range is not taken over. */
export function NumberField(props: {
  readonly name: NumberName;
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  /** What an empty field stands for. */
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
