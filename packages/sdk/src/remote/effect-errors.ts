import {
  type ErrorBody,
  type ErrorCode,
  HoldpointError,
  isNotApproved,
} from '@holdpoint/contracts/values/errors';
import type { RemoteError } from '@holdpoint/contracts/effect/remote';

/**
 * An approver rejected the effect (`ERR_FORBIDDEN`), or its own `approvalTimeoutMs` has passed (`APPROVALS_EXPIRED`). `code`: that of
 * the effect.
 */
export class EffectRejected extends HoldpointError {
  override readonly name = 'EffectRejected';
  constructor(message: string, details?: ErrorBody['details'], code = '') {
    super(isNotApproved(code) ? code : 'ERR_FORBIDDEN', message, { ...(details && { details }) });
  }
}

/** The effect failed or was cancelled. Its code is that of the failure, such as `REMOTE_CARD_DECLINED`. */
export class EffectFailed extends HoldpointError {
  override readonly name: string = 'EffectFailed';
}

/** The effect was cancelled before it happened. */
export class EffectCancelled extends EffectFailed {
  override readonly name = 'EffectCancelled';
}

/** The outcome is unknown, and the approvers have a question. A later `wait` may return the outcome. */
export class EffectInDoubt extends HoldpointError {
  override readonly name = 'EffectInDoubt';
  constructor(message: string) {
    super('EXECUTOR_OUTCOME_UNKNOWN', message);
  }
}

/** `run` throws it when it knows that nothing happened. After every other error the outcome counts as unknown. */
export class NothingHappened extends Error {
  override readonly name = 'NothingHappened';
  readonly code: RemoteError['code'];
  constructor(code: string, message: string) {
    super(message);
    this.code = remoteCodeOf(code);
  }
}

const remoteCodeOf = (code: string): string => {
  const plain = code
    .toUpperCase()
    .replace(/^REMOTE_/, '')
    .replaceAll(/[^A-Z0-9_]/g, '_')
    .slice(0, 64);
  return `REMOTE_${plain === '' ? 'FAILED' : plain}`;
};

/** For `throw nothingHappened('CARD_DECLINED', 'the bank declined')`: the effect failed cleanly with `REMOTE_CARD_DECLINED`. */
export const nothingHappened = (code: string, message: string): NothingHappened =>
  new NothingHappened(code, message);

/** An error with a code that a service or a program chose. */
export const effectFailed = ({ code, message, details }: ErrorBody): EffectFailed =>
  new EffectFailed(code as ErrorCode, message, { ...(details && { details }) });
