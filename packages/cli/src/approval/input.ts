import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { InputField, InputRequest } from '@holdpoint/contracts/workflow/input';
import { fieldWants } from '@holdpoint/contracts/workflow/input-typed';
import type { Json } from '@holdpoint/contracts/values/json';
import { QUESTION_LABELS } from '../output/question-labels.ts';
import { columns, shorten } from '../output/columns.ts';

const SHOWN = 60;

/** Short description of the requested input. */
export const inputWants = (input: InputRequest): string => {
  switch (input.kind) {
    case 'approval':
      return 'yes or no';
    case 'choice':
      return `one of ${String(input.options.length)} options`;
    case 'text':
      return input.maxLength === undefined ? 'text' : `text of at most ${String(input.maxLength)} characters`;
    case 'form':
      return `form: ${input.fields.map(({ name }) => name).join(', ')}`;
  }
};

/** A response on one line, as JSON to keep texts distinguishable. */
export const responseLine = (response: Json): string => {
  if (typeof response === 'boolean') return response ? 'yes' : 'no';
  return shorten(JSON.stringify(response), SHOWN);
};

const fieldRow = (field: InputField): readonly string[] => [
  field.name,
  `${fieldWants(field)}${field.required ? '' : ', optional'}`,
  [field.label, field.help].filter((text) => text !== undefined && text !== '').join('. '),
];

/** Numbers can be typed at the prompt. */
const detailRows = (input: InputRequest): readonly (readonly string[])[] => {
  switch (input.kind) {
    case 'approval':
    case 'text':
      return [];
    case 'choice':
      return input.options.map(({ value, label }, i) => [
        String(i + 1),
        value,
        ...(label === value ? [] : [label]),
      ]);
    case 'form':
      return input.fields.map(fieldRow);
  }
};

const FLAGS: Readonly<Record<InputRequest['kind'], string>> = {
  approval: '--yes|--no',
  choice: '--choice <value>',
  text: '--text <text>',
  form: '--field <name>=<value> …',
};

/** The question and how to answer it. */
export const inputText = ({ id, status }: ApprovalView, input: InputRequest): readonly string[] => [
  QUESTION_LABELS.input,
  ...columns([['wanted', inputWants(input)]], '  '),
  ...columns(detailRows(input), '    '),
  ...(status === 'pending' ? [`  holdpoint approval answer ${id} ${FLAGS[input.kind]}`] : []),
];

/** The full response, if it is longer than one line: a text as it is, a form field by field. */
export const responseText = (response: Json): string => {
  if (typeof response === 'string') return response;
  if (typeof response !== 'object' || response === null) return '';
  return Object.entries(response)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join('\n');
};
