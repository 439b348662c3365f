import { repeatTimer } from '@holdpoint/runtime/decider';
import { PEERS_TIMER, watchPeer } from './outgoing.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';

/** Jobs of other tasks that the entries wait for: each is asked to tell how it ends. */
export const watchPeers = (builder: DecisionBuilder, ask = 0): void => {
  const open = Object.entries(builder.task().peers).filter(([, outcome]) => outcome === null);
  for (const [peer] of open) builder.send(watchPeer(builder.task(), peer, ask));
  if (open.length > 0) builder.timer(repeatTimer(PEERS_TIMER, ask, builder.now));
};
