import type { JobStatus } from '@holdpoint/contracts/task/status';
import { EXIT } from '../kit/failure.ts';
import type { Paint, Span } from '../output/painted.ts';

type Meaning = {
  /** Terminal: nothing more happens without an operator. */
  readonly ended: boolean;
  /** Exit code for a followed job. */
  readonly exit: number;
  readonly paint: Paint;
};

const going = (paint: Paint): Meaning => ({ ended: false, exit: EXIT.ok, paint });
const well: Meaning = { ended: true, exit: EXIT.ok, paint: 'good' };
const left: Meaning = { ...well, paint: 'faint' };
const badly: Meaning = { ended: true, exit: EXIT.failed, paint: 'bad' };
const blocked: Meaning = { ended: true, exit: EXIT.waiting, paint: 'bad' };

const MEANING: Readonly<Record<JobStatus, Meaning>> = {
  queued: going('faint'),
  waiting_on_deps: going('faint'),
  waiting_on_approval: going('waits'),
  waiting_on_locks: going('waits'),
  running: going('busy'),
  recovering: going('waits'),
  escalated: going('waits'),
  paused: going('waits'),
  succeeded: well,
  skipped: left,
  unreached: left,
  failed: badly,
  cancelled: badly,
  blocked_by_dependency: blocked,
  blocked_by_approval: blocked,
};

export const isEnded = (status: JobStatus): boolean => MEANING[status].ended;
export const exitOf = (status: JobStatus): number => MEANING[status].exit;
export const endedWell = (status: JobStatus): boolean => isEnded(status) && exitOf(status) === EXIT.ok;
export const isBlocked = (status: JobStatus): boolean => exitOf(status) === EXIT.waiting;
export const statusSpan = (status: JobStatus): Span => ({ text: status, paint: MEANING[status].paint });
