import type { EffectClass, SideEffectKind } from './workflow.ts';

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
  'cap.http.request': { effectClass: 'opaque' },
  // For targets that are known to remember an Idempotency-Key: which they are is the executor's own configuration.
  'cap.http.keyed_request': { effectClass: 'keyed' },
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
  'cap.env.builtin.merge.sentinel.write': work,
  'cap.env.builtin.merge.sentinel.clear': work,
  'cap.env.shell.command.run': work,
  'cap.env.shell.cicd.run': work,
  'cap.env.builtin.repository.inspect': work,
  'control.gate.stop_condition': work,
  'control.gate.conflict_resolution': work,
  'control.gate.cicd': work,
};

/** What a gated order of a capability is: a script that is declared an effect gives nothing to go by. */
export const effectClassOf = (uses: string, kind: SideEffectKind | 'work'): EffectClass | undefined => {
  const facts = Object.hasOwn(CAPABILITIES, uses) ? CAPABILITIES[uses] : undefined;
  if (facts === undefined || (kind === 'work' && facts.work !== true)) return undefined;
  return kind !== 'work' && facts.work === true && /^cap\.(env\.shell|agent)\./.test(uses)
    ? 'opaque'
    : facts.effectClass;
};

/** What the orchestrator decides by itself: nothing is ordered for it. */
export const CONTROLS: ReadonlySet<string> = new Set([
  'control.terminal',
  'control.prepare',
  'control.gate.approval',
]);
