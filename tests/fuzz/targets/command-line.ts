import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT } from '@holdpoint/cli/kit/failure';
import { runProgram } from '@holdpoint/cli/program';
import fc from 'fast-check';
import { bodyFor } from '../hostile/body.ts';
import { clientAmong, type Others } from '../hostile/client.ts';
import { replyTo } from '../hostile/replies.ts';
import { nastyText } from '../hostile/strings.ts';
import { validMessage } from '../messages.ts';
import { target } from '../target.ts';
import { bytesOf, type Text, textOf } from '../text.ts';

type Input = { readonly args: readonly Text[]; readonly others: Others };

const FLOW = `id = "template.fuzz"
version = "v1"
[cli.named]
name = "slug"
[params]
slug = ""
[[nodes]]
id = "append"
uses = "cap.env.shell.command.run"
args = { command = "echo \${slug}" }
on = { succeeded = ["terminal"] }
[[nodes]]
id = "terminal"
uses = "control.terminal"
`;

/** Every command with its arguments and the endpoints that it calls. */
const LINES: Readonly<Record<string, { readonly line: string; readonly asks: readonly string[] }>> = {
  'task submit': { line: 'task submit --workflow ? --goal ?', asks: ['orchestrator.submit'] },
  'task show': { line: 'task show t-1', asks: ['orchestrator.get'] },
  'task list': { line: 'task list', asks: ['orchestrator.list'] },
  'task watch': { line: 'task watch t-1', asks: ['orchestrator.history'] },
  'task show a job': {
    line: 'task show t-1/append',
    asks: ['orchestrator.get', 'orchestrator.history', 'approvals.get'],
  },
  'task cancel': { line: 'task cancel t-1', asks: ['orchestrator.cancel'] },
  'task pause': { line: 'task pause t-1', asks: ['orchestrator.pause'] },
  'task resume': { line: 'task resume t-1', asks: ['orchestrator.resume'] },
  'task retry': { line: 'task retry t-1', asks: ['orchestrator.get', 'orchestrator.retry'] },
  'task skip': { line: 'task skip t-1 --node append', asks: ['orchestrator.skip'] },
  'task review': {
    line: 'task review t-1 --kind spec --verdict passed --summary ?',
    asks: ['orchestrator.record_review'],
  },
  'task fork': { line: 'task fork t-1 --version 3', asks: ['orchestrator.fork'] },
  run: { line: 'run flow --name ?', asks: ['orchestrator.submit', 'orchestrator.get'] },
  'run to its end': {
    line: 'run flow --name ? --follow',
    asks: [
      'orchestrator.submit',
      'orchestrator.get',
      'orchestrator.history',
      'approvals.get',
      'recovery.report',
    ],
  },
  'run of nothing': { line: 'run ? --name ?', asks: ['orchestrator.submit', 'orchestrator.get'] },
  'workflow graph': { line: 'workflow graph flow --format dot', asks: [] },
  'workflow validate': { line: 'workflow validate flow ?', asks: [] },
  'workflow init': { line: 'workflow init', asks: [] },
  completions: { line: 'completions bash', asks: [] },
  'task jobs': { line: 'task jobs', asks: ['orchestrator.list', 'orchestrator.get', 'approvals.get'] },
  'task show --brief': { line: 'task show t-1/append --brief', asks: ['orchestrator.get'] },
  'task schedule': { line: 'task schedule', asks: ['orchestrator.list', 'orchestrator.get'] },
  'task tail': { line: 'task tail t-1/append', asks: ['orchestrator.get'] },
  'task cancel a job': {
    line: 'task cancel t-1/append',
    asks: ['orchestrator.get', 'orchestrator.cancel'],
  },
  'task retry a job': {
    line: 'task retry t-1/append --json',
    asks: ['orchestrator.get', 'orchestrator.retry', 'orchestrator.history'],
  },
  'jobs list': { line: 'jobs list', asks: ['orchestrator.list', 'orchestrator.get', 'approvals.get'] },
  'jobs attach': { line: 'jobs attach t-1/append', asks: ['orchestrator.get'] },
  'jobs approve': {
    line: 'jobs approve t-1/append',
    asks: ['orchestrator.get', 'approvals.get', 'approvals.decide'],
  },
  'jobs reject': {
    line: 'jobs reject --run t-1',
    asks: ['orchestrator.get', 'approvals.get', 'approvals.decide'],
  },
  'approval list': { line: 'approval list', asks: ['approvals.list'] },
  'approval show': { line: 'approval show a-1', asks: ['approvals.get'] },
  'approval approve': { line: 'approval approve a-1', asks: ['approvals.get', 'approvals.decide'] },
  'approval reject': { line: 'approval reject a-1', asks: ['approvals.get', 'approvals.decide'] },
  'approval answer': {
    line: 'approval answer a-1 --text ?',
    asks: ['approvals.get', 'approvals.decide'],
  },
  'approval answer to a form': {
    line: 'approval answer a-1 --field env=x --field more:=1',
    asks: ['approvals.get', 'approvals.decide'],
  },
  'effect list': { line: 'effect list t-1', asks: ['executor.list'] },
  'artifact list': { line: 'artifact list t-1', asks: ['executor.artifacts'] },
  'artifact get': { line: 'artifact get t-1/append', asks: ['executor.artifacts', 'executor.artifact'] },
  'effect undo': { line: 'effect undo e-1', asks: ['executor.order', 'orchestrator.submit'] },
  'recovery history': { line: 'recovery history t-1/append', asks: ['recovery.history'] },
  'recovery history as a file': { line: 'recovery history t-1 --json', asks: ['recovery.history'] },
  'recovery report of all': { line: 'recovery report', asks: ['recovery.stuck'] },
  'recovery report': { line: 'recovery report t-1/append', asks: ['recovery.report'] },
  'recovery resolve with retry': {
    line: 'recovery resolve t-1/append retry --reason ?',
    asks: ['orchestrator.retry'],
  },
  'recovery resolve with skip': { line: 'recovery resolve t-1/append skip', asks: ['orchestrator.skip'] },
  'recovery resolve with done': {
    line: 'recovery resolve t-1/append done --output digest=x --reason ?',
    asks: ['orchestrator.done'],
  },
  'recovery resolve with cancel': {
    line: 'recovery resolve t-1/append cancel',
    asks: ['orchestrator.cancel'],
  },
  'recovery classify': { line: 'recovery classify build.log --exit-code 2', asks: ['recovery.classify'] },
  'recovery classes': { line: 'recovery classes', asks: ['recovery.failure_counts'] },
  'circuit list': { line: 'circuit list', asks: ['recovery.circuits'] },
  'circuit close': { line: 'circuit close workflow:flow', asks: ['recovery.circuit'] },
  'capability list': { line: 'capability list', asks: ['executor.capabilities'] },
  'capability list of one': { line: 'capability list cap.http.request', asks: ['executor.capabilities'] },
  'admin gc': {
    line: 'admin gc',
    asks: ['orchestrator.retention', 'approvals.retention', 'executor.retention', 'recovery.retention'],
  },
  'dlq list': { line: 'dlq list', asks: [] },
  'dlq show': { line: 'dlq show 1', asks: [] },
};

