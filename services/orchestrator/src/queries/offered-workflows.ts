import type { OfferedWorkflow } from '@holdpoint/contracts/workflow/offered-workflow';
import type { Pool } from 'pg';
import { type BuiltInWorkflow, offered } from '../workflows/catalog.ts';
import { latestPrograms } from './programs.ts';

/** So many fit into one answer, and into a list that somebody reads. */
const PROGRAMS_MAX = 200;

/** What a task can be started with by its name. Where a program has the name of what ships, it is the program that is run. */
export const offeredWorkflows = async (
  pool: Pool,
  workflows: readonly BuiltInWorkflow[],
): Promise<{ items: OfferedWorkflow[] }> => {
  const programs = await latestPrograms(pool, PROGRAMS_MAX);
  const names = new Set(programs.map(({ id }) => id));
  return {
    items: [
      ...offered(workflows).filter(({ id }) => !names.has(id)),
      ...programs.map(({ id, version }): OfferedWorkflow => ({
        id,
        version,
        kind: 'program',
        repository: 'optional',
      })),
    ],
  };
};
