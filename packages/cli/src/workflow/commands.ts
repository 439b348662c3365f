import type { Command } from 'commander';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { addGates } from './gates.ts';
import { addGraphAndValidate } from './graph-validate.ts';
import { addInit } from './init.ts';
import { addRun } from './run.ts';

export const addWorkflow = (program: Command, session: Session): void => {
  const workflow = withExample(
    program
      .command('workflow')
      .alias('workflows')
      .description('run, validate and draw workflows, and set up a repository for them'),
    'workflow validate .holdpoint/workflows/develop.toml',
  );
  for (const add of [addRun, addInit, addGraphAndValidate, addGates]) add(workflow, session);
};
