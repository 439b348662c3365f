import type { InputOption, InputRequest } from '@holdpoint/contracts/workflow/input';
import type { z } from 'zod';
import { fieldsOf } from './form-fields.ts';

/** The text of a question. */
export type Prompt = {
  /** One line, at most 500 characters. */
  readonly title: string;
  /** At most 32,768 characters. */
  readonly body?: string;
};

/** An option: a value, or a value with a label. */
export type Option<Value extends string = string> =
  | Value
  | { readonly value: Value; readonly label?: string };

type OptionsFor<State, Value extends string> = (state: State) => readonly Option<Value>[];

/** A question and the type of its answer. Created by {@link ask}. */
export type Ask<Response, State = unknown> =
  | { readonly kind: 'approval'; readonly response?: Response }
  | {
      readonly kind: 'choice';
      readonly options: readonly Option[] | OptionsFor<State, string>;
      readonly response?: Response;
    }
  | { readonly kind: 'text'; readonly maxLength?: number; readonly response?: Response }
  | { readonly kind: 'form'; readonly schema: z.ZodObject; readonly response?: Response };

/** The kinds of questions. Every surface supports all of them: terminal, console, Discord. */
export const ask = {
  /** Yes or no: `true` or `false`. */
  approval: (): Ask<boolean> => ({ kind: 'approval' }),
  /** One of several options, which may depend on the state. Returns its value. */
  choice: <const Value extends string, State = unknown>(
    options: readonly Option<Value>[] | OptionsFor<State, Value>,
  ): Ask<Value, State> => ({ kind: 'choice', options }),
  /** A text, at most 10,000 characters. */
  text: ({ maxLength }: { readonly maxLength?: number } = {}): Ask<string> => ({
    kind: 'text',
    ...(maxLength !== undefined && { maxLength }),
  }),
  /**
   * A form: texts, numbers, booleans and choices in an object; fields may be optional. The worker checks
   * refinements of the schema and asks again after a violation. Throws `TypeError` for fields that a form
   * cannot show.
   */
  form: <Schema extends z.ZodObject>(schema: Schema): Ask<z.output<Schema>> => {
    fieldsOf(schema);
    return { kind: 'form', schema };
  },
} as const;

const optionOf = (option: Option): InputOption =>
  typeof option === 'string'
    ? { value: option, label: option }
    : { value: option.value, label: option.label ?? option.value };

/** The question as sent to the services. */
export const inputRequest = <State>(asked: Ask<unknown, State>, state: State): InputRequest => {
  switch (asked.kind) {
    case 'approval':
      return { kind: 'approval' };
    case 'choice': {
      const options = typeof asked.options === 'function' ? asked.options(state) : asked.options;
      return { kind: 'choice', options: options.map(optionOf) };
    }
    case 'text':
      return { kind: 'text', ...(asked.maxLength !== undefined && { maxLength: asked.maxLength }) };
    case 'form':
      return { kind: 'form', fields: [...fieldsOf(asked.schema)] };
  }
};
