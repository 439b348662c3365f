import type { Surface } from '@holdpoint/contracts/approval/status';
import type { Member } from '@holdpoint/contracts/workflow/audience';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Pool } from 'pg';
import type { ApprovalTokens } from '../adapters/approval-token.ts';
import type { PolicySource } from '../adapters/policy-file.ts';
import type { Keyring } from '../adapters/keyring.ts';
import type { RunningIdentity } from '../adapters/identity/start-identity.ts';
import type { DecisionSubmitter } from '../submit-decision.ts';
import type { ServiceMessage } from '../aggregates.ts';
import type { ApprovalDecider } from '../approval/decide.ts';
import type { SourceOf } from './http/source.ts';
import type { CapabilityBook } from '../adapters/capability-registry.ts';
import type { Webhooks } from './webhook/webhooks.ts';

/** Dependencies of every surface. */
export type SurfaceDeps = {
  readonly pool: Pool;
  readonly engine: Pick<Engine<ServiceMessage>, 'accept'>;
  readonly decider: ApprovalDecider;
  readonly identity: RunningIdentity;
  readonly decisions: DecisionSubmitter;
  readonly tokens: ApprovalTokens;
  readonly keyring: Keyring;
  /** The secret by which executors enrol. */
  readonly joinSecret: () => string;
  /** Whether the built-in rule may decide. */
  readonly rollbackRule: boolean;
  /** The policy floor in force. */
  readonly policy: PolicySource;
  /** The people whose groups are known; undefined where an identity provider says more about them. */
  readonly people: () => readonly Member[] | undefined;
  readonly webhooks: Pick<Webhooks, 'assertAllowed'>;
  readonly capabilities: Pick<CapabilityBook, 'knowsOneOf'>;
  /** The address of the client of an HTTP request. */
  readonly sourceOf: SourceOf;
  readonly log: Logger;
};

/** The source of all callers on the bus: they have no address. */
export const BUS = 'bus';

/** The surface that a caller claims. It is recorded, and grants nothing. */
export const surfaceOf = (named: string | undefined, by: 'bus' | 'http'): Surface => {
  if (by === 'bus') return named === 'cli' ? 'cli' : 'api';
  return named === 'web' ? 'web' : 'http';
};
