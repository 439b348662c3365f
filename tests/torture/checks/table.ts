import { approvals } from './approvals.ts';
import { attacks } from './attacks.ts';
import { audit } from './audit.ts';
import type { Check } from './check.ts';
import { decisions } from './decisions.ts';
import { answered, applications, doubt, epochs, ledger } from './effects.ts';
import { gate } from './gate.ts';
import { graphs, locks, works } from './graphs.ts';
import { histories } from './histories.ts';
import { agents, deadLetters, pages } from './pages.ts';
import { messages } from './messages.ts';
import { fencing, programEffects, programEnds, recorded } from './programs.ts';
import { reads } from './reads.ts';
import { boundedFailures, rollbacks, stuckJobs, verdicts } from './recovery.ts';
import { bounds, processes, secrets } from './running.ts';
import { answers, outcomes, repeats, submissions } from './submissions.ts';

/** Every check of a run. A new check is a file in this folder and a row here. */
export const CHECKS: readonly Check[] = [
  histories,
  reads,
  applications,
  ledger,
  gate,
  approvals,
  doubt,
  answered,
  submissions,
  messages,
  epochs,
  secrets,
  bounds,
  outcomes,
  processes,
  repeats,
  answers,
  graphs,
  works,
  locks,
  audit,
  verdicts,
  stuckJobs,
  boundedFailures,
  rollbacks,
  programEffects,
  programEnds,
  fencing,
  recorded,
  pages,
  agents,
  deadLetters,
  attacks,
  decisions,
];
