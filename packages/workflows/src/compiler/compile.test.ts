import { describe, expect, test } from 'vitest';
import { hashOf, type CompileOptions } from './compile.ts';
import { compiled, DRAFT, errorsIn, flow, MERGE, nodeIn, NOTE, type Files } from '../../testing/template.ts';

const note = (options: Partial<CompileOptions> = {}) =>
  compiled({ 'flow.toml': NOTE }, { positional: ['cats'], ...options });

const command = (id: string, more: string): string =>
  `[[nodes]]\nid = "${id}"\nuses = "cap.env.shell.command.run"\nargs = { command = "true" }\n${more}\n`;

test.each(['cap.custom.set_flag', 'cap.remote.release'])(
  'an effect of %s can be previewed before its request',
  (uses) => {
    const effect = 'side_effect_kind = "deploy"\nidempotency_key = "k"\ntarget = "t"\npreviews = true\n';
    const made = compiled(flow(`[[nodes]]\nid = "a"\nuses = "${uses}"\n[nodes.effect]\n${effect}`));
    expect(errorsIn(made)).toEqual([]);
    expect(nodeIn(made, 'a').effect).toMatchObject({ previews: true, effectClass: 'opaque' });
  },
);

test('a template becomes a definition in which every placeholder is resolved', () => {
  const made = note({ set: { tries: 5 } });
  expect(made.problems).toEqual([]);
  expect(made.params).toEqual({ topic: 'cats', tries: '5', check: 'test -s notes.md' });
  expect(made.definition).toEqual({
    id: 'template.demo.note',
    version: 'v1',
    policy: { failureMode: 'block_downstream', missingProducer: 'wait' },
    nodes: [
      {
        id: 'wt',
        uses: 'cap.env.builtin.worktree.prepare',
        after: [],
        on: { succeeded: ['ask'] },
        args: { slug: 'note-cats', purpose: 'demo' },
        locks: [{ key: 'branch:draft/note-cats', mode: 'exclusive' }],
      },
      {
        id: 'ask',
        uses: 'cap.env.builtin.prompt.resolve',
        after: [],
        on: { succeeded: ['write'] },
        args: { prompt_text: 'Write notes.md about cats.' },
        produces: { succeeded: [{ type: 'custom', typeId: 'prompt_text', key: 'demo:cats' }] },
      },
      {
        id: 'write',
        uses: 'cap.agent.invoke',
        after: [],
        on: { succeeded: ['save'] },
        args: {},
        needs: [{ type: 'custom', typeId: 'prompt_text', key: 'demo:cats' }],
        agent: ['agent', '--quiet'],
      },
      {
        id: 'save',
        uses: 'cap.env.builtin.git.stage_commit',
        after: [],
        on: { succeeded: ['check'] },
        args: { message: 'docs: note on cats' },
      },
      {
        id: 'check',
        uses: 'control.gate.stop_condition',
        after: [],
        on: { succeeded: ['tidy'], failed: ['save'] },
        args: {},
        script: 'test -s notes.md',
        gatePolicy: 'retry',
        retry: { mode: 'until_gate', budget: 5 },
      },
      {
        id: 'tidy',
        uses: 'cap.env.builtin.worktree.cleanup',
        after: [],
        on: { succeeded: ['end'] },
        args: {},
      },
      { id: 'end', uses: 'control.terminal', after: [], args: {} },
    ],
  });
});

test('the same template in JSON becomes the same definition', () => {
  const toml = flow(
    '[params]\nx = true\ny = 3\n',
    command('a', 'timeout = "${y}s"\nlocks = [{ key = "${x}", mode = "shared" }]'),
  );
  const json = JSON.stringify({
    id: 'template.test',
    version: 'v1',
    params: { x: 'true', y: '3' },
    nodes: [
      {
        id: 'a',
        uses: 'cap.env.shell.command.run',
        args: { command: 'true' },
        timeout: '${y}s',
        locks: [{ key: '${x}', mode: 'shared' }],
      },
    ],
  });
  const one = compiled(toml);
  const other = compiled({ 'flow.json': json }, {}, 'flow.json');
  expect(errorsIn(one)).toEqual([]);
  expect(one.definition?.nodes[0]).toMatchObject({
    timeoutMs: 3_000,
    locks: [{ key: 'true', mode: 'shared' }],
  });
  expect(other).toEqual(one);
});

