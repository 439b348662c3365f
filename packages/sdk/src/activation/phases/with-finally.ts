import { createLifetime, type Lifetime } from '../session/lifetime.ts';
import { failureOf, StageError } from './failure.ts';
import { contextOf, type PhaseRun } from './phase-run.ts';
import type { AnyAgent } from '../../definition/phase.ts';

/** Time for `finally` after an abort. */
const CLEANUP_MS = 30_000;

/** Another worker continues the phase and needs what `finally` would remove. */
const continuesElsewhere = ({ life }: PhaseRun): boolean =>
  ['lost', 'stopping'].includes(life.aborted()?.why ?? '');

/** An aborted phase gets extra time to run `finally`. */
const cleanupLifetime = ({
  life,
  clock,
}: PhaseRun): { readonly life: Lifetime; readonly end: () => void } => {
  const reason = life.aborted();
  if (reason === undefined) return { life, end: () => undefined };
  const own = createLifetime();
  return { life: own, end: clock.after(CLEANUP_MS, () => own.abort(reason)) };
};

/** Runs the work, then `finally`. The first error wins. */
export const withFinally = async <Value>(
  run: PhaseRun,
  tidy: AnyAgent['finally'],
  body: () => Promise<Value>,
): Promise<Value> => {
  const result = await body().then(
    (value) => ({ ok: true, value }) as const,
    (error: unknown) => ({ ok: false, error }) as const,
  );
  if (tidy !== undefined && !continuesElsewhere(run)) {
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
