import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import type { TaskPhase } from '@holdpoint/contracts/task/status';

/** What the fields above the list say, as they stand there. */
export type TaskFilter = {
  readonly words: string;
  readonly phase: TaskPhase | '';
  readonly workflow: string;
  readonly person: string;
  /** How far back, in days. */
  readonly days: '' | '1' | '7' | '30';
};

export const NO_FILTER: TaskFilter = { words: '', phase: '', workflow: '', person: '', days: '' };

export const DAYS: Readonly<Record<TaskFilter['days'], string>> = {
  '': 'Any time',
  '1': 'Last 24 hours',
  '7': 'Last 7 days',
  '30': 'Last 30 days',
};

const DAY_MS = 86_400_000;

/** What the service is asked; an empty field asks for nothing. */
export const askedFor = (
  { words, phase, workflow, person, days }: TaskFilter,
  now: number,
): ApiRequest<'orchestrator', 'list'> => ({
  ...(phase !== '' && { phase }),
  ...(words.trim() !== '' && { search: words.trim() }),
  ...(workflow.trim() !== '' && { workflow: workflow.trim() }),
  ...(person.trim() !== '' && { requestedBy: person.trim() }),
  ...(days !== '' && { createdAfter: Math.max(0, now - Number(days) * DAY_MS) }),
});

/** Why a list is empty, or no longer than it is. */
export const endOf = (shown: number, isFull: boolean, more: boolean): string | undefined => {
  if (more && !isFull)
    return shown === 0
      ? 'None among the latest that were looked at: Older goes on.'
      : 'Not all were looked at: Older goes on.';
  return shown === 0 ? 'No tasks here.' : undefined;
};
