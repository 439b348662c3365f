import type { Engine } from '@holdpoint/runtime/engine/engine';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import {
  type JournalReplay,
  type LedgerStatus,
  nextStep,
  restartedWithout,
} from '../../effect/reconciliation.ts';
import type { HeldJournal, Journals } from '../journal/journal-folder.ts';
import type { Journal } from '../journal/journal.ts';
import { type JournalEntry, JournalDamaged } from '../journal/segments.ts';
import type { ToEffect } from '../runner/runner.ts';
import type { Slots } from '../slots/slots.ts';
import type { ExecutorRegistry } from './executor-registry.ts';
import type { LedgerFence } from './ledger-fence.ts';

export type ReconcilerParts = {
  readonly journal: Journal;
  readonly journals: Pick<Journals, 'takeLeft'>;
  readonly registry: ExecutorRegistry;
  readonly fence: Pick<LedgerFence, 'trust' | 'onRefusal'>;
  readonly slots: Pick<Slots, 'open' | 'close'>;
  /** Reports a start that the ledger may have lost; resolves once that is committed. */
  readonly report: (entry: JournalEntry) => Promise<void>;
  /** Runs once, before the first effect may start. */
  readonly beforeFirst: () => Promise<void>;
  /** The first pass waits for this. Never rejects. */
  readonly ready: Promise<unknown>;
  readonly log: Logger;
};

/** How soon an idle executor notices a restore and lets the others continue. A refused start is noticed at once. */
const LOOK_EVERY_MS = 1_000;
/** An executor counts as missing only after minutes. */
const REPORT_SEEN_EVERY_MS = 20_000;
/** More steps than a pass needs. An unfinished pass continues with the next one. */
const STEPS_MAX = 20;
const REPORTS_AT_ONCE = 200;

/** The journal no longer reaches back to the position of the ledger. */
class JournalTooShort extends Error {
  override readonly name = 'JournalTooShort';
}

/**
 * After a restore of the database, keeps effects from starting until every executor has reported the starts in its journal that
 * the ledger may have lost. Looks at the start, periodically, and when the ledger refuses a start.
 */
