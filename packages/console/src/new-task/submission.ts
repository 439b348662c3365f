import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import { inputProblems } from '@holdpoint/contracts/workflow/input';
import { typedValue } from '@holdpoint/contracts/workflow/input-typed';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { OfferedWorkflow, WorkflowInput } from '@holdpoint/contracts/workflow/offered-workflow';

export type Submission = ApiRequest<'orchestrator', 'submit'>;

/** Typed values of the fields, by name; untouched fields are missing. */
export type Typed = {
  readonly goal: string;
  readonly repository: string;
  /** One item per line. */
  readonly criteria: string;
  readonly inputs: Readonly<Record<string, string>>;
};
export const NOTHING_TYPED: Typed = { goal: '', repository: '', criteria: '', inputs: {} };

/** Errors by field; the rest belongs to no field. */
export type Problems = {
  readonly byField: Readonly<Record<string, string>>;
  readonly others: readonly string[];
};
export const NO_PROBLEMS: Problems = { byField: {}, others: [] };

/** Name of the single field for a workflow without declared inputs. */
export const ANY_INPUTS = '(inputs)';
export const nameOf = ({ id, version }: OfferedWorkflow): string => `${id}@${version}`;
export const labelOf = ({ name, label = name }: Pick<WorkflowInput, 'name' | 'label'>): string => label;

const NEEDED = 'Required.';
type Read = { readonly value?: Json | undefined } | { readonly problem: string };

const jsonIn = (text: string): Read => {
  if (text.trim() === '') return {};
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { problem: `Invalid JSON: ${error instanceof Error ? error.message : String(error)}` };
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
      // The label already shows the name.
      return problem === undefined ? { value } : { problem: problem.replace(/^[^:]*: /, '') };
    }
  }
};

/** The value of one input, or its error. An empty input falls back to the workflow's default. */
export const readInput = (input: WorkflowInput, text: string | undefined): Read => {
  const read = valueIn(input, text ?? '');
  if ('problem' in read || read.value !== undefined || !input.required) return read;
  return { problem: NEEDED };
};

const readAny = (text: string): Read => {
  const read = jsonIn(text);
  if ('problem' in read || read.value === undefined) return read;
  const isObject = typeof read.value === 'object' && read.value !== null && !Array.isArray(read.value);
  return isObject ? read : { problem: 'Enter a JSON object, such as {"name": "value"}.' };
};

/** The task to submit, or every error in the form. */
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
    byField['repository'] = 'Enter an absolute path, starting with /.';
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
      // Submit exactly the shown version.
      workflow: nameOf(workflow),
      goal,
      ...(repository !== '' && { repository }),
      ...(criteria.length > 0 && { acceptanceCriteria: criteria }),
      ...(Object.keys(inputs).length > 0 && { inputs }),
    },
  };
};

/** Names in the error paths of a service: `inputs.url`, `nodes.1.args.url`, `set.slug`, `nodes[x].agent`. */
const namesIn = (path: string): readonly string[] => path.split(/[.[\]\s]+/).filter((part) => part !== '');

/** The field for an error of the service: the last field that its path names, if there is one. */
export const placed = (workflow: OfferedWorkflow, problems: readonly string[]): Problems => {
  const fields = new Map((workflow.inputs ?? []).map((input) => [input.name, input]));
  const known = new Set(['goal', 'repository', ...fields.keys()]);
  const byField: Record<string, string> = {};
  const others: string[] = [];
  for (const problem of problems) {
    const [, path = '', message = problem] = /^([^:]{1,200}): (.+)$/s.exec(problem) ?? [];
    const choice = /expected one of (?<names>[\w, ]+): give/.exec(problem)?.groups?.['names'];
    const meant = choice?.split(', ').filter((name) => fields.has(name)) ?? [];
    const named = namesIn(path).findLast((name) => known.has(name)) ?? meant[0];
    const labels = meant.flatMap((name) => fields.get(name) ?? []).map(labelOf);
    const text =
      labels.length > 0
        ? `${labels.length > 1 ? 'Choose one of: ' : 'Required: '}${labels.join(', ')}`
        : message;
    if (named === undefined) others.push(problem);
    else byField[named] ??= text;
  }
  return { byField, others };
};
