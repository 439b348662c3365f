import { type KeyObject, randomUUID } from 'node:crypto';
import { keyIdOf } from '@holdpoint/contracts/values/jws';
import { type PublishedKeys, publicKeysIn, vouchedFor } from '@holdpoint/contracts/approval/signing-keys';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { followFile } from '@holdpoint/runtime/service/follow-file';
import { createVerifier, keyIdIn } from '@holdpoint/runtime/service/jws';
import type { Logger } from '@holdpoint/runtime/observability/log';

const VARIABLE = 'HOLDPOINT_GRANT_PUBLIC_KEYS_FILE';

/** Throws `ConfigError`. */
export const parseGrantKeys = (pem: string): readonly KeyObject[] => {
  try {
    return publicKeysIn(pem);
  } catch (cause) {
    const problem = cause instanceof TypeError ? cause.message : 'not a public key in PEM';
    throw new ConfigError(`${VARIABLE}: ${problem}`, { cause });
  }
};

/**
 * Asks the approvals service for its keys, in statements signed for this nonce; undefined while it does not answer.
 */
export type AskForKeys = (nonce: string) => Promise<PublishedKeys | undefined>;

const ASK_EVERY_MS = 30_000;
/** Limits how often unknown keys in orders trigger a request. */
const ASK_AT_MOST_EVERY_MS = 1_000;
/**
 * How long a token with an unknown key is deferred after the key was first seen: by then each replica of the
 * approvals service has read its file. A key that was not seen for so long counts as new again.
 */
const HELD_MS = 5_000;
const FORGOTTEN_MS = 30_000;
const STRANGE_MAX = 1_000;

export type GrantKeys = {
  /** The claims of a token, if a trusted key has signed it. */
  readonly verify: (token: string) => unknown;
  /** The token names a key that is not trusted yet, but may be after the next request. */
  readonly mayLearnKeyOf: (token: string) => boolean;
  /** Asks at once, periodically, and when a token names an unknown key. */
  readonly learnFrom: (ask: AskForKeys) => void;
  readonly stop: () => Promise<void>;
};

const trust = (keys: readonly KeyObject[]) => ({
  verify: createVerifier(keys),
  kids: new Set(keys.map(keyIdOf)),
});

/**
 * The trusted keys: those of the key file, and those that they vouch for in statements of the approvals service. A
 * published key without a trusted voucher is not trusted.
 */
export const createGrantKeys = ({
  first,
  path,
  clock,
  log,
}: {
  readonly first: readonly KeyObject[];
  readonly path: string;
  readonly clock: Clock;
  readonly log: Logger;
}): GrantKeys => {
  let rooted = first;
  let learnt: readonly KeyObject[] = [];
  let trusted = trust(rooted);
  const strange = new Map<string, number>();
  let ask: AskForKeys | undefined;
  let asking = false;
  let lastAsked = -Infinity;
  /** When the latest answered request was sent. */
  let answered = -Infinity;

  const settle = (): void => {
    const before = trusted.kids;
    trusted = trust([...rooted, ...learnt]);
    const now = trusted.kids;
    if (before.size !== now.size || [...before].some((kid) => !now.has(kid)))
      log.info({ keys: [...now] }, 'the trusted grant keys have changed');
    for (const kid of now) strange.delete(kid);
  };

  const take = ({ keys, statements }: PublishedKeys, nonce: string): void => {
    const { named } = vouchedFor([...rooted, ...learnt], statements, nonce);
    if (named.length > 0) learnt = named;
    settle();
    const unvouched = keys.map(({ kid }) => kid).filter((kid) => !trusted.kids.has(kid));
    if (unvouched.length > 0)
      log.error(
        { keys: unvouched },
        'the approvals service publishes grant keys that no trusted key vouches for',
      );
  };

  const learn = async (): Promise<void> => {
    const now = clock.now();
    if (ask === undefined || asking || now - lastAsked < ASK_AT_MOST_EVERY_MS) return;
    asking = true;
    lastAsked = now;
    const nonce = randomUUID();
    const said = await ask(nonce).finally(() => {
      asking = false;
    });
    if (said === undefined) return;
    answered = now;
    take(said, nonce);
  };

  const followed = followFile(
    {
      name: VARIABLE,
      path,
      parse: parseGrantKeys,
      changed: (keys) => {
        const kids = new Set(keys.map(keyIdOf));
        const same = kids.size === rooted.length && rooted.every((key) => kids.has(keyIdOf(key)));
        if (same) return;
        // A key removed from the file no longer vouches for others.
        rooted = keys;
        learnt = [];
        settle();
        void learn();
      },
    },
    first,
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

  let stopAsking = (): void => undefined;
  return {
    verify: (token) => trusted.verify(token),
    mayLearnKeyOf: (token) => {
      const kid = keyIdIn(token);
      if (kid === undefined || trusted.kids.has(kid)) return false;
      const seen = firstSeen(kid);
      void learn();
      // Without an answer the key may still be trusted.
      return answered < seen || clock.now() - seen < HELD_MS;
    },
    learnFrom: (asker) => {
      ask = asker;
      void learn();
      stopAsking = clock.every(ASK_EVERY_MS, () => void learn());
    },
    stop: async () => {
      stopAsking();
      ask = undefined;
      await followed.stop();
    },
  };
};
