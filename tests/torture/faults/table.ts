import { changeForm, nextRelease } from './change-form.ts';
import { clockJump } from './clock.ts';
import { natsDiskFull, postgresDiskFull } from './disk-full.ts';
import { duplicates } from './duplicates.ts';
import type { Fault } from './fault.ts';
import { forgedSeals } from './forged-seals.ts';
import { impostor } from './impostor.ts';
import { killService, killStorm } from './kill-service.ts';
import { malformed } from './malformed.ts';
import { natsPause, natsPowerCut, natsRestart, natsWipe } from './nats-server.ts';
import { delay, lostAnswer, partition, refuse } from './network.ts';
import { pauseConsumer, pauseService } from './pause-service.ts';
import { postgresRestart, terminateSessions } from './postgres-server.ts';
import { rollingUpgrade } from './rolling-upgrade.ts';
import { leaseSetBack } from './lease.ts';
import { slowWatcher } from './slow-watcher.ts';
import { stopService } from './stop-service.ts';
import { tokenScopes } from './token-scopes.ts';
import { workerFrozen, workerKilled } from './worker.ts';

/** Every fault. A new fault is a file in this folder and a row here. */
export const FAULTS: readonly Fault[] = [
  killService,
  killStorm,
  stopService,
  pauseService,
  natsRestart,
  natsWipe,
  natsPowerCut,
  natsPause,
  postgresRestart,
  terminateSessions,
  leaseSetBack,
  delay,
  partition,
  refuse,
  lostAnswer,
  natsDiskFull,
  postgresDiskFull,
  pauseConsumer,
  slowWatcher,
  duplicates,
  malformed,
  impostor,
  forgedSeals,
  tokenScopes,
  rollingUpgrade,
  changeForm,
  nextRelease,
  clockJump,
  workerKilled,
  workerFrozen,
];
