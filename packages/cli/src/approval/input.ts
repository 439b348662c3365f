import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { InputField, InputRequest } from '@holdpoint/contracts/workflow/input';
import { fieldWants } from '@holdpoint/contracts/workflow/input-typed';
import type { Json } from '@holdpoint/contracts/values/json';
import { ASKED } from '../output/requester.ts';
import { columns, shorten } from '../output/columns.ts';

const SHOWN = 60;

/** What a program wants, in a few words. */
export const inputWants = (input: InputRequest): string => {
  switch (input.kind) {
    case 'approval':
      return 'yes or no';
    case 'choice':
      return `one of ${String(input.options.length)} options`;
    case 'text':
      return input.maxLength === undefined
        ? 'a text'
        : `a text of at most ${String(input.maxLength)} characters`;
    case 'form':
      return `a form: ${input.fields.map(({ name }) => name).join(', ')}`;
  }
};

/** A response in a line: JSON, so that a text cannot be taken for anything else. */
export const responseLine = (response: Json): string => {
  if (typeof response === 'boolean') return response ? 'yes' : 'no';
  return shorten(JSON.stringify(response), SHOWN);
};

const fieldRow = (field: InputField): readonly string[] => [
  field.name,
  `${fieldWants(field)}${field.required ? '' : ', may be left out'}`,
  [field.label, field.help].filter((text) => text !== undefined && text !== '').join('. '),
];

/** Numbers are what is typed at a prompt. */
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

/** What is asked, and how it is answered. */
export const inputText = ({ id, status }: ApprovalView, input: InputRequest): readonly string[] => [
  ASKED.input,
  ...columns([['wanted', inputWants(input)]], '  '),
  ...columns(detailRows(input), '    '),
  ...(status === 'pending' ? [`  holdpoint approval answer ${id} ${FLAGS[input.kind]}`] : []),
];

/** All of a response that is more than a line shows: a text as it is, a form field by field. */
export const responseText = (response: Json): string => {
  if (typeof response === 'string') return response;
  if (typeof response !== 'object' || response === null) return '';
  return Object.entries(response)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join('\n');
};
