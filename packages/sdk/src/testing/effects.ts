import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { ProgramMessage } from '@holdpoint/programs/messages';
import type { Timeline } from './timeline.ts';

/** An effect as an executor sees it. */
export type TestEffect = {
  /** The task that executes it. */
  readonly task: string;
  readonly title: string;
  readonly capability: string;
  readonly args: JsonObject;
  readonly kind: SideEffectKind;
  readonly target: string;
  readonly idempotencyKey: string;
  readonly audience: readonly string[];
};

/** The result of an effect, possibly after a delay. */
export type TestEffectEnd = { readonly afterMs?: number } & (
  | { readonly outcome: 'succeeded'; readonly outputs?: JsonObject }
  /** An approver rejected it. */
  | { readonly outcome: 'rejected'; readonly comment?: string }
  | { readonly outcome: 'failed'; readonly error?: ErrorBody }
  /** Still open; end it with `endEffect`. */
  | { readonly outcome: 'pending' }
);

export type ExecuteEffect = (effect: TestEffect) => TestEffectEnd | undefined;

type Inform = Extract<ProgramMessage, { readonly kind: 'notify' }>;
type Peer = Extract<Inform['notification'], { readonly kind: 'peer' }>;
type End = Pick<Peer, 'outcome' | 'outputs' | 'error'>;

export type Effects = {
  readonly carryOutWith: (carryingOut: ExecuteEffect) => void;
  /** All executed or rejected effects in order, each once. */
  readonly all: () => readonly TestEffect[];
  /** Ends a pending effect. */
  readonly end: (idempotencyKey: string, end: TestEffectEnd) => void;
  readonly submit: (submission: SubmitTask) => void;
  readonly watch: (task: string, watcher: string) => void;
  readonly cancel: (task: string) => void;
  /** Whether an effect will end after a delay. */
  readonly isAnyUnderWay: () => boolean;
};

const endFor = (end: TestEffectEnd): End | undefined => {
  switch (end.outcome) {
    case 'succeeded':
      return { outcome: 'succeeded', outputs: end.outputs ?? {} };
    case 'rejected':
      return {
        outcome: 'blocked',
        error: { code: 'ERR_FORBIDDEN', message: end.comment ?? 'it was rejected' },
      };
    case 'failed':
      return { outcome: 'failed', error: end.error ?? { code: 'NODE_FAILED', message: 'it failed' } };
    case 'pending':
      return undefined;
  }
};

const effectIn = ({ id = '' as TaskId, goal, definition }: SubmitTask): TestEffect | undefined => {
  const node = definition?.nodes[0];
  if (node?.effect === undefined) return undefined;
  const { kind, target, idempotencyKey, audience } = node.effect;
  return {
    task: id,
    title: goal,
    capability: node.uses,
    args: node.args,
    kind,
    target,
    idempotencyKey,
    audience,
  };
};

/** Executes effects in memory: without gate or executor, each key once. */
export const createEffects = (timeline: Timeline, tell: (task: string, message: Inform) => void): Effects => {
  const tasks = new Map<string, TestEffect>();
  const ends = new Map<string, End>();
  const watchers = new Map<string, Set<string>>();
  let underWay = 0;
  let carryingOut: ExecuteEffect = () => undefined;

  const inform = (task: string): void => {
    const end = ends.get(task);
    if (end === undefined) return;
    for (const watcher of watchers.get(task) ?? []) {
      const notification = { kind: 'peer', task: watcher as TaskId, peer: task as TaskId, ...end } as const;
      tell(watcher, { kind: 'notify', notification });
    }
  };
  const settle = (task: string, end: End | undefined): void => {
    if (end === undefined || ends.has(task)) return;
    ends.set(task, end);
    inform(task);
  };
  const carryOut = (task: string, end: TestEffectEnd): void => {
    if (end.afterMs === undefined) return settle(task, endFor(end));
    underWay += 1;
    timeline.after(end.afterMs, () => {
      underWay -= 1;
      settle(task, endFor(end));
    });
  };

  return {
    carryOutWith: (next) => {
      carryingOut = next;
    },
    all: () => [...tasks.values()],
    end: (idempotencyKey, end) => {
      for (const effect of tasks.values())
        if (effect.idempotencyKey === idempotencyKey) carryOut(effect.task, end);
    },
    submit: (submission) => {
      const effect = effectIn(submission);
      if (effect === undefined || tasks.has(effect.task)) return;
      tasks.set(effect.task, effect);
      carryOut(effect.task, carryingOut(effect) ?? { outcome: 'succeeded' });
    },
    watch: (task, watcher) => {
      watchers.set(task, (watchers.get(task) ?? new Set()).add(watcher));
      inform(task);
    },
    cancel: (task) => settle(task, { outcome: 'cancelled' }),
    isAnyUnderWay: () => underWay > 0,
  };
};
