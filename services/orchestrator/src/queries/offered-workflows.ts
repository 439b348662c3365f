import type { OfferedWorkflow } from '@holdpoint/contracts/workflow/offered-workflow';
import type { Pool } from 'pg';
import { type BuiltInWorkflow, offered } from '../workflows/catalog.ts';
import { latestPrograms } from './programs.ts';

/** Limit for one answer. */
const PROGRAMS_MAX = 200;

/** The workflows that a task can name. A program replaces a built-in workflow of the same name. */
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
