import { parseArgs } from 'node:util';
import { type Campaign, runCampaign, seedsFrom } from './campaign.ts';
import { describeFailure } from './report.ts';
import { FORMS } from './services/cluster.ts';
import { TASKS } from './simulate.ts';

const HELP = `npm run simulate -- [options]
  --seed N      the first seed (default: a new one)
  --seeds N     how many seeds, one after the other (default: 1)
  --seconds N   go on with further seeds for so long
  --tasks N     tasks in each run (default: ${String(TASKS)})
  --held N      effects held without a workflow, for claimants (default: 0)
  --steps N     break each run off after so many steps
  --form FORM   core, apart or both (default: apart)
  --upgrade     replace each process of one release by the following one, while tasks run
  --mute        say nothing but what failed`;

const number = (name: string, value: string | undefined): number | undefined => {
  if (value === undefined) return undefined;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  process.stderr.write(`--${name}: a whole number\n${HELP}\n`);
  return process.exit(64);
};

const table = (title: string, counts: ReadonlyMap<string, number>): readonly string[] => [
  '',
  title,
  ...[...counts]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([name, count]) => `${String(count).padStart(12)}  ${name}`),
];

const summary = (campaign: Campaign, seconds: number): readonly string[] => [
  ...table('seen', campaign.seen),
  ...table('faults', campaign.struck),
  ...table('held, times checked', campaign.checked),
  '',
  `${String(campaign.runs)} runs, ${String(campaign.tasks)} tasks, ${String(campaign.steps)} steps, ` +
    `${String(campaign.faults)} faults; ${(campaign.tasks / seconds).toFixed(0)} tasks/s`,
];

const readOptions = () => {
  const value = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const options = {
      seed: value,
      seeds: value,
      seconds: value,
      tasks: value,
      held: value,
      steps: value,
      form: value,
      upgrade: flag,
      mute: flag,
      help: flag,
    };
    return parseArgs({ options }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${HELP}\n`);
    return process.exit(64);
  }
};

const { seed, seeds, seconds, tasks, held, steps, form, upgrade, mute, help } = readOptions();
if (help === true) {
  process.stdout.write(`${HELP}\n`);
  process.exit(0);
}
const first = number('seed', seed) ?? Date.now() % 1_000_000_000;
const wanted = {
  tasks: number('tasks', tasks) ?? TASKS,
  held: number('held', held) ?? 0,
  steps: number('steps', steps) ?? Infinity,
  form: FORMS.find((each) => each === form) ?? 'apart',
  upgrade: upgrade === true,
  bug: {},
} as const;
const lasts = number('seconds', seconds);
const started = performance.now();
const elapsed = (): number => (performance.now() - started) / 1_000;
const all = seedsFrom(first, lasts === undefined ? (number('seeds', seeds) ?? 1) : Infinity);
const campaign = await runCampaign(all, wanted, () => lasts !== undefined && elapsed() > lasts);
const failure = campaign.failed && (await describeFailure(campaign.failed, wanted));
const lines = [
  ...(mute === true ? [] : summary(campaign, elapsed())),
  ...(failure === undefined ? [] : ['', failure]),
];
if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
process.exitCode = failure === undefined ? 0 : 1;
