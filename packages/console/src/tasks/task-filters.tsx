import { useEffect, useState } from 'preact/hooks';
import { hrefOf } from '../text/route.ts';
import { DAYS, NO_FILTER, type TaskFilter } from './task-filter.ts';
import { PHASES } from './labels.ts';

/** Delay while the user types. */
const SETTLED_MS = 300;

const OPTIONS = {
  phase: Object.entries(PHASES).map(([name, [word]]) => [name, word] as const),
  days: Object.entries(DAYS),
};

/** The search over all tasks. `onChange` is called after typing stops. */
export const TaskFilters = ({ onChange }: { readonly onChange: (filter: TaskFilter) => void }) => {
  const [filter, setFilter] = useState(NO_FILTER);
  const [applied, setTold] = useState(NO_FILTER);
  useEffect(() => {
    if (filter === applied) return;
    const settled = setTimeout(() => {
      setTold(filter);
      onChange(filter);
    }, SETTLED_MS);
    return () => clearTimeout(settled);
  }, [filter, applied, onChange]);
  const set = (more: Partial<TaskFilter>): void => setFilter({ ...filter, ...more });
  return (
    <div class="filters">
      <input
        id="task-search"
        type="search"
        placeholder="Words or an ID"
        aria-label="Words in the goal, the workflow or the ID; Enter opens a task by its ID"
        maxLength={200}
        value={filter.words}
        onInput={({ currentTarget }) => set({ words: currentTarget.value })}
        onKeyDown={({ key }) => {
          const id = filter.words.trim();
          if (key === 'Enter' && /^t-[\w-]+$/.test(id)) location.hash = hrefOf('tasks', id);
        }}
      />
      <select
        aria-label="State"
        value={filter.phase}
        onChange={({ currentTarget }) => set({ phase: currentTarget.value as TaskFilter['phase'] })}
      >
        <option value="">Any state</option>
        {OPTIONS.phase.map(([name, word]) => (
          <option key={name} value={name}>
            {word}
          </option>
        ))}
      </select>
      <input
        type="search"
        placeholder="Workflow"
        aria-label="Workflow, with or without version"
        maxLength={200}
        value={filter.workflow}
        onInput={({ currentTarget }) => set({ workflow: currentTarget.value })}
      />
      <input
        type="search"
        placeholder="Requested by"
        aria-label="Requested by"
        maxLength={200}
        value={filter.person}
        onInput={({ currentTarget }) => set({ person: currentTarget.value })}
      />
      <select
        aria-label="Submitted"
        value={filter.days}
        onChange={({ currentTarget }) => set({ days: currentTarget.value as TaskFilter['days'] })}
      >
        {OPTIONS.days.map(([days, word]) => (
          <option key={days} value={days}>
            {word}
          </option>
        ))}
      </select>
    </div>
  );
};
