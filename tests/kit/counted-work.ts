import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { api } from '@holdpoint/contracts/catalog/api';
import { commands } from '@holdpoint/contracts/catalog/commands';
import { events } from '@holdpoint/contracts/catalog/events';
import pg from 'pg';
import type { z } from 'zod';

/** What the services in this process have done since the start. */
export type Work = {
  readonly commits: number;
  readonly statements: number;
  readonly signatures: number;
  readonly verifications: number;
  readonly validations: number;
};

/** The statements of a transaction that decides. Others are periodic, read for a caller, or load a history on a new connection. */
const OF_A_BATCH =
  /^hp_((orchestrator|approvals|recovery)_)?(lock|share|compare|write_[a-z]+|pass|dead_letters)$/;
const COMMIT = 'COMMIT';

type Query = (this: pg.Client, ...args: unknown[]) => unknown;

const nameOf = (statement: unknown): string =>
  typeof statement === 'object' && statement !== null && 'name' in statement ? String(statement.name) : '';

/** The schemas of messages, and of the requests that move a task on. Others are asked for beside the tasks. */
const schemas = (): readonly z.ZodType[] => [
  ...Object.values(commands).flatMap((each) => Object.values<z.ZodType>(each)),
  ...Object.values(events),
  api.orchestrator.submit.request,
  api.approvals.decide.request,
];

/** Counts the work of the services that run in this process, until `stop`. */
export const countWork = (): { readonly soFar: () => Work; readonly stop: () => void } => {
  const count = { commits: 0, statements: 0, signatures: 0, verifications: 0, validations: 0 };
  const undo: (() => void)[] = [];
  const replace = <Owner extends object, Name extends keyof Owner>(
    owner: Owner,
    name: Name,
    by: (original: Owner[Name]) => Owner[Name],
  ): void => {
    const original = owner[name];
    owner[name] = by(original);
    undo.push(() => (owner[name] = original));
  };
  const counted = <Act extends (...args: never[]) => unknown>(act: Act, counts: () => void): Act =>
    ((...args: Parameters<Act>) => {
      counts();
      return act(...args);
    }) as unknown as Act;

  replace(
    pg.Client.prototype as unknown as { query: Query },
    'query',
    (query) =>
      function (this: pg.Client, ...args) {
        const name = nameOf(args[0]);
        if (OF_A_BATCH.test(name)) count.statements += 1;
        if (args[0] === COMMIT) count.commits += 1;
        return query.apply(this, args);
      },
  );
  replace(crypto, 'sign', (sign) => counted(sign, () => (count.signatures += 1)));
  replace(crypto, 'verify', (verify) => counted(verify, () => (count.verifications += 1)));
  syncBuiltinESMExports();
  // A request may be the schema of a command.
  for (const schema of new Set(schemas()))
    replace(schema, 'safeParse', (safeParse) => counted(safeParse, () => (count.validations += 1)));

  return {
    soFar: () => ({ ...count }),
    stop: () => {
      for (const step of undo) step();
      syncBuiltinESMExports();
    },
  };
};
