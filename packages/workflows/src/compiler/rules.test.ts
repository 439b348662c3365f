import { describe, expect, test } from 'vitest';
import type { CompileOptions } from './compile.ts';
import { compiled, DRAFT, errorsIn, flow, HEAD, MERGE, type Files } from '../../testing/template.ts';

/** The rule of the reference, the mistake, the template, all expected errors, and the caller's input. */
type Row = readonly [
  rule: string,
  wrong: string,
  files: Files,
  errors: readonly string[],
  given?: Partial<CompileOptions>,
];

const CONTRACTS = `
[[artifact_contracts]]
id = "prompt_text"
version = "v1"
`;
const node = (id: string, uses: string, more = ''): string =>
  `[[nodes]]\nid = "${id}"\nuses = "${uses}"\n${more}\n`;
const command = (id: string, more = ''): string =>
  node(id, 'cap.env.shell.command.run', `args = { command = "true" }\n${more}`);
const STAGE_FILE = `${HEAD}${command('one')}`;
const importing = (imports: string, files: Files): Files => ({ 'flow.toml': `${HEAD}${imports}`, ...files });
const imported = (name: string, path: string): string => `[[imports]]\nname = "${name}"\npath = "${path}"\n`;
const link = (from: string, to: string): string => `[[links]]\nfrom = "${from}"\nto = "${to}"\n`;
const PROMPT_OUT = 'produces = { succeeded = [{ custom = { type_id = "prompt_text", key = "k" } }] }';
const PROMPT_IN = 'needs = [{ custom = { type_id = "prompt_text", key = "k" } }]';
const PROMPT_TEXT = 'args = { prompt_text = "Do it." }';
const ask = node(
  'ask',
  'cap.env.builtin.prompt.resolve',
  `${PROMPT_TEXT}\n${PROMPT_OUT}\non = { succeeded = ["a"] }`,
);

const composition: readonly Row[] = [
  [
    'C1',
    'an import without a name',
    importing(imported('', 's.toml'), { 's.toml': STAGE_FILE }),
    ['WORKFLOW_IMPORT_NAME imports'],
  ],
  [
    'C1',
    'two imports with one name',
    importing(imported('a', 's.toml') + imported('a', 's.toml'), { 's.toml': STAGE_FILE }),
    ['WORKFLOW_IMPORT_NAME imports'],
  ],
  [
    'C1',
    'a stage without nodes',
    importing(imported('a', 's.toml') + command('x'), { 's.toml': HEAD }),
    ['WORKFLOW_STAGE_EMPTY nodes'],
  ],
  [
    'C1',
    'a stage with a duplicate id',
    importing(imported('a', 's.toml'), { 's.toml': STAGE_FILE + command('one') }),
    ['WORKFLOW_STAGE_NODE_TWICE nodes[one].id'],
  ],
  [
    'C1',
    'cyclic imports',
    importing(imported('a', 's.toml'), { 's.toml': HEAD + imported('b', 'flow.toml') }),
    ['WORKFLOW_IMPORT_CYCLE imports[0].path'],
  ],
  [
    'C2',
    'a link from an unknown stage',
    importing(imported('abc', 's.toml') + link('abd', 'abc'), { 's.toml': STAGE_FILE }),
    ['WORKFLOW_LINK_STAGE links[0].from'],
  ],
  [
    'C2',
    'a link to an unknown stage',
    importing(imported('a', 's.toml') + link('a', ''), { 's.toml': STAGE_FILE }),
    ['WORKFLOW_LINK_STAGE links[0].to'],
  ],
  [
    'C2',
    'cyclic links',
    importing(imported('a', 's.toml') + imported('b', 's.toml') + link('a', 'b') + link('b', 'a'), {
      's.toml': STAGE_FILE,
    }),
    ['WORKFLOW_LINK_CYCLE links'],
  ],
  [
    'C3',
    'a stage that waits for an unknown node',
    importing(imported('a', 's.toml'), { 's.toml': HEAD + command('one', 'after = [{ node_id = "two" }]') }),
    ['WORKFLOW_STAGE_NODE_UNKNOWN nodes[one].after[0].node_id'],
  ],
  [
    'C3',
    'a stage with a route to an unknown node',
    importing(imported('a', 's.toml'), { 's.toml': HEAD + command('one', 'on = { failed = ["two"] }') }),
    ['WORKFLOW_STAGE_NODE_UNKNOWN nodes[one].on.failed[0]'],
  ],
  [
    'C4',
    'two defaults for one parameter',
    importing(`${imported('a', 's.toml')}[params]\nx = "1"\n`, {
      's.toml': `${HEAD}[params]\nx = "2"\n${command('one')}`,
    }),
    ['WORKFLOW_PARAM_CONFLICT params.x'],
  ],
  [
    'C4',
    'two versions of one contract',
    importing(`${imported('a', 's.toml')}[[artifact_contracts]]\nid = "t"\nversion = "v1"\n`, {
      's.toml': `${HEAD}[[artifact_contracts]]\nid = "t"\nversion = "v2"\n${command('one')}`,
    }),
    ['WORKFLOW_CONTRACT_CONFLICT artifact_contracts[0]'],
  ],
];

