import type { WorkflowInput } from '@holdpoint/contracts/workflow/offered-workflow';
import type { ComponentChildren } from 'preact';
import { Safe } from '../parts/safe.tsx';
import { labelOf } from './submission.ts';

type AriaProps = { readonly 'aria-invalid'?: true; readonly 'aria-describedby'?: string };

/** A field with label, help and error, all of them accessible. */
export const Labelled = ({
  name,
  label,
  help,
  required = false,
  problem,
  children,
}: {
  readonly name: string;
  readonly label: string;
  readonly help?: string | undefined;
  readonly required?: boolean;
  readonly problem: string | undefined;
  readonly children: (id: string, aria: AriaProps) => ComponentChildren;
}) => {
  const id = `new-${name}`;
  const described = [help && `${id}-help`, problem && `${id}-problem`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>
        <Safe text={label} />
        {!required && <span class="hint"> (optional)</span>}
      </label>
      {help !== undefined && (
        <span class="hint" id={`${id}-help`}>
          <Safe text={help} />
        </span>
      )}
      {children(id, {
        ...(problem !== undefined && { 'aria-invalid': true }),
        ...(described !== '' && { 'aria-describedby': described }),
      })}
      {problem !== undefined && (
        <span class="field-problem" id={`${id}-problem`}>
          <Safe text={problem} />
        </span>
      )}
    </div>
  );
};

type FieldProps = {
  readonly input: WorkflowInput;
  readonly text: string | undefined;
  readonly problem: string | undefined;
  readonly onText: (text: string) => void;
};

const defaultOf = (input: WorkflowInput): string | undefined =>
  'default' in input && input.default !== undefined ? String(input.default) : undefined;

const Checked = ({ input, text, problem, onText }: FieldProps) => {
  const { name, help } = input;
  const described = [help && `new-${name}-help`, problem && `new-${name}-problem`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label class="check">
        <input
          id={`new-${name}`}
          type="checkbox"
          {...(described !== '' && { 'aria-describedby': described })}
          checked={(text ?? defaultOf(input)) === 'true'}
          onChange={({ currentTarget }) => onText(String(currentTarget.checked))}
        />
        <Safe text={labelOf(input)} />
      </label>
      {help !== undefined && (
        <span class="hint" id={`new-${name}-help`}>
          <Safe text={help} />
        </span>
      )}
      {problem !== undefined && (
        <span class="field-problem" id={`new-${name}-problem`}>
          <Safe text={problem} />
        </span>
      )}
    </div>
  );
};

/** The field for one input of a workflow, by its declared type. */
export const InputField = (props: FieldProps) => {
  const { input, text = '', problem, onText } = props;
  const { type, name, help, required } = input;
  if (type === 'boolean') return <Checked {...props} />;
  const otherwise = defaultOf(input);
  const isLong = type === 'json' || type === 'list' || (type === 'text' && input.multiline === true);
  return (
    <Labelled name={name} label={labelOf(input)} help={help} required={required} problem={problem}>
      {(id, aria) =>
        type === 'choice' ? (
          <select
            id={id}
            {...aria}
            aria-required={required}
            value={text === '' ? (otherwise ?? '') : text}
            onChange={({ currentTarget }) => onText(currentTarget.value)}
          >
            {otherwise === undefined && <option value="">…</option>}
            {input.options.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        ) : isLong ? (
          <textarea
            id={id}
            {...aria}
            aria-required={required}
            class={type === 'text' ? '' : 'code'}
            rows={type === 'text' ? 4 : 3}
            spellcheck={type === 'text'}
            value={text}
            onInput={({ currentTarget }) => onText(currentTarget.value)}
          />
        ) : (
          <input
            id={id}
            {...aria}
            aria-required={required}
            inputMode={type === 'number' ? 'decimal' : 'text'}
            autocomplete="off"
            {...(otherwise !== undefined && { placeholder: otherwise })}
            value={text}
            onInput={({ currentTarget }) => onText(currentTarget.value)}
          />
        )
      }
    </Labelled>
  );
};
