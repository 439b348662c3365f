import { describe, expect, test } from 'vitest';
import { agentFor, DEFAULT_CONFIG, readWorkflowConfig, type WorkflowConfig } from './config.ts';
import { CONFIG_MAX_CHARACTERS } from './text.ts';

const OURS = '.holdpoint/config.toml';
const VIZIER = '.vizier/config.toml';

const read = (text: string, file = OURS): WorkflowConfig => {
  const { config, problems } = readWorkflowConfig(text, file);
  expect(problems).toEqual([]);
  if (config === undefined) throw new Error('no configuration');
  return config;
};

const faults = (text: string, file = OURS): readonly string[] =>
  readWorkflowConfig(text, file).problems.map(({ code, path }) => `${code} ${path}`);

test('an empty configuration has the defaults', () => {
  expect(read('')).toEqual(DEFAULT_CONFIG);
  expect(read('{}', '.vizier/config.json')).toEqual(DEFAULT_CONFIG);
});

test('every setting is read', () => {
  const config = read(`
    [commands]
    "Code Review" = "x.review@v2"
    draft = "file:flows/draft.toml"
    [workflow.global_workflows]
    enabled = false
    dir = "/shared"
    [jobs.cancel]
    cleanup_worktree = true
    [display.lists.jobs]
    format = "table"
    fields = ["job", "status"]
    show_succeeded = true
    [display.lists.jobs.labels]
    job = "Job"
    [display.lists.jobs_show]
    format = "json"
  `);
  expect(config).toEqual({
    commands: new Map([
      ['code_review', 'x.review@v2'],
      ['draft', 'file:flows/draft.toml'],
    ]),
    agents: DEFAULT_CONFIG.agents,
    globalWorkflows: { enabled: false, dir: '/shared' },
    cancel: { cleanupWorktree: true },
    display: {
      jobs: {
        format: 'table',
        fields: ['job', 'status'],
        labels: new Map([['job', 'Job']]),
        showSucceeded: true,
      },
      jobsShow: { format: 'json', labels: new Map() },
    },
  });
});

describe('the agent of a workflow', () => {
  const config = read(`
    [agents.default]
    agent.command = ["all"]
    [agents.commands.Code-Review.agent]
    command = ["alias", "--x"]
    [agents.templates."x.review@v2"]
    agent = { command = ["template"] }
  `);
  test('the agent of a workflow comes from its template, else its alias, else the fallback', () => {
    expect(agentFor(config, { alias: 'code review', selector: 'x.review@v2' })).toEqual(['template']);
    expect(agentFor(config, { alias: 'code review', selector: 'x.other@v2' })).toEqual(['alias', '--x']);
    expect(agentFor(config, { alias: 'draft', selector: 'x.other@v2' })).toEqual(['all']);
    expect(agentFor(config, {})).toEqual(['all']);
  });
  test('a workflow without a configured agent has none', () => {
    expect(agentFor(DEFAULT_CONFIG, { alias: 'constructor', selector: '__proto__' })).toBeUndefined();
  });
  test('agents may be configured in JSON', () => {
    const json = read('{"agents":{"default":{"agent":{"command":["all"]}}}}', '.vizier/config.json');
    expect(agentFor(json, {})).toEqual(['all']);
  });
});

test.each([
  ['no words', '[]', 'WORKFLOW_CONFIG_AGENT'],
  ['an empty name', '[""]', 'WORKFLOW_CONFIG_AGENT'],
  ['a word with a NUL', '["a", "b\\u0000c"]', 'WORKFLOW_CONFIG_AGENT'],
  ['a word without end', `["a", "${'b'.repeat(4_097)}"]`, 'WORKFLOW_CONFIG_AGENT'],
  ['too many words', `[${'"a",'.repeat(257)}]`, 'WORKFLOW_CONFIG_AGENT'],
  ['one string', '"a b"', 'WORKFLOW_CONFIG_TYPE'],
  ['a number', '["a", 1]', 'WORKFLOW_CONFIG_TYPE'],
])('an agent command is a list of words, not %s', (_, command, code) => {
  expect(faults(`[agents.default]\nagent.command = ${command}\n`)).toEqual([
    `${code} agents.default.agent.command`,
  ]);
});

test('an unknown key is refused with the nearest known one', () => {
  const text =
    '[comands]\na = "b"\n[agents.default.agent]\ncomand = ["x"]\n[jobs.cancel]\ncleanup_worktre = true\n';
  const { config, problems } = readWorkflowConfig(text, OURS);
  expect(config).toBeUndefined();
  expect(problems.map(({ path, nearest }) => `${path} -> ${nearest ?? ''}`)).toEqual([
    'comands -> commands',
    'agents.default.agent.comand -> command',
    'jobs.cancel.cleanup_worktre -> cleanup_worktree',
  ]);
});

test('a Vizier configuration may contain unknown settings', () => {
  const config = read(
    '[release]\nx = 1\n[workflow]\nother = true\n[agents.default]\noutput = "wrapped"\n[agents.default.agent]\nlabel = "l"\ncommand = ["a"]\n[display.lists.list]\nformat = "block"\n[jobs]\ny = 2\n',
    VIZIER,
  );
  expect(agentFor(config, {})).toEqual(['a']);
});

test('ineffective Vizier settings cause a warning', () => {
  const text =
    '[merge.cicd_gate]\nscript = "x"\n[approve.stop_condition]\nscript = "y"\n[agents.default]\nagent = "name"\n';
  const { config, problems } = readWorkflowConfig(text, VIZIER);
  expect(config).toBeDefined();
  expect(problems.map(({ code, severity, path }) => `${severity} ${code} ${path}`)).toEqual([
    'warning WORKFLOW_CONFIG_IGNORED merge.cicd_gate',
    'warning WORKFLOW_CONFIG_IGNORED approve.stop_condition',
    'warning WORKFLOW_CONFIG_IGNORED agents.default.agent',
  ]);
});

