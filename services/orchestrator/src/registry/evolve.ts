import type { BoardEvent } from '@holdpoint/contracts/task/registry';
import { inserted } from './locks.ts';
import { withReport } from './reports.ts';
import { type Board, type BoardState, emptyBoard, jobIn, without } from './state.ts';

const fold = (board: Board, event: BoardEvent): Board => {
  switch (event.type) {
    case 'lock_queued': {
      const { locks, since } = event;
      const waiting = inserted(without(board.waiting, event), { ...jobIn(event), locks, since });
      return { ...board, waiting };
    }
    case 'lock_acquired': {
      const held = [...without(board.held, event), { ...jobIn(event), locks: event.locks }];
      return { ...board, held, waiting: without(board.waiting, event) };
    }
    case 'lock_released':
      return { ...board, held: without(board.held, event), waiting: without(board.waiting, event) };
    case 'artifacts_reported':
      return withReport(board, event);
    case 'artifact_watch_added': {
      const { labels, until } = event;
      return {
        ...board,
        watches: [...without(board.watches, event), { ...jobIn(event), labels, until }],
      };
    }
    case 'artifact_watch_removed':
      return { ...board, watches: without(board.watches, event) };
  }
};

/** A board is there from the first thing that is put on it. */
export const evolve = (state: BoardState, event: BoardEvent): BoardState => {
  const board = state.phase === 'absent' ? emptyBoard(event.id) : state;
  return { ...fold(board, event), version: board.version + 1 };
};
