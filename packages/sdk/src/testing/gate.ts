import type { CapabilityDefinition, RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import type { HeldEffect, HeldState, HoldEffect } from '@holdpoint/contracts/effect/hold';
import { isFinal } from '@holdpoint/contracts/task/held-effect';
import { type ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { heldTaskIdOf } from '@holdpoint/contracts/values/ids';
import { canonicalJson, type JsonObject } from '@holdpoint/contracts/values/json';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import { z } from 'zod';
import type { RemoteConnection } from '../remote/connection.ts';
import { createLedger, setState } from './gate-ledger.ts';
import { createOrders, type Row } from './gate-orders.ts';

export type TestGateOptions = {
  /** Decides each request; by default every one is approved. `wait` leaves it open for `decide`. */
  readonly decide?: (effect: HoldEffect, preview?: JsonObject) => 'approve' | 'reject' | 'wait';
  readonly clock?: Clock;
  readonly now?: () => number;
};

/** A gate and a ledger in memory, for tests of one's own effects. */
export type TestGate = {
  /** For `hold` and for `startClaimant`. */
  readonly connection: RemoteConnection;
  /** The decision of a person about an effect that waits for one. */
  readonly decide: (id: string, decision: 'approve' | 'reject', comment?: string) => void;
  /** The answer of a person about an effect in doubt. */
  readonly answer: (id: string, answer: 'applied' | 'not_applied' | 'retry') => void;
  /** Requests the compensation of an applied effect, as a held effect of its own. Returns its id. */
  readonly undo: (id: string) => string;
  /**
   * The claimant dies in its next start, of any effect or of the one with this key: `before` its function runs, or `after` it with
   * its end unrecorded. The claimant of the test then acts as the next process.
   */
  readonly kill: (at: 'before' | 'after', key?: string) => void;
  /** Resolves once the effect has this state. Rejects after ten seconds, or once it has another final state. */
  readonly until: (id: string, state: HeldState) => Promise<HeldEffect>;
  /** The preview that people see with the request. */
  readonly preview: (id: string) => JsonObject | undefined;
  readonly effects: () => readonly HeldEffect[];
};

const UNTIL_MS = 10_000;
const NOT_BEGUN: ReadonlySet<HeldState> = new Set(['requested', 'waiting', 'approved']);

const refuse = (code: ErrorCode, message: string): never => {
  throw new HoldpointError(code, message);
};

/** The schema of the arguments, as the registry reads it. */
const readSchema = ({ name, input }: CapabilityDefinition): z.ZodType => {
  try {
    return z.fromJSONSchema(input);
  } catch (cause) {
    const why = `the gate in memory cannot read the schema of ${name}`;
    throw new HoldpointError('APPROVALS_CAPABILITY_INVALID', why, { cause });
  }
};

/** Approvals, ledger and claims in memory: real grants, leases and signatures, without a server. */
export const createTestGate = (options: TestGateOptions = {}): TestGate => {
  const { decide = () => 'approve' as const, clock = systemClock, now = Date.now } = options;
  const orders = createOrders(now);
  const capabilities = new Map<string, RegisteredCapability>();
  const schemas = new Map<string, z.ZodType>();
  const rows = new Map<string, Row>();

  const settle = (row: Row, decision: 'approve' | 'reject', comment?: string): void => {
    const more = { by: 'tester', ...(comment !== undefined && { comment }) };
    if (decision === 'reject') return setState(row, 'rejected', more);
    const job = orders.effectOf(row);
    ledger.add(job);
    setState(row, 'approved', { ...more, effect: job.order.id });
  };

  const request = (row: Row): void => {
    setState(row, 'waiting');
    const decision = decide(row.wanted, row.preview);
    if (decision !== 'wait') settle(row, decision);
  };

  const ledger = createLedger(clock, (row, preview) => {
    row.preview = preview;
    request(row);
  });

  const rowOf = (id: string): Row =>
    rows.get(id) ?? refuse('EXECUTOR_UNKNOWN_EFFECT', `unknown effect ${id}`);
  const rowIn = (id: string, state: HeldState): Row => {
    const row = rowOf(id);
    if (row.held.state === state) return row;
    return refuse('APPROVALS_UNKNOWN', `the effect is ${row.held.state}, not ${state}`);
  };

  /** The same key is the same effect. */
  const add = (wanted: HoldEffect, about: Pick<Row, 'definition' | 'undoes'>): HeldEffect => {
    const { capability, key, args } = wanted;
    const id = heldTaskIdOf(capability, key);
    const known = rows.get(id);
    if (known !== undefined) {
      if (canonicalJson(known.wanted.args) === canonicalJson(args)) return known.held;
      return refuse('ORCHESTRATOR_TASK_CONFLICT', 'this key is held with other arguments: use another key');
    }
    const held: HeldEffect = { id, capability, key, state: 'requested' };
    const row: Row = { wanted, ...about, held, isCancelled: false };
    rows.set(id, row);
    if (about.definition.preview === true && about.undoes === undefined) ledger.add(orders.previewOf(row));
    else request(row);
    ledger.notify();
    return row.held;
  };

  const hold = (wanted: HoldEffect): HeldEffect => {
    const { capability, args } = wanted;
    const definition =
      capabilities.get(capability) ??
      refuse('APPROVALS_UNKNOWN_CAPABILITY', `${capability} is not registered`);
    const { error } = schemas.get(capability)?.safeParse(args) ?? {};
    if (error) refuse('APPROVALS_ARGUMENTS_INVALID', z.prettifyError(error));
    return add(wanted, { definition });
  };

  const register = (definition: CapabilityDefinition): RegisteredCapability => {
    schemas.set(definition.name, readSchema(definition));
    const made = {
      ...definition,
      status: 'registered' as const,
      registeredBy: 'tester',
      registeredAt: now(),
    };
    capabilities.set(definition.name, made);
    return made;
  };

  const cancel = (id: string): HeldEffect => {
    const row = rowOf(id);
    row.isCancelled = true;
    if (NOT_BEGUN.has(row.held.state)) {
      setState(row, 'cancelled');
      ledger.callOff(row);
      ledger.notify();
    }
    return row.held;
  };

  const held: RemoteConnection['held'] = async (id, { waitMs = 0, not } = {}) => {
    const row = rowOf(id);
    const isNews = ({ state }: HeldEffect): boolean => isFinal(state) || (not !== undefined && state !== not);
    await ledger.waitFor(() => (isNews(row.held) ? row.held : undefined), waitMs);
    return row.held;
  };

  /** Every request answers later, as over a network. */
  const later =
    <Asked extends readonly unknown[], Answer>(answer: (...asked: Asked) => Answer | Promise<Answer>) =>
    async (...asked: Asked): Promise<Answer> => {
      await Promise.resolve();
      return answer(...asked);
    };

  return {
    connection: {
      hold: later(hold),
      held: later(held),
      cancel: later(cancel),
      capability: later((name: string) => capabilities.get(name)),
      register: later(register),
      keys: later(() => orders.published),
      claim: later(ledger.claim),
      beat: later(ledger.beat),
      end: later(ledger.end),
    },
    decide: (id, decision, comment) => {
      settle(rowIn(id, 'waiting'), decision, comment);
      ledger.notify();
    },
    answer: (id, answer) => {
      const row = rowIn(id, 'in_doubt');
      const job = ledger.jobOf(row.held.effect ?? id);
      if (answer === 'retry') {
        job.statement = orders.retryOf(job);
        job.offer = 'run';
        setState(row, 'approved');
      } else {
        job.offer = undefined;
        const error = { code: 'EXECUTOR_NOT_APPLIED', message: 'a person found that it did not happen' };
        if (answer === 'applied') setState(row, 'applied', { outputs: {} });
        else setState(row, 'failed', { error });
      }
      ledger.notify();
    },
    undo: (id) => {
      const { wanted, definition, held: applied, undoes } = rowIn(id, 'applied');
      if (definition.compensate !== true || undoes !== undefined)
        refuse('APPROVALS_EFFECT_MISDESCRIBED', `${wanted.capability} has no compensation`);
      const { order } = ledger.jobOf(applied.effect ?? id);
      const args = { effect: order.id, args: order.effect.args, outputs: applied.outputs ?? {} };
      const undo = { capability: wanted.capability, key: `undo:${order.id}`, args };
      return add(undo, { definition, undoes: order.effect }).id;
    },
    kill: ledger.kill,
    until: async (id, state) => {
      const row = rowOf(id);
      const isOver = (): boolean => row.held.state === state || isFinal(row.held.state);
      await ledger.waitFor(() => (isOver() ? true : undefined), UNTIL_MS);
      return rowIn(id, state).held;
    },
    preview: (id) => rowOf(id).preview,
    effects: () => [...rows.values()].map((row) => row.held),
  };
};
