import type { BoardEvent } from '@holdpoint/contracts/task/registry';
import { inserted } from './locks.ts';
import { withReport } from './reports.ts';
import { type Board, type BoardState, emptyBoard, jobIn, without } from './state.ts';

const fold = (board: Board, event: BoardEvent): Board => {
  switch (event.type) {
    case 'board_queued': {
      const { locks, since } = event;
      const waiting = inserted(without(board.waiting, event), { ...jobIn(event), locks, since });
      return { ...board, waiting };
    }
    case 'board_locked': {
      const held = [...without(board.held, event), { ...jobIn(event), locks: event.locks }];
      return { ...board, held, waiting: without(board.waiting, event) };
    }
    case 'board_unlocked':
      return { ...board, held: without(board.held, event), waiting: without(board.waiting, event) };
    case 'board_reported':
      return withReport(board, event);
    case 'board_watched': {
      const { labels, until } = event;
      return {
        ...board,
        watches: [...without(board.watches, event), { ...jobIn(event), labels, until }],
      };
    }
    case 'board_unwatched':
      return { ...board, watches: without(board.watches, event) };
  }
};

/** A board is there from the first thing that is put on it. */
export const evolve = (state: BoardState, event: BoardEvent): BoardState => {
  const board = state.phase === 'absent' ? emptyBoard(event.id) : state;
  return { ...fold(board, event), version: board.version + 1 };
};
