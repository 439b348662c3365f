import { type Core, createCore, type ServiceLogic, snapshotEvery } from '@holdpoint/runtime/engine/core';
import type { Answer } from '@holdpoint/runtime/decider';
import type { Seals } from '@holdpoint/runtime/engine/seals';
import type { Delivery } from '@holdpoint/runtime/engine/intake';
import type { Store } from '@holdpoint/runtime/engine/ports';
import type { EngineObserver } from '@holdpoint/runtime/engine/observer';
import {
  createDeadLetterActions,
  type DeadLetterResolver,
  type WantedResolution,
} from '@holdpoint/runtime/bus/dead-letter-actions';
import { toErrorBody } from '@holdpoint/contracts/values/errors';
import { watchAcknowledgements } from '../invariants/acknowledgements.ts';
import { watchRetries } from '../invariants/dead-letters.ts';
import { POISONED, withPoison } from '../faults/poison.ts';
import type { DeadLetterReply } from '../users/dead-letter-operators.ts';
import type { Addressed } from '@holdpoint/runtime/engine/kinds';
import { createLife, type Life } from '../process-life.ts';
import { mapKinds } from './kinds.ts';
import type { World } from '../world.ts';

/** The answer of the API, if one arrives. */
export type Reply = { readonly answer: Answer | undefined } | 'failed' | 'unavailable';

/** One replica of a service: a process that may die, freeze and restart. */
export type Node<To extends Addressed> = {
  readonly name: string;
  readonly isUp: () => boolean;
  /** Calls the service's API. A lost answer calls nothing. */
  readonly call: (to: To, onReply: (reply: Reply) => void) => void;
  /** Calls the service's endpoint for dead letters. */
  readonly settle: (letter: WantedResolution, onReply: (reply: DeadLetterReply) => void) => void;
  readonly tick: () => void;
  readonly sweep: () => void;
  readonly crash: () => void;
  readonly freeze: (ms: number) => void;
};

/** What a planted bug changes between a service and its environment. */
export type Tampering = {
  readonly store?: (store: Store, world: World, life: Life) => Store;
  readonly settle?: (settle: DeadLetterResolver) => DeadLetterResolver;
  readonly seals?: (seals: Seals) => Seals;
  readonly take?: (take: (delivery: Delivery) => void) => (delivery: Delivery) => void;
};

/** Builds the service for one life of the process. */
export type LogicFor<To extends Addressed, Event extends { readonly type: string }, Work> = (
  life: Life,
  crash: () => void,
  accept: (to: To) => void,
) => ServiceLogic<To, Event, Work>;

const RESTARTS_AFTER_MS = [50, 4_000] as const;
const OUTBOX_STALE_MS = 5_000;
const SNAPSHOT_EVERY = 6;
/** No task works without its definition, so each load has to find the shared content. */
const SHARED = ['definition', 'gate'];
const BATCH_MAX = 20;
const CACHE_MAX = 12;

const silent: EngineObserver = {
  committed: () => undefined,
  batchFailed: () => undefined,
  timerFailed: () => undefined,
  publishUnconfirmed: () => undefined,
  callbackFailed: () => undefined,
};

export const startNode = <To extends Addressed, Event extends { readonly type: string }, Work>(
  world: World,
  name: string,
  logicFor: LogicFor<To, Event, Work>,
  tampering: Tampering = {},
): Node<To> => {
  const { timeline, choices, weather, databases, bus, checker, trace } = world;
  let life = createLife(name, timeline);
  let core: Core<To>;
  let settle: DeadLetterResolver;

  const problem = (what: string, error: unknown): void => {
    checker.expect(what, false, '', () =>
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
  };
  const observer: EngineObserver = {
    ...silent,
    timerFailed: (_aggregate, _timer, error) => problem('no decider throws', error),
    callbackFailed: (error) => problem('no callback throws', error),
  };
  const log = {
    warn: () => undefined,
    error: (fields: object, message: string) => {
      // Unreadable messages come from the adversary and are expected.
      if (message === 'message could not be handled' && !('reason' in fields && fields.reason === POISONED))
        problem('no decider throws', JSON.stringify(fields));
      trace.note(name, '', () => `logs: ${message} ${JSON.stringify(fields).slice(0, 300)}`);
    },
  };

  const crash = (): void => {
    if (!life.isAlive()) return;
    trace.note(name, '', () => 'dies');
    life.end();
    timeline.in(choices.between(`restart ${name}`, ...RESTARTS_AFTER_MS), start);
  };

  const start = (): void => {
    const born = createLife(name, timeline);
    life = born;
    trace.note(name, '', () => 'starts');
    const accept = (to: To): void =>
      born.enter(() =>
        core.engine.accept(to, {
          committed: () => undefined,
          failed: () => undefined,
          unavailable: () => undefined,
        }),
      );
    const plain = logicFor(born, crash, accept);
    const { logic: checked, take: watched } = watchAcknowledgements(world, plain);
    const logic = withPoison(world, checked);
    const { service } = logic;
    const connected = databases[service].connect(born, crash);
    const seals = tampering.seals?.(world.seals.of(service)) ?? world.seals.of(service);
    core = createCore(
      {
        ...logic,
        kinds: mapKinds(logic.kinds, (kind) => ({
          ...kind,
          snapshotDue: snapshotEvery(SNAPSHOT_EVERY),
          sharedFields: SHARED,
        })),
      },
      {
        store: tampering.store?.(connected, world, born) ?? connected,
        publisher: bus.publisher(born, crash),
        clock: born.clock,
        seals,
        log,
        observer,
        batchMax: BATCH_MAX,
        cacheMax: CACHE_MAX,
      },
      () => logic,
    );
    const settling = createDeadLetterActions({
      service,
      ...watchRetries(world, plain, core.engine, connected.deadLetters),
      inbound: logic.inbound,
      now: databases[service].now,
      checkSeal: seals.check,
    });
    settle = tampering.settle?.(settling) ?? settling;
    for (const { inbound, take } of core.intakes) {
      bus.read(inbound.consumer, { life: born, take: watched(tampering.take?.(take) ?? take) });
    }
  };
  start();

  return {
    name,
    isUp: () => life.isAlive() && !life.isFrozen(),
    call: (to, onReply) => {
      const { engine } = core;
      const { aggregate } = to;
      const tell = (what: Reply): void => {
        if (!weather.strikes('caller does not hear the answer', `${name} ${aggregate}`))
          timeline.in(weather.latency(`${name} answers ${aggregate}`), () => onReply(what));
      };
      life.enter(() =>
        engine.accept(to, {
          committed: (answer) => tell({ answer }),
          failed: () => tell('failed'),
          unavailable: () => tell('unavailable'),
        }),
      );
    },
    settle: (letter, onReply) => {
      const tell = (what: DeadLetterReply): void => {
        if (!weather.strikes('caller does not hear the answer', `${name} ${letter.id}`))
          timeline.in(weather.latency(`${name} answers on ${letter.id}`), () => onReply(what));
      };
      life.enter(() => {
        settle(letter).then(tell, (error: unknown) => tell({ refused: toErrorBody(error).code }));
      });
    },
    tick: () => life.enter(() => core.engine.tick()),
    sweep: () =>
      life.enter(() => {
        // The next sweep repeats what the store refuses now.
        core.engine.sweep(OUTBOX_STALE_MS).catch(() => undefined);
      }),
    crash,
    freeze: (ms) => life.freeze(ms),
  };
};
