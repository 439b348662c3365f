import type { InputField, InputRequest } from '@holdpoint/contracts/workflow/input';
import { fieldWants, typedValue } from '@holdpoint/contracts/workflow/input-typed';
import type { Json } from '@holdpoint/contracts/values/json';
import { FORM_TEXTS_MAX, type FormText } from './form-part.ts';
import { plain } from './text.ts';

// Discord's forms contain only text fields. Their texts are parsed into the types of the fields.

/** Discord's limits. */
const LABEL_MAX = 45;
const HINT_MAX = 100;

/** Name of the only field of a text question. */
const ANSWER = 'answer';

const textFor = (field: InputField): FormText => ({
  name: field.name,
  label: plain(field.label ?? field.name, LABEL_MAX),
  ...(field.help !== undefined && field.help !== '' && { description: plain(field.help, HINT_MAX) }),
  placeholder: plain(fieldWants(field), HINT_MAX),
  required: field.required,
  multiline: field.type === 'text' && field.multiline === true,
  ...(field.type === 'text' && { maxLength: field.maxLength }),
});

/** Discord identifies fields by name. */
const canHold = (fields: readonly InputField[]): boolean =>
  fields.length <= FORM_TEXTS_MAX && new Set(fields.map(({ name }) => name)).size === fields.length;

/** The fields of a form for this input; undefined when it needs no form, or does not fit into one. */
export const formTextsOf = (input: InputRequest): readonly FormText[] | undefined => {
  switch (input.kind) {
    case 'text':
      return [
        { name: ANSWER, label: 'Your answer', required: true, multiline: true, maxLength: input.maxLength },
      ];
    case 'form':
      return canHold(input.fields) ? input.fields.map(textFor) : undefined;
    case 'approval':
    case 'choice':
      return undefined;
  }
};

/** The typed response. A text that cannot be parsed is kept, and the validation refuses it. */
export const responseFromTexts = (input: InputRequest, texts: ReadonlyMap<string, string>): Json => {
  if (input.kind !== 'form') return texts.get(ANSWER) ?? '';
  const values = input.fields.flatMap((field): readonly (readonly [string, Json])[] => {
    const value = typedValue(field, texts.get(field.name) ?? '');
    return value === undefined ? [] : [[field.name, value]];
  });
  return Object.fromEntries(values);
};