const CLI = '[cli]\npositional = ["x"]\n[cli.named]\nshort = "x"\n[params]\nx = ""\n';
const inputs: readonly Row[] = [
  [
    'I1',
    'a parameter without a name',
    flow(command('a')),
    ['WORKFLOW_PARAM_NAME set.'],
    { set: { '': '1' } },
  ],
  [
    'I1',
    'an unknown parameter',
    flow(CLI, command('a')),
    ['WORKFLOW_PARAM_UNKNOWN set.y'],
    { set: { y: '1' } },
  ],
  [
    'I2',
    'a flag without a name',
    flow('[cli.named]\n"" = "x"\n[params]\nx = ""\n', command('a')),
    ['WORKFLOW_CLI cli.named.'],
  ],
  [
    'I2',
    'a flag for an unknown parameter',
    flow('[cli.named]\na = "x"\n', command('a')),
    ['WORKFLOW_CLI cli.named.a'],
  ],
  [
    'I2',
    'a parameter set by its flag and by its name',
    flow(CLI, command('a')),
    ['WORKFLOW_PARAM_TWICE named.short'],
    { set: { x: '1' }, named: { short: '1' } },
  ],
  [
    'I3',
    'values for a template that takes none',
    flow(command('a')),
    ['WORKFLOW_POSITIONAL_MANY positional[0]'],
    { positional: ['1'] },
  ],
  [
    'I3',
    'more values than positions',
    flow(CLI, command('a')),
    ['WORKFLOW_POSITIONAL_MANY positional[1]'],
    { positional: ['1', '2'] },
  ],
  [
    'I3',
    'a position without a name',
    flow('[cli]\npositional = [""]\n', command('a')),
    ['WORKFLOW_CLI cli.positional[0]'],
  ],
  [
    'I3',
    'a position for an unknown parameter',
    flow('[cli]\npositional = ["y"]\n', command('a')),
    ['WORKFLOW_CLI cli.positional[0]'],
  ],
  [
    'I3',
    'a parameter set by position and by name',
    flow(CLI, command('a')),
    ['WORKFLOW_PARAM_TWICE positional[0]'],
    { named: { short: '1' }, positional: ['1'] },
  ],
  [
    'I4',
    'an unknown placeholder',
    flow(node('a', 'cap.env.shell.command.run', 'args = { command = "${nope}" }')),
    ['WORKFLOW_PLACEHOLDER_UNKNOWN nodes[a].args.command'],
  ],
  [
    'I4',
    'an empty placeholder',
    flow(command('a', 'locks = [{ key = "${}", mode = "shared" }]')),
    ['WORKFLOW_PLACEHOLDER_EMPTY nodes[a].locks[0].key'],
  ],
  [
    'I4',
    'an unclosed placeholder',
    flow(command('a', 'name = "${x"')),
    ['WORKFLOW_PLACEHOLDER_UNCLOSED nodes[a].name'],
  ],
  [
    'I5',
    'a value that is not a boolean',
    flow(command('a', 'gates = [{ kind = "approval", required = "maybe" }]')),
    ['WORKFLOW_VALUE_COERCION nodes[a].gates[0].approval.required'],
  ],
  [
    'I5',
    'a negative budget',
    flow(command('a', 'retry = { budget = "-1" }')),
    ['WORKFLOW_VALUE_COERCION nodes[a].retry.budget'],
  ],
  [
    'I5',
    'a mode in capitals',
    flow(command('a', 'retry = { mode = "Never" }')),
    ['WORKFLOW_VALUE_COERCION nodes[a].retry.mode'],
  ],
  [
    'I5',
    'a time with an unknown unit',
    flow(command('a', 'timeout = "10x"')),
    ['WORKFLOW_VALUE_COERCION nodes[a].timeout'],
  ],
  [
    'I6',
    'a prompt whose parameter is empty',
    flow(
      '[params]\nprompt_text = ""\n',
      CONTRACTS,
      node(
        'a',
        'cap.env.builtin.prompt.resolve',
        `args = { prompt_text = "\${prompt_text}" }\n${PROMPT_OUT}`,
      ),
    ),
    ['WORKFLOW_INPUT_MISSING nodes[a].args'],
  ],
  ['I6', 'a missing input', { 'flow.toml': MERGE }, ['WORKFLOW_INPUT_MISSING nodes[merge_integrate].args']],
  [
    'I7',
    'an unreadable specification',
    { 'flow.toml': DRAFT },
    ['WORKFLOW_SPEC_FILE nodes[persist_plan].args.spec_file'],
    { set: { slug: 's', spec_file: 'gone.md' }, specFile: () => undefined },
  ],
];

