import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { digestOf, type Json } from '@holdpoint/contracts/values/json';
import type { PhaseEnd } from '@holdpoint/contracts/program/work';
import type { Patch } from 'immer';
import type { AnyAgent } from '../../definition/phase.ts';
import { StageError } from './failure.ts';
import { createContext, withoutUpdate } from '../context/create-context.ts';
import { toJson } from '../context/json-value.ts';
import {
  contextOf,
  runPart,
  lastFailure,
  nextOf,
  type PhaseRun,
  stateAfter,
  storedOutput,
} from './phase-run.ts';
import { questionFor } from './question.ts';
import { fromRecord, toRecord } from '../context/records.ts';
import { withFinally } from './with-finally.ts';

const ROUNDS = 3;
const KEY_DIGITS = 12;

const isWanted = async (run: PhaseRun, { guard }: AnyAgent): Promise<boolean> => {
  if (guard === undefined) return true;
  const said: unknown = await runPart(run, 'guard', () => guard(run.state.current(), contextOf(run)));
  if (typeof said === 'boolean') return said;
  throw new StageError('guard', new TypeError('a guard must return true or false'));
};

/**
 * Repeats the work until it is good enough. For a recorded round, only its state changes are applied again.
 */
const runRounds = async (run: PhaseRun, spec: AnyAgent): Promise<unknown> => {
  const { maxRuns = ROUNDS, until } = spec;
  for (let round = 1; round <= maxRuns; round += 1) {
    const output = await oneRound(run, spec, `run:${String(run.order.attempt)}.${String(round)}`);
    if (await runPart(run, 'run', () => until?.(run.state.current(), output))) return output;
  }
  const problem = `until did not hold after ${String(maxRuns)} runs`;
  throw new StageError('run', new HoldpointError('PROGRAM_PHASE_FAILED', problem));
};

type Round = { readonly output: Json; readonly changes: readonly Patch[] };

const oneRound = async (run: PhaseRun, spec: AnyAgent, key: string): Promise<unknown> => {
  const { records, state, activity, life, root } = run;
  const known = records.find('step', key);
  if (known !== undefined) {
    const { output, changes } = known.output as unknown as Round;
    state.apply(changes);
    return fromRecord(output);
  }
  const changes = state.changesSince();
  const value = await runPart(run, 'run', () => spec.run(createContext(run, life, root, `${key}/`)));
  return runPart(run, 'run', () =>
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

const oneItem = async (run: PhaseRun, spec: AnyAgent, item: unknown, index: number): Promise<unknown> => {
  const { records, activity, life } = run;
  const key = itemKey(item, index);
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
 * Runs the work once per item. After a failure no item starts; busy items finish, and items that only wait
 * are abandoned.
 */
const runItems = async (
  run: PhaseRun,
  spec: AnyAgent,
  items: readonly unknown[],
): Promise<readonly unknown[]> => {
  const { activity, root } = run;
  const outputs: unknown[] = Array.from({ length: items.length });
  let begun = 0;
  let failure: { readonly error: unknown } | undefined;
  let giveUp = (): void => undefined;
  const nothingLeft = new Promise<void>((resolve) => (giveUp = resolve));

  const work = async (): Promise<void> => {
    while (failure === undefined && begun < items.length) {
      const index = begun;
      begun += 1;
      try {
        outputs[index] = await oneItem(run, spec, items[index], index);
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

const work = async (run: PhaseRun, spec: AnyAgent): Promise<unknown> => {
  const { forEach, until } = spec;
  if (forEach !== undefined) {
    const items: unknown = await runPart(run, 'run', () => forEach(run.state.current()));
    if (!Array.isArray(items)) throw new StageError('run', new TypeError('forEach must return a list'));
    return runItems(run, spec, items);
  }
  if (until !== undefined) return runRounds(run, spec);
  return runPart(run, 'run', () => spec.run(contextOf(run)));
};

/** Runs an agent phase: guard, before, work, after, finally, then the question or the next phase. */
export const runAgent = async (run: PhaseRun, spec: AnyAgent): Promise<PhaseEnd> => {
  const { before, after, human, next } = spec;
  if (!(await isWanted(run, spec)))
    return { kind: 'skipped', next: await nextOf(run, next, run.state.current(), undefined, undefined) };
  const output = await withFinally(run, spec.finally, async () => {
    if (before !== undefined) await runPart(run, 'before', () => before(contextOf(run)));
    const given = await work(run, spec);
    if (after !== undefined) await runPart(run, 'after', () => after(contextOf(run), given));
    return given;
  });
  const state = await stateAfter(run, 'after');
  const stored = await runPart(run, 'run', () =>
    storedOutput(run, spec.forEach !== undefined && Array.isArray(output) ? asOutput(output) : output),
  );
  const question = human && (await questionFor(run, human, 'run', output, lastFailure(run)));
  if (question !== undefined) return { kind: 'input_requested', state, ...stored, question };
  return { kind: 'completed', state, ...stored, next: await nextOf(run, next, state, output, undefined) };
};
