import { canonicalJson, digestOf } from '@holdpoint/contracts/values/json';
import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import {
  Outcome,
  type NodeDefinition,
  type WorkflowDefinition,
} from '@holdpoint/contracts/workflow/workflow';
import { gateFinder, type FindGate, type ReadGate } from '../gate/find-gate.ts';
import { graphOf } from '../graph/graph.ts';
import type { Problem } from '../problems/problem.ts';
import { agentOf, type AgentFor } from './rules/agents.ts';
import { contractsOf } from './node/artifacts.ts';
import { capabilityRules } from './rules/capability-rules.ts';
import { draftOf, type NodeDraft } from './node/node-draft.ts';
import { effectOf } from './effect/effects.ts';
import { createExpander, type Expander } from './parameters/expander.ts';
import { finalChecks } from './rules/final-checks.ts';
import { hasLabel, identityRules } from './rules/identity-rules.ts';
import { loadTemplate } from '../template/load.ts';
import { lockInference } from './rules/locks.ts';
import { nodeGates } from './node/node-gates.ts';
import { cliRules, parametersOf, reportUnknown, type ParameterInput } from './parameters/parameters.ts';
import { workflowPolicy } from './rules/workflow-policy.ts';
import { reportInputs } from './rules/missing-inputs.ts';
import { createReport, hasErrors, type Report } from '../problems/report.ts';
import { withSpecText, type SpecFile } from './rules/spec-file.ts';
import type { Template } from '../template/template.ts';
import { wiringAmong } from './rules/wiring.ts';
import { wiringRules } from './rules/wiring-rules.ts';

export { loadTemplate, type Template };

export type CompileOptions = ParameterInput & {
  /**
   * Reads a specification file, so that the task carries its text. Left out: the task reads the file itself.
   */
  readonly specFile?: SpecFile;
  /** Reads a gate by its name. Left out: only the shipped default gate exists. */
  readonly readGate?: ReadGate;
  readonly agentFor: AgentFor;
  /** The repository's own recovery rules. */
  readonly recovery?: RecoveryRules | undefined;
};

export type CompileResult = {
  /** Present only when no problem is an error. */
  readonly definition?: WorkflowDefinition;
  /** Every parameter with its value in this run. */
  readonly params: Readonly<Record<string, string>>;
  readonly problems: readonly Problem[];
};

const draftsOf = (template: Template, expander: Expander, report: Report): readonly NodeDraft[] => {
  const contracts = contractsOf(template, expander, report);
  const known = new Set(template.nodes.map(({ id }) => id));
  return template.nodes.map((node) => draftOf(node, { expander, report, contracts, known }));
};

/** Everything of a node except its locks, which depend on its neighbours. */
const nodeOf = (
  draft: NodeDraft,
  { agentFor, specFile }: CompileOptions,
  findGate: FindGate | undefined,
): NodeDefinition => {
  identityRules(draft);
  if (!hasLabel(draft)) return draft.node;
  capabilityRules(draft);
  const effect = effectOf(draft, findGate);
  const args = withSpecText(draft, specFile);
  return {
    ...draft.node,
    ...nodeGates({ ...draft, node: { ...draft.node, args } }),
    ...agentOf(draft, agentFor),
    ...(effect !== undefined && { effect }),
  };
};

const definitionOf = (
  template: Template,
  drafts: readonly NodeDraft[],
  { values, expander }: { readonly values: ReadonlyMap<string, string>; readonly expander: Expander },
  options: CompileOptions,
  report: Report,
): WorkflowDefinition => {
  const policy = workflowPolicy(template, expander, report);
  const wiring = wiringAmong(drafts);
  const locksOf = lockInference(wiring, values);
  const findGate = options.readGate && gateFinder(options.readGate, report);
  const nodes = drafts.map((draft) => {
    const node = nodeOf(draft, options, findGate);
    return { ...node, ...locksOf(draft, node) };
  });
  wiringRules(wiring);
  const definition = {
    id: template.id,
    version: template.version,
    policy,
    ...(options.recovery !== undefined && { recovery: options.recovery }),
    nodes,
  };
  const entries = new Set(graphOf(definition).entries);
  for (const draft of drafts.filter(hasLabel)) reportInputs(draft, entries, template);
  return definition;
};

/**
 * Compiles a template with its parameters into a definition without any open reference. Reports all problems
 * at once, and never throws on the author's input.
 */
export const compileTemplate = (template: Template, options: CompileOptions): CompileResult => {
  const report = createReport();
  const parameters = parametersOf(template, options, report);
  const expander = createExpander(parameters.values, report);
  const drafts = draftsOf(template, expander, report);
  const definition = definitionOf(template, drafts, { values: parameters.values, expander }, options, report);
  cliRules(template, expander.used, report);
  reportUnknown(template, parameters, expander.used, report);
  finalChecks(definition, template, report);
  return {
    ...(template.sound && !hasErrors(report.problems) && { definition }),
    params: Object.fromEntries(parameters.values),
    problems: report.problems,
  };
};

/** Sorts and de-duplicates a list whose order has no meaning. */
const asSet = (list: readonly unknown[]): readonly unknown[] =>
  [...new Map(list.map((one) => [canonicalJson(one), one]))]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, one]) => one);

const sortedOutcomes = (
  by: Readonly<Record<string, readonly unknown[] | undefined>>,
): Record<string, unknown> =>
  Object.fromEntries(
    Outcome.options.flatMap((outcome) => {
      const list = by[outcome] ?? [];
      return list.length === 0 ? [] : [[outcome, asSet(list)]];
    }),
  );

/**
 * A node without the differences that have no meaning: the order of its lists, and empty lists that were
 * written down.
 */
const normalNode = (node: NodeDefinition): Record<string, unknown> => ({
  ...node,
  after: asSet(node.after),
  on: sortedOutcomes(node.on ?? {}),
  needs: asSet(node.needs ?? []),
  produces: sortedOutcomes(node.produces ?? {}),
  locks: asSet(node.locks ?? []),
  preconditions: asSet(node.preconditions ?? []),
});

/**
 * Identifies the behaviour of a definition: independent of the order of its nodes, different for every other
 * behaviour.
 */
export const hashOf = (definition: WorkflowDefinition): string =>
  digestOf({
    ...definition,
    nodes: definition.nodes
      .map(normalNode)
      .sort((one, other) => (String(one['id']) < String(other['id']) ? -1 : 1)),
  });
