import type { RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import { filters } from '@holdpoint/contracts/bus/subjects';
import { api } from '@holdpoint/contracts/catalog/api';
import {
  Callback,
  type CallbackView,
  type HeldAnswer,
  type HeldState,
  type HoldEffect,
} from '@holdpoint/contracts/effect/hold';
import { RemoteName } from '@holdpoint/contracts/effect/remote-name';
import { EffectView } from '@holdpoint/contracts/effect/views';
import {
  heldEffectOf,
  heldOrder,
  heldOtherwise,
  heldSubmissionOf,
  isFinal,
  isHeldTask,
  unknownHeldEffect,
} from '@holdpoint/contracts/task/held-effect';
import { TaskView } from '@holdpoint/contracts/task/views';
import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { heldTaskIdOf, type TaskId } from '@holdpoint/contracts/values/ids';
import { canonicalJson, JsonObject } from '@holdpoint/contracts/values/json';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { Caller } from '@holdpoint/runtime/bus/api';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import { z } from 'zod';
import type { Principal } from '../../../approval/state.ts';
import { argumentProblems } from '../../../capability/arguments.ts';
import type { Forward } from '../forward.ts';

/** The part of a held effect's submission that identifies it, and its callback. */
const Held = z.object({
  capability: RemoteName,
  key: z.string(),
  args: JsonObject,
  callback: Callback.optional(),
});
type Held = z.infer<typeof Held>;

const FirstEvent = z.object({ data: z.object({ type: z.literal('submitted'), inputs: Held }) });

/** Submissions never change, so they are read once. */
const REMEMBERED = 10_000;
/** The ledger announces no start to this service, so a waiting request looks again. */
const LOOK_AGAIN_MS = 1_000;

export type EffectsParts = {
  readonly forward: Forward;
  readonly listener: Pick<Listener, 'wake'>;
  /** Throws `APPROVALS_CALLBACK_NOT_ALLOWED`. */
  readonly assertCallback: (url: string) => void;
  /** Throws `APPROVALS_UNKNOWN_CAPABILITY`. */
  readonly capability: (name: string) => Promise<RegisteredCapability>;
  /** The callbacks up to this version of a task, oldest first. */
  readonly callbacks: (task: Pick<TaskView, 'id' | 'version'>) => Promise<readonly CallbackView[]>;
};

/** Who asks. */
export type Asker = { readonly person: Principal; readonly caller: Caller };

/** Effects without a workflow of their own: each is a task with one node. */
export const createEffects = ({ forward, listener, assertCallback, capability, callbacks }: EffectsParts) => {
  const submissions = new Map<TaskId, Held>();

  const ask = <Answer extends z.ZodType>(
    { person, caller }: Asker,
    service: 'orchestrator' | 'executor',
    endpoint: string,
    body: object,
    schema: Answer,
  ): Promise<z.output<Answer>> =>
    forward({ service, endpoint, body, person, caller }).then((answer) => parseAs(schema, answer));

  const heldBy = async (asker: Asker, id: TaskId): Promise<Held> => {
    const known = submissions.get(id);
    if (known !== undefined) return known;
    const { events } = await ask(
      asker,
      'orchestrator',
      'history',
      { id, limit: 1 },
      api.orchestrator.history.response,
    );
    const first = FirstEvent.safeParse(events[0]);
    if (!first.success) throw unknownHeldEffect(id);
    const held = first.data.data.inputs;
    if (submissions.size >= REMEMBERED) submissions.delete(submissions.keys().next().value as TaskId);
    submissions.set(id, held);
    return held;
  };

  const ledgerOf = async (asker: Asker, task: TaskView): Promise<EffectView | undefined> => {
    const effect = heldOrder(task);
    if (effect === undefined) return undefined;
    try {
      return await ask(asker, 'executor', 'get', { id: effect }, EffectView);
    } catch (error) {
      // The order has not arrived yet.
      if (hasCode(error, 'EXECUTOR_UNKNOWN_EFFECT')) return undefined;
      throw error;
    }
  };

  const find = async (asker: Asker, id: TaskId): Promise<HeldAnswer> => {
    const task = await ask(asker, 'orchestrator', 'get', { id }, TaskView).catch((error: unknown) => {
      throw hasCode(error, 'ORCHESTRATOR_UNKNOWN_TASK') ? unknownHeldEffect(id) : error;
    });
    if (!isHeldTask(task)) throw unknownHeldEffect(id);
    const [held, ledger] = await Promise.all([heldBy(asker, id), ledgerOf(asker, task)]);
    const { capability: name, key, callback } = held;
    const effect = heldEffectOf({ capability: name, key, task, ledger });
    if (callback === undefined) return effect;
    return {
      ...effect,
      callback: { origin: new URL(callback.url).origin, items: [...(await callbacks(task))] },
    };
  };

  /** The effect of an earlier request with this key. Throws `ORCHESTRATOR_TASK_CONFLICT` for other arguments. */
  const findAgain = async (
    asker: Asker,
    { capability: name, key, args }: HoldEffect,
  ): Promise<HeldAnswer> => {
    const id = heldTaskIdOf(name, key);
    const earlier = await find(asker, id);
    const { args: heldArgs } = await heldBy(asker, id);
    if (canonicalJson(heldArgs) === canonicalJson(args)) return earlier;
    throw heldOtherwise(name);
  };

  const findEarlier = async (asker: Asker, wanted: HoldEffect): Promise<HeldAnswer | undefined> => {
    try {
      return await findAgain(asker, wanted);
    } catch (error) {
      if (hasCode(error, 'EXECUTOR_UNKNOWN_EFFECT')) return undefined;
      throw error;
    }
  };

  const submit = async (asker: Asker, wanted: HoldEffect): Promise<HeldAnswer> => {
    if (wanted.callback !== undefined) assertCallback(wanted.callback.url);
    const definition = await capability(wanted.capability);
    if (definition.status === 'withdrawn')
      throw new HoldpointError(
        'APPROVALS_CAPABILITY_WITHDRAWN',
        `${wanted.capability} was withdrawn: register it again first`,
      );
    const problems = argumentProblems(definition.input, wanted.args);
    if (problems.length > 0)
      throw new HoldpointError(
        'APPROVALS_ARGUMENTS_INVALID',
        `arguments of ${wanted.capability}: ${problems.join('; ')}`,
        { details: { problems: [...problems] } },
      );
    const submission = heldSubmissionOf(wanted, definition);
    await ask(asker, 'orchestrator', 'submit', submission, z.unknown());
    return find(asker, submission.id);
  };

  return {
    /** Whether the request made the effect, and the effect. */
    hold: async (asker: Asker, wanted: HoldEffect): Promise<{ isNew: boolean; effect: HeldAnswer }> => {
      const earlier = await findEarlier(asker, wanted);
      if (earlier !== undefined) return { isNew: false, effect: earlier };
      try {
        return { isNew: true, effect: await submit(asker, wanted) };
      } catch (error) {
        // Another request with the same key was faster.
        if (!hasCode(error, 'ORCHESTRATOR_TASK_CONFLICT')) throw error;
        return { isNew: false, effect: await findAgain(asker, wanted) };
      }
    },
    find,
    /** Waits until the effect has left the state `not`, or is final; at most until the signal. */
    wait: async (
      asker: Asker,
      id: TaskId,
      not: HeldState | undefined,
      over: AbortSignal,
    ): Promise<HeldAnswer> => {
      let wake: () => void = () => undefined;
      let changed = false;
      const onChange = (): void => {
        changed = true;
        wake();
      };
      const hearing = listener.wake([filters.eventsAbout('task', id)], onChange);
      const timer = setInterval(onChange, LOOK_AGAIN_MS);
      over.addEventListener('abort', onChange);
      try {
        for (;;) {
          changed = false;
          const effect = await find(asker, id);
          const isAwaited = not === undefined ? isFinal(effect.state) : effect.state !== not;
          if (isAwaited || isFinal(effect.state) || over.aborted) return effect;
          if (!changed)
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      } finally {
        clearInterval(timer);
        over.removeEventListener('abort', onChange);
        hearing.stop();
      }
    },
    cancel: async (asker: Asker, id: TaskId, reason: string | undefined): Promise<HeldAnswer> => {
      const effect = await find(asker, id);
      if (isFinal(effect.state)) return effect;
      const body = { id, ...(reason !== undefined && { reason }) };
      await ask(asker, 'orchestrator', 'cancel', body, z.unknown());
      return find(asker, id);
    },
  };
};
export type Effects = ReturnType<typeof createEffects>;
