import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@holdpoint/runtime/observability/log';
import CircuitBreaker from 'opossum';
import { z } from 'zod';
import type { Message } from './messages/message.ts';
import type { DiscordSettings } from './settings.ts';

/**
 * A failed call to Discord. Of the answer it contains only status and error code, because the rest is
 * untrusted.
 */
export class DiscordFailure extends Error {
  override readonly name = 'DiscordFailure';
  /** `away`: a later call may work; `refused`: it will not; `waiting`: the call was not sent. */
  readonly kind: 'away' | 'refused' | 'waiting';
  /** Discord's error code. */
  readonly reason: number | undefined;

  constructor(kind: DiscordFailure['kind'], message: string, reason?: number, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.reason = reason;
  }
}

/** The message no longer exists. */
export const UNKNOWN_MESSAGE = 10_008;

const TIMEOUT_MS = 10_000;
/** For a longer rate limit the notice waits for its timer instead. */
const PAUSE_MAX_MS = 5_000;
const PAUSE_DEFAULT_MS = 1_000;

/** Fewer calls in the window do not open the circuit. */
const TRIES_MIN = 3;
const WINDOW_MS = 60_000;
const BUCKETS = 10;
const FAILED_PERCENT = 50;
/** Shorter than the first retry of a notice, which therefore finds the circuit half open. */
const OPEN_MS = 10_000;

const CreatedMessage = z.object({ id: z.string().regex(/^\d{1,20}$/) });
const ErrorAnswer = z.object({ code: z.number().optional(), retry_after: z.number().optional() });

export type NewMessage = Pick<Message, 'allowed_mentions'> &
  Partial<Message> & {
    readonly nonce: string;
    readonly enforce_nonce: true;
    readonly message_reference?: { readonly message_id: string; readonly fail_if_not_exists: false };
  };

/** Calls to Discord, each sent once. The caller serializes them. */
export type DiscordRest = {
  /**
   * Resolves to the message id, or to that of an existing message with the same nonce. Throws
   * `DiscordFailure`.
   */
  readonly create: (message: NewMessage) => Promise<string>;
  readonly edit: (id: string, message: Message) => Promise<void>;
  readonly isOpen: () => boolean;
  /** Aborts running calls. */
  readonly stop: () => void;
};

type Call = () => Promise<unknown>;

/** The body as JSON; empty when it is no JSON. */
const bodyOf = async (response: Response): Promise<unknown> => {
  const text = await response.text();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // A proxy's error page, for example: the status is enough.
    return {};
  }
};

export const createRest = (
  { api, token, channel }: Pick<DiscordSettings, 'api' | 'token' | 'channel'>,
  log: Logger,
  now: () => number = Date.now,
): DiscordRest => {
  const stopping = new AbortController();
  let pausedUntil = 0;

  const breaker = new CircuitBreaker<[Call], unknown>((run) => run(), {
    name: 'discord',
    // Each request has its own timeout.
    timeout: false,
    errorThresholdPercentage: FAILED_PERCENT,
    volumeThreshold: TRIES_MIN,
    rollingCountTimeout: WINDOW_MS,
    rollingCountBuckets: BUCKETS,
    rollingPercentilesEnabled: false,
    enableSnapshots: false,
    resetTimeout: OPEN_MS,
    errorFilter: (error: unknown) => !(error instanceof DiscordFailure && error.kind === 'away'),
  });
  breaker.on('open', () => log.warn({}, 'discord circuit opened: notices wait'));
  breaker.on('close', () => log.info({}, 'discord circuit closed'));

  /** Follows Discord's rate limits. */
  const applyRateLimit = (response: Response, retryAfter: number | undefined): void => {
    const isSpent = response.headers.get('x-ratelimit-remaining') === '0';
    const seconds = retryAfter ?? (isSpent ? Number(response.headers.get('x-ratelimit-reset-after')) : 0);
    const ms = Number.isFinite(seconds) ? Math.max(seconds * 1_000, 0) : PAUSE_DEFAULT_MS;
    pausedUntil = Math.max(pausedUntil, now() + ms);
  };

  const sent = async (method: string, path: string, body: object): Promise<unknown> => {
    const response = await fetch(`${api}/channels/${channel}/messages${path}`, {
      method,
      headers: {
        authorization: `Bot ${token}`,
        'content-type': 'application/json',
        'user-agent': 'DiscordBot (https://holdpoint.dev, 1)',
      },
      body: JSON.stringify(body),
      // A redirect would send the token elsewhere.
      redirect: 'error',
      signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const answer = await bodyOf(response);
    const { code, retry_after: retryAfter } = ErrorAnswer.safeParse(answer).data ?? {};
    if (response.status === 429) {
      applyRateLimit(response, retryAfter ?? PAUSE_DEFAULT_MS / 1_000);
      throw new DiscordFailure('waiting', 'rate limited by discord');
    }
    applyRateLimit(response, undefined);
    if (response.ok) return answer;
    const kind = response.status >= 500 || response.status === 408 ? 'away' : 'refused';
    const reason = code === undefined ? '' : ` (${String(code)})`;
    throw new DiscordFailure(kind, `discord answered ${String(response.status)}${reason}`, code);
  };

  const call = async (method: string, path: string, body: object): Promise<unknown> => {
    const pause = pausedUntil - now();
    if (pause > PAUSE_MAX_MS) throw new DiscordFailure('waiting', 'rate limited by discord');
    try {
      if (pause > 0) await sleep(pause, undefined, { signal: stopping.signal });
      return await breaker.fire(() =>
        sent(method, path, body).catch((error: unknown) => {
          if (error instanceof DiscordFailure || stopping.signal.aborted) throw error;
          throw new DiscordFailure('away', 'discord could not be reached', undefined, error);
        }),
      );
    } catch (error) {
      if (error instanceof DiscordFailure) throw error;
      throw new DiscordFailure('waiting', 'discord was not called', undefined, error);
    }
  };

  return {
    create: async (message) => {
      const made = CreatedMessage.safeParse(await call('POST', '', message));
      if (!made.success) throw new DiscordFailure('refused', 'discord returned no message id');
      return made.data.id;
    },
    edit: async (id, message) => void (await call('PATCH', `/${id}`, message)),
    isOpen: () => breaker.opened,
    stop: () => {
      stopping.abort();
      breaker.shutdown();
    },
  };
};