const identity: readonly Row[] = [
  ['U1', 'no label', flow(node('a', '')), ['WORKFLOW_USES_EMPTY nodes[a].uses']],
  [
    'U2',
    'a label of an old vizier version',
    flow(node('a', 'vizier.git.commit')),
    ['WORKFLOW_USES_LEGACY nodes[a].uses'],
  ],
  [
    'U2',
    'a label of an old format',
    flow(node('a', 'cap.git.commit')),
    ['WORKFLOW_USES_LEGACY nodes[a].uses'],
  ],
  [
    'U2',
    'an unknown label',
    flow(node('a', 'cap.env.shell.comand.run')),
    ['WORKFLOW_USES_UNKNOWN nodes[a].uses'],
  ],
  [
    'U2',
    'a label of the patch pipeline',
    flow(node('a', 'cap.env.builtin.patch.execute_pipeline')),
    ['WORKFLOW_USES_NOT_YET nodes[a].uses'],
  ],
  [
    'U2',
    'an internal capability',
    flow(node('a', 'control.prepare')),
    ['WORKFLOW_USES_UNKNOWN nodes[a].uses'],
  ],
  ['U3', 'an effect of another class', flow(command('a', 'kind = "agent"')), ['WORKFLOW_KIND nodes[a].kind']],
  ['U3', 'an executor as a gate', flow(command('a', 'kind = "gate"')), ['WORKFLOW_KIND nodes[a].kind']],
  [
    'U4',
    'a control of another kind',
    flow(node('a', 'control.terminal', 'kind = "builtin"')),
    ['WORKFLOW_KIND nodes[a].kind'],
  ],
  [
    'U5',
    'a control with a command',
    flow(node('a', 'control.terminal', 'args = { command = "true" }')),
    ['WORKFLOW_CONTROL_SCRIPT nodes[a].args.command'],
  ],
  ['U6', 'a duplicate id', flow(command('a'), command('a')), ['WORKFLOW_NODE_TWICE nodes[a].id']],
  ['U6', 'no nodes', flow(), ['WORKFLOW_EMPTY nodes']],
];

const commit = (more: string, args = 'message = "m"'): string =>
  node('save', 'cap.env.builtin.git.stage_commit', `args = { ${args} }\n${more}`);
const stop = (more: string, id = 'stop'): string => node(id, 'control.gate.stop_condition', more);
const SCRIPT = 'gates = [{ kind = "script", script = "true" }]';
const merge = (more: string): string =>
  node('m', 'cap.env.builtin.git.integrate_plan_branch', `args = { slug = "s" }\n${more}`);
const conflict = (more: string, id = 'c'): string => node(id, 'control.gate.conflict_resolution', more);
const ci = (more: string, id = 'g'): string => node(id, 'control.gate.cicd', more);
const CI_GATE = 'gates = [{ kind = "cicd", script = "true" }]';
const CI_FIX = 'gates = [{ kind = "cicd", script = "true", auto_resolve = true }]';

