import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { remoteNameIn } from '@holdpoint/contracts/effect/remote-name';
import type { CommittedEvent } from '@holdpoint/runtime/engine/batch';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import type { Pool } from 'pg';
import type { ServiceEvent } from '../aggregates.ts';
import { type Admission, admit } from '../capability/admission.ts';
import { evolveCapability } from '../capability/capability.ts';
import { readChangedCapabilities, type StoredCapability } from '../queries/capabilities.ts';

/** Requests that wait for a read of the registry. */
const WAITING_MAX = 10_000;

/**
 * A copy of the registry. It may admit a capability that was withdrawn a moment ago. It refuses nothing before it has read the
 * registry after the request arrived: another process may have registered the capability in between.
 */
export const createCapabilityBook = (
  read: (known: readonly StoredCapability[]) => Promise<readonly StoredCapability[]>,
  failed: (error: unknown) => void,
) => {
  const known = new Map<string, StoredCapability & { readonly since: number }>();
  /** Counts reads and changes, so that their order is known. */
  let moment = 0;
  let latestRead = 0;
  let reading: Promise<void> | undefined;
  let readAgain = false;
  const waiting = new Map<string, number>();

  /** A read does not replace a later commit. A restored database may have an older version. */
  const keep = (stored: StoredCapability, since: number): void => {
    const before = known.get(stored.view.name);
    if (before === undefined || before.since <= since) known.set(stored.view.name, { ...stored, since });
  };

  const readOnce = async (): Promise<void> => {
    const began = (moment += 1);
    try {
      for (const stored of await read([...known.values()])) keep(stored, began);
      latestRead = began;
    } catch (error) {
      failed(error);
    }
  };

  const run = async (): Promise<void> => {
    do {
      readAgain = false;
      await readOnce();
    } while (readAgain);
    reading = undefined;
  };

  /** A read that is under way may have begun too early, so another one follows. */
  const refresh = (): Promise<void> => {
    if (reading === undefined) reading = run();
    else readAgain = true;
    return reading;
  };

  const isFresh = (identity: string): boolean => {
    const since = waiting.get(identity);
    if (since === undefined) {
      const [oldest] = waiting.keys();
      if (waiting.size >= WAITING_MAX && oldest !== undefined) waiting.delete(oldest);
      waiting.set(identity, moment);
      return false;
    }
    if (latestRead <= since) return false;
    waiting.delete(identity);
    return true;
  };

  return {
    refresh,
    /** Whether a capability of one of these names is registered or was; undefined while the registry cannot be read. */
    knowsOneOf: async (names: readonly string[]): Promise<boolean | undefined> => {
      const isKnown = (): boolean => names.some((name) => known.has(name));
      if (isKnown()) return true;
      const arrived = moment;
      await refresh();
      if (isKnown()) return true;
      return latestRead > arrived ? false : undefined;
    },
    admission: (effect: CanonicalEffect, identity: string): Admission | 'later' | undefined => {
      const name = remoteNameIn(effect.uses);
      if (name === undefined) return undefined;
      const made = admit(effect, name, known.get(name)?.view);
      if ('words' in made || isFresh(identity)) return made;
      void refresh();
      return 'later';
    },
    /** Takes over the commits of this process. */
    onCommitted: ({ event, version }: Pick<CommittedEvent<ServiceEvent>, 'event' | 'version'>): void => {
      if (event.type !== 'capability_registered' && event.type !== 'capability_withdrawn') return;
      const before = known.get(event.name)?.view;
      if (event.type === 'capability_registered' || before !== undefined)
        keep({ version, view: evolveCapability(before, event) }, (moment += 1));
    },
  };
};

export type CapabilityBook = ReturnType<typeof createCapabilityBook>;

/** Interval of reads that do not depend on events: only a takeover needs them. */
const READ_EVERY_MS = 15_000;

/** The registry of remote capabilities, as this process knows it. */
export const followCapabilities = (pool: Pool, log: Logger) => {
  const book = createCapabilityBook(
    (known) => readChangedCapabilities(pool, known),
    (error) => log.warn(errorFields(error), 'remote capabilities could not be read: using the previous ones'),
  );
  void book.refresh();
  const reading = startPeriodic('remote capabilities', READ_EVERY_MS, book.refresh, log);
  return { ...book, stop: (): Promise<void> => reading.stop() };
};
