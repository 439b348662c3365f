import { coveredCommands, coverOf } from './readme-covered.ts';
import * as bus from './readme-effects-bus.ts';
import * as cli from './readme-effects-cli.ts';
import * as examples from './readme-effects-examples.ts';
import * as operations from './readme-effects-operations.ts';
import type { Effect } from './readme-desk.ts';
import type { Documented } from './readme-lines.ts';

const HOLDPOINT = 'npm run --silent holdpoint --';

/** By what a command begins with: whatever else it says is typed too. */
const effects: Readonly<Record<string, Effect>> = {
  [`${HOLDPOINT} task submit`]: cli.expectSubmitted,
  [`${HOLDPOINT} approvals list`]: cli.expectListed,
  [`${HOLDPOINT} approvals show <approval>`]: cli.expectShown,
  [`${HOLDPOINT} approvals approve <approval>`]: cli.expectApproved,
  [`${HOLDPOINT} task watch <task>`]: cli.expectWatched,
  [`${HOLDPOINT} effects list <task>`]: cli.expectEffectsListed,
  [`${HOLDPOINT} dlq list`]: operations.expectLettersListed,
  'nats context add holdpoint': bus.expectContext,
  'nats pub hp.cmd.task.submit': bus.expectPublished,
  'nats sub hp.evt.>': bus.expectEveryFact,
  'nats sub hp.evt.task.*.<task>': bus.expectFactsOfTask,
  'nats sub hp.work.>': examples.expectOrders,
  'nats stream view HP_EVT': bus.expectPastFacts,
  'nats stream view HP_DLQ': operations.expectLettersViewed,
  'nats micro ls': bus.expectServices,
  'nats micro info': bus.expectEndpoints,
  'nats req hp.api.orchestrator.get': bus.expectTask,
  'node infra/credentials/main.ts <folder>': operations.expectCredentials,
  'node infra/nats/main.ts --credentials <folder>': operations.expectServerConfig,
  'node infra/postgres/main.ts': operations.expectDatabase,
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

/** Commands of which nobody has decided yet how they are tried. */
export const undecidedOf = (documented: readonly Documented[]): readonly string[] =>
  documented
    .filter(({ words }) => coverOf(words) === undefined && nameOf(words) === undefined)
    .map(({ file, line }) => `${file}: ${line}`);

/** What is tried here, or elsewhere, and is documented no longer. */
export const forgottenOf = (documented: readonly Documented[]): readonly string[] => {
  const used = documented.map(({ words }) => nameOf(words) ?? words.join(' '));
  return [...names, ...coveredCommands].filter((name) => !used.includes(name));
};

export const expectEffect: Effect = async (desk, words) => {
  const effect = effects[nameOf(words) ?? ''];
  if (effect === undefined) throw new Error('nobody has decided what this command has to do');
  await effect(desk, words);
};