const contracts: readonly Row[] = [
  [
    'worktree.prepare',
    'no branch',
    flow(node('a', 'cap.env.builtin.worktree.prepare')),
    ['WORKFLOW_ARGS_MISSING nodes[a].args'],
  ],
  [
    'integrate args',
    'no source',
    flow(node('a', 'cap.env.builtin.git.integrate_plan_branch')),
    ['WORKFLOW_ARGS_MISSING nodes[a].args'],
  ],
  [
    'agent.invoke',
    'an agent with its own command',
    flow(CONTRACTS, ask, node('a', 'cap.agent.invoke', `args = { command = "x" }\n${PROMPT_IN}`)),
    ['WORKFLOW_AGENT_SCRIPT nodes[a].args.command'],
  ],
  ['agent.invoke', 'no prompt', flow(node('a', 'cap.agent.invoke')), ['WORKFLOW_AGENT_NEEDS nodes[a].needs']],
  [
    'agent.invoke',
    'two prompts',
    flow(
      CONTRACTS,
      ask,
      node(
        'a',
        'cap.agent.invoke',
        `needs = [${'{ custom = { type_id = "prompt_text", key = "k" } },'.repeat(2)}]`,
      ),
    ),
    ['WORKFLOW_AGENT_NEEDS nodes[a].needs'],
  ],
  [
    'agent.invoke',
    'an agent without configuration',
    flow(CONTRACTS, ask, node('a', 'cap.agent.invoke', PROMPT_IN)),
    ['WORKFLOW_AGENT_MISSING nodes[a].agent'],
    { agentFor: () => undefined },
  ],
  [
    'prompt.resolve builtin',
    'nothing to resolve',
    flow(
      CONTRACTS,
      node('a', 'cap.env.builtin.prompt.resolve', `args = { prompt_text = " " }\n${PROMPT_OUT}`),
    ),
    ['WORKFLOW_ARGS_MISSING nodes[a].args'],
  ],
  [
    'prompt.resolve builtin',
    'a script',
    flow(
      CONTRACTS,
      node(
        'a',
        'cap.env.builtin.prompt.resolve',
        `args = { script = "x", prompt_text = "y" }\n${PROMPT_OUT}`,
      ),
    ),
    ['WORKFLOW_PROMPT_SCRIPT nodes[a].args.script'],
  ],
  [
    'prompt.resolve builtin',
    'no output',
    flow(node('a', 'cap.env.builtin.prompt.resolve', PROMPT_TEXT)),
    ['WORKFLOW_PROMPT_OUTPUT nodes[a].produces'],
  ],
  [
    'prompt.resolve shell',
    'no script',
    flow(CONTRACTS, node('a', 'cap.env.shell.prompt.resolve', PROMPT_OUT)),
    ['WORKFLOW_PROMPT_SCRIPT nodes[a].args'],
  ],
  [
    'command.run',
    'no command',
    flow(node('a', 'cap.env.shell.command.run')),
    ['WORKFLOW_ARGS_MISSING nodes[a].args'],
  ],
  [
    'cicd.run',
    'no command and an empty gate',
    flow(node('a', 'cap.env.shell.cicd.run', 'gates = [{ kind = "cicd", script = "" }]')),
    ['WORKFLOW_ARGS_MISSING nodes[a].args'],
  ],
  [
    'plan.persist',
    'no specification',
    flow(node('a', 'cap.env.builtin.plan.persist')),
    ['WORKFLOW_ARGS_MISSING nodes[a].args'],
  ],
  [
    'plan.persist',
    'a file source without a file',
    flow(node('a', 'cap.env.builtin.plan.persist', 'args = { spec_source = "file", spec_text = "x" }')),
    ['WORKFLOW_ARGS_MISSING nodes[a].args.spec_file'],
  ],
  [
    'plan.persist',
    'a source of another kind',
    flow(node('a', 'cap.env.builtin.plan.persist', 'args = { spec_source = "inlin", spec_text = "x" }')),
    ['WORKFLOW_SPEC_SOURCE nodes[a].args.spec_source'],
  ],
  [
    'git.stage',
    'no files',
    flow(node('a', 'cap.env.builtin.git.stage')),
    ['WORKFLOW_ARGS_FILES nodes[a].args.files_json'],
  ],
  [
    'git.stage',
    'an empty list',
    flow(node('a', 'cap.env.builtin.git.stage', 'args = { files_json = "[]" }')),
    ['WORKFLOW_ARGS_FILES nodes[a].args.files_json'],
  ],
  [
    'git.commit',
    'a payload that is not among its needs',
    flow(node('a', 'cap.env.builtin.git.commit', 'args = { message = "read_payload(prompt_text)" }')),
    ['WORKFLOW_COMMIT_PAYLOAD nodes[a].args.message'],
  ],
  [
    'git.commit',
    'an ambiguous payload',
    flow(
      CONTRACTS,
      node('o', 'cap.env.builtin.prompt.resolve', `${PROMPT_TEXT}\n${PROMPT_OUT}`),
      node('p', 'cap.env.builtin.prompt.resolve', `${PROMPT_TEXT}\n${PROMPT_OUT.replace('"k"', '"l"')}`),
      node(
        'a',
        'cap.env.builtin.git.commit',
        `args = { message = "read_payload(prompt_text)" }\n${PROMPT_IN.replace(']', ', { custom = { type_id = "prompt_text", key = "l" } }]')}`,
      ),
    ),
    ['WORKFLOW_COMMIT_PAYLOAD nodes[a].args.message'],
  ],
  [
    'git.save_worktree_patch',
    'not supported',
    flow(node('a', 'cap.env.builtin.git.save_worktree_patch')),
    ['WORKFLOW_USES_NOT_YET nodes[a].uses'],
  ],
  [
    'build.materialize_step',
    'not supported',
    flow(node('a', 'cap.env.builtin.build.materialize_step')),
    ['WORKFLOW_USES_NOT_YET nodes[a].uses'],
  ],
  [
    'git.stage_commit',
    'two script gates',
    flow(commit('gates = [{ kind = "script", script = "a" }, { kind = "script", script = "b" }]')),
    ['WORKFLOW_GATES_MANY nodes[save].gates'],
  ],
  [
    'git.stage_commit',
    'two stop gates',
    flow(commit('on = { succeeded = ["stop", "too"] }'), stop(''), stop('', 'too')),
    ['WORKFLOW_TARGETS_MANY nodes[save].on.succeeded'],
  ],
  [
    'git.stage_commit',
    'a stop gate of another kind',
    flow(
      commit('on = { succeeded = ["approve_gate_stop_condition"] }'),
      command('approve_gate_stop_condition'),
    ),
    ['WORKFLOW_TARGET_KIND nodes[save].on.succeeded'],
  ],
  [
    'gate.stop_condition',
    'two scripts',
    flow(
      commit('on = { succeeded = ["stop"] }'),
      stop('gates = [{ kind = "script", script = "a" }, { kind = "script", script = "b" }]'),
    ),
    ['WORKFLOW_GATES_MANY nodes[stop].gates'],
  ],
  [
    'gate.stop_condition',
    'no commit before it',
    flow(command('a', 'on = { succeeded = ["stop"] }'), stop('')),
    ['WORKFLOW_STOP_PARENT nodes[stop]'],
  ],
  [
    'gate.stop_condition',
    'two commits before it',
    flow(
      commit('on = { succeeded = ["stop"] }'),
      node('keep', 'cap.env.builtin.git.commit', 'on = { succeeded = ["stop"] }'),
      stop(''),
    ),
    ['WORKFLOW_STOP_PARENT nodes[stop]'],
  ],
  [
    'gate.stop_condition',
    'a loop without a way back',
    flow(
      commit('on = { succeeded = ["stop"] }'),
      stop(`${SCRIPT}\nretry = { mode = "until_gate" }\non = { failed = ["other"] }`),
      command('other'),
    ),
    ['WORKFLOW_STOP_LOOP nodes[stop].on.failed'],
  ],
  [
    'integrate wiring',
    'two CI gates at one merge',
    flow(merge('gates = [{ kind = "cicd", script = "a" }, { kind = "cicd", script = "b" }]')),
    ['WORKFLOW_GATES_MANY nodes[m].gates'],
  ],
  [
    'integrate wiring',
    'two conflict gates',
    flow(merge('on = { blocked = ["c", "d"] }'), conflict(''), conflict('', 'd')),
    ['WORKFLOW_TARGETS_MANY nodes[m].on.blocked'],
  ],
  [
    'integrate wiring',
    'a conflict gate of another kind',
    flow(merge('on = { blocked = ["merge_conflict_resolution"] }'), command('merge_conflict_resolution')),
    ['WORKFLOW_TARGET_KIND nodes[m].on.blocked'],
  ],
  [
    'integrate wiring',
    'a CI gate of another kind',
    flow(merge('on = { succeeded = ["merge_gate_cicd"] }'), command('merge_gate_cicd')),
    ['WORKFLOW_TARGET_KIND nodes[m].on.succeeded', 'WORKFLOW_CICD_GATES nodes[merge_gate_cicd].gates'],
  ],
  [
    'integrate wiring',
    'a CI gate node without a cicd gate',
    flow(merge('on = { succeeded = ["g"] }'), ci('')),
    ['WORKFLOW_CICD_GATES nodes[g].gates'],
  ],
  [
    'integrate wiring',
    'a CI gate that repairs without running again',
    flow(merge('on = { succeeded = ["g"] }'), ci(`args = { auto_resolve_script = "fix" }\n${CI_FIX}`)),
    ['WORKFLOW_CICD_LOOP nodes[g].on.failed'],
  ],
  [
    'gate.conflict_resolution',
    'no merge before it',
    flow(conflict('')),
    ['WORKFLOW_CONFLICT_PARENT nodes[c]'],
  ],
  [
    'gate.conflict_resolution',
    'resolved conflicts without another merge',
    flow(merge('on = { blocked = ["c"] }'), conflict('args = { auto_resolve = true }')),
    ['WORKFLOW_CONFLICT_LOOP nodes[c].on.succeeded'],
  ],
  [
    'gate.conflict_resolution',
    'two gates',
    flow(
      merge('on = { blocked = ["c"] }'),
      conflict(
        'gates = [{ kind = "custom", id = "conflict_resolution" }, { kind = "custom", id = "conflict_resolution" }]',
      ),
    ),
    ['WORKFLOW_GATES_MANY nodes[c].gates'],
  ],
  [
    'gate.cicd',
    'two CI gates in a stage',
    flow(ci(CI_GATE), ci(CI_GATE, 'h')),
    ['WORKFLOW_CICD_MANY nodes[h].uses'],
  ],
  ['gate.cicd', 'no gate', flow(ci('')), ['WORKFLOW_CICD_GATES nodes[g].gates']],
  [
    'gate.cicd',
    'an open loop',
    flow(ci(`args = { auto_resolve_script = "fix" }\n${CI_FIX}`)),
    ['WORKFLOW_CICD_LOOP nodes[g].on.failed'],
  ],
  [
    'terminal',
    'routes',
    flow(
      node('a', 'control.terminal', 'on = { failed = ["b"] }'),
      command('b', 'after = [{ node_id = "a" }]'),
    ),
    ['WORKFLOW_TERMINAL_ROUTES nodes[a].on'],
  ],
  [
    'operation_output',
    'a contract for it',
    flow('[[artifact_contracts]]\nid = "operation_output"\n', command('a')),
    ['WORKFLOW_CONTRACT_RESERVED artifact_contracts[0].id'],
  ],
  [
    'operation_output',
    'the output of an unknown node',
    flow(command('a', 'needs = [{ custom = { type_id = "operation_output", key = "b" } }]')),
    ['WORKFLOW_OUTPUT_NODE nodes[a].needs[0].custom.key'],
  ],
];

