import { z } from 'zod';
import type { Json } from '../values/json.ts';

/** Names must be unique. */
const areDifferent = (names: readonly string[]): boolean => new Set(names).size === names.length;

/** Name of a form field, short enough for every surface. */
const FieldName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'a letter, then letters, digits and _');
const Label = z.string().min(1).max(200);

export const InputOption = z.object({ value: z.string().min(1).max(100), label: Label });
export type InputOption = z.infer<typeof InputOption>;

const Options = z
  .array(InputOption)
  .min(1)
  .max(25)
  .refine((options) => areDifferent(options.map(({ value }) => value)), 'option values must be unique');

const field = {
  name: FieldName,
  label: Label.optional(),
  help: z.string().max(500).optional(),
  required: z.boolean(),
} as const;
/** A form field that every surface can show. */
export const InputField = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('text'),
    ...field,
    multiline: z.boolean().optional(),
    maxLength: z.int().min(1).max(10_000).optional(),
  }),
  z.object({
    type: z.literal('number'),
    ...field,
    integer: z.boolean().optional(),
    min: z.number().optional(),
    max: z.number().optional(),
  }),
  z.object({ type: z.literal('boolean'), ...field }),
  z.object({ type: z.literal('choice'), ...field, options: Options }),
]);
export type InputField = z.infer<typeof InputField>;

const Fields = z
  .array(InputField)
  .min(1)
  .max(25)
  .refine((fields) => areDifferent(fields.map(({ name }) => name)), 'field names must be unique');

/** Maximum characters of a text answer. */
export const TEXT_MAX = 10_000;

/** Requested input: confirmation, choice, text or form. */
export const InputRequest = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('approval') }),
  z.object({ kind: z.literal('choice'), options: Options }),
  z.object({ kind: z.literal('text'), maxLength: z.int().min(1).max(TEXT_MAX).optional() }),
  z.object({ kind: z.literal('form'), fields: Fields }),
]);
export type InputRequest = z.infer<typeof InputRequest>;
export const InputKind = z.enum(['approval', 'choice', 'text', 'form']);
export type InputKind = z.infer<typeof InputKind>;

const oneOf = (options: readonly InputOption[]): string => options.map(({ value }) => value).join(', ');

const isOption = (options: readonly InputOption[], value: Json): boolean =>
  options.some((option) => option.value === value);

const textProblem = (value: Json, max: number): string | undefined => {
  if (typeof value !== 'string' || value.trim() === '') return 'enter a text';
  return value.length > max ? `at most ${String(max)} characters` : undefined;
};

const fieldProblem = (of: InputField, value: Json): string | undefined => {
  switch (of.type) {
    case 'text':
      return textProblem(value, of.maxLength ?? TEXT_MAX);
    case 'number': {
      if (typeof value !== 'number') return 'enter a number';
      if (of.integer === true && !Number.isSafeInteger(value)) return 'enter a whole number';
      if (of.min !== undefined && value < of.min) return `at least ${String(of.min)}`;
      return of.max !== undefined && value > of.max ? `at most ${String(of.max)}` : undefined;
    }
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'enter true or false';
    case 'choice':
      return isOption(of.options, value) ? undefined : `one of ${oneOf(of.options)}`;
  }
};

const formProblems = (fields: readonly InputField[], response: Json): readonly string[] => {
  if (typeof response !== 'object' || response === null || Array.isArray(response))
    return ['fill in the form fields'];
  const given = new Map<string, Json>(Object.entries(response));
  const unknown = [...given.keys()].filter((name) => !fields.some((each) => each.name === name));
  const wrong = fields.flatMap((each): readonly string[] => {
    const value = given.get(each.name);
    if (value === undefined) return each.required ? [`${each.name}: required`] : [];
    const problem = fieldProblem(each, value);
    return problem === undefined ? [] : [`${each.name}: ${problem}`];
  });
  return [...unknown.map((name) => `${name.slice(0, 64).toWellFormed()}: unknown field`), ...wrong];
};

/**
 * Problems of an answer; empty for valid ones. Answers are booleans, option values, texts, or objects with
 * the form fields.
 */
export const inputProblems = (asked: InputRequest, response: Json): readonly string[] => {
  const problems = (problem: string | undefined): readonly string[] =>
    problem === undefined ? [] : [problem];
  switch (asked.kind) {
    case 'approval':
      return problems(typeof response === 'boolean' ? undefined : 'enter true or false');
    case 'choice':
      return problems(isOption(asked.options, response) ? undefined : `one of ${oneOf(asked.options)}`);
    case 'text':
      return problems(textProblem(response, asked.maxLength ?? TEXT_MAX));
    case 'form':
      return formProblems(asked.fields, response);
  }
};