describe("a capability of one's own", () => {
  const own = (more: string, label = 'cap.custom.set_flag') =>
    compiled(
      flow(
        `[[nodes]]\nid = "own"\nuses = "${label}"\nargs = { name = "\${x}", deep = [1, { a = true }] }\n${more}`,
        '[params]\nx = "sale"\n',
      ),
    );
  const declared = (more = '') =>
    own(`[nodes.effect]\nside_effect_kind = "deploy"\nidempotency_key = "k"\ntarget = "t"\n${more}`);

  test('a custom capability takes any JSON and is work without an effect', () => {
    const made = own('');
    expect(errorsIn(made)).toEqual([]);
    expect(nodeIn(made, 'own')).toMatchObject({ args: { name: 'sale', deep: [1, { a: true }] } });
    expect(nodeIn(made, 'own').effect).toBeUndefined();
    expect(errorsIn(own('', 'cap.custom.set_flag.preview'))).toEqual([]);
  });

  test('a custom effect has the declared class, or opaque by default', () => {
    expect(nodeIn(declared(), 'own').effect?.effectClass).toBe('opaque');
    const made = declared('class = "keyed"\n');
    expect(errorsIn(made)).toEqual([]);
    expect(nodeIn(made, 'own').effect?.effectClass).toBe('keyed');
  });
});

describe('a merge', () => {
  const merge = (options: Partial<CompileOptions>) => compiled({ 'flow.toml': MERGE }, options);

  test('a merge is always an effect of the kind merge', () => {
    const made = merge({ named: { name: 'notes', target: 'main' } });
    expect(errorsIn(made)).toEqual([]);
    expect(nodeIn(made, 'merge_integrate').effect).toEqual({
      kind: 'merge',
      effectClass: 'fenced',
      idempotencyKey: 'merge:draft/notes:main',
      target: 'branch:main',
      pool: 'default',
      audience: ['operators'],
      approvalTimeoutMs: 604_800_000,
    });
  });

  test('a merge without a target goes to the checked-out branch', () => {
    const made = merge({ positional: ['notes'] });
    expect(nodeIn(made, 'merge_integrate').effect).toMatchObject({
      idempotencyKey: 'merge:draft/notes:HEAD',
      target: 'branch:HEAD',
    });
    expect(nodeIn(made, 'merge_integrate').locks).toEqual([
      { key: 'branch:HEAD', mode: 'exclusive' },
      { key: 'branch:draft/notes', mode: 'exclusive' },
    ]);
  });

  test('an agent resolves conflicts only with auto_resolve and a configured command', () => {
    expect(nodeIn(merge({ set: { slug: 's' } }), 'merge_conflict_resolution')).toMatchObject({
      autoResolve: true,
      gatePolicy: 'block',
      agent: ['agent', '--quiet'],
    });
    const off = nodeIn(
      merge({ set: { slug: 's', conflict_auto_resolve: 'off' } }),
      'merge_conflict_resolution',
    );
    expect(off).toMatchObject({ autoResolve: false });
    expect(off).not.toHaveProperty('agent');
    const alone = merge({ set: { slug: 's' }, agentFor: () => undefined });
    expect(nodeIn(alone, 'merge_conflict_resolution')).toMatchObject({ autoResolve: false });
    const said = alone.problems.find(({ code }) => code === 'WORKFLOW_AGENT_MISSING');
    expect(said).toMatchObject({
      severity: 'warning',
      path: 'nodes[merge_conflict_resolution].args.auto_resolve',
    });
  });

  test('a CI gate has a script, and a repair script on request', () => {
    const set = { slug: 's', cicd_script: 'npm test', cicd_auto_resolve_script: 'npm run fix' };
    expect(nodeIn(merge({ set }), 'merge_gate_cicd')).toMatchObject({
      script: 'npm test',
      gatePolicy: 'block',
    });
    expect(nodeIn(merge({ set }), 'merge_gate_cicd')).not.toHaveProperty('fixScript');
    const fixing = merge({ set: { ...set, cicd_auto_resolve: true } });
    expect(nodeIn(fixing, 'merge_gate_cicd')).toMatchObject({ script: 'npm test', fixScript: 'npm run fix' });
  });

  test('a CI gate may have no script', () => {
    expect(nodeIn(merge({ set: { slug: 's' } }), 'merge_gate_cicd')).not.toHaveProperty('script');
  });
});

