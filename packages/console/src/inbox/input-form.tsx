import type { Json } from '@holdpoint/contracts/values/json';
import { useState } from 'preact/hooks';
import { Safe } from '../parts/safe.tsx';
import { type InputField, TEXT_MAX } from '@holdpoint/contracts/workflow/input';
import type { InputQuestion } from './question.ts';

type Values = Readonly<Record<string, string | boolean>>;

const valueOf = ({ name, type }: InputField, values: Values): Json | undefined => {
  const value = values[name];
  if (type === 'boolean') return value === true;
  if (value === undefined || value === '') return undefined;
  return type === 'number' ? Number(value) : value;
};

const responseOf = (input: InputQuestion, values: Values): Json => {
  if (input.kind !== 'form') return values['answer'] ?? '';
  return Object.fromEntries(
    input.fields.flatMap((field) => {
      const value = valueOf(field, values);
      return value === undefined ? [] : [[field.name, value] as const];
    }),
  );
};

const Field = ({
  field,
  value,
  onValue,
}: {
  readonly field: InputField;
  readonly value: string | boolean | undefined;
  readonly onValue: (value: string | boolean) => void;
}) => {
  const { name, label = name, help, type, required } = field;
  if (type === 'boolean')
    return (
      <label class="check">
        <input
          type="checkbox"
          checked={value === true}
          onChange={({ currentTarget }) => onValue(currentTarget.checked)}
        />
        <Safe text={label} />
      </label>
    );
  return (
    <label>
      <Safe text={label} />
      {help !== undefined && (
        <span class="hint">
          <Safe text={help} />
        </span>
      )}
      {type === 'choice' ? (
        <select
          name={name}
          required={required}
          value={String(value ?? '')}
          onChange={({ currentTarget }) => onValue(currentTarget.value)}
        >
          <option value="">…</option>
          {field.options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      ) : (
        <input
          name={name}
          inputMode={type === 'number' ? 'decimal' : 'text'}
          {...(type === 'number' && { pattern: '-?[0-9]+([.][0-9]+)?', title: 'a number' })}
          required={required}
          value={String(value ?? '')}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    </label>
  );
};

/** A form for a question: a choice, a text, or fields. */
export const InputForm = ({
  input,
  busy,
  onAnswer,
}: {
  readonly input: InputQuestion;
  readonly busy: boolean;
  readonly onAnswer: (response: Json, comment: string) => void;
}) => {
  const [values, setValues] = useState<Values>({});
  const [comment, setComment] = useState('');
  const set = (name: string, value: string | boolean): void => setValues({ ...values, [name]: value });
  return (
    <form
      class="decide"
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer(responseOf(input, values), comment.trim());
      }}
    >
      {input.kind === 'choice' && (
        <fieldset>
          <legend>Your answer</legend>
          {input.options.map(({ value, label }) => (
            <label key={value} class="check">
              <input
                type="radio"
                name="answer"
                required
                checked={values['answer'] === value}
                onChange={() => set('answer', value)}
              />
              <Safe text={label} />
            </label>
          ))}
        </fieldset>
      )}
      {input.kind === 'text' && (
        <label>
          Your answer
          <textarea
            rows={4}
            required
            maxLength={input.maxLength ?? TEXT_MAX}
            value={String(values['answer'] ?? '')}
            onInput={({ currentTarget }) => set('answer', currentTarget.value)}
          />
        </label>
      )}
      {input.kind === 'form' &&
        input.fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={values[field.name]}
            onValue={(value) => set(field.name, value)}
          />
        ))}
      <label>
        Comment (optional)
        <input
          maxLength={10_000}
          value={comment}
          onInput={({ currentTarget }) => setComment(currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary go" disabled={busy}>
        Send the answer
      </button>
    </form>
  );
};
