import type { Engine } from '@holdpoint/runtime/engine/engine';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import type { EffectMessage } from '../../effect/decide.ts';
import { type Bring, nextStep, type Standing } from '../../effect/reconciliation.ts';
import type { Gate } from './ledger-fence.ts';
import type { Journal } from '../journal/journal.ts';
import type { HeldJournal, Journals } from '../journal/journal-folder.ts';
import { type Entry, JournalDamaged } from '../journal/segments.ts';
import type { Places } from '../slots/slots.ts';
import type { Standings } from './executor-registry.ts';

export type ReconcilerParts = {
  readonly journal: Journal;
  readonly journals: Pick<Journals, 'takeLeft'>;
  readonly standings: Standings;
  readonly gate: Pick<Gate, 'vouchFor'>;
  readonly places: Pick<Places, 'open' | 'close'>;
  /** Tells the ledger of a start that it may have lost; resolves once that is committed. */
  readonly tell: (entry: Entry) => Promise<void>;
  /** What has to be known before anything starts, and is waited for once. Never rejects. */
  readonly known: Promise<void>;
  readonly log: Logger;
};

/** How soon an executor that is idle notices, and lets the others go on. Whoever starts an effect notices at once. */
const LOOK_EVERY_MS = 1_000;
/** More steps than it takes; whoever is not through by then looks again a little later. */
const STEPS_MAX = 20;
const TOLD_AT_ONCE = 200;

/** A journal whose oldest part is gone cannot say what ran then. */
class JournalTooShort extends Error {
  override readonly name = 'JournalTooShort';
}

/**
 * Keeps effects from starting in a ledger that is not what it was, until every executor has brought it what it may have
 * started since. Looks at the start, now and then, and whenever the ledger refuses a start.
 */
export const createReconciler = (parts: ReconcilerParts) => {
  const { journal, standings, gate, places, log } = parts;
  /** Journals on this machine whose executors are gone, for one pass; undefined until they are looked for. */
  let left: readonly HeldJournal[] | undefined;
  let said = '';
  let isOpen = false;

  const held = (): readonly Journal[] => [journal, ...(left ?? [])];

  /** Once for each new state of things, however often it is found. */
  const say = (level: 'info' | 'warn' | 'error', fields: object, message: string): void => {
    const saying = JSON.stringify([fields, message]);
    if (saying !== said) log[level](fields, message);
    said = saying;
  };

  const close = (): void => {
    isOpen = false;
    places.close();
  };

  const bringOne = async ({ id, after, asFarAsItGoes }: Bring, generation: number): Promise<void> => {
    const source = held().find((each) => each.id === id);
    if (source === undefined) return;
    if (after < source.floor() && !asFarAsItGoes) {
      const [begins, ends] = [String(source.floor()), String(after)];
      throw new JournalTooShort(`journal ${id} begins at ${begins}, and the ledger ends at ${ends}`);
    }
    let told = 0;
    for await (const entries of source.entriesAfter(after, asFarAsItGoes)) {
      for (let from = 0; from < entries.length; from += TOLD_AT_ONCE)
        await Promise.all(entries.slice(from, from + TOLD_AT_ONCE).map(parts.tell));
      told += entries.length;
    }
    await standings.vouch(id, generation, source.position());
    log.info({ journal: id, generation, after, entries: told }, 'journal compared with the ledger');
  };

  /** Whoever is gone from this machine cannot come with its own. True when there is somebody. */
  const fetchLeft = async (): Promise<boolean> => {
    if (left !== undefined) return false;
    left = await parts.journals.takeLeft();
    return left.length > 0;
  };

  /** Where everybody stands, to be held against the ledger later on. */
  const remember = ({ instances }: Standing, registered: readonly string[] = []): Promise<void> =>
    journal.remember(
      new Map([
        ...[...instances].map(([id, { position }]) => [id, position] as const),
        ...registered.map((id) => [id, 0] as const),
        [journal.id, journal.position()],
      ]),
    );

  const bring = async (standing: Standing, wanted: readonly Bring[], register: readonly string[]) => {
    // From here on nothing is noted, so that what is read below is all there is.
    gate.vouchFor(undefined);
    if (register.length > 0) await standings.register(register);
    // Whoever has not brought its own is behind what was seen of it, and that is known by now.
    await remember(standing, register);
    for (const each of wanted) await bringOne(each, standing.generation);
  };

  const go = async (standing: Standing): Promise<void> => {
    const { generation, instances } = standing;
    journal.reach(instances.get(journal.id)?.position ?? 0);
    await remember(standing);
    gate.vouchFor(generation);
    if (!isOpen) say('info', { journal: journal.id, generation }, 'effects may start');
    isOpen = true;
    places.open();
  };

  /** True when there is a next step at once. */
  const step = async (): Promise<boolean> => {
    // Before the look: what is committed after it must not seem to be missing.
    const known = {
      journals: new Map(held().map((each) => [each.id, each.position()])),
      seen: journal.seen(),
    };
    const standing = await standings.look();
    const { generation } = standing;
    const next = nextStep(standing, known);
    if (next.kind !== 'go') close();
    switch (next.kind) {
      case 'open_generation':
        log.warn({ generation }, 'the database is not as it was: no effect starts until it is compared');
        await standings.openGeneration(generation);
        return true;
      case 'bring':
        if (await fetchLeft()) return true;
        await bring(standing, next.journals, next.register);
        return true;
      case 'wait':
        say('warn', { waitsFor: next.waitsFor }, 'no effect starts until these have brought their journals');
        return fetchLeft();
      case 'go':
        await go(standing);
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
      await standings.beSeen(journal.id);
    } catch (error) {
      // Only a person can help where the journal itself fails; a database that is away comes back.
      const level = error instanceof JournalTooShort || error instanceof JournalDamaged ? 'error' : 'warn';
      say(level, errorFields(error), 'the ledger could not be compared with the journal');
    } finally {
      await release();
    }
  };

  let passing: Promise<void> | undefined;
  let again = false;
  const passes = async (): Promise<void> => {
    await parts.known;
    do {
      again = false;
      await pass();
    } while (again);
    passing = undefined;
  };
  const look = (): Promise<void> => (passing ??= passes());

  const job = startPeriodic('reconcile', LOOK_EVERY_MS, look, log);
  void look();

  return {
    /** The ledger refused a start. What a pass under way has seen may be older than that. */
    refused: (): void => {
      close();
      again = true;
      void look();
    },
    isOpen: (): boolean => isOpen,
    stop: async (): Promise<void> => {
      await job.stop();
      await passing;
    },
  };
};
export type Reconciler = ReturnType<typeof createReconciler>;

/** Hands a start that was journalled to the ledger. Resolves after the commit; fails when there was none. */
export const tellJournalled = (
  engine: Pick<Engine<EffectMessage>, 'accept'>,
  { order, epoch }: Entry,
): Promise<void> =>
  new Promise((resolve, reject) => {
    engine.accept({
      aggregate: order.id,
      message: { kind: 'journalled', order, epoch },
      settled: () => resolve(),
      failed: (reason, cause) => reject(new Error(`${order.id}: ${reason.code}`, { cause })),
      unavailable: () => reject(new Error('the store did not take what was journalled')),
    });
  });
