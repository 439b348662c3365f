import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import type { TaskPhase } from '@holdpoint/contracts/task/status';

/** The filter fields as shown. */
export type TaskFilter = {
  readonly words: string;
  readonly phase: TaskPhase | '';
  readonly workflow: string;
  readonly person: string;
  /** Range in days. */
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

/** The query; empty fields are omitted. */
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

/** Why a list is empty or short. */
export const endOf = (shown: number, isFull: boolean, more: boolean): string | undefined => {
  if (more && !isFull)
    return shown === 0
      ? 'No match among the latest tasks: Older searches on.'
      : 'Not all tasks were searched: Older searches on.';
  return shown === 0 ? 'No tasks.' : undefined;
};
