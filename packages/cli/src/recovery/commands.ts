import type { Command } from 'commander';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { addClassify } from './classify.ts';
import { addClasses } from './classes.ts';
import { addRecoveryReading } from './reading.ts';
import { addResolve } from './resolve.ts';

export const addRecovery = (program: Command, session: Session): void => {
  const recovery = withExample(
    program.command('recovery').description('show the attempts of jobs, and resolve stuck jobs'),
    'recovery stuck',
    'recovery report t-4k2m9x1c7h0a/build',
  );
  for (const add of [addRecoveryReading, addClasses, addResolve, addClassify]) add(recovery, session);
};
