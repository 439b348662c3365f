import type { ProgramTaskEvent } from '@holdpoint/programs/state';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { checkWaitingPrograms } from '../invariants/programs.ts';
import { checkWaiting } from '../invariants/waiting.ts';
import type { startPeople } from './approvers.ts';
import type { World } from '../world.ts';

/** Longer than anybody waits before he asks again, and than any approval lasts. */
const QUIET_MS = 12 * 60_000;
const LOOKS_MAX = 40;
const RESETS_MAX = 10;

/** What goes on for as long as a task waits for its repository. */
const isLooking = (event: TaskEvent | ProgramTaskEvent): boolean =>
  event.type === 'node_inspected' || (event.type === 'step_ordered' && event.step === 'inspect');

/**
 * Looks from time to time whether the tasks still get on. Once they do not, each of them has to have a reason to wait; those
 * that have one are cancelled, so that everything comes to its end.
 */
export const startCaretaker = (
  world: World,
  people: Pick<ReturnType<typeof startPeople>, 'tell' | 'reset'>,
  calmAt: number,
) => {
  const { timeline } = world;
  let happened = false;
  const look = (looks: number): void => {
    const quiet = !happened;
    happened = false;
    const programs = quiet ? checkWaitingPrograms(world) : [];
    const open = quiet ? checkWaiting(world) : [];
    for (const { id } of programs) people.tell(id, 'cancel');
    for (const { id, circuit } of open) {
      // Somebody closes what keeps it from starting, if that is what it waits for.
      if (circuit?.state === 'waiting' && looks < RESETS_MAX) people.reset(circuit.name);
      else people.tell(id, 'cancel');
    }
    if (looks < LOOKS_MAX && (!quiet || open.length + programs.length > 0))
      timeline.in(QUIET_MS, () => look(looks + 1));
  };
  timeline.in(calmAt + QUIET_MS, () => look(1));
  return {
    saw: (event: TaskEvent | ProgramTaskEvent): void => {
      happened ||= !isLooking(event);
    },
  };
};
