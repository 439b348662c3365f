import { beforeAll, describe, expect, test } from 'vitest';
import { type Checkout, createCheckout } from './support/checkout.ts';

const FLOW = `
id = "template.note"
version = "v2"

[cli]
positional = ["slug", "spec_file"]

[cli.named]
name = "slug"
file = "spec_file"

[params]
slug = ""
spec_file = ""
branch = ""
tries = "2"
required = "false"
lane = "one"

[[nodes]]
id = "note"
uses = "cap.env.shell.command.run"
args = { command = "echo '\${slug} \${spec_file}' > \${slug}.txt" }
locks = [{ key = "lane:\${lane}", mode = "exclusive" }]
on = { succeeded = ["gate"] }

[[nodes]]
id = "gate"
kind = "gate"
uses = "control.gate.approval"
gates = [{ kind = "approval", required = "\${required}" }]
retry = { mode = "on_failure", budget = "\${tries}" }
`;

const CONFIG = '[commands]\nnote = "template.note@v2"\n';

const FILELESS = `
id = "template.fileless"
version = "v1"

[[nodes]]
id = "say"
uses = "cap.env.shell.command.run"
args = { command = "echo" }
`;

const FILES = {
  '.holdpoint/config.toml': CONFIG,
  '.holdpoint/workflows/note.toml': FLOW,
  'odd/unresolved.toml': FLOW.replace('lane:${lane}', 'lane:${gone}'),
  'odd/legacy.toml': FLOW.replace('cap.env.shell.command.run', 'vizier.note'),
  'odd/fileless.toml': FILELESS,
  'specs/b/Two words.md': 'two',
  'specs/a.md': 'a',
  'specs/Z.md': 'z',
  'specs/notes.txt': 'left out',
  'linked-file/real.md': 'real',
  'same/a b.md': 'one',
  'same/a-b.md': 'other',
} as const;

const LINKS = {
  'linked-file/other.md': '../specs/a.md',
  'linked-folder': 'specs',
  'only-links/one.md': '../specs/a.md',
} as const;

const FAILED = 'workflow validation failed: 1 problem(s)\n';

let checkout: Checkout;
let before: Readonly<Record<string, string>>;
beforeAll(() => {
  checkout = createCheckout(FILES);
  for (const [file, to] of Object.entries(LINKS)) checkout.link(file, to);
  before = checkout.everything();
});

/** Runs a command that must write no file. */
const look = async (...words: readonly string[]) => {
  const output = await checkout.holdpoint('run', ...words);
  expect(checkout.everything()).toEqual(before);
  return output;
};

describe.concurrent('help and checks of a workflow', () => {
  test('28. the help shows the inputs; neither help nor --check writes a file or calls a service', async () => {
    const { code, out, err } = await look('note', '--help');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^Usage: holdpoint run note \[options\] \[slug\] \[spec_file\]\n/);
    expect(out).toContain('template.note@v2, .holdpoint/workflows/note.toml, 2 nodes');
    expect(out).toMatch(/^ {2}--name, --slug <value> +position 1$/m);
    expect(out).toMatch(/^ {2}--file, --spec-file <value> +position 2$/m);
    expect(out).toMatch(/^ {2}--tries <value> +default: 2$/m);
    expect(await look('note', 'a-slug', '--check')).toMatchObject({ code: 0, err: '' });
    // Without --check the command needs a service, and none runs here.
    expect((await look('note', 'a-slug')).err).toContain('HOLDPOINT_NATS_URL');
  });

  test('29. --check confirms in text and in JSON that the workflow can run', async () => {
    expect((await look('note', 'a-slug', '--check')).out).toBe(
      [
        'Outcome   workflow validation passed',
        'Template  template.note@v2',
        'Selector  template.note@v2',
        'Nodes     2',
        '',
      ].join('\n'),
    );
    expect(JSON.parse((await look('note', 'a-slug', '--check', '--format', 'json')).out)).toEqual({
      outcome: 'workflow_validation_passed',
      workflow_template_selector: 'template.note@v2',
      workflow_template_id: 'template.note',
      workflow_template_version: 'v2',
      node_count: 2,
    });
  });

  test.each([
    ['--after', 'run:t-1'],
    ['--require-approval'],
    ['--no-require-approval'],
    ['--follow'],
    ['--repeat', '2'],
  ])('30. --check and %s cannot be combined', async (...flag) => {
    const { code, out, err } = await look('note', 'a-slug', '--check', ...flag);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(
      new RegExp(`^error USAGE: option '--check' cannot be used with option '${flag[0]}[ ']`),
    );
  });
});

