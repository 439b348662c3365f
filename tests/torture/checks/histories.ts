import { TaskEvent } from '@holdpoint/contracts/task/events';
import { ProgramEvent } from '@holdpoint/contracts/program/events';
import { absent, type TaskState } from '@holdpoint/orchestrator/task/model/state';
import { evolve } from '@holdpoint/orchestrator/task/evolve/evolve';
import { programDecider } from '@holdpoint/programs/decide';
import type { ProgramTaskEvent } from '@holdpoint/programs/state';
import type { StoredAggregate } from '../evidence/evidence.ts';
import { type Check, type Notes, takeNotes } from './check.ts';
import { replayProgram, replayTask, together } from './replay.ts';

const headMatches = ({ id, head, events }: StoredAggregate, { expect }: Notes): void => {
  expect(events.length > 0, () => `${id} has a head and no event`);
  expect(
    head?.version === events.length,
    () => `the head of ${id} is at ${String(head?.version)}, its events end at ${String(events.length)}`,
  );
};

/** Folds the history to the status that lists show. */
const folds = ({ id, head, events }: StoredAggregate, { expect }: Notes): void => {
  let state: TaskState = absent;
  for (const { version, data } of events) {
    const parsed = TaskEvent.safeParse(data);
    expect(parsed.success, () => `event ${String(version)} of ${id} is none`);
    if (!parsed.success) return;
    if (state.phase === 'absent' && parsed.data.type !== 'submitted') return;
    state = evolve(state, parsed.data);
  }
  expect(
    head?.status === state.phase,
    () => `${id} is ${state.phase} by its events, and ${String(head?.status)} in lists`,
  );
};

const foldsProgram = ({ id, head, events }: StoredAggregate, { expect }: Notes): void => {
  let state = programDecider.initial;
  for (const { version, data } of events) {
    const parsed = ProgramEvent.or(TaskEvent).safeParse(data);
    expect(parsed.success, () => `event ${String(version)} of ${id} is none`);
    if (!parsed.success) return;
    if (state.phase === 'absent' && parsed.data.type !== 'program_submitted') return;
    state = programDecider.evolve(state, parsed.data as ProgramTaskEvent);
  }
  expect(
    head?.status === state.phase,
    () => `${id} is ${state.phase} by its events, and ${String(head?.status)} in lists`,
  );
};

export const histories: Check = {
  id: 'K1',
  promise: 'histories are gapless, take only allowed transitions, and lead to the state that lists show',
  ofTask: (evidence) => {
    const { task, approvals, effects, works, recovery } = evidence;
    const notes = takeNotes();
    if (task !== undefined) folds(task, notes);
    for (const aggregate of [task, recovery, ...approvals, ...effects, ...works])
      if (aggregate !== undefined) headMatches(aggregate, notes);
    return together(replayTask('K1', evidence), notes.finding());
  },
  ofProgram: (evidence) => {
    const { program, questions } = evidence;
    const notes = takeNotes();
    if (program !== undefined) foldsProgram(program, notes);
    for (const aggregate of [program, ...questions])
      if (aggregate !== undefined) headMatches(aggregate, notes);
    return together(replayProgram('K1', evidence), notes.finding());
  },
};
