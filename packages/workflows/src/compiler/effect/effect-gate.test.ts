import { EffectDeclaration, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import { describe, expect, test } from 'vitest';
import { hashOf, type CompileOptions } from '../compile.ts';
import { definitionProblems } from '../../definition/definition-problems.ts';
import { defaultGate, gateReader } from '../../files/gate-source.ts';
import { forKind } from '../../gate/find-gate.ts';
import { shippedGate } from '../../files/shipped.ts';
import { problemText } from '../../problems/problem.ts';
import { compiled, errorsIn, flow, MERGE, nodeIn, reading } from '../../../testing/template.ts';
import { FULL } from '../../../testing/gate.ts';

const effect = (more = '', kind = 'deploy'): string => `
[[nodes]]
id = "build"
uses = "cap.env.shell.command.run"
args = { command = "true" }

[[nodes]]
id = "a"
uses = "cap.env.shell.command.run"
args = { command = "true" }
after = [{ node_id = "build" }]
[nodes.effect]
side_effect_kind = "${kind}"
idempotency_key = "k"
target = "staging"
${more}
`;
const PATH = '.holdpoint/gates/release.yaml';
const withGates = (files: Readonly<Record<string, string>>): Partial<CompileOptions> => ({
  readGate: gateReader(reading(files)),
});
const made = (more: string, files: Readonly<Record<string, string>> = { [PATH]: FULL }, kind?: string) =>
  compiled(flow(effect(more, kind)), withGates(files));
const NAMED = 'gate = "release"\ninputs = { stage = "live" }';
const effectIn = (from: ReturnType<typeof made>): EffectDeclaration => {
  const { effect: found } = nodeIn(from, 'a');
  if (found === undefined) throw new Error('no effect');
  return found;
};

describe('the default gate', () => {
  test('the unchanged default gate is left out of a definition', () => {
    const plain = made('', {});
    const named = made('gate = "approval_recovery_v2"', {});
    expect(plain.problems).toEqual([]);
    expect(effectIn(plain)).toEqual({
      kind: 'deploy',
      effectClass: 'opaque',
      pool: 'default',
      audience: ['operators'],
      approvalTimeoutMs: 604_800_000,
      idempotencyKey: 'k',
      target: 'staging',
    });
    expect(named.definition && hashOf(named.definition)).toBe(plain.definition && hashOf(plain.definition));
  });

  test.each(SideEffectKind.options)('the default gate treats %s like an effect without a gate', (kind) => {
    const gate = forKind(defaultGate(), kind);
    expect(gate.given).toEqual({ side_effect_kind: kind });
    expect(gate.request.audience).toEqual(['operators']);
    expect(gate.timeoutMs).toEqual({ default: 604_800_000 });
  });

  test('the default gate with inputs is part of the definition', () => {
    const found = effectIn(made('inputs = { why = "now" }', {}));
    expect(found.gate).toMatchObject({
      id: 'approval_recovery_v2',
      given: { why: 'now', side_effect_kind: 'deploy' },
    });
  });

  test('a gate of five minutes is valid for five minutes', () => {
    const short = {
      '.holdpoint/gates/short.yaml': 'id: short\nversion: "1"\napproval_request: { timeout: 5m }\n',
    };
    expect(effectIn(made('gate = "short"', short)).approvalTimeoutMs).toBe(300_000);
  });

  test("a repository's default gate replaces the shipped one, also for merges", () => {
    const own = (shippedGate('approval_recovery_v2') ?? '').replace(
      'timeout: 7d\n  remind: [1h, 1d]',
      'timeout: 1h',
    );
    const files = { '.vizier/gates/approval_recovery_v2.yaml': own };
    expect(effectIn(made('', files))).toMatchObject({
      approvalTimeoutMs: 3_600_000,
      gate: { id: 'approval_recovery_v2', given: { side_effect_kind: 'deploy' } },
    });
    const merge = compiled({ 'flow.toml': MERGE }, { set: { slug: 's' }, ...withGates(files) });
    const [gate] = (merge.definition?.nodes ?? []).flatMap((node) => node.effect?.gate ?? []);
    expect(gate?.given).toEqual({ side_effect_kind: 'merge' });
  });
});

type Row = readonly [what: string, more: string, errors: readonly string[], files?: Record<string, string>];

const REFUSED: readonly Row[] = [
  ['a gate of nobody', 'gate = "relase"', ['WORKFLOW_EFFECT_GATE nodes[a].effect.gate']],
  ['a path', 'gate = "../release"', ['WORKFLOW_EFFECT_GATE nodes[a].effect.gate']],
  ['what it asks for is missing', 'gate = "release"', ['WORKFLOW_GATE_INPUT nodes[a].effect.inputs.stage']],
  ['an input of nobody', NAMED.replace(' }', ', x = 1 }'), ['WORKFLOW_GATE_INPUT nodes[a].effect.inputs.x']],
  [
    'another type',
    NAMED.replace(' }', ', size = "many", services = 1, ratio = true }'),
    [
      'WORKFLOW_GATE_INPUT nodes[a].effect.inputs.size',
      'WORKFLOW_GATE_INPUT nodes[a].effect.inputs.services',
      'WORKFLOW_GATE_INPUT nodes[a].effect.inputs.ratio',
    ],
  ],
  [
    'no value of an enum',
    'gate = "release"\ninputs = { stage = "dev" }',
    ['WORKFLOW_GATE_INPUT nodes[a].effect.inputs.stage'],
  ],
  [
    'another kind than the effect is of',
    NAMED.replace(' }', ', side_effect_kind = "merge" }'),
    ['WORKFLOW_GATE_KIND nodes[a].effect.inputs.side_effect_kind'],
  ],
  [
    'an expression over what is not there',
    NAMED.replace(' }', ', note = "{{ outputs.x }}" }'),
    ['WORKFLOW_EXPRESSION nodes[a].effect.inputs.note'],
  ],
  [
    'a parameter of nobody',
    NAMED.replace(' }', ', note = "${x}" }'),
    ['WORKFLOW_PLACEHOLDER_UNKNOWN nodes[a].effect.inputs.note'],
  ],
  [
    'a node that is not there',
    NAMED,
    ['WORKFLOW_NODE_UNKNOWN nodes[a].effect.gate.on_decision.request_changes.to'],
    { [PATH]: FULL.replace('to: build', 'to: biuld') },
  ],
  [
    'a file with an error',
    NAMED,
    ['WORKFLOW_KEY_UNKNOWN polici', 'WORKFLOW_EFFECT_GATE nodes[a].effect.gate'],
    { [PATH]: FULL.replace('policy:', 'polici:') },
  ],
  [
    'a file of another gate',
    NAMED,
    ['WORKFLOW_GATE_ID id', 'WORKFLOW_EFFECT_GATE nodes[a].effect.gate'],
    { [PATH]: FULL.replace('id: release', 'id: other') },
  ],
  [
    'inputs for a default gate without them',
    'inputs = { x = 1 }',
    ['WORKFLOW_GATE_INPUT nodes[a].effect.inputs.x'],
    {},
  ],
];

describe('a named gate', () => {
  test('a named gate is part of the definition with its inputs', () => {
    const found = effectIn(made(NAMED));
    expect(found).toMatchObject({
      audience: ['group:release'],
      approvalTimeoutMs: 7_200_000,
      gate: { id: 'release', version: '4', given: { stage: 'live', side_effect_kind: 'deploy' } },
    });
    expect(EffectDeclaration.parse(found)).toEqual(found);
  });

  test('a gate drops reminders after its timeout', () => {
    const { approvalTimeoutMs, gate } = effectIn(made(NAMED, { [PATH]: FULL }, 'other'));
    expect(approvalTimeoutMs).toBe(600_000);
    expect(gate?.policy).toMatchObject({
      remindMs: [300_000],
      handOn: [{ afterMs: 420_000, audience: ['managers', 'role:duty'] }],
    });
  });

  test('the gate in .holdpoint wins over the one in .vizier', () => {
    const files = { [PATH]: FULL, '.vizier/gates/release.yaml': FULL.replace('"4"', '"5"') };
    expect(effectIn(made(NAMED, files)).gate?.version).toBe('4');
  });

  test('a changed gate file changes the hash of the definition', () => {
    const [one, other] = [FULL, FULL.replace('another kind', 'a kind')].map(
      (text) => made(NAMED, { [PATH]: text }).definition,
    );
    expect(one && hashOf(one)).not.toBe(other && hashOf(other));
  });

  test('gate inputs accept parameters, expressions, and texts converted to their type', () => {
    const { gate } = effectIn(
      compiled(
        flow(
          '[params]\ncount = "7"\nyes = "on"\n',
          effect(
            'gate = "release"\ninputs = { stage = "live", size = "${count}", urgent = "${yes}", ratio = 1.5, services = ["a", "${count}"], labels = { x = "{{ inputs.count }}" }, team = "{{ nodes.build.outputs.team }}", note = "$${x}" }',
          ),
        ),
        withGates({ [PATH]: FULL }),
      ),
    );
    expect(gate?.given).toEqual({
      stage: 'live',
      size: 7,
      urgent: true,
      ratio: 1.5,
      services: ['a', '7'],
      labels: { x: '{{ inputs.count }}' },
      team: '{{ nodes.build.outputs.team }}',
      note: '${x}',
      side_effect_kind: 'deploy',
    });
  });

  test.each(REFUSED.map(([what, more, errors, files]) => ({ what, more, errors, files })))(
    '$what is refused',
    ({ more, errors, files }) => {
      const result = made(more, files);
      expect([...errorsIn(result)].sort()).toEqual([...errors].sort());
      expect(result.definition).toBeUndefined();
    },
  );

  test('a gate refuses other kinds of effects', () => {
    expect(errorsIn(made(NAMED, { [PATH]: FULL }, 'notify'))).toEqual([
      'WORKFLOW_GATE_KIND nodes[a].effect.side_effect_kind',
    ]);
  });

  test('an unreadable gate file does not fall back to the shipped gate', () => {
    const result = compiled(flow(effect('')), {
      readGate: gateReader((path) => {
        throw Object.assign(new Error(`${path}: no`), { code: 'WORKFLOW_PATH_REFUSED' });
      }),
    });
    expect(errorsIn(result)).toEqual(['WORKFLOW_PATH_REFUSED ', 'WORKFLOW_EFFECT_GATE nodes[a].effect.gate']);
  });

  test('an error in a gate is reported once for all its effects', () => {
    const result = compiled(
      flow(effect(NAMED), effect(NAMED).replaceAll('"a"', '"b"').replaceAll('"build"', '"other"')),
      withGates({ [PATH]: 'id: release\n' }),
    );
    expect(errorsIn(result)).toEqual([
      'WORKFLOW_KEY_MISSING version',
      'WORKFLOW_EFFECT_GATE nodes[a].effect.gate',
      'WORKFLOW_EFFECT_GATE nodes[b].effect.gate',
    ]);
    expect(problemText(result.problems[0] ?? fail())).toContain(`${PATH} version`);
  });
});

const fail = (): never => {
  throw new Error('no problem');
};

describe('without a gate source', () => {
  test('without a gate source, only the default gate exists', () => {
    const plain = compiled(flow(effect('gate = "approval_recovery_v2"')));
    expect(effectIn(plain)).toEqual(effectIn(made('', {})));
    for (const more of [NAMED, 'inputs = { why = "now" }'])
      expect(errorsIn(compiled(flow(effect(more))))).toEqual(['WORKFLOW_EFFECT_GATE nodes[a].effect.gate']);
  });
});

describe('a definition from another source', () => {
  const definition = made(NAMED).definition ?? fail();
  const gate = effectIn(made(NAMED)).gate ?? fail();
  const changed = (change: object, given: object = {}): readonly string[] => {
    const nodes = definition.nodes.map((node) =>
      node.effect?.gate === undefined
        ? node
        : { ...node, effect: { ...node.effect, ...given, gate: { ...gate, ...change } } },
    );
    return definitionProblems({ ...definition, nodes }).map(({ code, path }) => `${code} ${path}`);
  };

  test('a definition from another source is checked in the same way', () => {
    expect(changed({})).toEqual([]);
    expect(changed({ loadContext: [] })).toContain(
      'WORKFLOW_EXPRESSION nodes[a].effect.gate.approval_request.body',
    );
    expect(changed({ onDecision: { reject: { emit: 'resume_executor' } } })).toEqual([
      'WORKFLOW_GATE_RESUME nodes[a].effect.gate.on_decision.reject.emit',
    ]);
    expect(changed({ timeoutMs: { deploy: 60_000 } }).map((one) => one.split(' ')[0])).toEqual([
      'WORKFLOW_GATE_TIME',
      'WORKFLOW_GATE_TIME',
      'WORKFLOW_GATE_TIME',
      'WORKFLOW_GATE_TIME',
    ]);
    expect(changed({ given: { gone: 1, note: '{{ gone }}' } })).toEqual([
      'WORKFLOW_GATE_INPUT nodes[a].effect.inputs.gone',
      'WORKFLOW_EXPRESSION nodes[a].effect.inputs.note',
    ]);
  });
});
