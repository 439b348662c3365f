import { type JsonObject, objectIn } from '../values/json.ts';
import type { EffectClass, SideEffectKind } from '../workflow/workflow.ts';

/** Declared properties of a capability. */
export type CapabilityFacts = {
  /**
   * Part of the capability: submitters cannot choose it, and the executor refuses orders that name another
   * class.
   */
  readonly effectClass: EffectClass;
  /** Its arguments are a `StepInput`; otherwise they are the node's own. */
  readonly stage?: true;
  /**
   * May be ordered as work, without a grant: it only changes the task's worktree, or runs a script of the
   * template.
   */
  readonly work?: true;
  /** Always an effect of this kind, even if a template does not declare one. */
  readonly kind?: SideEffectKind;
  /** Capability that previews the effect. */
  readonly preview?: string;
};

// Work is repeated after an interruption. Steps that must not be repeated need an effect declaration.
const work = { effectClass: 'idempotent', stage: true, work: true } as const;

/** Every built-in capability of executors. */
export const CAPABILITIES: Readonly<Record<string, CapabilityFacts>> = {
  'cap.file.append': { effectClass: 'keyed' },
  // Replaces the expected content; content that is already there counts as written.
  'cap.file.write': { effectClass: 'fenced', preview: 'cap.file.write.preview' },
  'cap.file.write.preview': { effectClass: 'idempotent', work: true },
  'cap.http.request': { effectClass: 'opaque' },
  // For targets that honor an Idempotency-Key, listed in the configuration of the executor.
  'cap.http.keyed_request': { effectClass: 'keyed' },
  // Only idempotent methods, for targets that are configured as idempotent.
  'cap.http.idempotent_request': { effectClass: 'idempotent' },
  // A receiver of the Standard Webhooks specification remembers accepted ids.
  'cap.notify.webhook': { effectClass: 'keyed', kind: 'notify' },
  // Duplicate chat messages are harmless: this class may only be used for messages.
  'cap.notify.discord': { effectClass: 'idempotent', kind: 'notify' },
  'cap.notify.slack': { effectClass: 'idempotent', kind: 'notify' },
  'cap.env.builtin.worktree.prepare': work,
  'cap.env.builtin.worktree.cleanup': work,
  'cap.env.builtin.prompt.resolve': work,
  'cap.env.shell.prompt.resolve': work,
  'cap.agent.invoke': work,
  'cap.env.builtin.plan.persist': work,
  'cap.env.builtin.git.stage': work,
  'cap.env.builtin.git.commit': work,
  'cap.env.builtin.git.stage_commit': work,
  'cap.env.builtin.git.integrate_plan_branch': {
    // Moves the ref of the target by compare-and-swap from the previewed commit.
    effectClass: 'fenced',
    stage: true,
    kind: 'merge',
    preview: 'cap.env.builtin.git.integrate_plan_branch.preview',
  },
  'cap.env.builtin.git.integrate_plan_branch.preview': work,
  // Moves the worktree to a commit by compare-and-swap from the previewed one; a ref keeps the old
  // state.
  'cap.env.builtin.git.rollback': {
    effectClass: 'fenced',
    stage: true,
    kind: 'destructive_edit',
    preview: 'cap.env.builtin.git.rollback.preview',
  },
  'cap.env.builtin.git.rollback.preview': work,
  // Commits the changes of a session for the next session.
  'cap.env.builtin.git.handoff': work,
  'cap.env.builtin.merge.sentinel.write': work,
  'cap.env.builtin.merge.sentinel.clear': work,
  'cap.env.shell.command.run': work,
  'cap.env.shell.cicd.run': work,
  'cap.env.builtin.repository.inspect': work,
  'control.gate.stop_condition': work,
  'control.gate.conflict_resolution': work,
  'control.gate.cicd': work,
  // Undoing is an effect of its own, ordered by a person. For a merge it is another commit on the
  // target.
  'cap.env.builtin.git.integrate_plan_branch.compensate': { effectClass: 'fenced', kind: 'destructive_edit' },
  // Removes what the effect created, if it is unchanged.
  'cap.file.write.compensate': { effectClass: 'fenced', kind: 'destructive_edit' },
  'cap.env.shell.command.run.compensate': { effectClass: 'opaque', kind: 'destructive_edit' },
  'cap.env.shell.cicd.run.compensate': { effectClass: 'opaque', kind: 'destructive_edit' },
};

/** Label of the capability that undoes another one. */
export const compensationOf = (uses: string): string => `${uses}.compensate`;

/** The arguments of the effect, or of the effect that a compensation undoes: those that people know. */
export const knownArgs = (uses: string, args: JsonObject): JsonObject =>
  uses.endsWith('.compensate') ? (objectIn(args['args']) ?? args) : args;

const CUSTOM = /^cap\.custom\.[a-z0-9_]+(\.preview|\.compensate)?$/;

/**
 * A custom capability of an executor, its preview or its compensation. Only the executor knows its
 * properties.
 */
export const isCustom = (uses: string): boolean => CUSTOM.test(uses);

/**
 * Effect class of an order, as work or as an effect. A script that is declared an effect is opaque, unless
 * another script probes it.
 */
export const effectClassOf = (
  uses: string,
  kind: SideEffectKind | 'work',
  { probe = false }: { readonly probe?: boolean } = {},
): EffectClass | undefined => {
  const facts = Object.hasOwn(CAPABILITIES, uses) ? CAPABILITIES[uses] : undefined;
  if (facts === undefined || (kind === 'work' && facts.work !== true)) return undefined;
  if (kind === 'work' || facts.work !== true) return facts.effectClass;
  if (!/^cap\.(env\.shell|agent)\./.test(uses)) return facts.effectClass;
  return probe && uses.startsWith('cap.env.shell.') ? 'probeable' : 'opaque';
};

/** Whether the arguments of a stage name a probe script. */
export const namesProbe = ({ with: args }: JsonObject): boolean => {
  const named = objectIn(args)?.['probe'];
  return typeof named === 'string' && named.trim() !== '';
};

/** Control nodes: the orchestrator decides them without an order. */
export const CONTROLS: ReadonlySet<string> = new Set([
  'control.terminal',
  'control.prepare',
  'control.gate.approval',
]);
