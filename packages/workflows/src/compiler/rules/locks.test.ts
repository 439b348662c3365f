import { expect, test } from 'vitest';
import type { CompileOptions } from '../compile.ts';
import { compiled, errorsIn, flow, nodeIn } from '../../../testing/template.ts';

const node = (id: string, uses: string, more = ''): string =>
  `[[nodes]]\nid = "${id}"\nuses = "${uses}"\n${more}\n`;
const SHELL = 'cap.env.shell.command.run';

/** The keys of the exclusive locks of the node x. */
const keys = (parts: readonly string[], options: Partial<CompileOptions> = {}): readonly string[] => {
  const made = compiled(flow(...parts), options);
  expect(errorsIn(made)).toEqual([]);
  return (nodeIn(made, 'x').locks ?? []).map(({ key, mode }) => `${mode} ${key}`);
};
const shell = (args: string, more = ''): readonly string[] =>
  keys([node('x', SHELL, `args = { command = "true", ${args} }\n${more}`)]);

test.each([
  ['a branch', 'branch = "a"', ['exclusive branch:a']],
  ['source and target', 'plan_branch = "b", target = "a"', ['exclusive branch:a', 'exclusive branch:b']],
  ['one branch twice', 'branch = "a", target_branch = "a"', ['exclusive branch:a']],
  ['a plan', 'slug = "s", target = "main"', ['exclusive branch:draft/s', 'exclusive branch:main']],
  ['a plan whose branch is named', 'slug = "s", branch = "b"', ['exclusive branch:b']],
  ['a branch that was left empty', 'slug = "s", branch = ""', ['exclusive branch:draft/s']],
])('a branch in the arguments is locked: %s', (_, args, expected) => {
  expect(shell(args)).toEqual(expected);
});

test('declared locks are the only ones', () => {
  expect(shell('branch = "a"', 'locks = [{ key = "k", mode = "shared" }]')).toEqual(['shared k']);
  expect(shell('branch = "a"', 'locks = []')).toEqual(['exclusive branch:a']);
});

const CONTRACTS = ['plan_doc', 'target_branch', 'prompt_text']
  .map((id) => `[[artifact_contracts]]\nid = "${id}"\n`)
  .join('');

test('without branches in the arguments, the branches of the artifacts are locked', () => {
  const artifacts =
    'needs = [{ plan_doc = { slug = "s", branch = "" } }]\nproduces = { failed = [{ target_branch = { name = "m" } }] }';
  expect(keys([CONTRACTS, node('x', SHELL, `args = { command = "true" }\n${artifacts}`)])).toEqual([
    'exclusive branch:draft/s',
    'exclusive branch:m',
  ]);
});

test('without branches in arguments and artifacts, the branches of the parameters are locked', () => {
  const parts = ['[params]\nslug = ""\ntarget = "main"\n', node('x', SHELL, 'args = { command = "true" }')];
  expect(keys(parts, { set: { slug: 's' } })).toEqual(['exclusive branch:draft/s', 'exclusive branch:main']);
});

test('work on no known branch locks the whole repository', () => {
  expect(keys([node('x', SHELL, 'args = { command = "true" }')])).toEqual(['exclusive repo_serial']);
});

const prepare = (more: string): string =>
  node('p', 'cap.env.builtin.worktree.prepare', `args = { slug = "s" }\n${more}`);

test.each([
  ['a route', prepare('on = { succeeded = ["x"] }'), ''],
  ['after', prepare(''), 'after = [{ node_id = "p" }]'],
])('a node in a worktree needs no lock, connected by %s', (_, before, more) => {
  expect(keys([before, node('x', SHELL, `args = { command = "true" }\n${more}`)])).toEqual([]);
});

test('a node after the cleanup works in the repository again', () => {
  const parts = [
    prepare('on = { succeeded = ["c"] }'),
    node('c', 'cap.env.builtin.worktree.cleanup', 'on = { succeeded = ["x"] }'),
    node('x', SHELL, 'args = { command = "true" }'),
  ];
  expect(keys(parts)).toEqual(['exclusive repo_serial']);
});

const PROMPT = 'produces = { succeeded = [{ custom = { type_id = "prompt_text", key = "k" } }] }';

test.each([
  ['the end', node('x', 'control.terminal')],
  ['an approval', node('x', 'control.gate.approval')],
  ['a gate without a script', node('x', 'control.gate.cicd', 'gates = [{ kind = "cicd", script = "" }]')],
  ['a prompt', node('x', 'cap.env.builtin.prompt.resolve', `args = { prompt_text = "Do it." }\n${PROMPT}`)],
])('%s never locks anything', (_, one) => {
  expect(keys(['[params]\nslug = "s"\n', CONTRACTS, one])).toEqual([]);
});
