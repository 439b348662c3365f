import type { StoredAggregate, StoredEvent } from '../evidence/evidence.ts';
import { type Check, takeNotes } from './check.ts';

const eventOf = ({ events }: StoredAggregate, type: string): StoredEvent | undefined =>
  events.find((event) => event.type === type);

type Order = { readonly digest?: string; readonly grant?: string };

const claimsOf = (grant: string | undefined): Readonly<Record<string, unknown>> => {
  const [, claims = ''] = (grant ?? '').split('.');
  try {
    return JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
};

export const gate: Check = {
  id: 'K5',
  promise: 'nothing starts or is applied without an approval of exactly this effect, given before',
  ofTask: ({ id, approvals, effects, applications }) => {
    const { expect, finding } = takeNotes(id);
    const approved = (digest: string | undefined, before: number): boolean =>
      approvals.some((approval) => {
        const requested = eventOf(approval, 'requested')?.data;
        const resolved = eventOf(approval, 'resolved')?.data;
        return (
          requested?.['digest'] === digest &&
          resolved?.['outcome'] === 'approved' &&
          Number(resolved['at']) <= before
        );
      });
    for (const effect of effects) {
      for (const event of effect.events.filter(({ type }) => type === 'started')) {
        const { digest, grant } = event.data['order'] as Order;
        expect(
          approved(digest, event.at),
          () => `${effect.id} was started without an approval of ${String(digest)}`,
        );
        const claims = claimsOf(grant);
        expect(
          claims['digest'] === digest && claims['sub'] === effect.id,
          () => `${effect.id} was started with a grant for something else`,
        );
        expect(
          approvals.some((approval) => approval.id === claims['jti']),
          () => `${effect.id} was started with a grant of an unknown approval`,
        );
      }
    }
    for (const { key, at } of applications) {
      const effect = effects.find((each) => each.id === key);
      const order = effect?.events.find(({ type }) => type === 'started')?.data['order'] as Order | undefined;
      expect(
        approved(order?.digest, at ?? Infinity),
        () => `${key} was applied before, or without, an approval`,
      );
    }
    return finding();
  },
};
