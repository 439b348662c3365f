import type { Engine } from '@holdpoint/runtime/engine/engine';
import type { EffectMessage } from '../../effect/decide.ts';
import type { Entry } from '../journal/segments.ts';

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
