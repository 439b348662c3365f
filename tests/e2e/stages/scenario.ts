import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { createRepository, type Repository } from '../../conformance/support/repository.ts';
import type { Stack } from '../../conformance/support/stack.ts';
import { Hopeless, until } from '../../kit/until.ts';
import { type Standing, standingOf } from './end-state.ts';

/**
 * Resolves a conflict if there is one; plans while there is no plan; else carries the plan out. It leaves a line when it begins
 * and one when it ends, in a file that is committed: what was interrupted and put back has left neither.
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

/** Red for the first checkout that it sees, and green for the next; a check that is repeated after a crash is the same one. */
const checks = (slug: string): string =>
  [
    `cicd_script=seen="$(git rev-parse --git-common-dir)/seen-${slug}"`,
    'mkdir -p "$seen"',
    'touch "$seen/$(basename "$PWD")"',
    'sleep 0.3',
    'test "$(ls "$seen" | wc -l)" -ge 2',
  ].join('; ');

/** A bound for what hangs. */
const ENDS_WITHIN_MS = 400_000;
/** What a command says when the service that it asks is down: the same command, typed again, goes on from there. */
const UNAVAILABLE = /RUNTIME_UNAVAILABLE/;

/** Types a command, as often as the services are down when it asks them. */
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

/** Runs a flow to its end, which has to be a good one. */
const follow = async (repository: Repository, id: string, ...words: readonly string[]): Promise<string> => {
  const text = await typed(repository, 'run', ...words, '--id', id, '--follow', '--format', 'json');
  expect(JSON.parse(text), text).toMatchObject({ terminal_state: 'succeeded', run_id: id });
  return id;
};

/** Somebody at another terminal, who approves whatever comes up and is not troubled by services that are down. */
const startApproving = (repository: Repository): (() => Promise<void>) => {
  const { client } = repository.stack.system;
  let isOver = false;
  const look = async (): Promise<void> => {
    const { items } = await client.ask('approvals', 'list', { status: 'pending' });
    for (const { id } of items) {
      const { code, err } = await repository.holdpoint('approval', 'approve', id);
      if (code !== 0 && !UNAVAILABLE.test(err)) expect(err).toMatch(/APPROVALS_(ALREADY_DECIDED|WITHDRAWN)/);
    }
  };
  const approve = async (): Promise<void> => {
    while (!isOver) {
      await until('what waits for a person is listed', async () => (await look(), true));
      // How often it looks is not what anything waits for.
      await sleep(200);
    }
  };
  const approving = approve();
  // Whoever ends it hears of it.
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

/** All four flows in one repository, with a gate that fails twice, a conflict and a check that fails once; and what stands then. */
export const runStages = async (stack: Stack): Promise<Standing> => {
  const repository = await newRepository(stack);
  const stopApproving = startApproving(repository);
  try {
    return await standingOf(repository, await runAll(repository));
  } finally {
    await stopApproving();
  }
};
