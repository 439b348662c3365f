import type { PhaseEnd } from '@holdpoint/contracts/program/work';
import type { AnyEffect } from '../../definition/phase.ts';
import { EffectRejected } from '../context/effect-request.ts';
import { StageError } from './failure.ts';
import { contextOf, runPart, nextOf, type PhaseRun, stateAfter, storedOutput } from './phase-run.ts';

const isRejection = (error: unknown): boolean =>
  error instanceof StageError && error.cause instanceof EffectRejected;

export const runEffect = async (run: PhaseRun, spec: AnyEffect): Promise<PhaseEnd> => {
  const { guard, effect, onResult, onRejected, next } = spec;
  const before = run.state.current();
  if (guard !== undefined && !(await runPart(run, 'guard', () => guard(before))))
    return { kind: 'skipped', next: await nextOf(run, next, before) };
  try {
    const outputs = await runPart(run, 'run', () => contextOf(run).effect(effect(before)));
    await runPart(run, 'after', () => run.state.update((draft) => onResult?.(outputs, draft)));
    const state = await stateAfter(run, 'after');
    const stored = await runPart(run, 'after', () => storedOutput(run, outputs));
    return { kind: 'completed', state, ...stored, next: await nextOf(run, next, state) };
  } catch (error) {
    if (onRejected === undefined || !isRejection(error)) throw error;
    return { kind: 'completed', state: await stateAfter(run, 'after'), next: await nextOf(run, onRejected) };
  }
};
