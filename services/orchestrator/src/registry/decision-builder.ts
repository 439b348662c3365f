import type { BoardEvent, Information, Job } from '@holdpoint/contracts/task/registry';
import type { RepositoryId } from '@holdpoint/contracts/values/ids';
import { type Decision, decision, type Outgoing, type TimerChange } from '@holdpoint/runtime/decider';
import { evolve } from './evolve.ts';
import { inform } from './notify.ts';
import { type Board, type BoardState, emptyBoard } from './state.ts';

/** An event before it is known of which board. */
export type BoardChange = BoardEvent extends infer E ? (E extends BoardEvent ? Omit<E, 'id'> : never) : never;

/** A decision in the making: each step sees the board that the steps before it led to. */
export type BoardDraft = {
  readonly now: number;
  readonly board: () => Board;
  readonly emit: (change: BoardChange) => void;
  readonly inform: (task: Job['task'], information: Information) => void;
  readonly timer: (change: TimerChange) => void;
  readonly done: () => Decision<BoardEvent>;
};

export const createBoardDraft = (state: BoardState, id: RepositoryId, now: number): BoardDraft => {
  let current = state;
  const events: BoardEvent[] = [];
  const send: Outgoing[] = [];
  const timers: TimerChange[] = [];
  const board = (): Board => (current.phase === 'absent' ? emptyBoard(id) : current);

  return {
    now,
    board,
    emit: (change) => {
      const event: BoardEvent = { ...change, id };
      events.push(event);
      current = evolve(current, event);
    },
    inform: (task, information) => void send.push(inform(board(), task, information, now)),
    timer: (change) => void timers.push(change),
    // Nobody waits for an answer to a call: whoever asked is informed by a message of its own.
    done: () => decision({ events, send, timers }),
  };
};