describe.concurrent('31. --check refuses the same inputs as a run', () => {
  const LANE = 'nodes[note].locks[0].key';
  test.each([
    ['an unresolved placeholder', ['odd/unresolved.toml', 'x'], 'WORKFLOW_PLACEHOLDER_UNKNOWN', LANE],
    [
      'a value of another type',
      ['note', 'x', '--tries=-1'],
      'WORKFLOW_VALUE_COERCION',
      'nodes[gate].retry.budget',
    ],
    [
      'an invalid boolean',
      ['note', 'x', '--required', 'perhaps'],
      'WORKFLOW_VALUE_COERCION',
      'nodes[gate].gates[0].approval.required',
    ],
    ['an old label', ['odd/legacy.toml', 'x'], 'WORKFLOW_USES_LEGACY', 'nodes[note].uses'],
    [
      'an unknown parameter',
      ['note', 'x', '--set', 'lanes=two'],
      'WORKFLOW_PARAM_UNKNOWN',
      'did you mean "lane"?',
    ],
  ])('31. %s is refused', async (_, words, codeOf, where) => {
    const checked = await look(...words, '--check');
    expect(checked).toMatchObject({ code: 1, out: FAILED });
    expect(checked.err).toContain(codeOf);
    expect(checked.err).toContain(where);
    // Without --check the same refusal comes before any call to a service.
    expect(await look(...words)).toEqual(checked);
  });
});

describe.concurrent('32. --check with --spec-dir', () => {
  test('32. the specifications are listed in byte order', async () => {
    const text = await look('note', '--spec-dir', 'specs', '--check');
    expect(text).toMatchObject({ code: 0, err: '' });
    expect([...text.out.matchAll(/^Item +(.*)$/gm)].map(([, item]) => item)).toEqual([
      'specs/Z.md',
      'specs/a.md',
      'specs/b/Two words.md',
    ]);
    const json = await look('note', '--spec-dir', 'specs', '--check', '--format', 'json');
    expect(JSON.parse(json.out)).toEqual({
      outcome: 'workflow_validation_passed',
      workflow_template_selector: 'template.note@v2',
      workflow_template_id: 'template.note',
      workflow_template_version: 'v2',
      node_count: 2,
      batch_dir: 'specs',
      spec_count: 3,
      items: [
        { item: 'specs/Z.md', node_count: 2 },
        { item: 'specs/a.md', node_count: 2 },
        { item: 'specs/b/Two words.md', node_count: 2 },
      ],
    });
  });

  test.each([
    ['an empty name', '', 'WORKFLOW_SPEC_FOLDER'],
    ['a linked file among others', 'linked-file', 'WORKFLOW_SPEC_LINK'],
    ['a linked folder', 'linked-folder', 'WORKFLOW_SPEC_LINK'],
    ['only links', 'only-links', 'WORKFLOW_SPEC_LINK'],
    ['two files with one slug', 'same', 'WORKFLOW_SPEC_COLLISION'],
  ])('32. --spec-dir with %s is refused', async (_, folder, said) => {
    const { code, out, err } = await look('note', '--spec-dir', folder, '--check');
    expect({ code, out }).toEqual({ code: 1, out: FAILED });
    expect(err).toContain(said);
  });

  test('32. inputs that --spec-dir sets for each run cannot be set for all, under any name; the refusal is JSON as well', async () => {
    const given = ['x', '--spec-dir=specs', '--branch', 'draft/x', '--set', 'spec_file=a.md'];
    const { code, out } = await look('note', ...given, '--check', '--format', 'json');
    expect(code).toBe(1);
    const { outcome, problems } = JSON.parse(out) as {
      outcome: string;
      problems: { path: string; code: string }[];
    };
    expect(outcome).toBe('workflow_validation_failed');
    expect(problems.map(({ path }) => path).toSorted()).toEqual(['branch', 'slug', 'spec_file']);
    expect(new Set(problems.map((problem) => problem.code))).toEqual(new Set(['WORKFLOW_SPEC_INPUT']));
  });

  test('32. a workflow without a file input is refused', async () => {
    const words = ['odd/fileless.toml', '--spec-dir', 'specs', '--check'];
    const { code, err } = await look(...words);
    expect(code).toBe(1);
    expect(err).toContain('WORKFLOW_SPEC_INPUT: found no parameter spec_file');
  });
});
