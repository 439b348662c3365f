import { TaskEvent } from '@holdpoint/contracts/task/events';
import { orchestratorDecider } from '@holdpoint/orchestrator/orchestrator';
import { ProgramEvent } from '@holdpoint/contracts/program/events';
import { absent, type TaskState } from '@holdpoint/orchestrator/task/model/state';
import { evolve } from '@holdpoint/orchestrator/task/model/evolve';
import { isTerminal, mayGo, mayReopen } from '@holdpoint/orchestrator/task/model/phases';
import type { StoredAggregate } from '../evidence/evidence.ts';
import { type Check, type Notes, takeNotes } from './check.ts';

/** Versions 1, 2, 3 … and a head that says the same. */
const gapless = ({ id, head, events }: StoredAggregate, { expect }: Notes): void => {
  expect(events.length > 0, () => `${id} has a head and no event`);
  events.forEach(({ version }, i) =>
    expect(version === i + 1, () => `${id} has version ${String(version)} where ${String(i + 1)} belongs`),
  );
  expect(
    head?.version === events.length,
    () => `the head of ${id} is at ${String(head?.version)}, its events end at ${String(events.length)}`,
  );
};

/** Folded from its first event, the history takes legal steps only, and leads to what lists show. */
const folds = ({ id, head, events }: StoredAggregate, { expect }: Notes): void => {
  let state: TaskState = absent;
  for (const { version, data } of events) {
    const parsed = TaskEvent.safeParse(data);
    expect(parsed.success, () => `event ${String(version)} of ${id} is none`);
    if (!parsed.success) return;
    const from = state.phase;
    if (from === 'absent')
      expect(
        parsed.data.type === 'submitted' ||
          (parsed.data.type === 'cancelled_before_submission' && events.length === 1),
        () => `${id} begins with ${parsed.data.type}`,
      );
    else {
      // A person may send back what has failed, and only a person.
      const isSentBack = parsed.data.type === 'restarted' && parsed.data.by !== undefined && from === 'failed';
      expect(
        !isTerminal(from) || isSentBack,
        () => `${id} goes on with ${parsed.data.type} after it is ${from}`,
      );
      expect(
        mayGo(from, parsed.data.phase) || (isSentBack && mayReopen(from, parsed.data.phase)),
        () => `${id} goes from ${from} to ${parsed.data.phase}`,
      );
    }
    if (from === 'absent' && parsed.data.type !== 'submitted') return;
    state = evolve(state, parsed.data);
  }
  expect(
    head?.status === state.phase,
    () => `${id} is ${state.phase} by its events, and ${String(head?.status)} in lists`,
  );
};

/** The same for a program, whose facts are its own and those that it shares with every task. */
const foldsProgram = ({ id, head, events }: StoredAggregate, { expect }: Notes): void => {
  let state = orchestratorDecider.initial;
  for (const { version, data } of events) {
    const parsed = ProgramEvent.or(TaskEvent).safeParse(data);
    expect(parsed.success, () => `event ${String(version)} of ${id} is none`);
    if (!parsed.success) return;
    const from = state.phase;
    if (from === 'absent') {
      expect(parsed.data.type === 'program_submitted', () => `${id} begins with ${parsed.data.type}`);
      if (parsed.data.type !== 'program_submitted') return;
    } else if (from !== 'board') {
      expect(!isTerminal(from), () => `${id} goes on with ${parsed.data.type} after it is ${from}`);
      expect(mayGo(from, parsed.data.phase), () => `${id} goes from ${from} to ${parsed.data.phase}`);
    }
    state = orchestratorDecider.evolve(state, parsed.data);
  }
  expect(
    head?.status === state.phase,
    () => `${id} is ${state.phase} by its events, and ${String(head?.status)} in lists`,
  );
};

export const histories: Check = {
  id: 'K1',
  promise: 'histories are gapless, take legal steps only, and fold to what is shown',
  ofTask: ({ task, approvals, effects, works, recovery }) => {
    const notes = takeNotes();
    if (task !== undefined) folds(task, notes);
    for (const aggregate of [task, recovery, ...approvals, ...effects, ...works])
      if (aggregate !== undefined) gapless(aggregate, notes);
    return notes.finding();
  },
  ofProgram: ({ program, questions }) => {
    const notes = takeNotes();
    if (program !== undefined) foldsProgram(program, notes);
    for (const aggregate of [program, ...questions]) if (aggregate !== undefined) gapless(aggregate, notes);
    return notes.finding();
  },
};
