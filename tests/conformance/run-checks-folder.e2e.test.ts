import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { createRepository, type Repository } from './support/repository.ts';
import { jobsOf, nodeOf, submissionOf, untilEnded, untilJob, viewOf } from './support/runs.ts';
import { startStack, type Stack } from './support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

/** Implements a specification if the file beside it allows it; a specification with the text `bad` fails. */
const FLOW = `
id = "template.spec"
version = "v1"

[params]
slug = ""
branch = ""
spec_file = ""

[[nodes]]
id = "read"
uses = "cap.env.shell.command.run"
args = { command = "until test -e go; do sleep 0.1; done; ! grep -q bad '\${spec_file}'" }
on = { succeeded = ["note"] }

[[nodes]]
id = "note"
uses = "cap.env.shell.command.run"
args = { command = "echo '\${spec_file} \${slug} \${branch}' >> notes.txt" }
`;

const withSpecs = (b: string): Repository => {
  const repository = createRepository(stack);
  repository.write('.holdpoint/workflows/spec.toml', FLOW);
  repository.write('specs/b/Two words.md', b);
  repository.write('specs/c.md', 'good');
  repository.write('specs/Z.md', 'good');
  return repository;
};

const letGo = ({ root }: Repository): void => writeFileSync(join(root, 'go'), '');

const FLOW_WORDS = [
  'run',
  '.holdpoint/workflows/spec.toml',
  '--spec-dir',
  'specs',
  '--format',
  'json',
] as const;

const Many = z.looseObject({
  batch_dir: z.literal('specs'),
  spec_count: z.literal(3),
  runs: z.array(z.looseObject({ run_id: z.string(), item: z.string(), outcome: z.string() })).length(3),
});

const idsOf = (many: z.infer<typeof Many>): readonly [string, string, string] => {
  const [one = '', two = '', three = ''] = many.runs.map(({ run_id: id }) => id);
  return [one, two, three];
};

const ITEMS = ['specs/Z.md', 'specs/b/Two words.md', 'specs/c.md'] as const;

test('33. --spec-dir queues one run per specification, in order, each with its own file, slug and branch, one after the other', async () => {
  const repository = withSpecs('good');
  const { code, out, err } = await repository.holdpoint(...FLOW_WORDS);
  expect(code, err).toBe(0);
  const many = Many.extend({ outcome: z.literal('workflow_runs_enqueued') }).parse(JSON.parse(out));
  expect(many.runs.map(({ item }) => item)).toEqual(ITEMS);
  const [one, two, three] = idsOf(many);

  const inputs = await Promise.all(
    [one, two, three].map(async (id) => (await submissionOf(stack, id)).inputs),
  );
  expect(inputs).toEqual([
    { spec_file: 'specs/Z.md', slug: 'z', branch: 'draft/z' },
    { spec_file: 'specs/b/Two words.md', slug: 'b-two-words', branch: 'draft/b-two-words' },
    { spec_file: 'specs/c.md', slug: 'c', branch: 'draft/c' },
  ]);

  await untilJob(stack, one, 'read', 'running');
  const waiting = await untilJob(stack, two, 'read', 'waiting_on_deps');
  expect(waiting.after).toEqual([`${one}/note`]);
  expect(nodeOf(waiting, 'read').wait).toMatchObject({ kind: 'dependencies' });
  expect((await viewOf(stack, three)).after).toEqual([`${two}/note`]);

  letGo(repository);
  expect((await untilEnded(stack, three)).outcome).toBe('succeeded');
  expect(repository.read('notes.txt')).toBe(
    'specs/Z.md z draft/z\nspecs/b/Two words.md b-two-words draft/b-two-words\nspecs/c.md c draft/c\n',
  );
});

test('34. a followed folder stops at the first failed specification, and the later ones never start', async () => {
  const repository = withSpecs('bad');
  letGo(repository);
  const { code, out, err } = await repository.holdpoint(...FLOW_WORDS, '--follow');
  expect(code, err).toBe(1);
  const ended = Many.extend({
    outcome: z.literal('workflow_runs_terminal'),
    terminal_state: z.literal('failed'),
    exit_code: z.literal(1),
  }).parse(JSON.parse(out));
  expect(ended.runs.map(({ item, outcome, terminal_state: state }) => [item, outcome, state])).toEqual([
    [ITEMS[0], 'workflow_run_terminal', 'succeeded'],
    [ITEMS[1], 'workflow_run_terminal', 'failed'],
    [ITEMS[2], 'workflow_run_enqueued', undefined],
  ]);
  const [, , three] = idsOf(ended);
  const left: TaskView = await untilEnded(stack, three);
  expect(left.outcome).toBe('blocked');
  expect(jobsOf(left)).toMatchObject({ read: 'blocked_by_dependency' });
  expect(repository.read('notes.txt')).toBe('specs/Z.md z draft/z\n');
});