describe('a draft', () => {
  test('a draft embeds the text of its specification and keeps the path', () => {
    const read: string[] = [];
    const specFile = (path: string): string => {
      read.push(path);
      return 'Do ${this}.';
    };
    const made = compiled({ 'flow.toml': DRAFT }, { positional: ['docs/spec.md', 'notes'], specFile });
    expect(errorsIn(made)).toEqual([]);
    expect(nodeIn(made, 'persist_plan').args).toMatchObject({
      spec_text: 'Do ${this}.',
      spec_file: 'docs/spec.md',
    });
    expect(read).toEqual(['docs/spec.md']);
  });

  test('a draft with spec_source file reads the file at run time', () => {
    const set = { slug: 's', spec_file: 'spec.md', spec_source: 'file' };
    const made = compiled({ 'flow.toml': DRAFT }, { set, specFile: () => 'text' });
    expect(nodeIn(made, 'persist_plan').args).toMatchObject({ spec_text: '', spec_source: 'file' });
  });

  test('missing inputs are reported with their flags and positions', () => {
    const { problems } = compiled({ 'flow.toml': DRAFT }, { set: { spec_text: 'x' } });
    const input = problems.find(({ code }) => code === 'WORKFLOW_INPUT_MISSING');
    expect(input).toMatchObject({
      path: 'nodes[worktree_prepare].args',
      found: 'no input for worktree_prepare (cap.env.builtin.worktree.prepare)',
      expected:
        'one of branch, slug, plan: give --branch VALUE or --name VALUE or --slug VALUE, or as positions: holdpoint run WORKFLOW <spec_file> <slug>',
    });
  });
});

test("Holdpoint's extensions of the format are compiled", () => {
  const made = compiled(
    flow(
      '[params]\nslug = "s"\nenvironment = "staging"\n',
      `[[nodes]]
id = "deploy"
uses = "cap.env.shell.command.run"
args = { command = "./deploy.sh staging" }
guard = "inputs.environment == 'staging'"
before = [{ uses = "cap.env.shell.command.run", args = { command = "./preflight.sh" } }]
afterwards = [{ uses = "cap.env.shell.command.run", args = { command = "./tell.sh" } }]
finally = [{ uses = "cap.env.builtin.worktree.cleanup" }]
timeout = "10m"
[nodes.effect]
side_effect_kind = "deploy"
idempotency_key = "deploy:\${slug}:{{ nodes.build.outputs.digest }}"
target = "staging"
rollback_hint = "./deploy.sh staging --previous"
gate = "approval_recovery_v2"
probe = "./deploy.sh --is-live"
compensate = "./deploy.sh --previous"
[nodes.on_error]
strategy = "retry"
max_retries = 3
backoff = "exponential"
delay_ms = 1000
[[nodes]]
id = "each-service"
uses = "cap.env.shell.command.run"
args = { command = "true" }
for_each = "inputs.services"
parallel = 4
until = "outputs.healthy"
`,
    ),
  );
  expect(errorsIn(made)).toEqual([]);
  expect(nodeIn(made, 'deploy')).toMatchObject({
    guard: "inputs.environment == 'staging'",
    before: [{ uses: 'cap.env.shell.command.run', args: { command: './preflight.sh' } }],
    afterwards: [{ uses: 'cap.env.shell.command.run', args: { command: './tell.sh' } }],
    finally: [{ uses: 'cap.env.builtin.worktree.cleanup', args: {} }],
    timeoutMs: 600_000,
    effect: {
      kind: 'deploy',
      effectClass: 'probeable',
      idempotencyKey: 'deploy:s:{{ nodes.build.outputs.digest }}',
      target: 'staging',
      rollbackHint: './deploy.sh staging --previous',
      probe: './deploy.sh --is-live',
      compensate: './deploy.sh --previous',
    },
    onError: { strategy: 'retry', maxRetries: 3, backoff: 'exponential', delayMs: 1_000 },
  });
  expect(nodeIn(made, 'each-service')).toMatchObject({
    forEach: 'inputs.services',
    parallel: 4,
    until: 'outputs.healthy',
  });
});

