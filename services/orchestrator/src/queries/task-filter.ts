import type { ListTasks } from '@holdpoint/contracts/task/queries';
import { isEndPhase, type TaskPhase } from '@holdpoint/contracts/task/status';
import type { Cursor } from '@holdpoint/runtime/store/page';

export type Filter = Pick<
  ListTasks,
  'phase' | 'workflow' | 'requestedBy' | 'createdAfter' | 'createdBefore' | 'search'
>;

/** The index that gives the order. Other filters are checked per row. */
export type Path = 'latest' | 'phase' | 'requester' | 'flow';

/** Open tasks are few. Ended tasks are nearly all tasks, so their phase does not narrow the search. */
const isFew = (phase: TaskPhase | undefined): boolean => phase !== undefined && !isEndPhase(phase);

/** The index that leaves the fewest rows to check. */
export const pathFor = ({ phase, workflow, requestedBy }: Filter): Path => {
  if (isFew(phase)) return 'phase';
  if (requestedBy !== undefined) return 'requester';
  if (workflow !== undefined) return 'flow';
  return phase === undefined ? 'latest' : 'phase';
};

/** The name of `draft@2`. The index has no versions, because they hardly narrow the search. */
export const flowOf = (workflow: string): string => workflow.split('@', 1)[0] ?? '';

/** Whether rows on the path may fail another filter. */
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

/** Before the first row of a list, which is ordered latest first. */
const END: Cursor = { at: Number.MAX_SAFE_INTEGER, id: '' };

/** The start of a page: the later in the list of the previous page's cursor and the end of the requested time. */
export const startOf = (after: Cursor | undefined, { createdBefore }: Filter): Cursor => {
  const { at, id } = after ?? END;
  return createdBefore === undefined || at < createdBefore ? { at, id } : { at: createdBefore, id: '' };
};
