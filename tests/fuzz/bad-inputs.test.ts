import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import { SubmitTask } from '@holdpoint/contracts/task/commands';
import { taskDecider } from '@holdpoint/orchestrator/task/decide';
import { TASK } from '@holdpoint/orchestrator/testing/tasks';
import { parseAs, parseJson } from '@holdpoint/runtime/engine/inbound';
import { loadTemplate } from '@holdpoint/workflows/compiler/compile';
import { describe, expect, test } from 'vitest';
import { NOW } from './decisions.ts';

type Files = Readonly<Record<string, string>>;

const problemsOf = (files: Files, entry = 'flow.toml') =>
  loadTemplate(entry, (path) => (Object.hasOwn(files, path) ? files[path] : undefined)).problems;

/** CPU time of this thread: other load on the machine does not count. */
const timed = <Value>(work: () => Value): { readonly value: Value; readonly ms: number } => {
  const started = process.threadCpuUsage();
  const value = work();
  const { user, system } = process.threadCpuUsage(started);
  return { value, ms: (user + system) / 1_000 };
};

const HEAD = 'id = "template.bad"\nversion = "v1"\n';
const importing = (path: string): string => `${HEAD}[[imports]]\nname = "a"\npath = "${path}"\n`;

describe('a template', () => {
  test('an invalid TOML template is refused with line and column', () => {
    expect(problemsOf({ 'flow.toml': `${HEAD}[[nodes]]\nid = "a\n` })).toMatchObject([
      { code: 'WORKFLOW_SYNTAX', severity: 'error', file: 'flow.toml', line: 4, column: 8 },
    ]);
  });

  test.each(['flow.toml', 'flow.json'])('of ten megabytes is refused at once: %s', (entry) => {
    const { value, ms } = timed(() => problemsOf({ [entry]: 'x = 1\n'.repeat(1_800_000) }, entry));
    expect(value.map(({ code }) => code)).toEqual(['WORKFLOW_FILE_TOO_LARGE']);
    expect(ms).toBeLessThan(100);
  });

  test('a template with an import cycle is refused with the cycle', () => {
    const found = problemsOf({
      'flow.toml': importing('other.toml'),
      'other.toml': importing('./flow.toml'),
    });
    expect(found).toMatchObject([
      { code: 'WORKFLOW_IMPORT_CYCLE', found: 'flow.toml -> other.toml -> flow.toml', file: 'other.toml' },
    ]);
  });

  test.each(['../other.toml', '/etc/other.toml', 'a/../../other.toml', 'C:\\other.toml'])(
    'a template import outside of the repository is refused and not read: %s',
    (path) => {
      const read: string[] = [];
      const { problems } = loadTemplate('flow.toml', (asked) => {
        read.push(asked);
        return asked === 'flow.toml' ? importing(path.replaceAll('\\', '\\\\')) : undefined;
      });
      expect(problems.map(({ code }) => code)).toEqual(['WORKFLOW_FILE_PATH']);
      expect(read).toEqual(['flow.toml']);
    },
  );
});

test('a workflow of 10,000 nodes is accepted and started', () => {
  const nodes = Array.from({ length: 10_000 }, (_, n) => ({
    id: `n${String(n)}`,
    uses: 'cap.env.shell.command.run',
    after: n === 0 ? [] : [`n${String(n - 1)}`],
    args: {},
  }));
  const body = JSON.stringify({ workflow: 'own', goal: 'x', definition: { id: 'd', version: '1', nodes } });
  expect(body.length).toBeLessThan(PAYLOAD_MAX_BYTES);
  const { value, ms } = timed(() => {
    const payload = parseAs(SubmitTask, parseJson(Buffer.from(body)));
    return taskDecider.decide(taskDecider.initial, { kind: 'submit', task: TASK, payload }, { now: NOW });
  });
  expect(value.events.map(({ type }) => type)).toEqual(['submitted', 'ready', 'step_ordered']);
  expect(ms).toBeLessThan(5_000);
});
