import { ENDPOINT_SCOPES } from '@holdpoint/contracts/catalog/scopes';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { circuitIdOf, jobOf } from '@holdpoint/contracts/values/ids';
import type { OwnEndpoints } from '@holdpoint/runtime/bus/api';
import { requirePerson, type VerifyIdentity } from '@holdpoint/runtime/service/identity';
import { readState } from '@holdpoint/runtime/store/read';
import type { Pool } from 'pg';
import { classify } from './classification/classify.ts';
import { fingerprintOf } from './classification/fingerprint.ts';
import { attemptView, reportedJob, stuckJobs } from './attempts/history.ts';
import { attemptsDecider } from './attempts/decide.ts';
import type { RecoveryMessage } from './bindings.ts';
import { listCircuits } from './queries/circuits.ts';
import { countClasses } from './queries/classes.ts';
import { listStuck } from './queries/stuck.ts';

/** The error code that output without an error is classified with. */
const UNSAID = { code: 'NODE_FAILED', message: '' };

export const endpoints = (
  pool: Pool,
  verifyIdentity: VerifyIdentity,
): OwnEndpoints<'recovery', RecoveryMessage> => ({
  history: {
    query: async ({ task, node }) => {
      const state = await readState(pool, attemptsDecider, task);
      const isMeant = (each: { readonly node: string }): boolean => node === undefined || each.node === node;
      return {
        items: state.attempts.filter(isMeant).map(attemptView),
        stuck: stuckJobs(state).filter(isMeant),
      };
    },
  },
  stuck: { query: (page) => listStuck(pool, page) },
  report: {
    query: async ({ task, node }) => {
      const state = await readState(pool, attemptsDecider, task);
      const found = reportedJob(state, node);
      if (found === undefined)
        throw new HoldpointError('RECOVERY_UNKNOWN', `no report: ${jobOf(task, node)} was never stuck`);
      return found;
    },
  },
  classify: {
    query: ({ error = UNSAID, ...about }) => {
      const failure = { ...about, error, outcome: 'failed' } as const;
      return Promise.resolve({ ...classify(failure), fingerprint: fingerprintOf(failure) });
    },
  },
  failure_counts: { query: (query) => countClasses(pool, query) },
  circuits: { query: (page) => listCircuits(pool, page) },
  circuit: {
    command: (payload, { header }) => {
      const { sub: by } = requirePerson(verifyIdentity, header, ENDPOINT_SCOPES.recovery.circuit, Date.now());
      return {
        kind: 'circuit',
        aggregate: circuitIdOf(payload.target),
        message: { kind: 'set_circuit', payload, by },
      };
    },
  },
});
