import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { compileTemplate, loadTemplate, type Template } from '@holdpoint/workflows/compiler/compile';
import { agentFor } from '@holdpoint/workflows/config/config';
import { findWorkflow, type FoundWorkflow } from '@holdpoint/workflows/files/find-workflow';
import { gateReader } from '@holdpoint/workflows/files/gate-source';
import { readInside } from '@holdpoint/workflows/files/read-inside';
import type { Problem } from '@holdpoint/workflows/problems/problem';
import type { Inputs } from './inputs.ts';
import type { WorkflowLocation } from './location.ts';

/** A workflow file before it has inputs. */
export type LoadedWorkflow = { readonly found: FoundWorkflow; readonly template: Template };

/** A workflow with its inputs, ready to submit. */
export type PreparedRun = {
  readonly definition: WorkflowDefinition;
  readonly params: Readonly<Record<string, string>>;
};

export type Preparation<Value> = { readonly value?: Value; readonly problems: readonly Problem[] };

const isError = ({ severity }: Problem): boolean => severity === 'error';

export const loadWorkflow = (location: WorkflowLocation, workflow: string): Preparation<LoadedWorkflow> => {
  if (location.problems.some(isError)) return { problems: location.problems };
  const { root, config, from, alsoUnder } = location;
  const { workflow: found, problems } = findWorkflow(root, workflow, config, { from, alsoUnder });
  if (found === undefined) return { problems: [...location.problems, ...problems] };
  const loaded = loadTemplate(found.file, readInside(found.root));
  return {
    ...(loaded.template !== undefined && { value: { found, template: loaded.template } }),
    problems: [...location.problems, ...problems, ...loaded.problems],
  };
};

export const identityOf = ({ id, version }: Template): string => `${id}@${version}`;

type GivenInputs = Pick<Inputs, 'positional' | 'named' | 'set'>;
type Options = Parameters<typeof compileTemplate>[1];

const optionsFor = (
  { config, read, recovery }: WorkflowLocation,
  { found: { alias }, template }: LoadedWorkflow,
  { positional, named, set }: GivenInputs,
): Options => ({
  positional,
  // The last value of a repeated name counts.
  named: Object.fromEntries(named),
  set: Object.fromEntries(set),
  specFile: read,
  readGate: gateReader(read),
  recovery,
  agentFor: () => agentFor(config, { alias, selector: identityOf(template) }),
});

const compile = (template: Template, options: Options): Preparation<PreparedRun> => {
  const { definition, params, problems } = compileTemplate(template, options);
  return { ...(definition !== undefined && { value: { definition, params } }), problems };
};

/** A workflow with its inputs, or every reason why it cannot run. */
export const prepareRun = (
  location: WorkflowLocation,
  workflow: LoadedWorkflow,
  inputs: GivenInputs,
): Preparation<PreparedRun> => compile(workflow.template, optionsFor(location, workflow, inputs));

/** Problems of a run, not of the workflow. */
const MISSING: ReadonlySet<string> = new Set([
  'WORKFLOW_INPUT_MISSING',
  'WORKFLOW_ARGS_MISSING',
  'WORKFLOW_AGENT_MISSING',
]);

const withoutMissing = (problems: readonly Problem[]): readonly Problem[] =>
  problems.filter(({ code }) => !MISSING.has(code));

/** Placeholders for missing inputs and agents. Scripts get none: without a script, a gate is another gate. */
const withPlaceholders = ({ params }: Template, options: Options): Options => {
  const given = new Set([...Object.keys(options.named), ...Object.keys(options.set)]);
  const empty = [...params].filter(
    ([name, value]) => value === '' && !given.has(name) && !name.endsWith('_script'),
  );
  const { specFile: _, ...rest } = options;
  return {
    ...rest,
    positional: [],
    set: { ...Object.fromEntries(empty.map(([name]) => [name, `<${name}>`])), ...options.set },
    agentFor: (uses) => options.agentFor(uses) ?? ['<agent>'],
  };
};

/**
 * Compiles a workflow for `validate` and `graph`. Inputs and agents that only a run needs are no problems of the
 * workflow, unless no input could provide them.
 */
export const prepareForValidation = (
  location: WorkflowLocation,
  workflow: LoadedWorkflow,
  inputs: GivenInputs,
): Preparation<PreparedRun> => {
  const options = optionsFor(location, workflow, inputs);
  const now = compile(workflow.template, options);
  const errors = now.problems.filter(isError);
  if (errors.length === 0) return { ...now, problems: withoutMissing(now.problems) };
  if (errors.some(({ code }) => !MISSING.has(code))) return now;
  const slots = workflow.template.cli.positional;
  const byPlace = inputs.positional.flatMap((value, i) =>
    slots[i] === undefined ? [] : [[slots[i], value]],
  );
  const named = {
    ...options,
    set: { ...options.set, ...(Object.fromEntries(byPlace) as Record<string, string>) },
  };
  const { value } = compile(workflow.template, withPlaceholders(workflow.template, named));
  return value === undefined ? now : { value, problems: withoutMissing(now.problems) };
};
