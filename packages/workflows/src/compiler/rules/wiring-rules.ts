import type { NodeDraft } from '../node/node-draft.ts';
import { CICD_GATE, COMMIT, CONFLICT_GATE, INTEGRATE, STAGE_COMMIT, STOP_GATE } from '../node/labels.ts';
import { resolvesConflicts } from '../node/node-gates.ts';
import { listed } from '../../problems/report.ts';
import { CI, CONFLICT, isGate, hasRole, STOP, type Wiring } from './wiring.ts';

type Rule = (draft: NodeDraft, wiring: Wiring) => void;

const names = (drafts: readonly NodeDraft[]): string =>
  drafts.length === 0 ? 'none' : listed(drafts.map(({ node }) => node.id));

const count = ({ gates }: NodeDraft, kind: 'script' | 'cicd' | 'custom'): number =>
  gates.filter((gate) => gate.kind === kind).length;

const atMostOne = (draft: NodeDraft, kind: 'script' | 'cicd' | 'custom'): void => {
  const found = count(draft, kind);
  if (found > 1)
    draft.fields.error(
      'WORKFLOW_GATES_MANY',
      'gates',
      `${String(found)} gates of the kind ${kind}`,
      'at most one',
    );
};

/** At most one successor may have this role, and it must be a gate. */
const reportTargets = (
  draft: NodeDraft,
  outcome: 'succeeded' | 'blocked',
  targets: readonly NodeDraft[],
  what: string,
): void => {
  const field = `on.${outcome}`;
  if (targets.length > 1)
    draft.fields.error('WORKFLOW_TARGETS_MANY', field, names(targets), `at most one ${what}`);
  const others = targets.filter((target) => !isGate(target));
  if (others.length > 0)
    draft.fields.error('WORKFLOW_TARGET_KIND', field, names(others), `a control.gate node as the ${what}`);
};

const commit: Rule = (draft, wiring) => {
  atMostOne(draft, 'script');
  const gates = wiring.targets(draft, 'succeeded').filter((target) => hasRole(target, STOP));
  reportTargets(draft, 'succeeded', gates, 'stop condition');
};

const COMMITS: readonly string[] = [COMMIT, STAGE_COMMIT];

const stopGate: Rule = (draft, wiring) => {
  const { fields, node, gates } = draft;
  atMostOne(draft, 'script');
  const commits = wiring.parents(draft, 'succeeded').filter(({ node: { uses } }) => COMMITS.includes(uses));
  if (commits.length !== 1) {
    const expected = 'exactly one predecessor with git.commit or git.stage_commit';
    fields.error('WORKFLOW_STOP_PARENT', '', `these commits before it: ${names(commits)}`, expected);
  }
  const loops =
    node.retry?.mode === 'until_gate' &&
    gates.some(({ kind, script }) => kind === 'script' && script.trim() !== '');
  const back = wiring
    .targets(draft, 'failed')
    .filter((target) => target !== draft && wiring.onOneLoop(draft, target));
  if (loops && back.length === 0) {
    const expected = 'an earlier node, such as the agent or the commit: retry.mode is until_gate';
    fields.error('WORKFLOW_STOP_LOOP', 'on.failed', names(wiring.targets(draft, 'failed')), expected);
  }
};

/** A gate that repairs must run again afterwards: directly, or through a node that leads back to it. */
const reportOpenLoop = (draft: NodeDraft, wiring: Wiring): void => {
  const back = wiring.targets(draft, 'failed').some((target) => wiring.onOneLoop(draft, target));
  if (back || !draft.gates.some(({ kind, autoResolve }) => kind === 'cicd' && autoResolve)) return;
  const expected = 'the gate itself, or a node that leads back to it: auto_resolve is true';
  draft.fields.error('WORKFLOW_CICD_LOOP', 'on.failed', names(wiring.targets(draft, 'failed')), expected);
};

const exactlyOneCicd = (draft: NodeDraft): void => {
  const found = count(draft, 'cicd');
  if (found !== 1)
    draft.fields.error(
      'WORKFLOW_CICD_GATES',
      'gates',
      `${String(found)} gates of the kind cicd`,
      'exactly one',
    );
};

const integrate: Rule = (draft, wiring) => {
  atMostOne(draft, 'cicd');
  const conflict = wiring.targets(draft, 'blocked').filter((target) => hasRole(target, CONFLICT));
  reportTargets(draft, 'blocked', conflict, 'conflict gate');
  const ci = wiring.targets(draft, 'succeeded').filter((target) => hasRole(target, CI));
  reportTargets(draft, 'succeeded', ci, 'CI/CD gate');
  // A gate with its own label is checked by its own rule.
  for (const target of ci.filter(({ node: { uses } }) => uses !== CICD_GATE)) {
    exactlyOneCicd(target);
    reportOpenLoop(target, wiring);
  }
};

const conflictGate: Rule = (draft, wiring) => {
  atMostOne(draft, 'custom');
  const merges = wiring.parents(draft, 'blocked').filter(({ node: { uses } }) => uses === INTEGRATE);
  if (merges.length !== 1) {
    const expected = 'exactly one git.integrate_plan_branch with on.blocked to it';
    draft.fields.error('WORKFLOW_CONFLICT_PARENT', '', names(merges), expected);
  }
  const [merge] = merges;
  const onward = wiring.targets(draft, 'succeeded');
  if (merge === undefined || !resolvesConflicts(draft) || onward.includes(merge)) return;
  const expected = `${merge.node.id}: the merge must run again after conflicts are resolved`;
  draft.fields.error('WORKFLOW_CONFLICT_LOOP', 'on.succeeded', names(onward), expected);
};

const cicdGate: Rule = (draft, wiring) => {
  exactlyOneCicd(draft);
  reportOpenLoop(draft, wiring);
};

// A map, because a label may be any word, including names that every object inherits.
const RULES: ReadonlyMap<string, Rule> = new Map([
  [COMMIT, commit],
  [STAGE_COMMIT, commit],
  [STOP_GATE, stopGate],
  [INTEGRATE, integrate],
  [CONFLICT_GATE, conflictGate],
  [CICD_GATE, cicdGate],
]);

/** A stage has at most one CI/CD gate. A template may import several stages with one each. */
const oneCicdGate = ({ drafts }: Wiring): void => {
  const gates = drafts.filter(({ node: { uses } }) => uses === CICD_GATE);
  for (const [, [, ...more]] of Map.groupBy(gates, ({ node: { stage } }) => stage)) {
    for (const { fields } of more)
      fields.error('WORKFLOW_CICD_MANY', 'uses', 'another CI/CD gate', 'at most one per stage');
  }
};

/** Checks which nodes may follow which. */
export const wiringRules = (wiring: Wiring): void => {
  oneCicdGate(wiring);
  for (const draft of wiring.drafts) RULES.get(draft.node.uses)?.(draft, wiring);
};
