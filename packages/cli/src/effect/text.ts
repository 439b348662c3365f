import type { EffectView } from '@holdpoint/contracts/effect/views';
import { columns } from '../output/columns.ts';
import { printableLines } from '../output/printable.ts';

const NEXT: Readonly<Record<NonNullable<EffectView['next']>, string>> = {
  repeat: 'retry automatically',
  probe: 'probe the target',
  person: 'an operator answers',
};

export const effectText = (effect: EffectView): readonly string[] => {
  const {
    id,
    task,
    node,
    state,
    epoch,
    starts,
    duplicatesPrevented: prevented = 0,
    uses,
    target,
    effectClass,
  } = effect;
  const { reason, next, cause, deferredReason: waits, answer, answeredBy, idempotencyKey, digest } = effect;
  const rows: (readonly string[])[] = [
    ['effect', id],
    ['task', `${task}/${node}`],
    ...(uses === undefined ? [] : [['what', `${uses} on ${target ?? '?'}, ${effectClass ?? '?'}`]]),
    ['state', `${state.replace('_', ' ')} (epoch ${String(epoch)}, started ${String(starts)}x)`],
    ...printableLines(reason ?? '').flatMap((line, i) =>
      line === '' ? [] : [[i === 0 ? 'reason' : '', line]],
    ),
    ...(cause === undefined ? [] : [['cause', cause.replaceAll('_', ' ')]]),
    ...(next === undefined ? [] : [['next', NEXT[next]]]),
    ...(waits === undefined ? [] : [['waits', waits]]),
    ...(prevented === 0 ? [] : [['prevented', `${String(prevented)} duplicates`]]),
    ...(answer === undefined ? [] : [['answer', `${answer} by ${answeredBy ?? 'unknown'}`]]),
    ['key', idempotencyKey],
    ['digest', digest],
  ];
  return columns(rows);
};
