import { isEndPhase } from '@holdpoint/contracts/task/status';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { programIn, taskIn, tasksIn } from '../../event-states.ts';
import type { World } from '../../world.ts';
import { checkQuietBoards } from './registries.ts';
import { checkStuckList } from './moving.ts';
import { checkProgramsEnded } from './programs.ts';
import { checkNotices } from '../surfaces.ts';

/** Once no fault strikes and every user responds, everything ends. */
export const checkEnding = (
  world: World,
  submitted: readonly string[],
  accepted: ReadonlySet<string>,
): void => {
  const { checker, books, databases, bus } = world;
  checkQuietBoards(world);
  checkStuckList(world);
  checkProgramsEnded(world);
  for (const { id, phase } of tasksIn(books))
    checker.expect('every accepted task ends', isEndPhase(phase), id, () => `${id} is ${phase}`);
  for (const id of submitted) {
    checker.expect(
      'every submission is finally accepted',
      accepted.has(id),
      id,
      () => 'it was never accepted',
    );
    const task = taskIn(books, id) ?? programIn(books, id);
    checker.expect('every accepted task ends', task !== undefined && isEndPhase(task.phase), id, () =>
      JSON.stringify(task),
    );
  }
  for (const [id, state] of books.approvals.states)
    checker.expect('every approval ends', state.status !== 'pending', id, () => `${id} is ${state.status}`);
  checkNotices(world);
  for (const [id, state] of books.executor.states) {
    const settled =
      state.status !== 'started' &&
      state.status !== 'prepared' &&
      !(state.status === 'in_doubt' && state.next !== 'person');
    checker.expect('no effect stays in progress', settled, 'order' in state ? '' : id, () =>
      JSON.stringify(state),
    );
  }
  for (const service of SERVICES) {
    const { outbox, timers } = databases[service].tables;
    checker.expect(
      'the outbox is empty',
      outbox.size === 0,
      '',
      () => `${service}: ${[...outbox.keys()].join(' ')}`,
    );
    checker.expect(
      'no timer is left',
      timers.size === 0,
      '',
      () => `${service}: ${[...timers.keys()].join(' ')}`,
    );
  }
  checker.expect('no message is left', bus.waiting() === 0, '', () => String(bus.waiting()));
};
