import type { Documented } from './command-lines.ts';
import * as bus from './effects-bus.ts';
import * as cli from './effects-cli.ts';
import * as examples from './effects-examples.ts';
import * as operations from './effects-operations.ts';
import type { Effect } from './reader.ts';

const HOLDPOINT = 'npm run --silent holdpoint --';

/** The expected effect of a command, by its first words; the test runs the whole command. */
const effects: Readonly<Record<string, Effect>> = {
  [`${HOLDPOINT} task submit`]: cli.expectSubmitted,
  [`${HOLDPOINT} approval list`]: cli.expectListed,
  [`${HOLDPOINT} approval show <approval>`]: cli.expectShown,
  [`${HOLDPOINT} approval approve <approval>`]: cli.expectApproved,
  [`${HOLDPOINT} task watch <task>`]: cli.expectWatched,
  [`${HOLDPOINT} effect list <task>`]: cli.expectEffectsListed,
  [`${HOLDPOINT} dlq list`]: operations.expectDeadLettersListed,
  'nats context add holdpoint': bus.expectContext,
  'nats req hp.api.approvals.identify': bus.expectIdentified,
  'nats pub hp.cmd.task.submit': bus.expectPublished,
  'nats sub hp.evt.> --stream HP_EVT': bus.expectPastFacts,
  'nats sub hp.evt.>': bus.expectEveryFact,
  'nats sub hp.evt.task.*.<task>': bus.expectFactsOfTask,
  'nats sub hp.work.>': examples.expectOrders,
  'nats micro ls': bus.expectServices,
  'nats micro info': bus.expectEndpoints,
  'nats req hp.api.orchestrator.get': bus.expectTask,
  'holdpoint provision credentials <folder> --rotate add': operations.expectKeyAdded,
  'holdpoint provision credentials <folder>': operations.expectCredentials,
  'holdpoint provision nats --credentials <folder>': operations.expectServerConfig,
  'holdpoint provision postgres': operations.expectDatabase,
  'node examples/coding-agent/worker.ts': examples.expectWorker,
  'node examples/coding-agent/start.ts': examples.expectReviewed,
  'node examples/data-migration/worker.ts': examples.expectWorker,
  'node examples/data-migration/start.ts': examples.expectApproved,
  'node examples/support-reply/worker.ts': examples.expectWorker,
  'node examples/support-reply/start.ts': examples.expectReviewed,
};
const names = Object.keys(effects);

const nameOf = (words: readonly string[]): string | undefined =>
  names.find((name) => `${words.join(' ')} `.startsWith(`${name} `));

export const effectOf = (words: readonly string[]): Effect | undefined => effects[nameOf(words) ?? ''];

/** Returns expectations for commands that are in no document. */
export const unusedEffects = (documented: readonly Documented[]): readonly string[] => {
  const used = new Set(documented.map(({ words }) => nameOf(words)));
  return names.filter((name) => !used.has(name));
};

export const expectEffect: Effect = async (reader, words) => {
  const effect = effectOf(words);
  if (effect === undefined) throw new Error(`no expected effect for: ${words.join(' ')}`);
  await effect(reader, words);
};
