import {
  type InputField,
  type InputOption,
  inputProblems,
  type InputRequest,
} from '@holdpoint/contracts/workflow/input';
import { fieldWants, typedOption, typedValue, typedYesOrNo } from '@holdpoint/contracts/workflow/input-typed';
import type { Json } from '@holdpoint/contracts/values/json';
import { printable } from '../output/printable.ts';

/** One typed line; undefined without a user at the terminal, or when another approver decided first. */
export type Ask = (prompt: string) => Promise<string | undefined>;

const TRIES_MAX = 5;

type Read = (text: string) => { readonly value: Json } | { readonly problem: string };

/** Asks until the input fits; undefined for an empty line. */
const askUntil = async (ask: Ask, prompt: string, read: Read): Promise<Json | undefined> => {
  let problem = '';
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const text = await ask(`${problem}${prompt}`);
    if (text === undefined || text.trim() === '') return undefined;
    const parsed = read(text);
    if ('value' in parsed) return parsed.value;
    problem = `! ${printable(parsed.problem)}: `;
  }
  return undefined;
};

const fitting =
  (input: InputRequest, valueOf: (text: string) => Json): Read =>
  (text) => {
    const value = valueOf(text);
    const [problem] = inputProblems(input, value);
    return problem === undefined ? { value } : { problem };
  };

/** Matches the value, the label or the number of an option. */
const optionBy = (options: readonly InputOption[], text: string): Json => {
  const value = typedOption(options, text);
  if (options.some((option) => option.value === value)) return value;
  return /^\s*\d{1,2}\s*$/.test(text) ? (options[Number(text) - 1]?.value ?? text) : text;
};

const fieldPrompt = (field: InputField): string =>
  printable(`${field.label ?? field.name} [${fieldWants(field)}${field.required ? '' : ', empty: skip'}] `);

const valueBy = (field: InputField, text: string): Json =>
  (field.type === 'choice' ? optionBy(field.options, text) : typedValue(field, text)) ?? '';

const fittingField =
  (field: InputField): Read =>
  (text) => {
    const value = valueBy(field, text);
    const [problem] = inputProblems({ kind: 'form', fields: [field] }, { [field.name]: value });
    return problem === undefined ? { value } : { problem };
  };

/** Asks field by field; undefined if a required field stays empty. */
const askForm = async (ask: Ask, fields: readonly InputField[]): Promise<Json | undefined> => {
  const values: Record<string, Json> = {};
  for (const field of fields) {
    const value = await askUntil(ask, fieldPrompt(field), fittingField(field));
    if (value === undefined && field.required) return undefined;
    if (value !== undefined) values[field.name] = value;
  }
  return values;
};

/** Asks for a valid response; undefined if the user postpones it. */
export const askForResponse = (ask: Ask, input: InputRequest): Promise<Json | undefined> => {
  switch (input.kind) {
    case 'approval':
      return askUntil(ask, 'Yes or no? [y: yes, n: no, empty: later] ', fitting(input, typedYesOrNo));
    case 'choice': {
      const { options } = input;
      const prompt = `Choose one [1-${String(options.length)}, or a value, empty: later] `;
      return askUntil(
        ask,
        prompt,
        fitting(input, (text) => optionBy(options, text)),
      );
    }
    case 'text':
      return askUntil(
        ask,
        'Your answer [one line, empty: later] ',
        fitting(input, (text) => text),
      );
    case 'form':
      return askForm(ask, input.fields);
  }
};