const FLAGS = [
  '--exit-code',
  '--uses',
  '--output',
  '--by',
  '--json',
  '--input',
  '--criterion',
  '--id',
  '--reason',
  '--node',
  '--phase',
  '--limit',
  '--field',
  '--choice',
  '--yes',
  '--status',
  '--comment',
  '--digest',
  '--attempt',
  '--help',
  '-h',
  '--version',
  '--',
  '-',
  '--nonsense',
  '--set',
  '--after',
  '--require-approval',
  '--repeat',
  '--goal',
  '--run',
  '--all',
  '--raw',
  '--format',
  '--stream',
  '--top',
  '--max-depth',
  '--days',
  '--check',
  '--rewind',
  '--no-ansi',
  '--json=1',
];
const INPUTS = ['a=b', 'a:=1', 'a:=[', '__proto__:={"polluted":1}', '=', 'a=', ':=', 'a:=1e999'];
const DEEP: Text = `a:=${'['.repeat(6_000)}${']'.repeat(6_000)}`;

const word: fc.Arbitrary<Text> = fc.oneof(
  { weight: 4, arbitrary: nastyText },
  { weight: 4, arbitrary: fc.constantFrom(...FLAGS) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Text>(
      ...INPUTS,
      't-1',
      't-1/append',
      'append',
      'flow',
      'json',
      'slug=x',
      '1',
      '500',
      'paused',
      DEEP,
    ),
  },
);

