import { RESEND_TIMING } from '@holdpoint/runtime/decider';
import type { ProgramTaskEvent } from '@holdpoint/programs/state';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { checkWaitingPrograms } from '../invariants/tasks/programs.ts';
import { checkWaiting } from '../invariants/tasks/waiting.ts';
import type { startPeople } from './approvers.ts';
import type { World } from '../world.ts';

/** Longer than the first resends, which follow a loss in the storm, and any approval timeout. */
const QUIET_MS = 12 * 60_000;
/** A core resends a question that it has decided only then. */
const QUIET_IN_CORE_MS = RESEND_TIMING.lastMs + 30 * 60_000;
const LOOKS_MAX = 40;
const RESETS_MAX = 10;

/** Events that recur while a task waits for its repository. */
const isLooking = (event: TaskEvent | ProgramTaskEvent): boolean =>
  event.type === 'node_inspected' || (event.type === 'step_ordered' && event.step === 'inspect');

/**
 * Checks from time to time whether tasks still progress. Once they do not, each open task must have a reason,
 * and is then cancelled.
 */
export const startCaretaker = (
  world: World,
  people: Pick<ReturnType<typeof startPeople>, 'tell' | 'reset'>,
  calmAt: number,
  hasCore: boolean,
) => {
  const { timeline } = world;
  const quietMs = hasCore ? QUIET_IN_CORE_MS : QUIET_MS;
  let happened = false;
  const look = (looks: number): void => {
    const quiet = !happened;
    happened = false;
    const programs = quiet ? checkWaitingPrograms(world) : [];
    const open = quiet ? checkWaiting(world) : [];
    for (const { id } of programs) people.tell(id, 'cancel');
    for (const { id, circuit } of open) {
      // Closes the workflow circuit that keeps the task from starting.
      if (circuit?.state === 'waiting' && looks < RESETS_MAX) people.reset(circuit.name);
      else people.tell(id, 'cancel');
    }
    if (looks < LOOKS_MAX && (!quiet || open.length + programs.length > 0))
      timeline.in(quietMs, () => look(looks + 1));
  };
  timeline.in(calmAt + quietMs, () => look(1));
  return {
    saw: (event: TaskEvent | ProgramTaskEvent): void => {
      happened ||= !isLooking(event);
    },
  };
};