const perNode: readonly Row[] = [
  [
    'K1',
    'an unknown node in after',
    flow(command('a', 'after = [{ node_id = "b" }]')),
    ['WORKFLOW_NODE_UNKNOWN nodes[a].after[0]'],
  ],
  [
    'K2',
    'a route to an unknown node',
    flow(command('a', 'on = { failed = ["b"] }')),
    ['WORKFLOW_NODE_UNKNOWN nodes[a].on.failed[0]'],
  ],
  [
    'K3',
    'an undeclared artifact type',
    flow(CONTRACTS, command('a', 'needs = [{ custom = { type_id = "promt_text", key = "k" } }]')),
    ['WORKFLOW_CONTRACT_MISSING nodes[a].needs[0].custom.type_id'],
  ],
  [
    'K3',
    'an undeclared plan type',
    flow(command('a', 'produces = { blocked = [{ plan_doc = { slug = "s", branch = "" } }] }')),
    ['WORKFLOW_CONTRACT_MISSING nodes[a].produces.blocked[0].plan_doc'],
  ],
  [
    'K4',
    'an unknown keyword',
    flow('[[artifact_contracts]]\nid = "t"\nschema = { requird = ["key"] }\n', command('a')),
    ['WORKFLOW_CONTRACT_SCHEMA artifact_contracts[0].schema.requird'],
  ],
  [
    'K4',
    'an unsupported pattern',
    flow(
      '[[artifact_contracts]]\nid = "t"\nschema = { properties = { key = { pattern = "^a.*$" } } }\n',
      command('a'),
    ),
    ['WORKFLOW_CONTRACT_SCHEMA artifact_contracts[0].schema.properties.key.pattern'],
  ],
  [
    'K4',
    'an artifact that violates its contract',
    flow(
      '[[artifact_contracts]]\nid = "t"\nschema = { properties = { key = { pattern = "^(a|b)$" } } }\n',
      command('x', 'produces = { succeeded = [{ custom = { type_id = "t", key = "c" } }] }'),
    ),
    ['WORKFLOW_CONTRACT_VIOLATED nodes[x].produces.succeeded[0].custom.key'],
  ],
  [
    'K6',
    'a pinned head',
    flow(command('a', 'preconditions = [{ kind = "pinned_head" }]')),
    ['WORKFLOW_PINNED_HEAD nodes[a].preconditions[0]'],
  ],
  [
    'preconditions',
    'an unknown custom kind',
    flow(command('a', 'preconditions = [{ kind = "custom", id = "clean_tree" }]')),
    ['WORKFLOW_PRECONDITION_UNKNOWN nodes[a].preconditions[0].custom.id'],
  ],
];

