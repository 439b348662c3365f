import type { InputOption, InputRequest } from '@holdpoint/contracts/workflow/input';
import type { z } from 'zod';
import { fieldsOf } from './form-fields.ts';

/** What people read. */
export type Prompt = {
  /** A line, at most 500 characters. */
  readonly title: string;
  /** At most 32,768 characters. */
  readonly body?: string;
};

/** One of the things to choose from: its value, or a value with what people read in its place. */
export type Option<Value extends string = string> =
  | Value
  | { readonly value: Value; readonly label?: string };

type OptionsFor<State, Value extends string> = (state: State) => readonly Option<Value>[];

/** What is asked for, and of which type the answer is. Made by {@link ask}. */
export type Ask<Response, State = unknown> =
  | { readonly kind: 'approval'; readonly response?: Response }
  | {
      readonly kind: 'choice';
      readonly options: readonly Option[] | OptionsFor<State, string>;
      readonly response?: Response;
    }
  | { readonly kind: 'text'; readonly maxLength?: number; readonly response?: Response }
  | { readonly kind: 'form'; readonly schema: z.ZodObject; readonly response?: Response };

/** What people can be asked for. Every surface can show it: terminal, web page, Discord. */
export const ask = {
  /** Yes or no: `true` or `false`. */
  approval: (): Ask<boolean> => ({ kind: 'approval' }),
  /** One of some, which may follow from the state: the value of what was chosen. */
  choice: <const Value extends string, State = unknown>(
    options: readonly Option<Value>[] | OptionsFor<State, Value>,
  ): Ask<Value, State> => ({ kind: 'choice', options }),
  /** Words, at most 10,000 characters. */
  text: ({ maxLength }: { readonly maxLength?: number } = {}): Ask<string> => ({
    kind: 'text',
    ...(maxLength !== undefined && { maxLength }),
  }),
  /**
   * A form: texts, numbers, booleans and choices in an object, some of them optional. Refinements of the schema are checked
   * by the worker, and what they refuse is asked for again. Throws `TypeError` on what no form can show.
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

/** What is asked for, as it goes to the services. */
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
