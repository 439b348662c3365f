import type { ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import {
  type Beat,
  type BeatAnswer,
  type Claim,
  type ClaimAnswer,
  type ClaimedOrder,
  type EndAnswer,
  type EndClaim,
  isSignedByClaimant,
  REMOTE_OUTPUTS_MAX_BYTES,
  type RemoteHolder,
} from '@holdpoint/contracts/effect/remote';
import type { EffectView } from '@holdpoint/contracts/effect/views';
import { errorBody, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { EffectId } from '@holdpoint/contracts/values/ids';
import { awaitCommit } from '@holdpoint/runtime/engine/await-commit';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { EffectMessage, EffectWork, Slot } from '../../effect/decide.ts';
import type { JournalStart } from '../runner/execute.ts';
import type { ToEffect } from '../runner/runner.ts';
import { type Claiming, type Desk, deskFor, deskKeyOf, waitingOf } from './desk.ts';
import type { Hint } from './hints.ts';
import { createMatching, type WaitingOrder } from './matching.ts';
import { createSeen } from './seen.ts';

type Start = Extract<EffectWork, { kind: 'start' }>;
type Probe = Extract<EffectWork, { kind: 'probe' }>;
type AwaitSlot = Extract<EffectWork, { kind: 'await_slot' }>;

/** What a claim looks for in the ledger. */
export type ClaimQuery = {
  readonly claim: string;
  readonly uses: readonly string[];
  /** Waiting orders to return at most. */
  readonly limit: number;
};
export type FoundOrders = {
  /** Started under this claim. */
  readonly held: readonly EffectId[];
  /** Waiting, of these labels, the oldest first. */
  readonly offered: readonly EffectId[];
};

export type ClaimantsParts = {
  readonly self: Pick<Slot, 'worker' | 'journal'>;
  readonly clock: Clock;
  /** Epoch milliseconds, for people. */
  readonly now: () => number;
  readonly journalStart: JournalStart;
  readonly find: (query: ClaimQuery) => Promise<FoundOrders>;
  /** Effects that claimants have. */
  readonly claimed: () => Promise<readonly EffectView[]>;
  /** Tells the other executors. */
  readonly announce: (hint: Hint) => void;
  readonly mayLearnKeyOf?: (token: string) => boolean;
  readonly claimsMax?: number;
  readonly log: Logger;
};

/** Claims that wait in one executor. */
export const CLAIMS_MAX = 10_000;
/** Waiting orders that an executor keeps in mind; the ledger has all. */
const ORDERS_MAX = 10_000;
const UNDER_WAY_MAX = 100;
const RETRY_MS = 1_000;

type Reserved = { readonly desk: Desk; readonly order: WaitingOrder; readonly since: number };

/** Hands orders of remote effects to the programs that claim them. The ledger decides; a claim takes the place of a slot. */
export const createClaimants = (
  engine: Pick<Engine<ToEffect>, 'accept'>,
  {
    self,
    clock,
    now,
    journalStart,
    find,
    claimed,
    announce,
    mayLearnKeyOf = () => false,
    claimsMax = CLAIMS_MAX,
    log,
  }: ClaimantsParts,
) => {
  const matching = createMatching<Desk>(ORDERS_MAX);
  const seen = createSeen(now);
  const desks = new Map<string, Desk>();
  /** Orders of the ledger that are offered here again. */
  const known = new Set<EffectId>();
  const me = self.journal ?? self.worker;
  const reserved = new Map<number, Reserved>();
  let lastSlot = 0;
  /** Claims that look in the ledger at this moment. */
  let looking = 0;
  let open = false;
  let drained = false;

  const leftOf = ({ leaseMs }: Pick<RemoteHolder, 'leaseMs'>, since: number): number =>
    Math.max(1, Math.floor(leaseMs - (clock.now() - since)));

  const finish = (desk: Desk): void => {
    desks.delete(desk.key);
    matching.leave(desk);
    desk.endWait();
    seen.answered(desk.holder.x, desk.holder.claim);
    desk.answer({
      items: desk.items.map(({ item, since }) => ({ ...item, leaseMs: leftOf(desk.holder, since) })),
    });
  };

  /** Answers a claim as soon as it has something, or waited long enough, and nothing is under way for it. */
  const settle = (desk: Desk): void => {
    if (desk.pending > 0 || desks.get(desk.key) !== desk) return;
    if (desk.items.length > 0 || desk.over || drained) finish(desk);
  };

  const reserve = (desk: Desk, order: WaitingOrder): Slot => {
    lastSlot -= 1;
    const since = clock.now();
    reserved.set(lastSlot, { desk, order, since });
    desk.pending += 1;
    desk.reserved += 1;
    desk.bytes += order.bytes;
    return {
      ...self,
      worker: desk.holder.claimant,
      slot: lastSlot,
      remote: { to: order.to, holder: desk.holder },
    };
  };

  /** A reservation that started nothing: the claim waits on. */
  const free = (slot: number): void => {
    const held = reserved.get(slot);
    if (held === undefined) return;
    reserved.delete(slot);
    const { desk, order } = held;
    desk.pending -= 1;
    desk.reserved -= 1;
    desk.bytes -= order.bytes;
    serve(desk);
    if (desk.ready && desks.get(desk.key) === desk && desk.hasRoom(0)) matching.join(desk);
    settle(desk);
  };

  /** Asks the ledger to start a waiting order for a claim. */
  const ask = (desk: Desk, order: WaitingOrder): void => {
    const slot = reserve(desk, order);
    const message: EffectMessage = { kind: 'claim', id: order.id, slot };
    const refresh = (): EffectMessage => {
      if (!open) return { kind: 'timer', name: 'slot', data: null };
      return order.grant !== undefined && mayLearnKeyOf(order.grant)
        ? { ...message, keyPending: true }
        : message;
    };
    const done = (): void => free(slot.slot);
    engine.accept(
      { kind: 'effect', aggregate: order.id, message, refresh },
      {
        committed: done,
        failed: (reason) => {
          log.error({ effect: order.id, code: reason.code }, 'a claimed order could not be started');
          done();
        },
        // The claim keeps its place meanwhile: the store may be away for a while.
        unavailable: () =>
          void clock.after(RETRY_MS, () => {
            if (order.uses !== '') matching.add(order);
            done();
          }),
      },
    );
  };

  const serve = (desk: Desk): void => {
    if (!open || !desk.ready) return;
    for (let order = matching.takeFor(desk); order !== undefined; order = matching.takeFor(desk))
      ask(desk, order);
  };

  /** Offers an order of the ledger that another executor may have in mind. `done`: it is in the queue, or gone. */
  const offerAgain = (id: EffectId, whenDone: () => void = () => undefined): void => {
    known.add(id);
    const done = (): void => {
      known.delete(id);
      whenDone();
    };
    engine.accept(
      { kind: 'effect', aggregate: id, message: { kind: 'timer', name: 'slot', data: null } },
      { committed: done, failed: done, unavailable: done },
    );
  };

  const wait = ({ order, probe }: AwaitSlot): void => {
    const waiting = waitingOf(order, probe);
    const desk = open ? matching.claimFor(waiting) : undefined;
    if (desk !== undefined) return ask(desk, waiting);
    matching.add(waiting);
    // The others know of one that they announced.
    if (!known.has(order.id)) announce({ kind: 'offered', from: me, id: order.id, uses: order.effect.uses });
  };

  const given = (desk: Desk, since: number, item: Omit<ClaimedOrder, 'leaseMs'>): void => {
    desk.items.push({ item: { ...item, leaseMs: 0 }, since });
    // An answer with a start goes out soon: no further order joins it.
    matching.leave(desk);
    desk.pending -= 1;
    settle(desk);
  };

  const begin = (work: Start | Probe): void => {
    const held = reserved.get(work.slot);
    if (held === undefined) return;
    reserved.delete(work.slot);
    const { desk, since } = held;
    const { order, epoch } = work;
    if (work.kind === 'probe') return given(desk, since, { kind: 'probe', order, epoch });
    const { given: times = 1, statement } = work.remote ?? {};
    journalStart(order, epoch).then(
      () => given(desk, since, { kind: 'run', order, epoch, ...(statement !== undefined && { statement }) }),
      (error: unknown) => {
        log.error({ ...errorFields(error), effect: order.id }, 'cannot write a start to the journal');
        const text = 'Cannot write the journal, so the effect did not begin';
        const message: EffectMessage = {
          kind: 'not_given',
          epoch,
          given: times,
          error: errorBody('EXECUTOR_JOURNAL_UNAVAILABLE', text),
        };
        const ended = (): void => {
          desk.pending -= 1;
          settle(desk);
        };
        engine.accept(
          { kind: 'effect', aggregate: order.id, message },
          { committed: ended, failed: ended, unavailable: ended },
        );
      },
    );
  };

  /** The caller of a claim waits for its answer now; an earlier caller of the same claim does not. */
  const answerTo = (desk: Desk, waitMs: number): Promise<ClaimAnswer> => {
    desk.answer({ items: [] });
    desk.endWait();
    desk.over = false;
    return new Promise((resolve) => {
      desk.answer = resolve;
      desk.endWait = clock.after(waitMs, () => {
        desk.over = true;
        settle(desk);
      });
    });
  };

  /** Gives orders that started under this claim again, or offers it orders that wait. */
  const look = async (desk: Desk): Promise<void> => {
    desk.pending += 1;
    const underWay = reserved.size + known.size + looking;
    looking += 1;
    try {
      const { claim } = desk.holder;
      const uses = desk.wants.filter(({ to }) => to === 'run').map((each) => each.uses);
      // Those under way are among the oldest.
      const limit = desk.max + Math.min(underWay, UNDER_WAY_MAX);
      const { held, offered } = await find({ claim, uses, limit });
      desk.ready = true;
      if (offered.length > 0) lookAgain(desk);
      // An order came during a later look: what the claim holds is on its way.
      if (desk.reserved > 0) return;
      if (held.length > 0) {
        for (const id of held.slice(0, desk.max))
          ask(desk, { id, task: '', uses: '', to: 'run', bytes: 0, grant: undefined });
        return;
      }
      serve(desk);
      const asked = new Set([...reserved.values()].map(({ order }) => order.id));
      const others = offered.filter((id) => !asked.has(id) && !matching.isKnown(id) && !known.has(id));
      if (desk.hasRoom(0)) {
        matching.join(desk);
        for (const id of others.slice(0, desk.max)) {
          desk.pending += 1;
          offerAgain(id, () => {
            desk.pending -= 1;
            settle(desk);
          });
        }
      }
    } finally {
      looking -= 1;
      desk.pending -= 1;
      settle(desk);
    }
  };

  /** Claims that look at the same time find the same orders, and each order goes to one of them. The others look again. */
  const lookAgain = (desk: Desk): void => {
    clock.after(RETRY_MS, () => {
      if (desks.get(desk.key) !== desk) return;
      if (!open || desk.pending > 0) return lookAgain(desk);
      look(desk).catch((error: unknown) => {
        log.warn(errorFields(error), 'a waiting claim found no ledger: it looks again');
        lookAgain(desk);
      });
    });
  };

  /** When the store is away, the claim fails: its repeat finds the orders under way. */
  const lookOrLeave = async (desk: Desk): Promise<void> => {
    try {
      await look(desk);
    } catch (error) {
      desks.delete(desk.key);
      matching.leave(desk);
      desk.endWait();
      throw error;
    }
  };

  const signedOrRefused = (body: Beat | EndClaim): void => {
    if (!isSignedByClaimant(body))
      throw new HoldpointError(
        'EXECUTOR_CLAIM_SIGNATURE',
        'The signature is not that of its key: sign it again',
      );
  };

  return {
    claim: async (request: Claim, who: Claiming): Promise<ClaimAnswer> => {
      const { waitMs = 0 } = request;
      if (drained) return { items: [] };
      const fresh = deskFor(request, who);
      const { claimant, x, claim } = fresh.holder;
      const hint: Hint = {
        kind: 'claim',
        from: me,
        claim,
        uses: [...request.uses],
        waitMs,
        who: { claimant, x, ...who },
      };
      const earlier = desks.get(fresh.key);
      if (earlier === undefined && desks.size >= claimsMax) {
        const text = `${String(claimsMax)} claims wait here: try again later`;
        throw new HoldpointError('EXECUTOR_TOO_MANY_CLAIMS', text);
      }
      seen.claimed(hint);
      announce(hint);
      if (earlier !== undefined) return answerTo(earlier, waitMs);
      desks.set(fresh.key, fresh);
      const answer = answerTo(fresh, waitMs);
      // Until effects may start, nothing can be given, not even again.
      if (open) await lookOrLeave(fresh);
      return answer;
    },
    beat: async (request: Beat): Promise<BeatAnswer> => {
      signedOrRefused(request);
      const { items, x } = request;
      const answers = items.map(async ({ id, epoch }) => {
        const message: EffectMessage = { kind: 'beat', epoch, x };
        const said = await awaitCommit(engine, { kind: 'effect', aggregate: id, message });
        return { id, epoch, ...said } as BeatAnswer['items'][number];
      });
      return { items: await Promise.all(answers) };
    },
    end: async (request: EndClaim): Promise<EndAnswer> => {
      signedOrRefused(request);
      const { id, epoch, x, result } = request;
      const outputs = 'outputs' in result ? result.outputs : undefined;
      if (outputs !== undefined && Buffer.byteLength(JSON.stringify(outputs)) > REMOTE_OUTPUTS_MAX_BYTES) {
        const text = `Outputs exceed ${String(REMOTE_OUTPUTS_MAX_BYTES)} bytes: store them, and end with a reference`;
        throw new HoldpointError('EXECUTOR_OUTPUTS_TOO_LARGE', text);
      }
      const message: EffectMessage = { kind: 'end', epoch, x, result };
      const said = await awaitCommit(engine, { kind: 'effect', aggregate: id, message });
      return { id, ...said } as EndAnswer;
    },
    list: async (
      page: ApiRequest<'executor', 'claimants'>,
    ): Promise<ApiResponse<'executor', 'claimants'>> => {
      const held = (await claimed()).flatMap(({ id, epoch, uses, remote }) =>
        remote === undefined || uses === undefined
          ? []
          : [{ id, epoch, uses, startedAt: remote.since, holder: remote }],
      );
      return seen.page(held, page);
    },
    /** A waiting claim for a new order, as its slot. */
    take: (order: RunEffect): Slot | undefined => {
      const waiting = waitingOf(order);
      const desk = open ? matching.claimFor(waiting) : undefined;
      return desk && reserve(desk, waiting);
    },
    free,
    perform: (work: Start | Probe | AwaitSlot): void =>
      work.kind === 'await_slot' ? wait(work) : begin(work),
    hear: (hint: Hint): void => {
      if (hint.from === me) return;
      if (hint.kind === 'offered') {
        // A claim that takes another order now may lose it to another executor, and waits on.
        const isWanted = [...desks.values()].some(({ wants }) =>
          wants.some(({ uses }) => uses === hint.uses),
        );
        if (open && isWanted) offerAgain(hint.id);
        return;
      }
      seen.claimed(hint);
      const desk = desks.get(deskKeyOf({ claim: hint.claim, ...hint.who }));
      if (desk === undefined) return;
      desk.over = true;
      settle(desk);
    },
    /** Claims that wait, and orders that this executor has in mind. */
    counts: () => ({ claims: desks.size, orders: matching.waiting() }),
    open: (): void => {
      if (drained || open) return;
      open = true;
      for (const desk of desks.values())
        if (desk.ready) serve(desk);
        else
          lookOrLeave(desk).catch((error: unknown) => {
            log.warn(errorFields(error), 'a claim found no ledger: its caller repeats it');
            desk.answer({ items: [] });
          });
    },
    close: (): void => {
      open = false;
    },
    /** Answers all claims: the executor stops. */
    drain: (): void => {
      open = false;
      drained = true;
      for (const desk of desks.values()) settle(desk);
    },
  };
};
export type Claimants = ReturnType<typeof createClaimants>;