test('file and HTTP effects take any JSON as arguments', () => {
  const made = compiled(
    flow(
      '[params]\nname = "x"\n',
      `[[nodes]]
id = "tell"
uses = "cap.http.keyed_request"
[nodes.args]
url = "https://example.test/\${name}"
body = { list = [1, true, "\${name}", { deep = "$\${name}" }] }
[nodes.effect]
side_effect_kind = "notify"
idempotency_key = "k"
target = "t"
`,
    ),
  );
  expect(errorsIn(made)).toEqual([]);
  expect(nodeIn(made, 'tell')).toMatchObject({
    args: { url: 'https://example.test/x', body: { list: [1, true, 'x', { deep: '${name}' }] } },
    effect: { kind: 'notify', effectClass: 'keyed' },
  });
  expect(nodeIn(made, 'tell')).not.toHaveProperty('locks');
});

describe('external effects', () => {
  const effectNode = (uses: string, args: string, kind: string): string =>
    `[[nodes]]
id = "tell"
uses = "${uses}"
args = { ${args} }
[nodes.effect]
side_effect_kind = "${kind}"
idempotency_key = "k"
target = "t"
`;

  test.each([
    [
      'cap.http.idempotent_request',
      'method = "PUT", url = "https://api.example/"',
      'write_external',
      'idempotent',
    ],
    [
      'cap.notify.webhook',
      'url = "https://in.example/", secrets = ["${secret:KEY}"], type = "a", data = 1',
      'notify',
      'keyed',
    ],
    ['cap.notify.discord', 'webhook = "${secret:URL}", content = "done"', 'notify', 'idempotent'],
    ['cap.notify.slack', 'webhook = "${secret:URL}", text = "done"', 'notify', 'idempotent'],
    ['cap.file.write', 'file = "a.txt", content = "x", expect = "absent"', 'destructive_edit', 'fenced'],
  ])('an external effect may be %s with secrets by name', (uses, args, kind, effectClass) => {
    const made = compiled(flow(effectNode(uses, args, kind)));
    expect(errorsIn(made)).toEqual([]);
    expect(nodeIn(made, 'tell')).toMatchObject({ uses, effect: { kind, effectClass } });
    expect(JSON.stringify(nodeIn(made, 'tell').args)).toContain(args.includes('secret:') ? '${secret:' : '');
  });

  test.each(['cap.notify.webhook', 'cap.notify.discord', 'cap.notify.slack'])(
    'that is %s is a notice and nothing else',
    (uses) => {
      const made = compiled(flow(effectNode(uses, 'webhook = "${secret:URL}"', 'deploy')));
      expect(errorsIn(made)).toContain('WORKFLOW_EFFECT_KIND nodes[tell].effect.side_effect_kind');
    },
  );

  test.each(['cap.notify.slack', 'cap.file.write', 'cap.http.idempotent_request'])(
    'that is %s is not done without being declared one',
    (uses) => {
      const made = compiled(flow(`[[nodes]]\nid = "tell"\nuses = "${uses}"\n`));
      expect(errorsIn(made)).toEqual(['WORKFLOW_EFFECT_MISSING nodes[tell].effect']);
    },
  );
});

