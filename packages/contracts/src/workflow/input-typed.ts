import type { InputField, InputOption } from './input.ts';
import type { Json } from '../values/json.ts';

// Parses typed answers on surfaces without form fields. Invalid text is kept, so that `inputProblems`
// reports it in the same words everywhere.

const YES: readonly string[] = ['yes', 'y', 'true'];
const NO: readonly string[] = ['no', 'n', 'false'];
/** Decimal notation only: `Number` also accepts `0x10` and others. */
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i;

export const typedYesOrNo = (text: string): Json => {
  const word = text.trim().toLowerCase();
  if (YES.includes(word)) return true;
  return NO.includes(word) ? false : text;
};

const typedNumber = (text: string): Json => {
  const digits = text.trim();
  const number = NUMBER.test(digits) ? Number(digits) : Infinity;
  return Number.isFinite(number) ? number : text;
};

/** By value, or by a unique label. */
export const typedOption = (options: readonly InputOption[], text: string): Json => {
  const word = text.trim();
  const exact = options.find(({ value }) => value === text || value === word);
  if (exact !== undefined) return exact.value;
  const [named, ...others] = options.filter(({ label }) => label.toLowerCase() === word.toLowerCase());
  return named === undefined || others.length > 0 ? text : named.value;
};

/** The value of a form field; undefined for empty input. */
export const typedValue = (field: InputField, text: string): Json | undefined => {
  if (text.trim() === '') return undefined;
  switch (field.type) {
    case 'text':
      return text;
    case 'number':
      return typedNumber(text);
    case 'boolean':
      return typedYesOrNo(text);
    case 'choice':
      return typedOption(field.options, text);
  }
};

/** Short description of a field: type, range or choices. */
export const fieldWants = (field: InputField): string => {
  switch (field.type) {
    case 'text':
      return field.maxLength === undefined
        ? 'a text'
        : `a text of at most ${String(field.maxLength)} characters`;
    case 'number': {
      const { integer, min, max } = field;
      const what = integer === true ? 'a whole number' : 'a number';
      const from = min === undefined ? '' : `, at least ${String(min)}`;
      return `${what}${from}${max === undefined ? '' : `, at most ${String(max)}`}`;
    }
    case 'boolean':
      return 'yes or no';
    case 'choice':
      return `one of ${field.options.map(({ value }) => value).join(', ')}`;
  }
};
