import { repeatTimer } from '@holdpoint/runtime/decider';
import { PEERS_TIMER, watchPeer } from './outgoing.ts';
import type { Draft } from '../model/decision-builder.ts';

/** Jobs of other tasks that the entries wait for: each is asked to tell how it ends. */
export const watchPeers = (draft: Draft, ask = 0): void => {
  const open = Object.entries(draft.task().peers).filter(([, outcome]) => outcome === null);
  for (const [peer] of open) draft.send(watchPeer(draft.task(), peer, ask));
  if (open.length > 0) draft.timer(repeatTimer(PEERS_TIMER, ask, draft.now));
};
