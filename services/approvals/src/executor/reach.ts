import type { ExecutorReach } from '@holdpoint/contracts/approval/enrolment';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { targetSetting } from '@holdpoint/contracts/effect/http-request';

type Reaching = Pick<CanonicalEffect, 'uses' | 'target' | 'args'>;

/** The origins of each capability. */
const LISTS: Readonly<Record<string, 'request' | 'keyed' | 'idempotent' | 'notify'>> = {
  'cap.http.request': 'request',
  'cap.http.keyed_request': 'keyed',
  'cap.http.idempotent_request': 'idempotent',
  'cap.notify.webhook': 'notify',
  'cap.notify.discord': 'notify',
  'cap.notify.slack': 'notify',
};

/** The origin that an effect calls. The target of a notice names its channel; undefined if its arguments name no origin. */
const originOf = ({ uses, target, args }: Reaching): string | undefined => {
  if (uses === 'cap.notify.webhook') return target.replace(/^notify:/, '');
  if (!uses.startsWith('cap.notify.')) return target;
  const origin = args['origin'];
  return typeof origin === 'string' ? origin : undefined;
};

/** A public host by https on port 443; the executor also checks its address. */
const isPublic = (origin: string): boolean => /^https:\/\/[^:]+$/.test(origin);

/**
 * Why no executor may call the target of an effect; undefined if one may, or if one has not announced its
 * settings.
 */
export const unreachableBy = (
  effect: Reaching,
  reaches: readonly (ExecutorReach | undefined)[],
): string | undefined => {
  const { uses } = effect;
  const list = Object.hasOwn(LISTS, uses) ? LISTS[uses] : undefined;
  const origin = originOf(effect);
  if (list === undefined || origin === undefined || reaches.length === 0) return undefined;
  const mayCall = (reach: ExecutorReach | undefined): boolean =>
    (reach?.[list]?.includes(origin) ?? true) ||
    (list === 'request' && reach?.anyPublic === true && isPublic(origin));
  return reaches.some(mayCall)
    ? undefined
    : `EXECUTOR_TARGET_NOT_ALLOWED: add ${origin} to ${targetSetting(uses)} of the executor`;
};
