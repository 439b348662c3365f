import { type KeyObject, randomUUID } from 'node:crypto';
import { type PublishedKeys, publicKeysIn, vouchedFor } from '@holdpoint/contracts/approval/signing-keys';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { parseTrustFile, type TrustFile } from '@holdpoint/contracts/bus/trust-file';
import type { Clock } from '../engine/clock.ts';
import { errorFields } from '../engine/error-fields.ts';
import type { SealKey, SealKeys } from '../engine/seals.ts';
import type { Logger } from '../observability/log.ts';
import { ConfigError } from './config.ts';
import { followFile } from './follow-file.ts';
import { createVerifier, keyIdIn, keyIdOf } from './jws.ts';

/** The setting that names the trust file. */
export const TRUST_FILE = 'HOLDPOINT_TRUST_FILE';

/** The keys that a service trusts from its start. */
export type Trust = { readonly [Role in keyof TrustFile]: readonly KeyObject[] };

const keysIn = (pems: readonly string[]): readonly KeyObject[] =>
  pems.flatMap((pem) => [...publicKeysIn(pem)]);

/** Throws `ConfigError`. */
export const parseTrust = (text: string): Trust => {
  try {
    const { approvals, orchestrator, recovery, retired } = parseTrustFile(text);
    return {
      approvals: keysIn(approvals),
      orchestrator: keysIn(orchestrator),
      recovery: keysIn(recovery),
      retired: keysIn(retired),
    };
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new ConfigError(`${TRUST_FILE}: ${cause.message}`, { cause });
  }
};

/**
 * Asks the approvals service for its keys, in statements signed for this nonce; undefined while it does not answer.
 */
export type AskForKeys = (nonce: string) => Promise<PublishedKeys | undefined>;

const ASK_EVERY_MS = 30_000;
/** Limits how often unknown keys in messages trigger a request. */
const ASK_AT_MOST_EVERY_MS = 1_000;
/** While nothing has answered yet: approvals may start at the same time. */
const FIRST_ASK_AGAIN_MS = 200;
/**
 * How long a token with an unknown key is deferred after the key was first seen: by then each replica of the
 * approvals service has read its file. A key counts as new again after far longer than the longest wait for a redelivery:
 * otherwise each redelivery would count as new.
 */
const HELD_MS = 5_000;
const FORGOTTEN_MS = 120_000;
const STRANGE_MAX = 1_000;
/**
 * How long messages of an executor are deferred after its key vanished from the statements without being revoked: the
 * database of the approvals service went back, and the executor enrols again.
 */
const VANISHED_MS = 600_000;
/**
 * How long after a start messages with an unknown key are deferred: a database of approvals that went back just before
 * leaves no trace of the key here. Its executor asks for the keys within 30 seconds, and then joins again within five.
 */
const REJOINED_MS = ASK_EVERY_MS + 15_000;

const idsOf = (keys: readonly KeyObject[]): string => keys.map(keyIdOf).sort().join();
const kidsOf = (trust: Trust): string =>
  [trust.approvals, trust.orchestrator, trust.recovery, trust.retired].map(idsOf).join(';');

export type TrustedKeys = SealKeys & {
  /** The claims of a token that a key of the approvals service has signed. Expiry is not checked. */
  readonly verify: (token: string) => unknown;
  /** The token names a key that is not trusted yet, but may be after the next request. */
  readonly mayLearnKeyOf: (token: string) => boolean;
  /** Asks at once, periodically, and when a message names an unknown key. */
  readonly learnFrom: (ask: AskForKeys) => void;
  readonly stop: () => Promise<void>;
};

/** What statements of the approvals service add to the trust file. */
type Learnt = {
  readonly approvals: readonly KeyObject[];
  readonly retired: readonly KeyObject[];
  readonly executors: readonly KeyObject[];
  readonly revoked: readonly string[];
};
const NOTHING: Learnt = { approvals: [], retired: [], executors: [], revoked: [] };

const trusting = (root: Trust, learnt: Learnt) => {
  const approvals = [...root.approvals, ...learnt.approvals];
  const seals = new Map<string, SealKey | 'retired' | 'revoked'>();
  const put = (keys: readonly KeyObject[], as: ServiceName | 'retired'): void => {
    for (const key of keys) seals.set(keyIdOf(key), as === 'retired' ? as : { role: as, key });
  };
  // A key has one role. Of two claims to a key the later one here counts.
  put([...root.retired, ...learnt.retired], 'retired');
  put(learnt.executors, 'executor');
  put(root.recovery, 'recovery');
  put(root.orchestrator, 'orchestrator');
  put(approvals, 'approvals');
  for (const kid of learnt.revoked) seals.set(kid, 'revoked');
  return { verify: createVerifier(approvals), approvals: new Set(approvals.map(keyIdOf)), seals };
};

