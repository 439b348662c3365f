import type { ListTasks } from '@holdpoint/contracts/task/queries';
import type { TaskPhase } from '@holdpoint/contracts/task/status';
import type { Cursor } from '@holdpoint/runtime/store/page';
import { isTerminal } from '../task/model/phases.ts';

export type Filter = Pick<
  ListTasks,
  'phase' | 'workflow' | 'requestedBy' | 'createdAfter' | 'createdBefore' | 'search'
>;

/** Which index is read in order. What else is asked for is looked up for each row of it. */
export type Path = 'latest' | 'phase' | 'requester' | 'flow';

/** Tasks that have not ended are few among all, whoever has asked for them; those that have ended are nearly all. */
const isFew = (phase: TaskPhase | undefined): boolean => phase !== undefined && !isTerminal(phase);

/** The one that leaves least to look through. */
export const pathFor = ({ phase, workflow, requestedBy }: Filter): Path => {
  if (isFew(phase)) return 'phase';
  if (requestedBy !== undefined) return 'requester';
  if (workflow !== undefined) return 'flow';
  return phase === undefined ? 'latest' : 'phase';
};

/** `draft` of `draft@2`; no version is in an index, as one is nearly all that there is of a workflow, or next to nothing. */
export const flowOf = (workflow: string): string => workflow.split('@', 1)[0] ?? '';

/** Whether rows on the path may be something else than is asked for. */
export const isExact = (filter: Filter): boolean => {
  const { phase, workflow, requestedBy, search } = filter;
  const path = pathFor(filter);
  return (
    search === undefined &&
    (phase === undefined || path === 'phase') &&
    (requestedBy === undefined || path === 'requester') &&
    (workflow === undefined || (path === 'flow' && !workflow.includes('@')))
  );
};

/** After everything: where the latest come first, a list begins behind it. */
const END: Cursor = { at: Number.MAX_SAFE_INTEGER, id: '' };

/** Behind which place a page begins, whichever comes later in the list: that of the page before, or the end of the time asked for. */
export const startOf = (after: Cursor | undefined, { createdBefore }: Filter): Cursor => {
  const { at, id } = after ?? END;
  return createdBefore === undefined || at < createdBefore ? { at, id } : { at: createdBefore, id: '' };
};