const EFFECT = '[nodes.effect]\nside_effect_kind = "deploy"\nidempotency_key = "k"\ntarget = "t"\n';
const extensions: readonly Row[] = [
  [
    'effect',
    'an effect on a control',
    flow(node('a', 'control.terminal', EFFECT)),
    ['WORKFLOW_EFFECT_USES nodes[a].effect'],
  ],
  [
    'effect',
    'an effect on a worktree preparation',
    flow(node('a', 'cap.env.builtin.worktree.prepare', `args = { slug = "s" }\n${EFFECT}`)),
    ['WORKFLOW_EFFECT_USES nodes[a].effect'],
  ],
  [
    'effect',
    'a class for a capability with a fixed class',
    flow(command('a', `${EFFECT}class = "keyed"\n`)),
    ['WORKFLOW_EFFECT_CLASS nodes[a].effect.class'],
  ],
  [
    'effect',
    'a preview of a capability that is not the user’s own',
    flow(command('a', `${EFFECT}previews = true\n`)),
    ['WORKFLOW_EFFECT_USES nodes[a].effect.previews'],
  ],
  [
    'effect',
    'an unknown class',
    flow(node('a', 'cap.custom.x', `${EFFECT}class = "safe"\n`)),
    ['WORKFLOW_VALUE_INVALID nodes[a].effect.class'],
  ],
  [
    'effect',
    'an effect on a preview',
    flow(node('a', 'cap.custom.x.preview', EFFECT)),
    ['WORKFLOW_EFFECT_USES nodes[a].effect'],
  ],
  [
    'uses',
    'a compensation',
    flow(node('a', 'cap.custom.x.compensate')),
    ['WORKFLOW_USES_UNKNOWN nodes[a].uses'],
  ],
  [
    'uses',
    'the compensation of a merge',
    flow(node('a', 'cap.env.builtin.git.integrate_plan_branch.compensate')),
    ['WORKFLOW_USES_UNKNOWN nodes[a].uses', 'WORKFLOW_EFFECT_MISSING nodes[a].effect'],
  ],
  [
    'uses',
    "a capability of one's own by a name that none may have",
    flow(node('a', 'cap.custom.Set-Flag')),
    ['WORKFLOW_USES_UNKNOWN nodes[a].uses'],
  ],
  [
    'effect',
    'a request without an effect',
    flow(node('a', 'cap.http.request', 'args = { url = "http://127.0.0.1" }')),
    ['WORKFLOW_EFFECT_MISSING nodes[a].effect'],
  ],
  [
    'effect',
    'a merge of another kind',
    flow(merge(EFFECT)),
    ['WORKFLOW_EFFECT_KIND nodes[m].effect.side_effect_kind'],
  ],
  [
    'effect',
    'an effect with for_each',
    flow(command('a', `for_each = "inputs.x"\n${EFFECT}`)),
    ['WORKFLOW_EFFECT_FOR_EACH nodes[a].for_each'],
  ],
  [
    'effect',
    'another gate',
    flow(command('a', `${EFFECT}gate = "approval_recovery_v1"\n`)),
    ['WORKFLOW_EFFECT_GATE nodes[a].effect.gate'],
  ],
  [
    'effect',
    'an empty key',
    flow(command('a', EFFECT.replace('"k"', '""'))),
    ['WORKFLOW_VALUE_INVALID nodes[a].effect.idempotency_key'],
  ],
  [
    'steps',
    'an agent as a step',
    flow(command('a', 'before = [{ uses = "cap.agent.invoke" }]')),
    ['WORKFLOW_STEP_USES nodes[a].before[0].uses'],
  ],
  [
    'steps',
    'an unknown label',
    flow(command('a', 'finally = [{ uses = "cap.env.builtin.worktree.cleanu" }]')),
    ['WORKFLOW_USES_UNKNOWN nodes[a].finally[0].uses'],
  ],
  [
    'steps',
    'no command',
    flow(command('a', 'afterwards = [{ uses = "cap.env.shell.command.run" }]')),
    ['WORKFLOW_ARGS_MISSING nodes[a].afterwards[0].args'],
  ],
  [
    'expressions',
    'a placeholder inside',
    flow('[params]\nx = "1"\n', command('a', 'guard = "${x} == 1"')),
    ['WORKFLOW_EXPRESSION_PLACEHOLDER nodes[a].guard', 'WORKFLOW_EXPRESSION nodes[a].guard'],
  ],
  [
    'for_each',
    'parallel without it',
    flow(command('a', 'parallel = 2')),
    ['WORKFLOW_PARALLEL_ALONE nodes[a].parallel'],
  ],
  [
    'parallel',
    'too many parallel items',
    flow(command('a', 'for_each = "inputs.x"\nparallel = 101')),
    ['WORKFLOW_VALUE_INVALID nodes[a].parallel'],
  ],
  [
    'gates',
    'a script gate at a control that runs none',
    flow(node('a', 'control.terminal', SCRIPT)),
    ['WORKFLOW_GATE_PLACE nodes[a].gates[0]'],
  ],
  [
    'gates',
    'an approval that only warns',
    flow(command('a', 'gates = [{ kind = "approval", required = true, policy = "warn" }]')),
    ['WORKFLOW_GATE_POLICY nodes[a].gates[0].policy'],
  ],
  [
    'gates',
    'an unknown custom kind',
    flow(command('a', 'gates = [{ kind = "custom", id = "x" }]')),
    ['WORKFLOW_GATE_CUSTOM nodes[a].gates[0].custom.id'],
  ],
  [
    'policy',
    'an unsupported resume mode',
    flow('[policy.resume]\nreuse_mode = "compatible"\n', command('a')),
    ['WORKFLOW_RESUME policy.resume.reuse_mode'],
  ],
  [
    'artifacts',
    'a patch of a job',
    flow(command('a', 'needs = [{ command_patch = { job_id = "j" } }]')),
    ['WORKFLOW_ARTIFACT_NOT_YET nodes[a].needs[0].command_patch'],
  ],
];