describe('gates', () => {
  test('an approval gate holds the start of a node', () => {
    const made = compiled(flow(command('a', 'gates = [{ kind = "approval", required = "yes" }]')));
    expect(nodeIn(made, 'a').approval).toEqual({ audience: ['operators'], timeoutMs: 604_800_000 });
    const free = compiled(flow(command('a', 'gates = [{ kind = "approval" }]')));
    expect(nodeIn(free, 'a')).not.toHaveProperty('approval');
  });

  test('a script gate of a working node runs after its success', () => {
    const made = compiled(flow(command('a', 'gates = [{ kind = "script", script = "./check.sh" }]')));
    expect(nodeIn(made, 'a').afterwards).toEqual([
      { uses: 'cap.env.shell.command.run', args: { script: './check.sh' } },
    ]);
  });

  test('a CI run without a script takes the script of its gate', () => {
    const made = compiled(
      flow(
        '[[nodes]]\nid = "a"\nuses = "cap.env.shell.cicd.run"\ngates = [{ kind = "cicd", script = "npm test" }]\n',
      ),
    );
    expect(nodeIn(made, 'a').args).toEqual({ script: 'npm test' });
  });

  test('a stop gate needs a route back only with a condition', () => {
    const files = (more: string): Files => ({
      'flow.toml': NOTE.replace('failed = ["save"]', 'failed = ["write"]').replace(
        'on = { succeeded = ["check"] }',
        more,
      ),
    });
    expect(errorsIn(compiled(files('on = { succeeded = ["check"] }')))).toEqual([]);
    const without = compiled({
      'flow.toml': flow(
        `[[nodes]]\nid = "save"\nuses = "cap.env.builtin.git.stage_commit"\non = { succeeded = ["tidy"] }\n`,
        `[[nodes]]\nid = "tidy"\nuses = "cap.env.builtin.worktree.cleanup"\n`,
      )['flow.toml'] as string,
    });
    expect(errorsIn(without)).toEqual([]);
  });
});

test('several routes into one node are allowed', () => {
  const made = compiled(
    flow(
      command('a', 'on = { succeeded = ["c"] }'),
      command('b', 'on = { succeeded = ["c"] }'),
      command('c', ''),
    ),
  );
  expect(errorsIn(made)).toEqual([]);
});

test('all problems are reported at once with the nearest names', () => {
  const made = compiled(
    flow(
      'parms = { x = "1" }\n[policy]\nfailure_mode = "block_downstream"\n[params]\nslug = ""\n',
      command('a', 'retry = { mode = "on_failur" }\non = { failed = ["bb"] }'),
      '[[nodes]]\nid = "b"\nuses = "cap.env.shell.comand.run"\nargs = { command = "${slg}" }\n',
    ),
    { set: { slgu: 'x' } },
  );
  expect(made.problems.map(({ code, path, nearest }) => [code, path, nearest])).toEqual([
    ['WORKFLOW_KEY_UNKNOWN', 'parms', 'params'],
    ['WORKFLOW_VALUE_COERCION', 'nodes[a].retry.mode', 'on_failure'],
    ['WORKFLOW_PLACEHOLDER_UNKNOWN', 'nodes[b].args.command', 'slug'],
    ['WORKFLOW_USES_UNKNOWN', 'nodes[b].uses', 'cap.env.shell.command.run'],
    ['WORKFLOW_PARAM_UNKNOWN', 'set.slgu', 'slug'],
    ['WORKFLOW_NODE_UNKNOWN', 'nodes[a].on.failed[0]', 'b'],
  ]);
});

describe('parameters', () => {
  const files = flow(
    '[cli]\npositional = ["first_word"]\n[cli.named]\nfirst-word-please = "first_word"\n[params]\nfirst_word = "a"\nother = "b"\n',
    command('n', 'name = "${first_word} ${other} ${undeclared}"'),
  );
  const nameWith = (options: Partial<CompileOptions>): string | undefined =>
    nodeIn(compiled(files, { ...options, set: { undeclared: 'u', ...options.set } }), 'n').name;

  test('parameters have their defaults', () => {
    expect(nameWith({})).toBe('a b u');
  });
  test('parameters may be set by position, flag and name, also with dashes', () => {
    expect(nameWith({ positional: ['x'] })).toBe('x b u');
    expect(nameWith({ named: { 'first-word-please': 'x' } })).toBe('x b u');
    expect(nameWith({ named: { 'first-word': 'x' } })).toBe('x b u');
    expect(nameWith({ set: { 'first-word': 'x', other: true } })).toBe('x true u');
  });
  test('an undeclared parameter can be set when a text uses it', () => {
    expect(errorsIn(compiled(files))).toEqual(['WORKFLOW_PLACEHOLDER_UNKNOWN nodes[n].name']);
  });
});

