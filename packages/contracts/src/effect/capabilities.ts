import { JsonObject } from '../values/json.ts';
import type { EffectClass, SideEffectKind } from '../workflow/workflow.ts';

/** What is known of a capability wherever it is named. */
export type CapabilityFacts = {
  /** It belongs to the capability: whoever submits a task cannot choose it, and the executor refuses an order that names another. */
  readonly effectClass: EffectClass;
  /** Its arguments are a `StepInput`; otherwise they are the node's own. */
  readonly stage?: true;
  /** It may be ordered without a grant, as work: it keeps to the task's own worktree, or does what a script of the template says. */
  readonly work?: true;
  /** It is always an effect of this kind, whether a template says so or not. */
  readonly kind?: SideEffectKind;
  /** What shows beforehand what it would do. */
  readonly preview?: string;
};

// Work is repeated after an interruption: what may not be repeated has to be declared an effect.
const work = { effectClass: 'idempotent', stage: true, work: true } as const;

/** Every capability that an executor carries out. */
export const CAPABILITIES: Readonly<Record<string, CapabilityFacts>> = {
  'cap.file.append': { effectClass: 'keyed' },
  // Replaces what it expects to find; what it finds written already is what it would have written.
  'cap.file.write': { effectClass: 'fenced', preview: 'cap.file.write.preview' },
  'cap.file.write.preview': { effectClass: 'idempotent', work: true },
  'cap.http.request': { effectClass: 'opaque' },
  // For targets that are known to remember an Idempotency-Key: which they are is the executor's own configuration.
  'cap.http.keyed_request': { effectClass: 'keyed' },
  // Only methods that mean the same however often they are sent, to targets that are known to keep to that.
  'cap.http.idempotent_request': { effectClass: 'idempotent' },
  // A receiver of the Standard Webhooks specification remembers the id of what it has taken.
  'cap.notify.webhook': { effectClass: 'keyed', kind: 'notify' },
  // A message that people see twice does no harm: that is declared here, and nothing but messages may be sent by these.
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
    // The ref of the target is moved by compare-and-swap, from the commit that was previewed.
    effectClass: 'fenced',
    stage: true,
    kind: 'merge',
    preview: 'cap.env.builtin.git.integrate_plan_branch.preview',
  },
  'cap.env.builtin.git.integrate_plan_branch.preview': work,
  // The worktree goes back to a commit, by compare-and-swap from where the preview has found it; what was there is kept under a ref.
  'cap.env.builtin.git.rollback': {
    effectClass: 'fenced',
    stage: true,
    kind: 'destructive_edit',
    preview: 'cap.env.builtin.git.rollback.preview',
  },
  'cap.env.builtin.git.rollback.preview': work,
  // What a session leaves to the next: its changes as a commit, in the worktree of the task.
  'cap.env.builtin.git.handoff': work,
  'cap.env.builtin.merge.sentinel.write': work,
  'cap.env.builtin.merge.sentinel.clear': work,
  'cap.env.shell.command.run': work,
  'cap.env.shell.cicd.run': work,
  'cap.env.builtin.repository.inspect': work,
  'control.gate.stop_condition': work,
  'control.gate.conflict_resolution': work,
  'control.gate.cicd': work,
  // What takes an effect back is an effect of its own, which a person orders. Of a merge it is a commit on its target again.
  'cap.env.builtin.git.integrate_plan_branch.compensate': { effectClass: 'fenced', kind: 'destructive_edit' },
  // It takes away what was not there before, if it is still the same.
  'cap.file.write.compensate': { effectClass: 'fenced', kind: 'destructive_edit' },
  'cap.env.shell.command.run.compensate': { effectClass: 'opaque', kind: 'destructive_edit' },
  'cap.env.shell.cicd.run.compensate': { effectClass: 'opaque', kind: 'destructive_edit' },
};

/** The label under which what a capability did is taken back. */
export const compensationOf = (uses: string): string => `${uses}.compensate`;

const CUSTOM = /^cap\.custom\.[a-z0-9_]+(\.preview|\.compensate)?$/;

/** A capability that an operator adds to an executor, its preview, or what takes it back. Only the executor knows what it is. */
export const isCustom = (uses: string): boolean => CUSTOM.test(uses);

/**
 * What an order of a capability is, as work or as an effect of some kind. A script that is declared an effect gives nothing
 * to go by, unless another one tells afterwards whether it was applied.
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

/** Whether the arguments of a stage name a script that tells if the effect was applied. */
export const namesProbe = ({ with: args }: JsonObject): boolean => {
  const named = JsonObject.safeParse(args).data?.['probe'];
  return typeof named === 'string' && named.trim() !== '';
};

/** What the orchestrator decides by itself: nothing is ordered for it. */
export const CONTROLS: ReadonlySet<string> = new Set([
  'control.terminal',
  'control.prepare',
  'control.gate.approval',
]);