export const createReconciler = (parts: ReconcilerParts) => {
  const { journal, registry, fence, slots, log } = parts;
  /** Journals on this machine without an executor, taken for one pass; undefined until the pass looks for them. */
  let left: readonly HeldJournal[] | undefined;
  let logged = '';
  let isOpen = false;
  let reportSeenAt = -Infinity;
  /** The ledger as it was when effects last could start. */
  let trusted: LedgerStatus | undefined;
  let waitsFor: readonly string[] = [];

  const held = (): readonly Journal[] => [journal, ...(left ?? [])];

  /** Logs a state once, however often it is found. */
  const logOnce = (level: 'info' | 'warn' | 'error', fields: object, message: string): void => {
    const line = JSON.stringify([fields, message]);
    if (line !== logged) log[level](fields, message);
    logged = line;
  };

  const close = (): void => {
    isOpen = false;
    slots.close();
  };

  const replayOne = async ({ id, after, partial }: JournalReplay, generation: number): Promise<void> => {
    const source = held().find((each) => each.id === id);
    if (source === undefined) return;
    if (after < source.floor() && !partial) {
      const [begins, ends] = [String(source.floor()), String(after)];
      throw new JournalTooShort(`journal ${id} begins at ${begins}, and the ledger ends at ${ends}`);
    }
    let reported = 0;
    for await (const entries of source.entriesAfter(after, partial)) {
      for (let from = 0; from < entries.length; from += REPORTS_AT_ONCE)
        await Promise.all(entries.slice(from, from + REPORTS_AT_ONCE).map(parts.report));
      reported += entries.length;
    }
    await registry.confirm(id, generation, source.position());
    log.info({ journal: id, generation, after, entries: reported }, 'journal compared with the ledger');
  };

  /** Takes the journals of executors that have gone from this machine. True when there are any. */
  const fetchLeft = async (): Promise<boolean> => {
    if (left !== undefined) return false;
    left = await parts.journals.takeLeft();
    return left.length > 0;
  };

  /** Stores the position of every executor, to detect a later restore by. */
  const remember = ({ instances }: LedgerStatus, registered: readonly string[] = []): Promise<void> =>
    journal.remember(
      new Map([
        ...[...instances].map(([id, { position }]) => [id, position] as const),
        ...registered.map((id) => [id, 0] as const),
        [journal.id, journal.position()],
      ]),
    );

  const replay = async (
    status: LedgerStatus,
    journals: readonly JournalReplay[],
    register: readonly string[],
  ) => {
    // From here on nothing is journalled, so that the entries read below are complete.
    fence.trust(undefined);
    if (register.length > 0) await registry.register(register);
    // Executors that have not reported yet are registered by now, so that their positions may be forgotten here.
    await remember(status, register);
    for (const each of journals) await replayOne(each, status.generation);
  };

  const open = async (status: LedgerStatus): Promise<void> => {
    const { generation, instances } = status;
    journal.reach(instances.get(journal.id)?.position ?? 0);
    await remember(status);
    if (trusted === undefined) await parts.beforeFirst();
    trusted = status;
    waitsFor = [];
    fence.trust(generation);
    if (!isOpen) logOnce('info', { journal: journal.id, generation }, 'effects may start');
    isOpen = true;
    slots.open();
  };

  /** True when the next step follows at once. */
  const step = async (): Promise<boolean> => {
    // Read before the ledger: a later commit must not seem to be missing.
    const known = {
      journals: new Map(held().map((each) => [each.id, each.position()])),
      seen: journal.seen(),
    };
    const status = await registry.read();
    const { generation } = status;
    const next = nextStep(status, known);
    if (next.kind !== 'open') close();
    switch (next.kind) {
      case 'open_generation':
        if (status.instances.size === 0 && known.seen.size === 0)
          log.info({ generation }, 'no executor has used this ledger before');
        else
          log.warn(
            { generation },
            'the database was restored or replaced: no effect starts until it is compared',
          );
        await registry.openGeneration(generation);
        return true;
      case 'replay':
        if (await fetchLeft()) return true;
        await replay(status, next.journals, next.register);
        return true;
      case 'wait': {
        const unchanged = restartedWithout(status, trusted, next.waitsFor);
        if (unchanged.length > 0) {
          log.warn({ missing: unchanged }, 'the database only restarted: no wait for missing executors');
          await registry.carryOver(unchanged, generation);
          return true;
        }
        waitsFor = next.waitsFor;
        logOnce('warn', { waitsFor: next.waitsFor }, 'no effect starts until these executors report');
        return fetchLeft();
      }
      case 'open':
        await open(status);
        return false;
    }
  };

  const release = async (): Promise<void> => {
    const done = left ?? [];
    left = undefined;
    for (const each of done) await each.release();
  };

  const pass = async (): Promise<void> => {
    try {
      for (let steps = 0; steps < STEPS_MAX && (await step());) steps += 1;
      if (performance.now() < reportSeenAt) return;
      await registry.reportSeen(journal.id);
      reportSeenAt = performance.now() + REPORT_SEEN_EVERY_MS;
    } catch (error) {
      // Only an operator can repair a journal. A database that is away comes back.
      const level = error instanceof JournalTooShort || error instanceof JournalDamaged ? 'error' : 'warn';
      logOnce(level, errorFields(error), 'cannot compare the ledger with the journal');
    } finally {
      await release();
    }
  };

  const stopping = Promise.withResolvers<void>();
  let isStopping = false;
  let passing: Promise<void> | undefined;
  let again = false;
  const passes = async (): Promise<void> => {
    // A process may stop before it is ready, and must not wait for that.
    await Promise.race([parts.ready, stopping.promise]);
    do {
      again = false;
      if (!isStopping) await pass();
    } while (again);
    passing = undefined;
  };
  const look = (): Promise<void> => (passing ??= passes());

  /** A pass under way may have read an older state, so another one follows. */
  const refused = (): void => {
    close();
    again = true;
    void look();
  };
  fence.onRefusal(refused);
  const job = startPeriodic('reconcile', LOOK_EVERY_MS, look, log);
  void look();

  return {
    refused,
    isOpen: (): boolean => isOpen,
    /** The executors whose journals keep effects from starting. */
    waitsFor: (): readonly string[] => (isOpen ? [] : waitsFor),
    stop: async (): Promise<void> => {
      isStopping = true;
      stopping.resolve();
      await job.stop();
      await passing;
    },
  };
};
export type Reconciler = ReturnType<typeof createReconciler>;

/** Reports a journalled start to the ledger. Resolves after the commit; rejects when there was none. */
export const reportJournalled = (
  engine: Pick<Engine<ToEffect>, 'accept'>,
  { order, epoch }: JournalEntry,
): Promise<void> =>
  new Promise((resolve, reject) => {
    engine.accept(
      { kind: 'effect', aggregate: order.id, message: { kind: 'journalled', order, epoch } },
      {
        committed: () => resolve(),
        failed: (reason, cause) => reject(new Error(`${order.id}: ${reason.code}`, { cause })),
        unavailable: () => reject(new Error('the store did not accept the journalled start')),
      },
    );
  });
