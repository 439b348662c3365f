import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { digestOf } from '@holdpoint/contracts/values/json';
import type { EffectEnd, Entry } from '@holdpoint/contracts/program/recording';
import type { WorkInput, WorkOrder } from '@holdpoint/contracts/program/work';
import { ReviewText } from '@holdpoint/contracts/workflow/review';
import { WAIT_MAX_MS } from '@holdpoint/contracts/workflow/side-effect';
import { effectKey } from '@holdpoint/programs/state';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { EffectRequest } from '../../definition/context.ts';
import type { AnyContext } from '../../definition/phase.ts';
import type { Activity, Branch } from './activity.ts';
import { artifactContent } from './artifact-content.ts';
import { effectResult, programEffect } from './effect-request.ts';
import { retryWhileUnavailable } from './retry.ts';
import type { Lifetime } from '../session/lifetime.ts';
import type { WorkerLine, WorkPort } from '../session/port.ts';
import type { Records } from './records.ts';
import type { StateHolder } from './state.ts';

/** Shared by all contexts of one activation. */
export type ContextParts = {
  readonly order: WorkOrder;
  readonly given: WorkInput;
  readonly state: StateHolder;
  readonly records: Records;
  readonly activity: Activity;
  readonly port: Pick<WorkPort, 'keep'>;
  readonly clock: Clock;
  readonly log: (line: Pick<WorkerLine, 'level' | 'message' | 'fields'>) => void;
};

const NAME_MAX = 200;

const checkName = (what: string, name: string): string => {
  if (typeof name === 'string' && name.length >= 1 && name.length <= NAME_MAX && name.isWellFormed())
    return name;
  throw new HoldpointError('CONTRACT_INVALID', `the name of ${what} is 1 to ${String(NAME_MAX)} characters`);
};

const SOON_MS = 20;

const endOf = ({ ended }: Extract<Entry, { readonly kind: 'effect' }>): EffectEnd => {
  if (ended === undefined) throw new HoldpointError('RUNTIME_POISON', 'an ended effect has no result');
  return ended;
};

/** Creates the context of one part of a phase. `scope` prefixes the keys of its records. */
export const createContext = (
  { order, given, state, records, activity, port, clock, log }: ContextParts,
  life: Lifetime,
  branch: Branch,
  scope = '',
): AnyContext => {
  const { task, node, attempt, visit } = order;
  let sleeps = 0;
  let reviews = 0;

  const effect: AnyContext['effect'] = <Result>(request: EffectRequest<Result>) =>
    life.during(async () => {
      const wanted = programEffect(request);
      const known = records.find('effect', effectKey(wanted.idempotencyKey));
      if (known?.ended?.outcome === 'succeeded' && known.digest === digestOf(wanted))
        return effectResult(known.ended, request) as Result;
      const record = { kind: 'effect', effect: wanted } as const;
      const entry = await activity.working(branch, () => records.record('effect', record));
      return effectResult(endOf(await records.ended<'effect'>(branch, entry, record)), request) as Result;
    });

  const sleep: AnyContext['sleep'] = (ms, name) => {
    sleeps += 1;
    const number = `#${String(sleeps)}`;
    return life.during(async () => {
      const key = `sleep:${scope}${name === undefined ? number : checkName('a sleep', name)}`;
      if (!(ms >= 0 && ms <= WAIT_MAX_MS))
        throw new HoldpointError('CONTRACT_INVALID', `a sleep has 0 to ${String(WAIT_MAX_MS)} milliseconds`);
      const record = { kind: 'sleep', key, ms: Math.round(ms) } as const;
      const known = records.find('sleep', key);
      const entry = known ?? (await activity.working(branch, () => records.record('sleep', record)));
      // For a sleep that started earlier, only the store knows the remaining time.
      await records.ended<'sleep'>(branch, entry, record, known === undefined ? ms + SOON_MS : undefined);
    });
  };

  const context: AnyContext = {
    get state() {
      return state.current();
    },
    input: given.inputs,
    goal: given.goal,
    acceptanceCriteria: given.acceptanceCriteria ?? [],
    task,
    attempt,
    visit,
    hints: given.failures,
    signal: life.signal,
    update: (recipe) => {
      const reason = life.aborted();
      if (reason !== undefined) throw reason;
      state.update(recipe);
    },
    effect,
    step: <Value>(name: string, run: () => Value | Promise<Value>): Promise<Value> =>
      life.during(() =>
        records.once(
          branch,
          `step:${scope}${checkName('a step', name)}`,
          `the result of the step ${name}`,
          run,
        ),
      ) as Promise<Value>,
    sleep,
    log: (message, fields) => log({ level: 'info', message, ...(fields && { fields }) }),
    review: (review) => {
      reviews += 1;
      const number = String(reviews);
      return life.during(async () => {
        const checked = checkReview(review);
        // Another attempt is reviewed again.
        const key = `review:${scope}${checked.kind}#${number}@${String(attempt)}`;
        if (records.find('review', key) !== undefined) return;
        await activity.working(branch, () =>
          records.record('review', { kind: 'review', key, review: checked }),
        );
      });
    },
    artifact: (name, content, options) => {
      const key = `artifact:${scope}${checkName('an artifact', name)}`;
      return life.during(() =>
        activity.working(branch, async () => {
          const known = records.find('artifact', key);
          if (known !== undefined) return known.artifact;
          const { bytes, mediaType } = artifactContent(content, options);
          const artifact = await retryWhileUnavailable(clock, () =>
            port.keep(bytes, { name, mediaType, task, node, attempt }),
          );
          return (await records.record('artifact', { kind: 'artifact', key, artifact })).artifact;
        }),
      );
    },
  };
  return context;
};

/** Checks a review before it is sent, so that the error names the field. */
const checkReview = (review: ReviewText): ReviewText => {
  const { data, error } = ReviewText.safeParse(review);
  if (data !== undefined) return data;
  const problems = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new HoldpointError('CONTRACT_INVALID', `invalid review: ${problems.join('; ')}`);
};

/** The context of an item: the state is read-only. */
export const withoutUpdate = (context: AnyContext): AnyContext => {
  const refuse = (): never => {
    throw new TypeError('an item cannot change the state: return a value and change the state in `after`');
  };
  return Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(context), update: { value: refuse, enumerable: false } },
  ) as AnyContext;
};
