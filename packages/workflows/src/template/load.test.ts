import { describe, expect, test } from 'vitest';
import { loadTemplate } from '../compiler/compile.ts';
import {
  compiled,
  DRAFT,
  errorsIn,
  flow,
  HEAD,
  MERGE,
  nodeIn,
  reading,
  timed,
  type Files,
} from '../../testing/template.ts';

const command = (id: string, more = ''): string =>
  `[[nodes]]\nid = "${id}"\nuses = "cap.env.shell.command.run"\nargs = { command = "true" }\n${more}\n`;
const imported = (name: string, path: string): string => `[[imports]]\nname = "${name}"\npath = "${path}"\n`;
const link = (from: string, to: string): string => `[[links]]\nfrom = "${from}"\nto = "${to}"\n`;
const ids = (files: Files): readonly string[] => {
  const made = compiled(files);
  expect(errorsIn(made)).toEqual([]);
  return (made.definition?.nodes ?? []).map(({ id, after }) => [id, ...after].join(' < '));
};

const DEVELOP: Files = {
  '.holdpoint/develop.toml': `
id = "template.develop"
version = "v1"
${imported('draft stage', 'workflows/draft.toml')}
${imported('merge', './workflows/../workflows/merge.toml')}
${link('draft stage', 'merge')}
[cli]
positional = ["slug"]
`,
  '.holdpoint/workflows/draft.toml': DRAFT,
  '.holdpoint/workflows/merge.toml': MERGE,
};

describe('stages', () => {
  const made = compiled(
    DEVELOP,
    { positional: ['notes'], set: { spec_text: 'x', target_branch: 'main' } },
    '.holdpoint/develop.toml',
  );

  test('imported stages get prefixed ids and edges', () => {
    expect(errorsIn(made)).toEqual([]);
    expect(nodeIn(made, 'draft_stage__worktree_prepare')).toMatchObject({
      stage: 'draft_stage',
      on: { succeeded: ['draft_stage__resolve_prompt'] },
    });
  });

  test('a link connects successful ends with starts, and loops are no starts', () => {
    const waiting = made.definition?.nodes.filter(({ after }) => after.length > 0);
    expect(waiting?.map(({ id, after }) => [id, after])).toEqual([
      ['merge__merge_integrate', ['draft_stage__terminal']],
    ]);
  });

  test('stages do not share parameters for lock inference', () => {
    expect(nodeIn(made, 'draft_stage__stage_commit').locks).toEqual([
      { key: 'branch:draft/notes', mode: 'exclusive' },
    ]);
    expect(nodeIn(made, 'merge__merge_integrate').locks).toEqual([
      { key: 'branch:draft/notes', mode: 'exclusive' },
      { key: 'branch:main', mode: 'exclusive' },
    ]);
  });

  test('nested stages have both prefixes', () => {
    const files = {
      'flow.toml': `${HEAD}${imported('outer', 'a/outer.toml')}${command('own', 'after = [{ node_id = "outer__inner__one" }]')}`,
      'a/outer.toml': `${HEAD}${imported('inner', '../inner.toml')}${command('two', 'after = [{ node_id = "inner__one" }]')}`,
      'inner.toml': `${HEAD}${command('one')}`,
    };
    expect(ids(files)).toEqual([
      'outer__inner__one',
      'outer__two < outer__inner__one',
      'own < outer__inner__one',
    ]);
  });

  test('a stage may be imported more than once', () => {
    const files = {
      ...flow(imported('a', 's.toml'), imported('b', 's.toml'), link('a', 'b')),
      's.toml': `${HEAD}${command('x')}`,
    };
    expect(ids(files)).toEqual(['a__x', 'b__x < a__x']);
  });

  test('nodes after a failure are not linked', () => {
    const files = {
      ...flow(imported('a', 's.toml'), imported('b', 't.toml'), link('a', 'b')),
      's.toml': `${HEAD}${command('x', 'on = { succeeded = ["y"], failed = ["mend"] }')}${command('y')}${command('mend')}`,
      't.toml': `${HEAD}${command('z')}`,
    };
    expect(ids(files)).toEqual(['a__x', 'a__y', 'a__mend', 'b__z < a__y']);
  });

  test('output artifacts get the prefix of their nodes', () => {
    const files = {
      ...flow(imported('a', 's.toml')),
      's.toml': `${HEAD}${command('x')}${command('y', 'after = [{ node_id = "x" }]\nneeds = [{ custom = { type_id = "operation_output", key = "x" } }]')}`,
    };
    const { definition, problems } = compiled(files);
    expect(problems).toEqual([]);
    expect(definition?.nodes[1]?.needs).toEqual([
      { type: 'custom', typeId: 'operation_output', key: 'a__x' },
    ]);
  });

  test('ids that exceed the limit with prefixes are refused', () => {
    const files = { ...flow(imported('a'.repeat(60), 's.toml')), 's.toml': `${HEAD}${command('long')}` };
    expect(errorsIn(compiled(files))[0]).toBe(`WORKFLOW_NODE_ID_LONG nodes[${'a'.repeat(60)}__long].id`);
  });
});

