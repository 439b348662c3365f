import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import type { InputField, InputKind, InputRequest } from '@holdpoint/contracts/workflow/input';
import { fieldWants } from '@holdpoint/contracts/workflow/input-typed';
import type { Json } from '@holdpoint/contracts/values/json';
import { inline, jsonBlock, quoted, seeAll } from './text.ts';

/** Short description of the expected input. */
export const WANTED: Readonly<Record<InputKind, string>> = {
  approval: 'yes or no',
  choice: 'one of these',
  text: 'a text',
  form: 'a form',
};

/** A longer prompt may not fit into the title. */
const TITLE_SHOWN = 120;
const LINE_MAX = 400;

const optionLine = ({ label, value }: { label: string; value: string }, index: number): string =>
  `${String(index + 1)}\\. ${inline(label, LINE_MAX)}${label === value ? '' : ` (${inline(value, LINE_MAX)})`}`;

const fieldLine = (field: InputField): string => {
  const { name, label, help, required } = field;
  const more = [
    label === undefined ? '' : `: ${inline(label, LINE_MAX)}`,
    `, ${inline(fieldWants(field), LINE_MAX)}`,
    required ? '' : ', optional',
    help === undefined || help === '' ? '' : `. ${inline(help, LINE_MAX)}`,
  ];
  return `• ${inline(name, LINE_MAX)}${more.join('')}`;
};

const linesOf = (input: InputRequest): readonly string[] => {
  switch (input.kind) {
    case 'approval':
      return [];
    case 'choice':
      return input.options.map(optionLine);
    case 'text':
      return input.maxLength === undefined ? [] : [`At most ${String(input.maxLength)} characters.`];
    case 'form':
      return input.fields.map(fieldLine);
  }
};

/** As many whole lines as fit, with the note when there are more. */
const linesWithin = (lines: readonly string[], max: number, note: string): string => {
  const whole = lines.join('\n');
  if (whole.length <= max) return whole;
  const room = max - note.length;
  let text = '';
  for (const line of lines) {
    if (text.length + line.length + 1 > room) break;
    text += text === '' ? line : `\n${line}`;
  }
  return `${text}${note}`;
};

const BLANK = 'No further details.';

/** The question of a program: the prompt if the title cut it, the body, and the possible answers. */
export const inputText = (request: RequestApproval, input: InputRequest, max: number): string => {
  const { id, title, body = '' } = request;
  const note = seeAll(id);
  const parts: string[] = [];
  const left = (): number => max - parts.reduce((sum, part) => sum + part.length + 1, 0);
  if (title.length > TITLE_SHOWN) parts.push(quoted(title, Math.floor(max / 3), note));
  const lines = linesOf(input);
  const listed = linesWithin(lines, Math.floor(left() / (body.trim() === '' ? 1 : 2)), note);
  if (body.trim() !== '') parts.push(quoted(body, left() - listed.length - 1, note));
  if (listed !== '') parts.push(listed);
  return parts.length === 0 ? BLANK : parts.join('\n');
};

const RESPONSE_MAX = 700;
const SHORT_MAX = 100;

/** A response as a field of a message. */
export const responseText = (id: string, input: InputRequest | undefined, response: Json): string => {
  if (typeof response === 'boolean') return response ? 'Yes' : 'No';
  if (typeof response !== 'string') return jsonBlock(response, RESPONSE_MAX, seeAll(id));
  const option = input?.kind === 'choice' && input.options.find(({ value }) => value === response);
  if (!option) return quoted(response, RESPONSE_MAX, seeAll(id));
  const value = option.label === response ? '' : ` (${inline(response, LINE_MAX / 2)})`;
  return `${inline(option.label, LINE_MAX)}${value}`;
};

/** The response as part of a line. */
export const responseShort = (response: Json): string => {
  if (typeof response === 'boolean') return response ? 'yes' : 'no';
  return typeof response === 'string' ? inline(response, SHORT_MAX) : 'a form';
};
