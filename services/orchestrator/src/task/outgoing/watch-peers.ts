import { PEERS_TIMER, watchPeer } from './outgoing.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';

/** Watches the jobs of other tasks that the entries wait for. */
export const watchPeers = (builder: DecisionBuilder, resends = 0): void => {
  const open = Object.entries(builder.task().peers).filter(([, outcome]) => outcome === null);
  for (const [peer] of open) builder.send(watchPeer(builder.task(), peer, resends));
  if (open.length > 0) builder.resendTimer(PEERS_TIMER, resends);
};