describe('the hash of a definition', () => {
  const hash = (files: Files, options: Partial<CompileOptions> = {}): string => {
    const { definition } = compiled(files, options);
    if (definition === undefined) throw new Error('no definition');
    return hashOf(definition);
  };
  const contracts = '[[artifact_contracts]]\nid = "t"\n[[artifact_contracts]]\nid = "u"\n';
  const t = '{ custom = { type_id = "t", key = "k" } }';
  const u = '{ custom = { type_id = "u", key = "k" } }';
  const a = command('a', `produces = { succeeded = [${t}, ${u}] }`);
  const b = command('b', 'after = [{ node_id = "a" }]');
  const first = hash(flow(contracts, a, b));

  test('the hash does not depend on the order of the file', () => {
    const swapped = contracts.replace('"t"', '"x"').replace('"u"', '"t"').replace('"x"', '"u"');
    expect(hash(flow(swapped, b, a.replace(`${t}, ${u}`, `${u}, ${t}`)))).toBe(first);
    expect(hash(flow(contracts, a, b.replace('after =', 'on = { failed = [] }\nafter =')))).toBe(first);
  });
  test('the hash depends on the policy, the edges and the values', () => {
    const others = [
      hash(flow('[policy.dependencies]\nmissing_producer = "wait"\n', contracts, a, b)),
      hash(flow('[policy]\nfailure_mode = "continue_independent"\n', contracts, a, b)),
      hash(flow(contracts, a, command('b', ''))),
      hash(flow(contracts, a, b.replace('"true"', '"false"'))),
    ];
    expect(new Set([first, ...others]).size).toBe(5);
  });
});

describe('accepted templates', () => {
  const said = (files: Files) => {
    const made = compiled(files);
    expect(made.definition).toBeDefined();
    return made.problems.map(({ code, severity, path }) => `${severity} ${code} ${path}`);
  };

  test('an artifact with an empty parameter as its name is left out without a warning', () => {
    const produces = 'produces = { blocked = [{ merge_sentinel = { slug = "${slug}" } }] }';
    const files = flow(
      '[params]\nslug = ""\n[[artifact_contracts]]\nid = "merge_sentinel"\n',
      command('a', produces),
    );
    expect(said(files)).toEqual([]);
    expect(nodeIn(compiled(files), 'a')).not.toHaveProperty('produces');
  });

  test('an artifact with a literally empty name is left out with a warning', () => {
    const produces = 'produces = { blocked = [{ merge_sentinel = { slug = "" } }] }';
    const files = flow('[[artifact_contracts]]\nid = "merge_sentinel"\n', command('a', produces));
    expect(said(files)).toEqual([
      'warning WORKFLOW_ARTIFACT_NAMELESS nodes[a].produces.blocked[0].merge_sentinel',
    ]);
    expect(nodeIn(compiled(files), 'a')).not.toHaveProperty('produces');
  });

  test('retry numbers without the strategy retry cause a warning', () => {
    const files = flow(command('a', 'on_error = { strategy = "pause", max_retries = 2 }'));
    expect(said(files)).toEqual(['warning WORKFLOW_ON_ERROR_UNUSED nodes[a].on_error']);
  });

  test('a conflict gate at another node causes a warning', () => {
    const files = flow(command('a', 'gates = [{ kind = "custom", id = "conflict_resolution" }]'));
    expect(said(files)).toEqual(['warning WORKFLOW_GATE_UNUSED nodes[a].gates[0]']);
  });

  test('auto_resolve without a repair script causes a warning', () => {
    const gate = '[[nodes]]\nid = "g"\nuses = "control.gate.cicd"\non = { failed = ["g"] }\n';
    const files = flow(`${gate}gates = [{ kind = "cicd", script = "true", auto_resolve = true }]\n`);
    expect(said(files)).toEqual(['warning WORKFLOW_CICD_FIX nodes[g].args']);
  });

  test('a strict resume policy is accepted', () => {
    expect(said(flow('[policy.resume]\nkey = "k"\nreuse_mode = "strict"\n', command('a', '')))).toEqual([]);
  });

  test('the strategy recover has no numbers', () => {
    const made = compiled(flow(command('a', 'on_error = { strategy = "recover" }')));
    expect(made.problems).toEqual([]);
    const none = { maxRetries: 0, backoff: 'exponential', delayMs: 0 };
    expect(nodeIn(made, 'a').onError).toEqual({ strategy: 'recover', ...none });
  });

  test('recover allows loops and routes for other outcomes', () => {
    const files = flow(
      command('a', 'on = { succeeded = ["b"] }'),
      command(
        'b',
        'on_error = { strategy = "recover" }\non = { failed = ["a", "b"], blocked = ["c"], cancelled = ["c"] }',
      ),
      command('c', ''),
    );
    expect(said(files)).toEqual([]);
  });

  test('on_error without numbers has the defaults', () => {
    const made = compiled(flow(command('a', 'on_error = { strategy = "retry" }')));
    expect(nodeIn(made, 'a').onError).toEqual({
      strategy: 'retry',
      maxRetries: 3,
      backoff: 'exponential',
      delayMs: 1_000,
    });
  });
});

