import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { compileTemplate, loadTemplate, type Template } from '@holdpoint/workflows/compiler/compile';
import { agentFor } from '@holdpoint/workflows/config/config';
import { findWorkflow, type FoundWorkflow } from '@holdpoint/workflows/files/find-workflow';
import { gatesIn } from '@holdpoint/workflows/files/gate-source';
import { readInside } from '@holdpoint/workflows/files/read-inside';
import type { Problem } from '@holdpoint/workflows/problems/problem';
import type { Inputs } from './inputs.ts';
import type { FlowPlace } from './location.ts';

/** A flow that was found and read, before it is given its inputs. */
export type LoadedFlow = { readonly found: FoundWorkflow; readonly template: Template };

/** A flow with its inputs, ready to be submitted. */
export type PreparedRun = {
  readonly definition: WorkflowDefinition;
  readonly params: Readonly<Record<string, string>>;
};

/** What came of it, and everything that is wrong. */
export type Prepared<Value> = { readonly value?: Value; readonly problems: readonly Problem[] };

const isError = ({ severity }: Problem): boolean => severity === 'error';

export const loadFlow = (place: FlowPlace, flow: string): Prepared<LoadedFlow> => {
  if (place.problems.some(isError)) return { problems: place.problems };
  const { root, config, from, alsoUnder } = place;
  const { workflow: found, problems } = findWorkflow(root, flow, config, { from, alsoUnder });
  if (found === undefined) return { problems: [...place.problems, ...problems] };
  const loaded = loadTemplate(found.file, readInside(found.root));
  return {
    ...(loaded.template !== undefined && { value: { found, template: loaded.template } }),
    problems: [...place.problems, ...problems, ...loaded.problems],
  };
};

export const identityOf = ({ id, version }: Template): string => `${id}@${version}`;

type Given = Pick<Inputs, 'positional' | 'named' | 'set'>;
type Options = Parameters<typeof compileTemplate>[1];

const optionsFor = (
  { config, read, recovery }: FlowPlace,
  { found: { alias }, template }: LoadedFlow,
  { positional, named, set }: Given,
): Options => ({
  positional,
  // Of a name that is given again, the last value counts.
  named: Object.fromEntries(named),
  set: Object.fromEntries(set),
  specFile: read,
  readGate: gatesIn(read),
  recovery,
  agentFor: () => agentFor(config, { alias, selector: identityOf(template) }),
});

const compile = (template: Template, options: Options): Prepared<PreparedRun> => {
  const { definition, params, problems } = compileTemplate(template, options);
  return { ...(definition !== undefined && { value: { definition, params } }), problems };
};

/** A flow with its inputs, or all of the reasons why it cannot run with them. */
export const prepareRun = (place: FlowPlace, flow: LoadedFlow, inputs: Given): Prepared<PreparedRun> =>
  compile(flow.template, optionsFor(place, flow, inputs));

/** What is missing to a run here and now, though nothing is wrong with the flow. */
const MISSING: ReadonlySet<string> = new Set([
  'WORKFLOW_INPUT_MISSING',
  'WORKFLOW_ARGS_MISSING',
  'WORKFLOW_AGENT_MISSING',
]);

const withoutMissing = (problems: readonly Problem[]): readonly Problem[] =>
  problems.filter(({ code }) => !MISSING.has(code));

/** Something stands for each input that was not given, and for an agent. No script does: without one, a gate is another gate. */
const withStandIns = ({ params }: Template, options: Options): Options => {
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
export const prepareLook = (place: FlowPlace, flow: LoadedFlow, inputs: Given): Prepared<PreparedRun> => {
  const options = optionsFor(place, flow, inputs);
  const now = compile(flow.template, options);
  const errors = now.problems.filter(isError);
  if (errors.length === 0) return { ...now, problems: withoutMissing(now.problems) };
  if (errors.some(({ code }) => !MISSING.has(code))) return now;
  const slots = flow.template.cli.positional;
  const byPlace = inputs.positional.flatMap((value, i) =>
    slots[i] === undefined ? [] : [[slots[i], value]],
  );
  const named = {
    ...options,
    set: { ...options.set, ...(Object.fromEntries(byPlace) as Record<string, string>) },
  };
  const { value } = compile(flow.template, withStandIns(flow.template, named));
  return value === undefined ? now : { value, problems: withoutMissing(now.problems) };
};
