import type { RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { HeldEffect, HoldEffect } from '@holdpoint/contracts/effect/hold';
import type { EffectView } from '@holdpoint/contracts/effect/views';
import {
  heldEffectOf,
  heldOrder,
  heldOtherwise,
  heldSubmissionOf,
  isFinal,
  isHeldTask,
  unknownHeldEffect,
} from '@holdpoint/contracts/task/held-effect';
import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { heldTaskIdOf, TaskId } from '@holdpoint/contracts/values/ids';
import { canonicalJson } from '@holdpoint/contracts/values/json';
import type { NatsConnection } from '@nats-io/transport-node';
import { askOver } from '../bus/ask-service.ts';
import { askAs } from '../client/create-client.ts';
import type { RemoteConnection } from './connection.ts';

export type NatsOptions = {
  /** The user `worker` may claim; `operator` may hold and register too. The caller closes it. */
  readonly connection: NatsConnection;
  readonly token: string;
};

const ANSWER_MS = 5_000;
const LOOK_AGAIN_MS = 1_000;

/** The inputs of the submission, from the first event of the task. */
const inputsIn = (first: unknown): Pick<HoldEffect, 'capability' | 'key' | 'args'> | undefined => {
  const { data } = (first ?? {}) as { readonly data?: { readonly inputs?: HoldEffect } };
  return data?.inputs;
};

/** Effects of one's own over NATS. */
export const remoteOverNats = ({ connection, token }: NatsOptions): RemoteConnection => {
  const headers = { authorization: `Bearer ${token}` };
  const ask = askAs(askOver(connection), token);

  const ledgerOf = async (effect: EffectView['id'] | undefined): Promise<EffectView | undefined> => {
    if (effect === undefined) return undefined;
    try {
      return await ask('executor', 'get', { id: effect });
    } catch (error) {
      // The order has not arrived yet.
      if (hasCode(error, 'EXECUTOR_UNKNOWN_EFFECT')) return undefined;
      throw error;
    }
  };

  const find = async (given: string): Promise<{ held: HeldEffect; args: HoldEffect['args'] }> => {
    const id = TaskId.parse(given);
    const [task, { events }] = await Promise.all([
      ask('orchestrator', 'get', { id }),
      ask('orchestrator', 'history', { id, limit: 1 }),
    ]);
    const inputs = inputsIn(events[0]);
    if (inputs === undefined || !isHeldTask(task)) throw unknownHeldEffect(id);
    const { capability, key, args } = inputs;
    const ledger = await ledgerOf(heldOrder(task));
    return { held: heldEffectOf({ capability, key, task, ledger }), args };
  };

  const capability = async (name: string): Promise<RegisteredCapability | undefined> => {
    const { items } = await ask('approvals', 'capability_list', { name }, { headers });
    return items.find((each) => each.name === name);
  };

  const earlier = async (wanted: HoldEffect): Promise<HeldEffect | undefined> => {
    try {
      const { held, args } = await find(heldTaskIdOf(wanted.capability, wanted.key));
      if (canonicalJson(args) === canonicalJson(wanted.args)) return held;
    } catch (error) {
      if (hasCode(error, 'ORCHESTRATOR_UNKNOWN_TASK')) return undefined;
      throw error;
    }
    throw heldOtherwise(wanted.capability);
  };

  const submit = async (wanted: HoldEffect): Promise<HeldEffect> => {
    const definition = await capability(wanted.capability);
    if (definition === undefined)
      throw new HoldpointError(
        'APPROVALS_UNKNOWN_CAPABILITY',
        `${wanted.capability} is not registered: register it first`,
      );
    const submission = heldSubmissionOf(wanted, definition);
    await ask('orchestrator', 'submit', submission);
    return (await find(submission.id)).held;
  };

  return {
    claim: (claim) => ask('executor', 'claim', claim, { timeoutMs: (claim.waitMs ?? 0) + ANSWER_MS }),
    beat: (beat) => ask('executor', 'beat', beat),
    end: (end) => ask('executor', 'end', end),
    hold: async (wanted) => (await earlier(wanted)) ?? submit(wanted),
    held: async (id, { waitMs = 0, not } = {}) => {
      let wake = (): void => undefined;
      const heard = connection.subscribe(filters.eventsAbout('task', id), { callback: () => wake() });
      const until = performance.now() + waitMs;
      try {
        for (;;) {
          const changed = new Promise<void>((resolve) => (wake = resolve));
          const { held } = await find(id);
          const left = until - performance.now();
          if (isFinal(held.state) || (not !== undefined && held.state !== not) || left <= 0) return held;
          const again = setTimeout(() => wake(), Math.min(left, LOOK_AGAIN_MS));
          await changed;
          clearTimeout(again);
        }
      } finally {
        heard.unsubscribe();
      }
    },
    cancel: async (id, reason = 'withdrawn by its requester') => {
      const { held } = await find(id);
      if (isFinal(held.state)) return held;
      await ask('orchestrator', 'cancel', { id: TaskId.parse(id), reason });
      return (await find(id)).held;
    },
    capability,
    register: (definition) => ask('approvals', 'capability_register', definition, { headers }),
    keys: () => ask('approvals', 'keys', {}, { headers }),
  };
};