const RECOVER = 'on_error = { strategy = "recover" }';
const budget = (lines: string, params = ''): Files =>
  flow(`${params}[policy.budget]\n${lines}\n`, command('a'));

const recovery: readonly Row[] = [
  ...(['max_retries = 2', 'backoff = "fixed"', 'delay_ms = 10'] as const).map((more): Row => [
    'recover',
    `with ${more}`,
    flow(command('a', `on_error = { strategy = "recover", ${more} }`)),
    [`WORKFLOW_ON_ERROR_RECOVER nodes[a].on_error.${more.replace(/ .*/, '')}`],
  ]),
  [
    'recover',
    'a route away from the failure',
    flow(command('a', `${RECOVER}\non = { failed = ["b"] }`), command('b')),
    ['WORKFLOW_RECOVER_ROUTE nodes[a].on.failed'],
  ],
  [
    'recover',
    'a route away beside the loop',
    flow(
      command('a', 'on = { succeeded = ["b"] }'),
      command('b', `${RECOVER}\non = { failed = ["a", "c"] }`),
      command('c'),
    ),
    ['WORKFLOW_RECOVER_ROUTE nodes[b].on.failed'],
  ],
  [
    'recover',
    'a control that cannot fail',
    flow(command('a', 'on = { succeeded = ["t"] }'), node('t', 'control.terminal', RECOVER)),
    ['WORKFLOW_RECOVER_CONTROL nodes[t].on_error'],
  ],
  [
    'recover',
    'a second rule for retries',
    flow(command('a', `${RECOVER}\nretry = { mode = "on_failure" }`)),
    ['WORKFLOW_RECOVER_RETRY nodes[a].retry.mode'],
  ],
  ...(['warn', 'retry'] as const).map((policy): Row => [
    'recover',
    `a gate that is to ${policy}`,
    flow(
      node(
        'a',
        'control.gate.cicd',
        `${RECOVER}\ngates = [{ kind = "cicd", script = "true", policy = "${policy}" }]`,
      ),
    ),
    ['WORKFLOW_RECOVER_POLICY nodes[a].gates'],
  ]),
  ['budget', 'an empty budget', budget(''), ['WORKFLOW_BUDGET_EMPTY policy.budget']],
  [
    'budget',
    'a budget with only an audience',
    budget('audience = "ops"'),
    ['WORKFLOW_BUDGET_EMPTY policy.budget'],
  ],
  ...(
    [
      'tokens = 0',
      'tokens = 1.5',
      'tokens = 1000000000001',
      'tokens = "many"',
      'tokens = ""',
      'cost_usd = 0',
      'cost_usd = -1',
      'cost_usd = 1000001',
      'cost_usd = "1e3"',
      'minutes = 0.01',
      'minutes = 43201',
      'minutes = "10m"',
    ] as const
  ).map((line): Row => [
    'budget',
    line,
    budget(line),
    [`WORKFLOW_BUDGET_AMOUNT policy.budget.${line.replace(/ .*/, '')}`],
  ]),
  [
    'budget',
    'several bad amounts and an unknown parameter',
    budget('tokens = 0\ncost_usd = "x"\nminutes = "${nobody}"'),
    [
      'WORKFLOW_BUDGET_AMOUNT policy.budget.tokens',
      'WORKFLOW_BUDGET_AMOUNT policy.budget.cost_usd',
      'WORKFLOW_PLACEHOLDER_UNKNOWN policy.budget.minutes',
      'WORKFLOW_BUDGET_AMOUNT policy.budget.minutes',
    ],
  ],
  [
    'budget',
    'not a number',
    budget('tokens = true\nminutes = nan'),
    // Forbidden values are reported before the shape is checked.
    ['WORKFLOW_VALUE_INVALID policy.budget.minutes'],
  ],
  ['budget', 'a boolean amount', budget('tokens = true'), ['WORKFLOW_VALUE_INVALID policy.budget.tokens']],
  [
    'budget',
    'an invalid audience',
    budget('tokens = 1\naudience = ["ops", "usr:ada"]'),
    ['WORKFLOW_BUDGET_AUDIENCE policy.budget.audience[1]'],
  ],
  [
    'budget',
    'an unknown key',
    budget('token = 1'),
    ['WORKFLOW_KEY_UNKNOWN policy.budget.token', 'WORKFLOW_BUDGET_EMPTY policy.budget'],
  ],
];

