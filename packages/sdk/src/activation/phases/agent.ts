import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { digestOf, type Json } from '@holdpoint/contracts/values/json';
import type { PhaseEnd } from '@holdpoint/contracts/program/work';
import type { Patch } from 'immer';
import type { AnyAgent, AnyContext } from '../../definition/phase.ts';
import { StageError } from './failure.ts';
import { createContext, withoutUpdate } from '../context/create-context.ts';
import { toJson } from '../context/json-value.ts';
import {
  contextOf,
  isWanted,
  nextOf,
  type PhaseRun,
  runPart,
  stateAfter,
  storedOutput,
} from './phase-run.ts';
import { questionFor } from './question.ts';
import { fromRecord, toRecord } from '../context/records.ts';
import { withFinally } from './with-finally.ts';

const ROUNDS = 3;
const KEY_DIGITS = 12;

/** Repeats the work until it is good enough. */
const runRounds = async (run: PhaseRun, spec: AnyAgent): Promise<unknown> => {
  const { maxRuns = ROUNDS, until, forEach, after } = spec;
  for (let round = 1; round <= maxRuns; round += 1) {
    const key = `run:${String(run.order.attempt)}.${String(round)}`;
    const output =
      forEach === undefined
        ? await recorded(run, key, 'run', (context) => spec.run(context))
        : await runItems(run, spec, forEach, `${key}/`);
    if (forEach !== undefined && after !== undefined)
      await recorded(run, key, 'after', async (context) => void (await after(context, output)));
    if (await runPart(run, 'run', () => until?.(run.state.current(), output))) return output;
  }
  const problem = `until did not hold after ${String(maxRuns)} runs`;
  throw new StageError('run', new HoldpointError('PROGRAM_PHASE_FAILED', problem));
};

type Round = { readonly output: Json; readonly changes: readonly Patch[] };

/** A recorded part of a round does not run again; its state changes are applied instead. */
const recorded = async (
  run: PhaseRun,
  key: string,
  stage: 'run' | 'after',
  body: (context: AnyContext) => unknown,
): Promise<unknown> => {
  const { records, state, activity, life, root } = run;
  const known = records.find('step', key);
  if (known !== undefined) {
    const { output, changes } = known.output as unknown as Round;
    state.apply(changes);
    return fromRecord(output);
  }
  const changes = state.changesSince();
  const value = await runPart(run, stage, () => body(createContext(run, life, root, `${key}/`)));
  return runPart(run, stage, () =>
    activity.working(root, async () => {
      const output = value === undefined ? undefined : toJson(value, OUTPUT);
      const changed = toJson(changes(), { code: 'PROGRAM_STATE_INVALID', what: 'state', lenient: true });
      await records.record('step', {
        kind: 'step',
        key,
        output: { output: toRecord(output), changes: changed },
      });
      return output;
    }),
  );
};

const OUTPUT = { code: 'PROGRAM_OUTPUT_INVALID', what: 'output' } as const;

/** Includes the digest of the item: after a state change, another item may have this index. */
const itemKey = (item: unknown, index: number): string => {
  try {
    return `item:${String(index)}.${digestOf(item).slice(0, KEY_DIGITS)}`;
  } catch {
    return `item:${String(index)}`;
  }
};

const oneItem = async (
  run: PhaseRun,
  spec: AnyAgent,
  key: string,
  item: unknown,
  index: number,
): Promise<unknown> => {
  const { records, activity, life } = run;
  const known = records.find('step', key);
  if (known !== undefined) return fromRecord(known.output);
  const branch = activity.open();
  try {
    const context = withoutUpdate(createContext(run, life, branch, `${key}/`));
    const value = await runPart(run, 'run', () => spec.run(context, item, index));
    return await runPart(run, 'run', () =>
      activity.working(branch, async () => {
        const output =
          value === undefined ? undefined : toJson(value, { ...OUTPUT, what: `output[${String(index)}]` });
        const entry = await records.record('step', { kind: 'step', key, output: toRecord(output) });
        return fromRecord(entry.output);
      }),
    );
  } finally {
    activity.close(branch);
  }
};

/**
 * Runs the work once per item of the present state. `scope` prefixes the keys of its records. After a failure no item starts; busy items finish, and items that only wait
 * are abandoned.
 */
const runItems = async (
  run: PhaseRun,
  spec: AnyAgent,
  forEach: NonNullable<AnyAgent['forEach']>,
  scope = '',
): Promise<readonly unknown[]> => {
  const { activity, root } = run;
  const items: unknown = await runPart(run, 'run', () => forEach(run.state.current()));
  if (!Array.isArray(items)) throw new StageError('run', new TypeError('forEach must return a list'));
  const outputs: unknown[] = Array.from({ length: items.length });
  let begun = 0;
  let failure: { readonly error: unknown } | undefined;
  let giveUp = (): void => undefined;
  const nothingLeft = new Promise<void>((resolve) => (giveUp = resolve));

  /** The work and `after`, which belongs to each round when a round has items. */
  const work = async (): Promise<void> => {
    while (failure === undefined && begun < items.length) {
      const index = begun;
      begun += 1;
      try {
        const item: unknown = items[index];
        outputs[index] = await oneItem(run, spec, `${scope}${itemKey(item, index)}`, item, index);
      } catch (error) {
        failure ??= { error };
        void activity.whenWaiting().then(giveUp);
      }
    }
  };
  activity.close(root);
  try {
    const all = Array.from({ length: Math.min(spec.parallel ?? 1, items.length) }, work);
    await Promise.race([Promise.all(all), nothingLeft]);
  } finally {
    activity.open(root);
  }
  if (failure !== undefined) throw failure.error;
  return outputs;
};

/** Items without output are stored as null. */
const asOutput = (outputs: readonly unknown[]): readonly unknown[] => outputs.map((output) => output ?? null);

/** The work and `after`, which belongs to each round when a round has items. */
const work = async (run: PhaseRun, spec: AnyAgent): Promise<unknown> => {
  const { forEach, until, after } = spec;
  if (until !== undefined && forEach !== undefined) return runRounds(run, spec);
  const output =
    until !== undefined
      ? await runRounds(run, spec)
      : forEach !== undefined
        ? await runItems(run, spec, forEach)
        : await runPart(run, 'run', () => spec.run(contextOf(run)));
  if (after !== undefined) await runPart(run, 'after', () => after(contextOf(run), output));
  return output;
};

/** Runs an agent phase: guard, before, work, after, finally, then the question or the next phase. */
export const runAgent = async (run: PhaseRun, spec: AnyAgent): Promise<PhaseEnd> => {
  const { guard, before, human, next } = spec;
  if (!(await isWanted(run, guard)))
    return { kind: 'skipped', next: await nextOf(run, next, run.state.current(), undefined, undefined) };
  const output = await withFinally(run, spec.finally, async () => {
    if (before !== undefined) await runPart(run, 'before', () => before(contextOf(run)));
    return work(run, spec);
  });
  const state = await stateAfter(run, 'after');
  const stored = await runPart(run, 'run', () =>
    storedOutput(run, spec.forEach !== undefined && Array.isArray(output) ? asOutput(output) : output),
  );
  const question = human && (await questionFor(run, human, 'run', output));
  if (question !== undefined) return { kind: 'input_requested', state, ...stored, question };
  return { kind: 'completed', state, ...stored, next: await nextOf(run, next, state, output, undefined) };
};