/**
 * The trusted keys: those of the trust file, and those that the keys of the approvals service vouch for. A published key
 * without a trusted voucher is not trusted. Keys of other services vouch for nothing.
 */
export const createTrustedKeys = ({
  trust,
  path,
  clock,
  log,
}: {
  readonly trust: Trust;
  /** Followed on change. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Logger;
}): TrustedKeys => {
  let root = trust;
  let learnt = NOTHING;
  let trusted = trusting(root, learnt);
  const strange = new Map<string, number>();
  const vanished = new Map<string, number>();
  let ask: AskForKeys | undefined;
  let asking = false;
  let stopAgain = (): void => undefined;
  let lastAsked = -Infinity;
  /** When the latest answered request was sent. */
  let answered = -Infinity;

  const settle = (): void => {
    const before = trusted.seals;
    trusted = trusting(root, learnt);
    const now = trusted.seals;
    if (before.size !== now.size || [...before.keys()].some((kid) => !now.has(kid)))
      log.info({ keys: [...now.keys()] }, 'the trusted keys have changed');
    for (const kid of now.keys()) {
      strange.delete(kid);
      vanished.delete(kid);
    }
  };

  const take = ({ keys, statements }: PublishedKeys, nonce: string): void => {
    const { named, retired, executors, revoked } = vouchedFor(
      [...root.approvals, ...learnt.approvals],
      statements,
      nonce,
    );
    if (named.length > 0) {
      for (const key of learnt.executors) vanished.set(keyIdOf(key), clock.now());
      learnt = { approvals: named, retired, executors, revoked };
    }
    settle();
    const unvouched = keys.map(({ kid }) => kid).filter((kid) => !trusted.approvals.has(kid));
    if (unvouched.length > 0)
      log.error({ keys: unvouched }, 'the approvals service publishes keys that no trusted key vouches for');
  };

  const learn = async (): Promise<void> => {
    const now = clock.now();
    const pause = answered === -Infinity ? FIRST_ASK_AGAIN_MS : ASK_AT_MOST_EVERY_MS;
    if (ask === undefined || asking || now - lastAsked < pause) return;
    asking = true;
    lastAsked = now;
    const nonce = randomUUID();
    let said: PublishedKeys | undefined;
    try {
      said = await ask(nonce);
    } catch (error) {
      // The approvals service reads its own database: an outage must not end it.
      log.warn(errorFields(error), 'cannot ask for the keys');
    } finally {
      asking = false;
    }
    if (said === undefined) {
      stopAgain();
      if (answered === -Infinity) stopAgain = clock.after(FIRST_ASK_AGAIN_MS, () => void learn());
      return;
    }
    answered = now;
    take(said, nonce);
  };

  const followed = followFile(
    {
      name: TRUST_FILE,
      path,
      parse: parseTrust,
      changed: (content) => {
        if (kidsOf(content) === kidsOf(root)) return;
        // A key removed from the file no longer vouches for others.
        const isSameRoot = idsOf(content.approvals) === idsOf(root.approvals);
        root = content;
        if (!isSameRoot) learnt = NOTHING;
        settle();
        void learn();
      },
    },
    trust,
    log,
  );

  const firstSeen = (kid: string): number => {
    const now = clock.now();
    const seen = strange.get(kid);
    if (seen !== undefined && now - seen < FORGOTTEN_MS) return seen;
    const [oldest] = strange.keys();
    if (strange.size >= STRANGE_MAX && oldest !== undefined) strange.delete(oldest);
    strange.set(kid, now);
    return now;
  };

  const mayLearn = (kid: string): boolean => {
    const seen = firstSeen(kid);
    void learn();
    // Without an answer the key may still be trusted.
    return answered < seen || clock.now() - seen < HELD_MS;
  };

  const started = clock.now();
  const isAwaited = (kid: string): boolean =>
    clock.now() - (vanished.get(kid) ?? -Infinity) < VANISHED_MS || clock.now() - started < REJOINED_MS;

  let stopAsking = (): void => undefined;
  return {
    verify: (token) => trusted.verify(token),
    mayLearnKeyOf: (token) => {
      const kid = keyIdIn(token);
      return kid !== undefined && !trusted.seals.has(kid) && mayLearn(kid);
    },
    sealKey: (kid) => trusted.seals.get(kid) ?? 'unknown',
    mayLearn: (kid) => !trusted.seals.has(kid) && (mayLearn(kid) || isAwaited(kid)),
    learnFrom: (asker) => {
      ask = asker;
      void learn();
      stopAsking = clock.every(ASK_EVERY_MS, () => void learn());
    },
    stop: async () => {
      stopAsking();
      stopAgain();
      ask = undefined;
      await followed.stop();
    },
  };
};
