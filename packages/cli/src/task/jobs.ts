import type { Command } from 'commander';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { addDeciding } from './jobs-deciding.ts';
import { addOutput } from './logs.ts';
import { addReading } from './jobs-reading.ts';
import { addSchedule } from './schedule.ts';
import { addCleaning, addSteering } from './jobs-steering.ts';

export const addJobs = (program: Command, session: Session): void => {
  const jobs = withExample(
    program.command('jobs').description('see, steer and decide the jobs of runs: each node of a run is one'),
    'jobs list',
    'jobs show t-4k2m9x1c7h0a/build',
  );
  for (const add of [addReading, addSchedule, addOutput, addDeciding, addSteering, addCleaning])
    add(jobs, session);
};
