import type { ApprovalView, Choice, StuckAnswer } from '@holdpoint/contracts/approval';
import { policyOf, questionOf } from '@holdpoint/contracts/approval-policy';
import type { DoubtAnswer } from '@holdpoint/contracts/effect';

/** What can be said, and what follows from it. */
export type Option = { readonly choice: Choice; readonly label: string; readonly follows: string };

const option = (choice: Choice, label: string, follows: string): Option => ({ choice, label, follows });

const EFFECT = {
  approve: option('approve', 'Approve', 'exactly this is carried out, once'),
  reject: option('reject', 'Reject', 'it is not carried out, and the task hears why'),
  request_changes: option('request_changes', 'Request changes', 'the task goes back with your comment'),
} as const;
const DOUBT: Readonly<Record<DoubtAnswer, Option>> = {
  applied: option('applied', 'It happened', 'it is recorded as done, and the task goes on'),
  not_applied: option(
    'not_applied',
    'It did not happen',
    'the step has failed, and the task follows from that',
  ),
  retry: option('retry', 'Do it once more', 'whether it happened or not, it is done again'),
};
const STUCK: Readonly<Record<StuckAnswer, Option>> = {
  retry: option('retry', 'Try it once more', 'whoever tries is told your comment'),
  skip: option('skip', 'Leave it out', 'what follows it goes on'),
  done: option('done', 'It is done', 'somebody has done it by hand: it counts as done'),
  cancel: option('cancel', 'Give it up', 'it ends as cancelled'),
};

/** A question with answers of its own, as newer services put it. */
export type InputQuestion = {
  readonly kind: 'choice' | 'text' | 'form';
  readonly prompt: string | undefined;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly fields: readonly InputField[];
  readonly optional: boolean;
};
export type InputField = {
  readonly name: string;
  readonly label: string;
  readonly type: 'string' | 'number' | 'boolean';
  readonly options: readonly string[];
  readonly required: boolean;
};

type Bag = Readonly<Record<string, unknown>>;
const bagOf = (value: unknown): Bag | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Bag) : undefined;
const textIn = (bag: Bag | undefined, ...names: readonly string[]): string | undefined =>
  names.map((name) => bag?.[name]).find((value) => typeof value === 'string' && value !== '') as
    | string
    | undefined;
const listIn = (bag: Bag, ...names: readonly string[]): readonly unknown[] =>
  names.map((name) => bag[name]).find((value) => Array.isArray(value)) ?? [];

const optionOf = (value: unknown): readonly { value: string; label: string }[] => {
  if (typeof value === 'string') return [{ value, label: value }];
  const bag = bagOf(value);
  const id = textIn(bag, 'value', 'id', 'key', 'label');
  return id === undefined ? [] : [{ value: id, label: textIn(bag, 'label', 'title') ?? id }];
};

const TYPES: Readonly<Record<string, InputField['type']>> = {
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
};
const fieldOf = (name: string, value: unknown, required: readonly unknown[]): InputField => {
  const bag = bagOf(value) ?? {};
  return {
    name,
    label: textIn(bag, 'label', 'title', 'description') ?? name,
    type: TYPES[textIn(bag, 'type') ?? ''] ?? 'string',
    options: listIn(bag, 'options', 'enum', 'choices').flatMap((each) =>
      optionOf(each).map(({ value: said }) => said),
    ),
    required: bag['required'] === true || required.includes(name),
  };
};
const fieldsOf = (input: Bag): readonly InputField[] => {
  const listed = listIn(input, 'fields').flatMap((field) => {
    const name = textIn(bagOf(field), 'name', 'id', 'key');
    return name === undefined ? [] : [fieldOf(name, field, [])];
  });
  if (listed.length > 0) return listed;
  const schema = bagOf(input['schema']) ?? bagOf(input['fields']) ?? input;
  const properties = bagOf(schema['properties']) ?? bagOf(input['fields']);
  return Object.entries(properties ?? {}).map(([name, field]) =>
    fieldOf(name, field, listIn(schema, 'required')),
  );
};

/** The question of a request that wants more than a decision; undefined for one that does not, or that cannot be read. */
export const inputOf = (approval: object): InputQuestion | undefined => {
  const input = bagOf((approval as Bag)['input']);
  const kind = textIn(input, 'kind');
  if (input === undefined || (kind !== 'choice' && kind !== 'text' && kind !== 'form')) return undefined;
  return {
    kind,
    prompt: textIn(input, 'prompt', 'question', 'label'),
    options: listIn(input, 'options', 'choices').flatMap(optionOf),
    fields: fieldsOf(input),
    optional: input['required'] === false || input['optional'] === true,
  };
};

/** What can be said of what is asked. */
export const optionsFor = (approval: ApprovalView): readonly Option[] => {
  switch (questionOf(approval)) {
    case 'effect':
      return policyOf(approval).decisions.map((choice) => EFFECT[choice]);
    case 'doubt':
      return Object.values(DOUBT);
    case 'stuck':
      return Object.values(STUCK);
  }
};

/** What is asked, in a sentence. */
export const askedOf = (approval: ApprovalView): string => {
  if (inputOf(approval) !== undefined) return 'A question for you';
  switch (questionOf(approval)) {
    case 'effect':
      return 'May this be carried out?';
    case 'doubt':
      return 'Did this happen?';
    case 'stuck':
      return 'What is to become of this job?';
  }
};
