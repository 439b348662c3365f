import { shrink } from './shrink.ts';
import { type Outcome, type Settings, simulate } from './simulate.ts';
import { readable } from './trace.ts';

const LINES_MAX = 80;

/** The violation, the command that repeats it, and the shortest trace that was found. */
export const describeFailure = async (
  failed: Outcome,
  settings: Pick<Settings, 'tasks' | 'bug'> & Partial<Pick<Settings, 'form' | 'held' | 'upgrade'>>,
): Promise<string> => {
  const { violation, seed } = failed;
  if (violation === undefined) throw new Error('nothing failed');
  const { outcome, without } = await shrink(failed, settings);
  const traced = await simulate({ seed, ...settings, without, traced: true });
  const lines = readable(traced.trace, violation.about === '' ? undefined : (traced.violation?.about ?? ''));
  return [
    `violated: ${violation.invariant}`,
    `seed ${String(seed)}: npm run simulate -- --seed ${String(seed)} --tasks ${String(settings.tasks)}${settings.held === undefined ? '' : ` --held ${String(settings.held)}`}${settings.form === undefined ? '' : ` --form ${settings.form}`}${settings.upgrade === true ? ' --upgrade' : ''}`,
    outcome.violation?.detail ?? violation.detail,
    `with ${String(outcome.faults.length)} of ${String(failed.faults.length)} faults and ${String(outcome.tasks.length)} of ${String(failed.tasks.length)} tasks:`,
    ...(lines.length > LINES_MAX ? [`(the last ${String(LINES_MAX)} lines)`] : []),
    ...lines.slice(-LINES_MAX),
  ].join('\n');
};