const problemsOf = (files: Files, entry = 'flow.toml') => loadTemplate(entry, reading(files)).problems;

describe('files', () => {
  test.each([
    ['../s.toml', 'a path that leaves the repository ("../s.toml")'],
    ['/etc/s.toml', 'an absolute path ("/etc/s.toml")'],
    ['C:/s.toml', 'an absolute path ("C:/s.toml")'],
    ['', 'an empty path ("")'],
    ['..\\\\s.toml', 'a path with a backslash or NUL ("..\\\\s.toml")'],
  ])('an import of %j is refused', (path, found) => {
    expect(problemsOf(flow(imported('a', path), command('x')))).toMatchObject([
      { code: 'WORKFLOW_FILE_PATH', path: 'imports[0].path', file: 'flow.toml', found },
    ]);
  });

  test('a path may contain .. inside the repository', () => {
    const files = {
      'a/b/flow.toml': `${HEAD}${imported('s', '../../s.toml')}`,
      's.toml': `${HEAD}${command('x')}`,
    };
    expect(problemsOf(files, 'a/./b/flow.toml')).toEqual([]);
  });

  test('an entry outside of the repository is refused', () => {
    expect(problemsOf({}, '../flow.toml')).toMatchObject([{ code: 'WORKFLOW_FILE_PATH' }]);
  });

  test('a missing or unreadable file is named', () => {
    expect(problemsOf({})).toMatchObject([{ code: 'WORKFLOW_FILE_MISSING', file: 'flow.toml' }]);
    expect(problemsOf(flow(imported('a', 's.toml'), command('x')))).toMatchObject([
      { code: 'WORKFLOW_FILE_MISSING', file: 's.toml', expected: 'the file that flow.toml imports' },
    ]);
    const { problems } = loadTemplate('flow.toml', () => {
      throw new Error('not yours to read');
    });
    expect(problems).toMatchObject([{ code: 'WORKFLOW_FILE_MISSING', found: 'not yours to read' }]);
  });

  test('a file of another format is refused', () => {
    expect(problemsOf({ 'flow.hcl': '' }, 'flow.hcl')).toMatchObject([{ code: 'WORKFLOW_FILE_FORMAT' }]);
  });

  test('a byte order mark is ignored', () => {
    expect(problemsOf({ 'flow.toml': `\uFEFF${HEAD}${command('x')}` })).toEqual([]);
    const json = '\uFEFF{"id":"a","version":"b","nodes":[{"id":"x","uses":"control.terminal"}]}';
    expect(problemsOf({ 'flow.json': json }, 'flow.json')).toEqual([]);
  });

  test('a TOML syntax error has line and column', () => {
    expect(problemsOf({ 'flow.toml': 'id = "a"\nversion = v1\n' })).toMatchObject([
      { code: 'WORKFLOW_SYNTAX', file: 'flow.toml', line: 2, column: 11 },
    ]);
  });

  test('a JSON syntax error has line and column', () => {
    expect(problemsOf({ 'flow.json': '{\n  "id": "x"\n  "version": "y"\n}' }, 'flow.json')).toMatchObject([
      { code: 'WORKFLOW_SYNTAX', file: 'flow.json', line: 3, column: 3 },
    ]);
  });

  test.each([
    ['flow.json', '[]'],
    ['flow.json', 'null'],
    ['flow.json', '"text"'],
    ['flow.toml', ''],
  ])('%s with the content %j is not a template', (name, text) => {
    expect(problemsOf({ [name]: text }, name)).not.toEqual([]);
    expect(loadTemplate(name, reading({ [name]: text })).template).toBeUndefined();
  });

  test('a cycle of imports is shown file by file', () => {
    const files = {
      ...flow(imported('a', 'a.toml')),
      'a.toml': `${HEAD}${imported('b', 'b.toml')}`,
      'b.toml': `${HEAD}${imported('a', 'a.toml')}`,
    };
    expect(problemsOf(files)).toMatchObject([
      {
        code: 'WORKFLOW_IMPORT_CYCLE',
        path: 'imports[0].path',
        file: 'b.toml',
        found: 'flow.toml -> a.toml -> b.toml -> a.toml',
      },
    ]);
  });

  test('problems of an import name its file once', () => {
    const files = {
      ...flow(imported('a', 's.toml'), imported('b', 's.toml')),
      's.toml': `${HEAD}extra = 1\n${command('x')}`,
    };
    expect(problemsOf(files)).toMatchObject([
      { code: 'WORKFLOW_KEY_UNKNOWN', path: 'extra', file: 's.toml' },
    ]);
  });
});

