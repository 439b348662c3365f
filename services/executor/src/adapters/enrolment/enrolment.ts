import { rawPublicKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import { type ExecutorReach, joinRequest } from '@holdpoint/contracts/approval/enrolment';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { OwnKey } from './own-key.ts';

/** Approvals accepts this many origins of each kind. */
const ORIGINS_MAX = 200;

type Targets = Readonly<Record<'targets' | 'keyedTargets' | 'idempotentTargets', ReadonlySet<string>>> & {
  readonly anyPublic: boolean;
  readonly notifyTargets: ReadonlySet<string>;
};

/** The origins to announce; undefined when there are too many, and the executor alone refuses a target. */
export const reachOf = ({
  targets,
  keyedTargets,
  idempotentTargets,
  notifyTargets,
  anyPublic,
}: Targets): ExecutorReach | undefined => {
  const lists = {
    request: [...targets].toSorted(),
    keyed: [...keyedTargets].toSorted(),
    idempotent: [...idempotentTargets].toSorted(),
    notify: [...notifyTargets].toSorted(),
  };
  const fits = Object.values(lists).every((origins) => origins.length <= ORIGINS_MAX);
  return fits ? { ...lists, anyPublic } : undefined;
};

/** Often, until approvals has the key. */
const ASK_EVERY_MS = 1_000;
/** While nothing answers: approvals may start at the same time. */
const ASK_AGAIN_MS = 200;
/** Then each so many turns; the first while approvals names other keys only: its database went back before this key. */
const AGAIN_EVERY = { unnamed: 5, named: 300 } as const;

export type Enrolment = {
  readonly isEnrolled: () => boolean;
  readonly stop: () => void;
};

/**
 * Enrols the key of this executor at the approvals service, in the background. With a new key the executor has to wait: if it
 * ended before its enrolment, no service could ever verify what it had sent.
 */
export const startEnrolment = ({
  name,
  key,
  reach,
  secret,
  isNamed,
  listener,
  clock,
  log,
}: {
  readonly name: string;
  readonly key: OwnKey;
  /** Origins that its effects may call. */
  readonly reach?: ExecutorReach | undefined;
  /** The join secret. */
  readonly secret: string;
  /** Whether the latest statement of approvals about keys names this key, if only as revoked. */
  readonly isNamed: () => boolean;
  readonly listener: Pick<Listener, 'call'>;
  readonly clock: Clock;
  readonly log: Logger;
}): Enrolment => {
  const joining = { name, x: rawPublicKeyOf(key.publicKey), ...(reach && { reach }) };
  const request = joinRequest(joining, secret, key.privateKey);
  let enrolled = false;
  let asking = false;
  let turn = 0;
  let refusedWith: string | undefined;

  const keep = async (): Promise<void> => {
    try {
      await key.keep();
      enrolled = true;
      log.info({ executor: name }, 'the key of this executor is enrolled');
    } catch (error) {
      log.error(errorFields(error), 'the key of this executor could not be stored');
    }
  };

  const join = async (): Promise<void> => {
    turn += 1;
    const every = isNamed() ? AGAIN_EVERY.named : AGAIN_EVERY.unnamed;
    if (asking || (enrolled && turn % every !== 0)) return;
    asking = true;
    const answer = await listener.call('approvals', 'executor_join', request).finally(() => {
      asking = false;
    });
    if ('ok' in answer) {
      refusedWith = undefined;
      if (!enrolled) await keep();
      return;
    }
    const { code, message } = answer.error;
    // While approvals is away nothing is known.
    if (code === 'RUNTIME_UNAVAILABLE' && !enrolled) askAgain();
    if (code === 'RUNTIME_UNAVAILABLE' || code === refusedWith) return;
    enrolled = false;
    refusedWith = code;
    log.error({ code, executor: name, problem: message }, 'the key of this executor was refused');
  };

  let stopAgain = (): void => undefined;
  const askAgain = (): void => {
    stopAgain();
    stopAgain = clock.after(ASK_AGAIN_MS, () => void join());
  };
  void join();
  const stopAsking = clock.every(ASK_EVERY_MS, () => void join());
  return {
    isEnrolled: () => enrolled,
    stop: () => {
      stopAsking();
      stopAgain();
    },
  };
};
