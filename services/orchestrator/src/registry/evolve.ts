import type { RegistryEvent } from '@holdpoint/contracts/task/registry';
import { unknownEvent } from '@holdpoint/runtime/decider';
import { insertByAge } from './locks.ts';
import { withReport } from './reports.ts';
import { type Registry, type RegistryState, emptyRegistry, jobIn, withoutNode } from './state.ts';

const fold = (board: Registry, event: RegistryEvent): Registry => {
  switch (event.type) {
    case 'lock_queued': {
      const { locks, since } = event;
      const waiting = insertByAge(withoutNode(board.waiting, event), { ...jobIn(event), locks, since });
      return { ...board, waiting };
    }
    case 'lock_acquired': {
      const held = [...withoutNode(board.held, event), { ...jobIn(event), locks: event.locks }];
      return { ...board, held, waiting: withoutNode(board.waiting, event) };
    }
    case 'lock_released':
      return { ...board, held: withoutNode(board.held, event), waiting: withoutNode(board.waiting, event) };
    case 'artifacts_reported':
      return withReport(board, event);
    case 'artifact_watch_added': {
      const { labels, until } = event;
      return {
        ...board,
        watches: [...withoutNode(board.watches, event), { ...jobIn(event), labels, until }],
      };
    }
    case 'artifact_watch_removed':
      return { ...board, watches: withoutNode(board.watches, event) };
    default:
      return unknownEvent(event);
  }
};

/** The first event creates the registry. */
export const evolve = (state: RegistryState, event: RegistryEvent): RegistryState => {
  const board = state.phase === 'absent' ? emptyRegistry(event.id) : state;
  return { ...fold(board, event), version: board.version + 1 };
};