describe('a budget', () => {
  const budgetOf = (lines: string, options: Partial<CompileOptions> = {}, params = '') => {
    const made = compiled(flow(`${params}[policy.budget]\n${lines}\n`, command('a', '')), options);
    expect(made.problems).toEqual([]);
    return made.definition?.policy?.budget;
  };

  test('a budget is compiled with its units and audience', () => {
    expect(budgetOf('tokens = 200000\ncost_usd = 2.5\nminutes = 0.5\naudience = "group:finance"')).toEqual({
      tokens: 200_000,
      costUsd: 2.5,
      workMs: 30_000,
      audience: ['group:finance'],
    });
    expect(budgetOf('minutes = 90\naudience = ["ops", "user:ada"]')).toEqual({
      workMs: 5_400_000,
      audience: ['ops', 'user:ada'],
    });
  });

  test('a budget takes parameters, and an empty one means no limit', () => {
    const params = '[params]\nusd = ""\ntime = "15"\n';
    const lines = 'cost_usd = "${usd}"\nminutes = "${time}"';
    expect(budgetOf(lines, {}, params)).toEqual({ workMs: 900_000 });
    expect(budgetOf(lines, { set: { usd: '0.75', time: '' } }, params)).toEqual({ costUsd: 0.75 });
    expect(budgetOf(lines, { set: { usd: '', time: '' } }, params)).toBeUndefined();
  });

  test('the budget of an imported stage does not apply to the workflow', () => {
    const files = {
      'flow.toml': 'id = "x"\nversion = "v1"\n[[imports]]\nname = "s"\npath = "s.toml"\n',
      's.toml': `id = "s"\nversion = "v1"\n[policy.budget]\ntokens = 5\n${command('a', '')}`,
    };
    expect(compiled(files).definition?.policy).not.toHaveProperty('budget');
  });
});

test('recovery rules are part of the definition and its hash', () => {
  const files = flow(command('a', ''));
  const recovery = { thresholds: { UNKNOWN: 4 } };
  const made = compiled(files, { recovery });
  expect(made.definition?.recovery).toEqual(recovery);
  const without = compiled(files).definition;
  expect(without).not.toHaveProperty('recovery');
  const hashes = [made.definition, without].map((each) => each && hashOf(each));
  expect(new Set(hashes).size).toBe(2);
});