test.each([OURS, VIZIER])('a removed setting names its replacement, in %s', (file) => {
  const text =
    '[workflow.templates]\na = "b"\n[agents.draft.agent]\ncommand = ["x"]\n[agents.templates."x.draft.v1".agent]\ncommand = ["x"]\n[commands]\nold = "x.draft.v1"\n';
  const { config, problems } = readWorkflowConfig(text, file);
  expect(config).toBeUndefined();
  expect(problems.map(({ code, path, expected }) => [code, path, expected])).toEqual([
    ['WORKFLOW_CONFIG_REMOVED', 'commands.old', '"x.draft@v1"'],
    ['WORKFLOW_CONFIG_REMOVED', 'agents.draft', '[agents.commands.draft]'],
    ['WORKFLOW_CONFIG_REMOVED', 'agents.templates."x.draft.v1"', '"x.draft@v1"'],
    ['WORKFLOW_CONFIG_REMOVED', 'workflow.templates', '[commands] with alias = "selector"'],
  ]);
});

test.each([
  ['commands = 1', 'WORKFLOW_CONFIG_TYPE commands'],
  ['commands = []', 'WORKFLOW_CONFIG_TYPE commands'],
  ['commands = 1979-05-27', 'WORKFLOW_CONFIG_TYPE commands'],
  ['[commands]\na = 1', 'WORKFLOW_CONFIG_TYPE commands.a'],
  ['[commands]\na = " "', 'WORKFLOW_CONFIG_ALIAS commands.a'],
  ['[commands]\n" " = "a@v1"', 'WORKFLOW_CONFIG_ALIAS commands." "'],
  ['[commands]\n"a b" = "x@v1"\na_b = "x@v1"', 'WORKFLOW_CONFIG_ALIAS commands.a_b'],
  ['agents = "a"', 'WORKFLOW_CONFIG_TYPE agents'],
  ['[agents]\ndefault = "a"', 'WORKFLOW_CONFIG_TYPE agents.default'],
  ['[agents]\ncommands = "a"', 'WORKFLOW_CONFIG_TYPE agents.commands'],
  ['[agents.default]\nagent = "a"', 'WORKFLOW_CONFIG_TYPE agents.default.agent'],
  ['[workflow.global_workflows]\ndir = "relative"', 'WORKFLOW_CONFIG_FOLDER workflow.global_workflows.dir'],
  ['[workflow.global_workflows]\nenabled = "yes"', 'WORKFLOW_CONFIG_TYPE workflow.global_workflows.enabled'],
  ['[jobs.cancel]\ncleanup_worktree = 1', 'WORKFLOW_CONFIG_TYPE jobs.cancel.cleanup_worktree'],
  ['[display.lists.jobs]\nformat = "blok"', 'WORKFLOW_CONFIG_TYPE display.lists.jobs.format'],
  ['[display.lists.jobs]\nfields = "job"', 'WORKFLOW_CONFIG_TYPE display.lists.jobs.fields'],
  ['[display.lists.jobs]\nlabels = ["job"]', 'WORKFLOW_CONFIG_TYPE display.lists.jobs.labels'],
])('%j is one problem with its path', (text, fault) => {
  expect(faults(`${text}\n`)).toEqual([fault]);
});

test('all problems of a configuration are reported at once', () => {
  expect(faults('unknown = 1\n[commands]\na = 1\n[jobs.cancel]\ncleanup_worktree = 1\n')).toHaveLength(3);
});

test.each([
  [OURS, '[commands]\na = \n', { line: 2, column: 5 }],
  [OURS, 'a = 1\na = 2\n', { line: 2, column: 1 }],
  ['.vizier/config.json', '{\n  a: 1}', { line: 2, column: 3 }],
  ['.vizier/config.json', '{\n  "a": 1', { line: 2, column: 9 }],
  ['.vizier/config.json', '', { line: 1, column: 1 }],
])('%s with a syntax error reports the position: %j', (file, text, position) => {
  const { config, problems } = readWorkflowConfig(text, file);
  expect(config).toBeUndefined();
  expect(problems).toEqual([expect.objectContaining({ code: 'WORKFLOW_CONFIG_SYNTAX', file, ...position })]);
});

test('a JSON syntax error without a position shows the message', () => {
  const [problem] = readWorkflowConfig('{\n  "a": }', '.vizier/config.json').problems;
  expect(problem?.found).toContain('"a": }');
  expect(problem?.line).toBeUndefined();
});

test('a configuration must be a table', () => {
  for (const text of ['[]', '1', 'null', '"x"'])
    expect(faults(text, '.vizier/config.json')).toEqual(['WORKFLOW_CONFIG_TYPE ']);
});

test('a configuration that is too large or too deep is refused', () => {
  expect(faults('#'.repeat(CONFIG_MAX_CHARACTERS + 1))).toEqual(['WORKFLOW_CONFIG_TOO_LARGE ']);
  expect(faults(`a = ${'['.repeat(1_000)}`)).toEqual(['WORKFLOW_CONFIG_SYNTAX ']);
  expect(faults('['.repeat(100_000), '.vizier/config.json')).toEqual(['WORKFLOW_CONFIG_SYNTAX ']);
});

test('names of object members are ordinary names', () => {
  const config = read('[commands]\n__proto__ = "a@v1"\nconstructor = "b@v1"\n');
  expect([...config.commands.values()]).toEqual(['a@v1', 'b@v1']);
});
