import type { PhaseEnd } from '@holdpoint/contracts/program/work';
import type { AnyEffect } from '../../definition/phase.ts';
import { EffectRejected } from '../../remote/effect-errors.ts';
import { StageError } from './failure.ts';
import {
  contextOf,
  isWanted,
  runPart,
  nextOf,
  type PhaseRun,
  stateAfter,
  storedOutput,
} from './phase-run.ts';

/** Of the effect itself: other effects of the phase belong to its hooks. */
const isRejection = (error: unknown): boolean =>
  error instanceof StageError && error.stage === 'run' && error.cause instanceof EffectRejected;

/** Runs an effect phase: guard, before, the effect, onResult, after, then the next phase. */
export const runEffect = async (run: PhaseRun, spec: AnyEffect): Promise<PhaseEnd> => {
  const { guard, before, effect, onResult, after, onRejected, next } = spec;
  if (!(await isWanted(run, guard)))
    return { kind: 'skipped', next: await nextOf(run, next, run.state.current()) };
  if (before !== undefined) await runPart(run, 'before', () => before(contextOf(run)));
  try {
    const outputs = await runPart(run, 'run', () => contextOf(run).effect(effect(run.state.current())));
    await runPart(run, 'after', () => run.state.update((draft) => onResult?.(outputs, draft)));
    if (after !== undefined) await runPart(run, 'after', () => after(contextOf(run), outputs));
    const state = await stateAfter(run, 'after');
    const stored = await runPart(run, 'after', () => storedOutput(run, outputs));
    return { kind: 'completed', state, ...stored, next: await nextOf(run, next, state) };
  } catch (error) {
    if (onRejected === undefined || !isRejection(error)) throw error;
    return { kind: 'completed', state: await stateAfter(run, 'after'), next: await nextOf(run, onRejected) };
  }
};
