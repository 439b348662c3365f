import { noteDecision } from '../outside/database.ts';
import { type Core, createCore, type ServiceLogic, snapshotEvery } from '@holdpoint/runtime/engine/core';
import { createHost, type Host } from '@holdpoint/runtime/host/host';
import type { Engine } from '@holdpoint/runtime/engine/engine';
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
import { createHandOn } from '@holdpoint/runtime/ownership/hand-on';
import { createSimulatedOwner, type SimulatedOwner } from './owner.ts';
import { createLife, type Life } from '../process-life.ts';
import { logicIn, type Release, sealsIn } from './releases.ts';
import { mapKinds } from './kinds.ts';
import type { World } from '../world.ts';

/** The answer of the API, if one arrives. */
export type Reply = { readonly answer: Answer | undefined } | 'failed' | 'unavailable';

/** One replica of a service: a process that may die, freeze and restart. */
export type Node<To extends Addressed> = {
  readonly name: string;
  readonly isUp: () => boolean;
  /** Whether it decides for its service. */
  readonly owns: () => boolean;
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
  /** What the store makes of the owner of a commit. */
  readonly passes?: (isOwner: boolean) => boolean;
  readonly take?: (take: (delivery: Delivery) => void) => (delivery: Delivery) => void;
  /** Runs before a message is decoded. What it throws, decoding throws. */
  readonly beforeDecode?: (subject: string, payload: unknown) => void;
};

/** Builds the service for one life of the process. */
export type LogicFor<To extends Addressed, Event extends { readonly type: string }, Work> = (
  life: Life,
  crash: () => void,
  engine: Pick<Engine<To>, 'accept'>,
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

/** A process of one or more services. It may die, freeze and restart. */
export type SimulatedProcess = {
  readonly name: string;
  readonly life: () => Life;
  readonly release: () => Release;
  /** From its next start on, it runs another release. */
  readonly install: (release: Release) => void;
  /** Builds a service at each start of the process. */
  readonly add: (build: (life: Life, host: Host) => void) => void;
  readonly start: () => void;
  readonly crash: () => void;
};

export const createProcess = ({ timeline, choices, trace }: World, name: string): SimulatedProcess => {
  let life = createLife(name, timeline);
  let release: Release = 'this';
  const builds: ((life: Life, host: Host) => void)[] = [];
  const start = (): void => {
    life = createLife(name, timeline);
    trace.note(name, '', () => 'starts');
    // As in `run-services.ts`: the transactions of a core overlap.
    const overlapMax = name.startsWith('core') ? 2 : 1;
    const host = createHost({ clock: life.clock, batchMax: BATCH_MAX, overlapMax });
    for (const build of builds) build(life, host);
  };
  return {
    name,
    life: () => life,
    release: () => release,
    install: (next) => {
      release = next;
    },
    add: (build) => void builds.push(build),
    start,
    crash: () => {
      if (!life.isAlive()) return;
      trace.note(name, '', () => 'dies');
      life.end();
      timeline.in(choices.between(`restart ${name}`, ...RESTARTS_AFTER_MS), start);
    },
  };
};

/** A service in a process, which starts it. */
export const addNode = <To extends Addressed, Event extends { readonly type: string }, Work>(
  world: World,
  { life: lifeNow, release: releaseNow, add, crash }: SimulatedProcess,
  name: string,
  logicFor: LogicFor<To, Event, Work>,
  tampering: Tampering = {},
): Node<To> => {
  const { timeline, weather, databases, bus, checker, trace } = world;
  let core: Core<To>;
  let settle: DeadLetterResolver;
  let owner: SimulatedOwner | undefined;
  let lives = 0;

  const problem = (what: string, error: unknown): void => {
    checker.expect(what, false, '', () =>
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
  };
  const observer: EngineObserver = {
    ...silent,
    decided: noteDecision,
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

  add((born, host) => {
    const entering: Pick<Engine<To>, 'accept'> = {
      accept: (routed, callbacks) => born.enter(() => core.engine.accept(routed, callbacks)),
    };
    const plain = logicFor(born, crash, entering);
    const { logic: checked, take: watched } = watchAcknowledgements(world, plain);
    const release = releaseNow();
    const { beforeDecode } = tampering;
    const poisoned = withPoison(world, logicIn(release, checked));
    const logic: typeof poisoned =
      beforeDecode === undefined
        ? poisoned
        : {
            ...poisoned,
            inbound: poisoned.inbound.map((each) => ({
              ...each,
              decode: (subject, payload, meta) => {
                beforeDecode(subject, payload);
                return each.decode(subject, payload, meta);
              },
            })),
          };
    const { service } = logic;
    lives += 1;
    const own =
      service === 'executor'
        ? undefined
        : createSimulatedOwner(
            world,
            service,
            born,
            `${name}/${String(lives)}`,
            () => connected.leases,
            () => core.engine.lookAnew(),
          );
    owner = own;
    const connected = databases[service].connect(
      born,
      crash,
      own && { owner: own.name, epoch: own.epoch, passes: tampering.passes ?? ((isOwner) => isOwner) },
    );
    const seals = sealsIn(release, tampering.seals?.(world.seals.of(service)) ?? world.seals.of(service));
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
        host,
        clock: born.clock,
        seals,
        ...(own && {
          isOwner: own.owns,
          onFenced: own.fenced,
          route: <Any extends Addressed>(decide: Engine<Any>['accept']) => {
            const handOn = createHandOn<Any>({
              service,
              bus: world.handOns.of(born),
              seals,
              isOwner: () => {
                own.look();
                return own.owns();
              },
              accept: decide,
              log,
              lookNow: () => Promise.resolve(own.look()),
              clock: born.clock,
            });
            handOn.serve();
            return handOn.accept;
          },
        }),
        log,
        observer,
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
      const taken = watched(tampering.take?.(take) ?? take);
      bus.read(inbound.consumer, {
        life: born,
        take: (delivery) => {
          own?.look();
          taken(delivery);
        },
        ...(own && { reads: own.owns, isNeeded: () => born.enter(own.look) }),
      });
    }
  });

  return {
    name,
    isUp: () => lifeNow().isAlive() && !lifeNow().isFrozen(),
    owns: () => owner?.owns() ?? true,
    call: (to, onReply) => {
      const { engine } = core;
      const { aggregate } = to;
      const tell = (what: Reply): void => {
        if (!weather.strikes('caller does not hear the answer', `${name} ${aggregate}`))
          timeline.in(weather.latency(`${name} answers ${aggregate}`), () => onReply(what));
      };
      lifeNow().enter(() =>
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
      lifeNow().enter(() => {
        settle(letter).then(tell, (error: unknown) => tell({ refused: toErrorBody(error).code }));
      });
    },
    tick: () =>
      lifeNow().enter(() => {
        owner?.look();
        if (owner?.owns() ?? true) core.engine.tick();
      }),
    sweep: () =>
      lifeNow().enter(() => {
        owner?.look();
        if (owner?.owns() === false) return;
        // The next sweep repeats what the store refuses now.
        core.engine.sweep(OUTBOX_STALE_MS).catch(() => undefined);
      }),
    crash,
    freeze: (ms) => lifeNow().freeze(ms),
  };
};
