import { CAPABILITIES, compensationOf, CONTROLS, isCustom } from '@holdpoint/contracts/effect/capabilities';
import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import type { RawNode } from '../../template/schema.ts';

type Kind = NonNullable<RawNode['kind']>;

export const INTEGRATE = 'cap.env.builtin.git.integrate_plan_branch';
export const PREPARE = 'cap.env.builtin.worktree.prepare';
export const CLEANUP = 'cap.env.builtin.worktree.cleanup';
export const PERSIST = 'cap.env.builtin.plan.persist';
export const AGENT = 'cap.agent.invoke';
export const STAGE = 'cap.env.builtin.git.stage';
export const COMMIT = 'cap.env.builtin.git.commit';
export const STAGE_COMMIT = 'cap.env.builtin.git.stage_commit';
export const PROMPT = 'cap.env.builtin.prompt.resolve';
export const SHELL_PROMPT = 'cap.env.shell.prompt.resolve';
export const COMMAND = 'cap.env.shell.command.run';
export const CICD = 'cap.env.shell.cicd.run';
export const STOP_GATE = 'control.gate.stop_condition';
export const CONFLICT_GATE = 'control.gate.conflict_resolution';
export const CICD_GATE = 'control.gate.cicd';
export const APPROVAL_GATE = 'control.gate.approval';
export const TERMINAL = 'control.terminal';

/** Labels that only the orchestrator itself orders. */
const INTERNAL: ReadonlySet<string> = new Set([
  'control.prepare',
  'cap.env.builtin.repository.inspect',
  ...Object.values(CAPABILITIES).flatMap(({ preview }) => (preview === undefined ? [] : [preview])),
  ...Object.keys(CAPABILITIES).map(compensationOf),
]);

export const LABELS: ReadonlySet<string> = new Set(
  [...Object.keys(CAPABILITIES), ...CONTROLS].filter((label) => !INTERNAL.has(label)),
);

const NOT_YET: ReadonlySet<string> = new Set([
  'cap.env.builtin.git.save_worktree_patch',
  'cap.env.builtin.patch.pipeline_prepare',
  'cap.env.builtin.patch.execute_pipeline',
  'cap.env.builtin.patch.pipeline_finalize',
  'cap.env.builtin.build.materialize_step',
]);

/** Labels from before `env`, such as `cap.git.commit` for `cap.env.builtin.git.commit`. */
const successorOf = (label: string): string | undefined =>
  ['builtin', 'shell']
    .map((group) => label.replace(/^(?:cap|vizier)\./, `cap.env.${group}.`))
    .find((name) => LABELS.has(name));

type Fault = { readonly code: string; readonly found: string; readonly expected: string };

const CANONICAL = 'a canonical label such as cap.env.builtin.git.commit';

/** A custom or remote capability, or its preview. Compensations are ordered by hand and have no node. */
const isOwn = (label: string): boolean =>
  (isCustom(label) || isRemote(label)) && !label.endsWith('.compensate');

export const isLabel = (label: string): boolean => LABELS.has(label) || isOwn(label);

/** Why a template may not use a label; undefined when it may. */
export const labelFault = (label: string): Fault | undefined => {
  if (isLabel(label)) return undefined;
  if (label.trim() === '') return { code: 'WORKFLOW_USES_EMPTY', found: 'no label', expected: CANONICAL };
  const found = `uses unknown label ${JSON.stringify(label.slice(0, 128))}`;
  if (NOT_YET.has(label)) {
    const named = `uses ${JSON.stringify(label)}`;
    return {
      code: 'WORKFLOW_USES_NOT_YET',
      found: named,
      expected: 'another label: this one is not supported yet',
    };
  }
  const now = successorOf(label);
  const instead = now === undefined ? CANONICAL : now;
  if (label.startsWith('vizier.')) {
    const expected = `${instead}: the labels vizier.* were replaced by canonical ones`;
    return { code: 'WORKFLOW_USES_LEGACY', found, expected };
  }
  if (now !== undefined)
    return { code: 'WORKFLOW_USES_LEGACY', found, expected: `${now}, the current label` };
  return { code: 'WORKFLOW_USES_UNKNOWN', found, expected: CANONICAL };
};

/** The values of `kind` that fit a label. */
export const kindsOf = (label: string): readonly Kind[] => {
  if (label.startsWith('control.')) return ['gate'];
  if (label === AGENT) return ['agent'];
  if (label.startsWith('cap.env.shell.')) return ['shell', 'custom'];
  return label.startsWith('cap.env.') ? ['builtin'] : ['builtin', 'custom'];
};

/** These capabilities take any JSON as arguments; all others take texts. */
export const takesJson = (label: string): boolean => /^cap\.(?:file|http|notify|custom|remote)\./.test(label);

/**
 * Whether a node with this label may declare an effect: a change outside of the run that the run cannot undo.
 */
export const mayBeEffect = (label: string): boolean =>
  (takesJson(label) && !label.endsWith('.preview')) || [COMMAND, CICD, AGENT, INTEGRATE].includes(label);
