import type { Command } from 'commander';
import { withExample } from '../example.ts';
import type { Session } from '../session.ts';
import { addCircuitsOfRecovery } from './circuits.ts';
import { addClassifying } from './recovery-classifying.ts';
import { addCounting } from './recovery-counting.ts';
import { addRecoveryReading } from './recovery-reading.ts';
import { addResolving } from './recovery-resolving.ts';

export const addRecovery = (program: Command, session: Session): void => {
  const recovery = withExample(
    program
      .command('recovery')
      .description('see what was tried and what came of it, and decide what becomes of jobs that are stuck'),
    'recovery stuck',
    'recovery report t-4k2m9x1c7h0a/build',
  );
  for (const add of [addRecoveryReading, addCounting, addResolving, addCircuitsOfRecovery, addClassifying])
    add(recovery, session);
};
