import { toErrorBody } from '@holdpoint/contracts/values/errors';
import { exchangeFor, type LocalItem } from './local-delivery.ts';
import type { Answer } from '../decider.ts';
import type { Routed } from '../engine/inbound.ts';
import type { Addressed } from '../engine/kinds.ts';
import { addressees, type Item, type Member } from './member.ts';
import type { TimerRow, Transaction } from '../engine/ports.ts';
import type { Moment, Session } from './session.ts';
import type { Hold } from './under-way.ts';
import { kindOf } from '../engine/telemetry.ts';

/** How often the messages of a transaction may lead to further ones in it. The next ones go over the bus. */
const ROUNDS_MAX = 8;

/** The messages that one service has for a transaction. */
export type Batch = { readonly member: Member; readonly items: readonly Item[] };

/** A service in the transaction, and how many of its messages and timers were decided. */
export type Part = { readonly member: Member; readonly session: Session; messages: number };

export type JointOptions = {
  /** Maximum messages between its services that a transaction decides. */
  readonly localMax: number;
  readonly now: () => number;
  readonly hold: Hold;
  /** Whether services may join without locks. */
  readonly mayAssume: boolean;
};

/**
 * The decisions of one transaction. Its first service has begun it. Others join it with their messages, and with those that the
 * decisions send them.
 */
export const createJointTransaction = (
  members: readonly Member[],
  first: Member,
  transaction: Transaction,
  { localMax, now, hold, mayAssume }: JointOptions,
) => {
  const parts = new Map<Member, Part>();
  const moment: Moment = { now: transaction.now };
  /** The steps that follow the commit. */
  const after: (() => void)[] = [];
  const arriving: LocalItem[] = [];
  const taken: LocalItem[] = [];
  const decidedHere: LocalItem[] = [];
  let rounds = 0;

  const partOf = (member: Member): Part => {
    const part = parts.get(member);
    if (part === undefined) throw new Error(`${member.service} is no part of the transaction`);
    return part;
  };

  const take = (local: LocalItem): void => {
    taken.push(local);
    arriving.push(local);
  };
  const isFull = (): boolean => rounds >= ROUNDS_MAX || taken.length >= localMax;

  const add = async (
    member: Member,
    ids: readonly string[],
    own: Transaction,
    forTimers = false,
  ): Promise<void> => {
    const clock = (): number => moment.now;
    const session = member.session(
      own,
      moment,
      exchangeFor(member, members, clock, take, isFull, hold.isFree),
      after,
    );
    parts.set(member, { member, session, messages: 0 });
    await session.open(ids, forTimers);
  };

  /** Locks and reads aggregates of a service, which joins the transaction with its first ones. */
  const enter = async (member: Member, items: readonly Addressed[]): Promise<void> => {
    const ids = addressees(items);
    hold.add(member, ids);
    const known = parts.get(member);
    if (known !== undefined) return known.session.extend(ids);
    await add(member, ids, await member.reach(items, mayAssume, transaction));
  };

  const decide = (part: Part, item: Routed<Addressed>): Answer | undefined => {
    part.messages += 1;
    return part.session.decide({ ...item, message: item.refresh?.() ?? item.message });
  };

  const decideItem = (part: Part, item: Item): void => {
    const { member } = part;
    try {
      const answer = decide(part, item);
      after.push(() => member.observer.handled?.(kindOf(item.message), now() - item.since));
      after.push(() => item.committed(answer));
    } catch (cause) {
      after.push(() => item.failed(toErrorBody(cause), cause));
    }
  };

  /** A command that its receiver refuses or cannot handle goes over the bus, where it becomes a dead letter. */
  const decideLocal = (local: LocalItem): void => {
    const { to, from, item, command } = local;
    try {
      const answer = decide(partOf(to), item);
      if (answer === undefined || 'ok' in answer) return void decidedHere.push(local);
    } catch {
      // The receiver reports it when the message arrives over the bus.
    }
    if (command !== undefined) partOf(from).session.batch.send(command);
  };

  const decideRound = async (round: readonly LocalItem[]): Promise<void> => {
    for (const member of members) {
      const received = round.filter(({ to }) => to === member);
      if (received.length > 0)
        await enter(
          member,
          received.map(({ item }) => item),
        );
    }
    round.forEach(decideLocal);
  };

  return {
    after,
    parts: (): readonly Part[] => [...parts.values()],
    /** Decides due timers of the first service and all messages, and then what their decisions send, round by round. */
    decide: async (
      own: readonly string[],
      due: readonly TimerRow[],
      batches: readonly Batch[],
    ): Promise<void> => {
      hold.add(first, own);
      await add(first, own, transaction, due.length > 0);
      const others = batches.filter(({ member }) => member !== first);
      await Promise.all(others.map(({ member, items }) => enter(member, items)));
      const opener = partOf(first);
      opener.session.fire(due);
      opener.messages += due.length;
      for (const { member, items } of batches) for (const item of items) decideItem(partOf(member), item);
      while (arriving.length > 0) {
        rounds += 1;
        await decideRound(arriving.splice(0));
      }
    },
    /** Each message that was decided here has an identity, by which its receiver knows it when the bus delivers it. */
    remember: (): void => {
      for (const { member } of parts.values())
        member.remember(decidedHere.filter(({ to }) => to === member).map(({ identity }) => identity));
    },
    /** Releases what the messages between the services have reserved. */
    release: (): void => {
      for (const { item } of taken) item.onDone?.();
    },
  };
};