const schema: readonly Row[] = [
  [
    'keys',
    'an unknown key at the top',
    flow('parms = { a = "1" }', command('a')),
    ['WORKFLOW_KEY_UNKNOWN parms'],
  ],
  [
    'keys',
    'an unknown key of a node',
    flow(command('a', 'affter = []')),
    ['WORKFLOW_KEY_UNKNOWN nodes[a].affter'],
  ],
  [
    'keys',
    'an unknown key of a gate',
    flow(command('a', 'gates = [{ kind = "approval", requird = true }]')),
    ['WORKFLOW_KEY_UNKNOWN nodes[a].gates[0].requird'],
  ],
  [
    'keys',
    'an unknown key of an artifact',
    flow(command('a', 'needs = [{ custom = { type_id = "t", key = "k", kee = "" } }]')),
    [
      'WORKFLOW_KEY_UNKNOWN nodes[a].needs[0].custom.kee',
      'WORKFLOW_CONTRACT_MISSING nodes[a].needs[0].custom.type_id',
    ],
  ],
  [
    'keys',
    'a missing key at the top',
    { 'flow.toml': `id = "x"\n${command('a')}` },
    ['WORKFLOW_KEY_MISSING version'],
  ],
  ['keys', 'a missing key of a node', flow('[[nodes]]\nid = "a"\n'), ['WORKFLOW_KEY_MISSING nodes[a].uses']],
  [
    'values',
    'a fraction in params',
    flow('[params]\nx = 1.5\n', command('a')),
    ['WORKFLOW_VALUE_INVALID params.x'],
  ],
  [
    'values',
    'a date in args',
    flow(node('a', 'cap.env.shell.command.run', 'args = { command = 2020-01-01 }')),
    ['WORKFLOW_VALUE_INVALID nodes[a].args.command'],
  ],
  [
    'values',
    'a list in args of a stage',
    flow(node('a', 'cap.env.shell.command.run', 'args = { command = "x", more = [] }')),
    ['WORKFLOW_VALUE_INVALID nodes[a].args.more'],
  ],
  [
    'values',
    'a mode of a lock',
    flow(command('a', 'locks = [{ key = "k", mode = "exclusiv" }]')),
    ['WORKFLOW_VALUE_INVALID nodes[a].locks[0].mode'],
  ],
  [
    'values',
    'an artifact of two forms',
    flow(command('a', 'needs = [{ target_branch = { name = "a" }, merge_sentinel = { slug = "s" } }]')),
    ['WORKFLOW_VALUE_INVALID nodes[a].needs[0]'],
  ],
  [
    'values',
    'a gate of another kind',
    flow(command('a', 'gates = [{ kind = "aproval" }]')),
    ['WORKFLOW_VALUE_INVALID nodes[a].gates[0].kind'],
  ],
  ['values', 'an id with a dot', flow(command('a.b')), ['WORKFLOW_VALUE_INVALID nodes[a.b].id']],
];

describe.each([
  ['composition', composition],
  ['inputs', inputs],
  ['identity', identity],
  ['capability contracts', contracts],
  ['each node', perNode],
  ['extensions of Holdpoint', extensions],
  ['recovery and budgets', recovery],
  ['schema', schema],
])('%s', (_, rows) => {
  const cases = rows.map(([rule, wrong, files, errors, given = {}]) => ({
    rule,
    wrong,
    files,
    errors,
    given,
  }));
  test.each(cases)('$rule: $wrong is refused', ({ files, errors, given }) => {
    const made = compiled(files, given);
    expect(errorsIn(made)).toEqual(errors);
    expect(made.definition).toBeUndefined();
  });
});
