import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { createRepository, type Repository } from '../../conformance/support/repository.ts';
import { viewOf } from '../../conformance/support/runs.ts';
import type { Stack } from '../../conformance/support/stack.ts';
import { Hopeless, until } from '../../kit/until.ts';
import { type Standing, standingOf } from './end-state.ts';

/**
 * The agent resolves a conflict if there is one, plans if there is no plan, and otherwise implements the
 * plan. It writes a line at its begin and its end into a committed file: an interrupted attempt that was
 * rolled back leaves neither.
 */
const AGENT = `cat > /dev/null
if grep -q '^<<<<<<<' greeting.txt; then
  sleep 0.5; echo 'hello, both' > greeting.txt; echo 'kept both'; exit
fi
set -- .holdpoint/plans/*.md
if [ ! -e "$1" ]; then sleep 0.5; echo 'the plan of a fixed reply'; exit; fi
slug=$(basename "$1" .md)
echo begin >> "$slug.runs"
if [ "$slug" = greet ]; then echo 'hello, branch' > greeting.txt; else echo "$slug" > "$slug.txt"; fi
sleep 0.5
echo end >> "$slug.runs"
echo 'carried out'
`;

const stopCondition = (slug: string, runs: number): string =>
  `stop_condition_script=sleep 0.3; test "$(grep -c end ${slug}.runs)" -ge ${String(runs)}`;

/**
 * This check fails for the first checkout and passes for the next. A check that is repeated after a crash
 * sees the same checkout.
 */
const checks = (slug: string): string =>
  [
    `cicd_script=seen="$(git rev-parse --git-common-dir)/seen-${slug}"`,
    'mkdir -p "$seen"',
    'touch "$seen/$(basename "$PWD")"',
    'sleep 0.3',
    'test "$(ls "$seen" | wc -l)" -ge 2',
  ].join('; ');

/** Only a command that hangs reaches this limit. */
const ENDS_WITHIN_MS = 400_000;
/** The error of a command whose service is down. The same command, typed again, continues there. */
const UNAVAILABLE = /RUNTIME_UNAVAILABLE/;

/** Types a command again until its services are up. */
const typed = (repository: Repository, ...words: readonly string[]): Promise<string> =>
  until(
    `holdpoint ${words.join(' ')}`,
    async () => {
      const { out, err } = await repository.holdpoint(...words);
      if (out.includes('workflow_run_terminal')) return out;
      if (UNAVAILABLE.test(err)) return undefined;
      throw new Hopeless(`holdpoint ${words.join(' ')}: ${out}${err}`);
    },
    ENDS_WITHIN_MS,
  );

/** Runs a workflow until it completes. */
const follow = async (repository: Repository, id: string, ...words: readonly string[]): Promise<string> => {
  const text = await typed(repository, 'run', ...words, '--id', id, '--follow', '--format', 'json');
  // A kill may take the service away while it answers.
  const { nodes } = await until(`${id} is shown`, () => viewOf(repository.stack, id));
  const unfinished = nodes.filter(({ job }) => job !== 'succeeded');
  const about = `${text}${JSON.stringify(unfinished)}`;
  expect(JSON.parse(text), about).toMatchObject({ terminal_state: 'succeeded', run_id: id });
  return id;
};

/** Approves all requests from another terminal, and ignores services that are down. */
const startApproving = (repository: Repository): (() => Promise<void>) => {
  const { client } = repository.stack.system;
  let isOver = false;
  const look = async (): Promise<void> => {
    const { items } = await client.ask('approvals', 'list', { status: 'pending' });
    for (const { id } of items) {
      const { code, err } = await repository.asApprover('approval', 'approve', id);
      if (code !== 0 && !UNAVAILABLE.test(err)) expect(err).toMatch(/APPROVALS_(ALREADY_DECIDED|WITHDRAWN)/);
    }
  };
  const approve = async (): Promise<void> => {
    while (!isOver) {
      await until('the pending requests are listed', async () => (await look(), true));
      // A slower poll delays no step of the workflow.
      await sleep(200);
    }
  };
  const approving = approve();
  // The caller of `end` handles the rejection.
  approving.catch(() => undefined);
  return async () => {
    isOver = true;
    await approving;
  };
};

const newRepository = async (stack: Stack): Promise<Repository> => {
  const repository = createRepository(stack);
  const { code, err } = await repository.holdpoint('workflow', 'init');
  expect(code, err).toBe(0);
  const config = repository.read('.holdpoint/config.toml');
  const agent = '\n[agents.default]\nagent.command = ["sh", ".holdpoint/agent.sh"]\n';
  repository.write('.holdpoint/config.toml', `${config}${agent}`);
  repository.write('.holdpoint/agent.sh', AGENT);
  repository.write('greeting.txt', 'hello\n');
  repository.write('spec.md', 'Greet people by name.\n');
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '--message', 'flows');
  return repository;
};

const runAll = async (repository: Repository): Promise<readonly string[]> => {
  const draft = await follow(repository, 'greet-draft', 'draft', 'spec.md', 'greet');
  const approve = await follow(
    repository,
    'greet-approve',
    'approve',
    'greet',
    '--set',
    stopCondition('greet', 3),
  );
  repository.commit({ 'greeting.txt': 'hello, main\n' }, 'another greeting');
  const merge = await follow(repository, 'greet-merge', 'merge', 'greet', '--set', checks('greet'));
  const words = ['develop', 'spec.md', 'part', '--set', stopCondition('part', 2), '--set', checks('part')];
  const develop = await follow(repository, 'part-develop', ...words);
  return [draft, approve, merge, develop];
};

/**
 * Runs all four workflows in one repository, with a gate that fails twice, a conflict and a check that
 * fails once. Returns the end state.
 */
export const runStages = async (stack: Stack): Promise<Standing> => {
  const repository = await newRepository(stack);
  const stopApproving = startApproving(repository);
  try {
    return await standingOf(repository, await runAll(repository));
  } finally {
    await stopApproving();
  }
};
