import assert from 'node:assert/strict';
import { agentFor, readWorkflowConfig } from '@holdpoint/workflows/config/config';
import { problemText } from '@holdpoint/workflows/problems/problem';
import fc from 'fast-check';
import { nastyString } from '../../hostile/strings.ts';
import { keepsPrototypesClean } from '../../promises.ts';
import { target } from '../../target.ts';
import { type Text, textOf } from '../../text.ts';

type Input = { readonly file: string; readonly text: Text };

const LINES = [
  '[commands]',
  'draft = "template.stage.draft@v2"',
  'draft = "file:.holdpoint/workflows/draft.toml"',
  '"dra ft" = "a@1"',
  'dra_ft = "a.b.c"',
  '"" = ""',
  '__proto__ = "x@1"',
  'constructor = 1',
  '[agents]',
  'default = "my-agent --print"',
  'default = ["my-agent", "--print"]',
  'default = []',
  'command = [""]',
  '[agents.default]',
  '[agents.commands]',
  'draft = ["other"]',
  '[agents.templates]',
  '"template.stage.draft@v2" = ["third"]',
  '[workflow.global_workflows]',
  'enabled = true',
  'enabled = "yes"',
  'dir = "relative"',
  'dir = "/usr/share/flows"',
  '[workflow.templates]',
  '[jobs.cancel]',
  'cleanup_worktree = true',
  '[display.lists.jobs]',
  'format = "table"',
  'format = "xml"',
  'fields = ["Job", "Status"]',
  'fields = "Job"',
  '[display.lists.jobs.labels]',
  'Job = "\\u001b[31m"',
  'show_succeeded = 1',
  '[merge.cicd_gate]',
  '[unknown]',
  'x = 1979-05-27',
  'x = nan',
  'a.b.c.d = 1',
  '= 1',
  '[[commands]]',
];
const text: fc.Arbitrary<Text> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.array(fc.constantFrom(...LINES), { maxLength: 14 }).map((lines): Text => lines.join('\n')),
  },
  {
    weight: 3,
    arbitrary: fc
      .array(fc.oneof(fc.constantFrom(...LINES), nastyString), { maxLength: 6 })
      .map((lines): Text => lines.join('\n')),
  },
  { weight: 2, arbitrary: fc.json({ maxDepth: 4 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Text>(
      { repeat: 'x = 1\n', times: 1_700_000 },
      { repeat: '[', times: 100_000 },
      { repeat: 'a.', times: 50_000 },
      { repeat: '{"a":', times: 50_000 },
    ),
  },
);

/** Any text is a configuration, or is refused with problem and position. */
export const flowConfig = target<Input>({
  name: 'flow-config',
  runs: 400,
  reaches: ['accepted', 'WORKFLOW_CONFIG_SYNTAX'],
  cases: {
    'config.toml': fc.record({
      file: fc.constantFrom('.holdpoint/config.toml', '.vizier/config.toml', '.holdpoint/config.json'),
      text,
    }),
  },
  check: ({ file, text: written }) => {
    const { config, problems } = readWorkflowConfig(textOf(written), file);
    keepsPrototypesClean();
    for (const problem of problems) {
      assert.match(problem.code, /^WORKFLOW_CONFIG_[A-Z_]+$/);
      assert.match(problemText(problem), /^[^\r\n]{1,10000}$/);
      assert.equal(problem.file, file);
      if (problem.code === 'WORKFLOW_CONFIG_SYNTAX' && file.endsWith('.toml'))
        assert.ok(problem.line !== undefined && problem.column !== undefined);
    }
    if (config === undefined) return problems.find(({ severity }) => severity === 'error')?.code ?? '';
    for (const about of [{}, { alias: 'draft' }, { selector: '__proto__', alias: 'constructor' }]) {
      const argv = agentFor(config, about);
      if (argv !== undefined) assert.notEqual(argv[0] ?? '', '');
    }
    return 'accepted';
  },
});