/** A command line with its words filled in, extra words, and sometimes one missing. */
const linesOf = (line: readonly string[]): fc.Arbitrary<readonly Text[]> =>
  fc
    .record({
      filled: fc.array(nastyText, { minLength: line.length, maxLength: line.length }),
      replaced: fc.option(fc.tuple(fc.nat(line.length - 1), word), { nil: undefined, freq: 1 }),
      more: fc.oneof(fc.constant([]), fc.array(word, { maxLength: 4 })),
    })
    .map(({ filled, replaced, more }) => {
      const words = line.map((text, i): Text => (text === '?' ? (filled[i] ?? '') : text));
      if (replaced !== undefined) words[replaced[0]] = replaced[1];
      return [...words, ...more];
    });

type Part = Readonly<Record<string, unknown>>;
const first = (list: unknown, change: Part): unknown =>
  Array.isArray(list) && list.length > 0
    ? [{ ...(list[0] as Part), ...change }, ...(list.slice(1) as unknown[])]
    : list;

/** Links an answer to the task, job or approval of the command lines. */
const aboutOurs = (value: object): object => {
  const { nodes, items } = value as Part;
  return {
    ...value,
    ...('id' in value && { id: 'status' in value ? 'a-1' : 't-1' }),
    ...(nodes !== undefined && { nodes: first(nodes, { id: 'append', approval: 'a-1' }) }),
    ...(items !== undefined && { items: first(items, { id: 't-1' }) }),
  };
};

const among = (asks: readonly string[]): fc.Arbitrary<Others> =>
  fc.record({
    replies: fc.record(Object.fromEntries(asks.map((name) => [name, replyTo(name, aboutOurs)]))),
    facts: fc.array(
      fc.record({
        version: fc.oneof(fc.constantFrom('1', '2', '', '1e400', '-1', 'x'), nastyText),
        time: fc.oneof(
          fc.constantFrom('2026-01-15T09:30:00Z', '', 'never', '+275760-09-13T00:00:01Z'),
          nastyText,
        ),
        body: bodyFor(validMessage('event/task.completed')),
      }),
      { maxLength: 3 },
    ),
  });

/** Characters that a terminal must not get. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** How much one character may grow by escaping, columns and repetition. */
const GROWTH = 200;
const FIXED = 64 * 1024;

const sizeOf = ({ args, others: { replies, facts } }: Input): number => {
  const bodies = [...Object.values(replies), ...facts].map(({ body }) => body);
  const bytes = bodies.reduce((sum, body) => sum + bytesOf(body).length, 0);
  return bytes + args.reduce((sum, text) => sum + textOf(text).length, 0);
};

let folder: string | undefined;
/** A repository with a workflow, some folders deep: paths upwards lead nowhere. */
const repository = (): string => {
  folder ??= mkdtempSync(join(tmpdir(), 'holdpoint-fuzz-'));
  const root = join(folder, 'some', 'folders', 'down');
  if (existsSync(root)) return root;
  mkdirSync(join(root, '.git'), { recursive: true });
  mkdirSync(join(root, '.holdpoint', 'workflows'), { recursive: true });
  writeFileSync(
    join(root, '.holdpoint', 'config.toml'),
    '[commands]\nflow = "file:.holdpoint/workflows/flow.toml"\n',
  );
  writeFileSync(join(root, '.holdpoint', 'workflows', 'flow.toml'), FLOW);
  writeFileSync(join(root, 'build.log'), 'error TS2322: no\n\u001b[31mfailed\u001b[0m\n');
  return root;
};

const NOW = Date.UTC(2026, 0, 15, 9, 31, 0);

/** Any command line with any answers ends with a documented code and prints only text. */
export const commandLine = target<Input>({
  name: 'command-line',
  runs: 25,
  reaches: [String(EXIT.ok), String(EXIT.usage)],
  cases: Object.fromEntries(
    Object.entries(LINES).map(([name, { line, asks }]) => [
      name,
      fc.record({ args: linesOf(line.split(' ')), others: among(asks) }),
    ]),
  ),
  check: async (input) => {
    let shown = '';
    const show = (text: string): void => {
      shown += text;
    };
    const code = await runProgram(input.args.map(textOf), {
      directory: repository(),
      connect: () => Promise.resolve(clientAmong(input.others)),
      out: show,
      err: show,
      now: () => NOW,
    });
    assert.ok(Object.values<number>(EXIT).includes(code));
    assert.equal(UNSEEN.exec(shown.replaceAll('\n', '')), null);
    assert.ok(shown.length < GROWTH * sizeOf(input) + FIXED);
    return String(code);
  },
  end: () => {
    if (folder !== undefined) rmSync(folder, { recursive: true });
    folder = undefined;
    return Promise.resolve();
  },
});
