import type { Command } from 'commander';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { addDoctor } from './doctor.ts';
import { addGc } from './gc.ts';
import { addTop } from './top.ts';

export const addAdmin = (program: Command, session: Session): void => {
  const admin = withExample(
    program.command('admin').description('check, watch and clean up the deployment'),
    'admin doctor',
  );
  for (const add of [addDoctor, addTop, addGc]) add(admin, session);
};
