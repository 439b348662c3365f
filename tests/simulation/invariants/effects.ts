import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { canonicalJson } from '@holdpoint/contracts/values/json';
import { type EffectState, entryIn } from '@holdpoint/executor/effect/state';
import type { Change } from '../event-states.ts';
import type { Application } from '../outside/target.ts';
import type { World } from '../world.ts';

/** The recorded outcomes of an effect are what its executors saw. */
export const checkEffect = (
  { checker, target, reports }: World,
  { aggregate, before, event }: Change<EffectState, EffectEvent>,
): void => {
  const entry = entryIn(before);
  const seen = (epoch: number): string | undefined => reports.get(`${aggregate} ${String(epoch)}`);
  const isWork = entry?.order.effect.kind === 'work';
  // Answers of the target and of people count as reports.
  const said = event.type === 'probed' ? event.found : event.type === 'answered' ? event.answer : undefined;
  if (said !== undefined && 'epoch' in event) reports.set(`${aggregate} ${String(event.epoch)}`, said);
  if (event.type === 'applied') {
    if (isWork)
      checker.expect(
        'work is recorded as done only after it ran',
        target.runs(aggregate) > 0,
        event.task,
        () => aggregate,
      );
    // A late report ends the doubt. It is recorded under its own epoch first.
    const late = before.status === 'in_doubt' && entry?.evidence.some((epoch) => seen(epoch) === 'applied');
    checker.expect(
      'the recorded outcome of an epoch is the one that its executor saw',
      seen(event.epoch) === 'applied' || late === true,
      event.task,
      () => `epoch ${String(event.epoch)} of ${aggregate} reported ${String(seen(event.epoch))}`,
    );
  }
  if (event.type === 'superseded') {
    checker.expect(
      'the recorded outcome of an epoch is the one that its executor saw',
      seen(event.epoch) === event.observed,
      event.task,
      () => `epoch ${String(event.epoch)} of ${aggregate} reported ${String(seen(event.epoch))}`,
    );
  }
};

/** Its author has declared that a repeat is harmless. */
export const mayRepeat = ({ effect }: RunEffect): boolean => effect.effectClass === 'idempotent';

/** Runs at every application by the target. */
export const watchApplications = (world: World): ((application: Application) => void) => {
  /** By job: how often its effect was applied under any id. */
  const byJob = new Map<string, number>();
  return (application) => {
    const order = entryIn(world.books.executor.stateOf(application.effect))?.order;
    checkApplication(world, application);
    // An effect that is bound to a preview changes with the preview.
    if (order === undefined || CAPABILITIES[application.uses]?.preview !== undefined || mayRepeat(order))
      return;
    const job = `${order.effect.task}/${order.effect.node}`;
    const count = (byJob.get(job) ?? 0) + 1;
    byJob.set(job, count);
    world.checker.expect(
      'a node applies its effect once, however often it is retried',
      count === 1,
      order.effect.task,
      () => `${job} was carried out ${String(count)} times`,
    );
  };
};

const checkApplication = ({ checker, books }: World, { effect, uses, args }: Application): void => {
  const state = books.executor.stateOf(effect);
  const order = entryIn(state)?.order;
  const task = order?.effect.task ?? '';
  const exact = order?.effect.uses === uses && canonicalJson(order.effect.args) === canonicalJson(args);
  checker.expect('the applied effect is the approved effect', exact, task, () =>
    JSON.stringify({ order: order?.effect, uses, args }),
  );
};

/** Work may repeat, but only as often as it was started. */
export const checkWork = ({ checker, target, books }: World, { effect, uses, args }: Application): void => {
  const entry = entryIn(books.executor.stateOf(effect));
  const task = entry?.order.effect.task ?? '';
  checker.expect(
    'work runs at most as often as it was started',
    target.runs(effect) <= (entry?.starts ?? 0),
    task,
    () => `${effect} ran ${String(target.runs(effect))} times`,
  );
  const allowed = CAPABILITIES[uses]?.work === true && entry?.order.effect.kind === 'work';
  const exact =
    entry?.order.effect.uses === uses && canonicalJson(entry.order.effect.args) === canonicalJson(args);
  checker.expect('only work runs without a grant, and exactly as ordered', allowed && exact, task, () =>
    JSON.stringify({ order: entry?.order.effect, uses, args }),
  );
};
