import type { Command } from 'commander';
import { addGc } from '../admin/gc.ts';
import { addApprove, addReject } from '../approval/deciding.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { addJobList, addShow, addStatus } from './reading.ts';
import { addAttach, addTail } from './logs.ts';
import { addSchedule } from './schedule.ts';
import { addCancel, addPause, addResume, addRetry, addSkip } from './steering.ts';

/** Aliases: the same commands as under `task`, `approval` and `admin`, built by the same functions. */
export const addJobs = (program: Command, session: Session): void => {
  const jobs = withExample(
    program
      .command('jobs')
      .alias('job')
      .description('aliases of `task`, `approval` and `admin` commands, for the jobs of tasks'),
    'jobs list',
    'jobs show t-4k2m9x1c7h0a/build',
  );
  addJobList(jobs, 'list', session);
  for (const add of [addShow, addStatus, addSchedule, addTail, addAttach, addApprove, addReject])
    add(jobs, session);
  for (const add of [addCancel, addPause, addResume, addRetry, addSkip, addGc]) add(jobs, session);
};