describe('size limits', () => {
  test('a file above 1 MiB is not parsed', () => {
    const text = `${HEAD}# ${'x'.repeat(10 * 1_048_576)}`;
    const { value, ms } = timed(() => problemsOf({ 'flow.toml': text }));
    expect(value).toMatchObject([{ code: 'WORKFLOW_FILE_TOO_LARGE' }]);
    expect(ms).toBeLessThan(100);
  });

  test('the file limit counts bytes, not characters', () => {
    expect(problemsOf({ 'flow.toml': `# ${'ü'.repeat(600_000)}` })).toMatchObject([
      { code: 'WORKFLOW_FILE_TOO_LARGE' },
    ]);
  });

  test.each([
    ['flow.json', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
    ['flow.json', `{"id":${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}}`],
    ['flow.toml', `${HEAD}x = ${'['.repeat(100)}${']'.repeat(100)}`],
    ['flow.toml', `x.${'a.'.repeat(100_000)}b = 1`],
    ['flow.toml', `[x${'.a'.repeat(100_000)}]`],
  ])('too much nesting in %s is refused', (name, text) => {
    const [problem, ...more] = problemsOf({ [name]: text }, name);
    expect(['WORKFLOW_FILE_TOO_DEEP', 'WORKFLOW_SYNTAX']).toContain(problem?.code);
    expect(more).toEqual([]);
  });

  test('too many imports are refused', () => {
    const many = Array.from({ length: 300 }, (_, index) => imported(`s${String(index)}`, 's.toml')).join('');
    expect(problemsOf({ ...flow(many), 's.toml': `${HEAD}${command('x')}` })).toMatchObject([
      { code: 'WORKFLOW_IMPORTS_MANY' },
    ]);
  });

  test('imports that multiply are refused', () => {
    const files: Record<string, string> = { 's20.toml': `${HEAD}${command('x')}` };
    for (let level = 0; level < 20; level += 1) {
      const next = `s${String(level + 1)}.toml`;
      files[`s${String(level)}.toml`] = `${HEAD}${imported('a', next)}${imported('b', next)}`;
    }
    const problems = problemsOf(files, 's0.toml');
    expect(problems.map(({ code }) => code)).toContain('WORKFLOW_NODES_MANY');
    const wide = {
      ...flow(Array.from({ length: 150 }, (_, n) => imported(`s${String(n)}`, 's.toml')).join('')),
    };
    const stage = HEAD + Array.from({ length: 200 }, (_, n) => command(`n${String(n)}`)).join('');
    expect(problemsOf({ ...wide, 's.toml': stage }).map(({ code }) => code)).toContain('WORKFLOW_NODES_MANY');
  });

  test('links between many ends and starts are refused', () => {
    const stage = HEAD + Array.from({ length: 400 }, (_, n) => command(`n${String(n)}`)).join('');
    const files = {
      ...flow(imported('a', 's.toml'), imported('b', 's.toml'), link('a', 'b')),
      's.toml': stage,
    };
    expect(problemsOf(files)).toMatchObject([{ code: 'WORKFLOW_LINK_WIDE' }]);
  });

  test('texts that grow too much by placeholders are refused', () => {
    const big = flow(
      `[params]\nx = "${'y'.repeat(100_000)}"\n`,
      ...Array.from({ length: 300 }, (_, n) => command(`n${String(n)}`, 'name = "${x}"')),
    );
    expect(errorsIn(compiled(big))).toContain('WORKFLOW_PLACEHOLDER_LARGE nodes[n167].name');
  });
});

test('names of object members are ordinary names', () => {
  const files = flow(
    '[params]\nconstructor = "c"\ntoString = "t"\n',
    command('constructor', 'name = "${constructor} ${toString} ${hasOwnProperty}"'),
  );
  expect(errorsIn(compiled(files))).toEqual(['WORKFLOW_PLACEHOLDER_UNKNOWN nodes[constructor].name']);
  expect(
    errorsIn(
      compiled(
        { 'flow.json': `{"id":"a","version":"b","params":{"__proto__":"x"},"nodes":[]}` },
        {},
        'flow.json',
      ),
    ),
  ).toEqual(['WORKFLOW_KEY_UNKNOWN params']);
});

test.each([
  ['after = ["build"]', 'a table, as in after = [{ node_id = "build", policy = "success" }]'],
  ['after = "build"', 'a list, as in after = [{ node_id = "build", policy = "success" }]'],
  ['needs = { plan_doc = 1 }', 'a list, as in needs = [{ plan_doc = { slug = "${slug}", branch = "" } }]'],
  ['on = { failed = "b" }', 'a list, as in on = { succeeded = ["announce"], failed = ["clean_up"] }'],
  ['timeout = [1]', 'a string, a boolean or a whole number'],
  ['name = 5', 'a string'],
])('the error about %s shows the right shape', (line, expected) => {
  const { problems } = loadTemplate('flow.toml', reading(flow(command('a', line))));
  expect(problems[0]?.expected).toBe(expected);
});
