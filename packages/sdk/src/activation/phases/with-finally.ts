import { createLifetime, type Lifetime } from '../session/lifetime.ts';
import { failureOf, StageError } from './failure.ts';
import { contextOf, type PhaseRun } from './phase-run.ts';
import type { AnyAgent } from '../../definition/phase.ts';

/** What tidies up after a phase that was broken off may take so long. */
const CLEANUP_MS = 30_000;

/** Somebody else goes on with the phase: what is tidied up here would be missing there. */
const isHandedOn = ({ life }: PhaseRun): boolean => ['lost', 'stopping'].includes(life.aborted()?.why ?? '');

/** A phase that was broken off has a little time of its own to tidy up in. */
const cleanupLifetime = ({
  life,
  clock,
}: PhaseRun): { readonly life: Lifetime; readonly end: () => void } => {
  const reason = life.aborted();
  if (reason === undefined) return { life, end: () => undefined };
  const own = createLifetime();
  return { life: own, end: clock.after(CLEANUP_MS, () => own.abort(reason)) };
};

/** Does the work, and then what has to be done in any case. What went wrong first is what went wrong. */
export const withFinally = async <Value>(
  run: PhaseRun,
  tidy: AnyAgent['finally'],
  body: () => Promise<Value>,
): Promise<Value> => {
  const result = await body().then(
    (value) => ({ ok: true, value }) as const,
    (error: unknown) => ({ ok: false, error }) as const,
  );
  if (tidy !== undefined && !isHandedOn(run)) {
    const { life, end } = cleanupLifetime(run);
    try {
      await life.during(() => tidy(contextOf(run, life)));
    } catch (error) {
      if (result.ok) throw new StageError('after', error);
      run.log({ level: 'warn', message: `finally failed as well: ${failureOf(error).message}` });
    } finally {
      end();
    }
  }
  if (result.ok) return result.value;
  throw result.error;
};
