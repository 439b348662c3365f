import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import { inputProblems } from '@holdpoint/contracts/workflow/input';
import { typedValue } from '@holdpoint/contracts/workflow/input-typed';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { OfferedWorkflow, WorkflowInput } from '@holdpoint/contracts/workflow/offered-workflow';

export type Submission = ApiRequest<'orchestrator', 'submit'>;

/** What is typed of a new task, by the names of its fields; what nobody touched is left out. */
export type Typed = {
  readonly goal: string;
  readonly repository: string;
  /** One to a line. */
  readonly criteria: string;
  readonly inputs: Readonly<Record<string, string>>;
};
export const NOTHING_TYPED: Typed = { goal: '', repository: '', criteria: '', inputs: {} };

/** What is wrong, by the field that it is wrong with; the rest is of none of them. */
export type Problems = {
  readonly byField: Readonly<Record<string, string>>;
  readonly others: readonly string[];
};
export const NO_PROBLEMS: Problems = { byField: {}, others: [] };

/** The name of the one field of a workflow that does not say what it takes. */
export const ANY_INPUTS = '(inputs)';
export const nameOf = ({ id, version }: OfferedWorkflow): string => `${id}@${version}`;
export const labelOf = ({ name, label = name }: Pick<WorkflowInput, 'name' | 'label'>): string => label;

const NEEDED = 'It is needed.';
type Read = { readonly value?: Json | undefined } | { readonly problem: string };

const jsonIn = (text: string): Read => {
  if (text.trim() === '') return {};
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { problem: `This is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
};

const valueIn = (input: WorkflowInput, text: string): Read => {
  switch (input.type) {
    case 'json':
      return jsonIn(text);
    case 'list': {
      const lines = text.split('\n').filter((line) => line.trim() !== '');
      return lines.length === 0 ? {} : { value: lines };
    }
    case 'text':
    case 'number':
    case 'boolean':
    case 'choice': {
      const value = typedValue(input, text);
      if (value === undefined) return {};
      const [problem] = inputProblems({ kind: 'form', fields: [input] }, { [input.name]: value });
      // The name of the field stands above it already.
      return problem === undefined ? { value } : { problem: problem.replace(/^[^:]*: /, '') };
    }
  }
};

/** What was typed for one input, or what is wrong with it. Nothing typed is nothing said: what counts then is the workflow's. */
export const readInput = (input: WorkflowInput, text: string | undefined): Read => {
  const read = valueIn(input, text ?? '');
  if ('problem' in read || read.value !== undefined || !input.required) return read;
  return { problem: NEEDED };
};

const readAny = (text: string): Read => {
  const read = jsonIn(text);
  if ('problem' in read || read.value === undefined) return read;
  const isObject = typeof read.value === 'object' && read.value !== null && !Array.isArray(read.value);
  return isObject ? read : { problem: 'A JSON object is needed, such as {"name": "value"}.' };
};

/** The task that was typed, or everything that is wrong with it before it is sent. */
export const submissionOf = (
  workflow: OfferedWorkflow,
  typed: Typed,
  id: string,
): { readonly submission: Submission } | { readonly problems: Problems } => {
  const byField: Record<string, string> = {};
  const inputs: Record<string, Json> = {};
  const goal = typed.goal.trim();
  const repository = workflow.repository === 'unused' ? '' : typed.repository.trim();
  if (goal === '') byField['goal'] = NEEDED;
  if (repository === '' && workflow.repository === 'needed') byField['repository'] = NEEDED;
  if (repository !== '' && !repository.startsWith('/'))
    byField['repository'] = 'The whole path is needed, beginning with /.';
  for (const input of workflow.inputs ?? []) {
    const read = readInput(input, typed.inputs[input.name]);
    if ('problem' in read) byField[input.name] = read.problem;
    else if (read.value !== undefined) inputs[input.name] = read.value;
  }
  if (workflow.inputs === undefined) {
    const read = readAny(typed.inputs[ANY_INPUTS] ?? '');
    if ('problem' in read) byField[ANY_INPUTS] = read.problem;
    else Object.assign(inputs, read.value as JsonObject | undefined);
  }
  if (Object.keys(byField).length > 0) return { problems: { byField, others: [] } };
  const criteria = typed.criteria.split('\n').flatMap((line) => line.trim() || []);
  return {
    submission: {
      id,
      // Exactly the version that was shown.
      workflow: nameOf(workflow),
      goal,
      ...(repository !== '' && { repository }),
      ...(criteria.length > 0 && { acceptanceCriteria: criteria }),
      ...(Object.keys(inputs).length > 0 && { inputs }),
    },
  };
};

/** Names as they stand in what a service says of a place: `inputs.url`, `nodes.1.args.url`, `set.slug`, `nodes[x].agent`. */
const namesIn = (place: string): readonly string[] => place.split(/[.[\]\s]+/).filter((part) => part !== '');

/** Where what a service has found wrong is shown: beside the field that it names last, if there is one of that name. */
export const placed = (workflow: OfferedWorkflow, problems: readonly string[]): Problems => {
  const fields = new Map((workflow.inputs ?? []).map((input) => [input.name, input]));
  const known = new Set(['goal', 'repository', ...fields.keys()]);
  const byField: Record<string, string> = {};
  const others: string[] = [];
  for (const problem of problems) {
    const [, place = '', said = problem] = /^([^:]{1,200}): (.+)$/s.exec(problem) ?? [];
    const choice = /expected one of (?<names>[\w, ]+): give/.exec(problem)?.groups?.['names'];
    const meant = choice?.split(', ').filter((name) => fields.has(name)) ?? [];
    const named = namesIn(place).findLast((name) => known.has(name)) ?? meant[0];
    const labels = meant.flatMap((name) => fields.get(name) ?? []).map(labelOf);
    const text =
      labels.length > 0
        ? `${labels.length > 1 ? 'One of these is needed: ' : 'It is needed: '}${labels.join(', ')}`
        : said;
    if (named === undefined) others.push(problem);
    else byField[named] ??= text;
  }
  return { byField, others };
};
