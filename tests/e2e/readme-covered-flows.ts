/** Where a command is tried that works in a repository of one's own. */
type Cover = readonly (readonly [file: string, says: string])[];

const FLOWS = 'packages/cli/src/workflow/graph-validate.test.ts';
const SCENARIO = 'tests/e2e/stages-scenario.ts';
const STAGES = 'tests/conformance/flagship.e2e.test.ts';
const JOBS = 'packages/cli/src/job/jobs.test.ts';
const LINK = 'packages/cli/src/program-file.test.ts';

const DOUBTS = 'packages/cli/src/approval/in-doubt.test.ts';
const ARTIFACTS = 'tests/integration/artifacts.int.test.ts';

const CIRCUITS: Cover = [
  ['packages/cli/src/circuit/commands.test.ts', `['circuits', verb, TARGET, ...options]`],
];
const UNDO = 'packages/cli/src/effect/undo.test.ts';
const FLAG = 'tests/integration/own-capabilities.int.test.ts';

const RECOVERY = 'packages/cli/src/recovery/commands.test.ts';
const REPORTED: Cover = [[RECOVERY, `['recovery', 'report', ...words]`]];
const RESOLVED: Cover = [
  [RECOVERY, `['recovery', 'resolve', 't-1/build', ...words]`],
  ['tests/e2e/recovery.e2e.test.ts', `'recovery', 'resolve'`],
];

const DRAFT: Cover = [[SCENARIO, `'draft', 'spec.md', 'greet'`]];
const APPROVE: Cover = [[STAGES, `'approve', 'greet', '--set', \`stop_condition_script=`]];
const MERGE: Cover = [
  [SCENARIO, `'merge', 'greet', '--set', checks('greet')`],
  [SCENARIO, `holdpoint('approvals', 'approve', id)`],
];

const DESK = 'packages/cli/src/approval/commands.test.ts';
const TOKENS = 'packages/cli/src/token/commands.test.ts';
const IDENTITY = 'tests/integration/identity.int.test.ts';
const RULES = 'packages/cli/src/rule/commands.test.ts';
const AUDIT = 'packages/cli/src/audit/commands.test.ts';
const GATES = 'packages/cli/src/workflow/gates.test.ts';
const SURFACES = 'tests/harness/surfaces.ts';
/** Each decision goes over the same suite, wherever it is made. */
const DECIDED: Cover = [
  [SURFACES, "'approvals',"],
  ['tests/integration/surfaces.int.test.ts', '%s is recorded with who, why and where'],
];

const RESPONDING = 'packages/cli/src/approval/answering.test.ts';
const RESPONDED: Cover = [
  [SURFACES, `['respond', id, ...typedResponse(response)]`],
  ['tests/integration/surfaces.int.test.ts', '%s: the response is recorded with who and where'],
];

/** In the documents the flows have other names and other scripts; what is typed in the tests is the same otherwise. */
export const coveredFlows: Readonly<Record<string, Cover>> = {
  'HOLDPOINT_REPOSITORIES=/home/me/code npm start': [
    ['tests/e2e/stages-stack.ts', 'HOLDPOINT_REPOSITORIES'],
    ['infra/local/services.ts', 'HOLDPOINT_REPOSITORIES'],
  ],
  'ln -s <PWD>/packages/cli/bin/holdpoint /home/me/.local/bin/holdpoint': [
    [LINK, 'can stand on the PATH by a link'],
  ],
  'npm run --silent holdpoint -- approvals answer <approval> applied': [
    [DOUBTS, '`approvals answer a-2 ${answer}`'],
    ['tests/integration/doubts.int.test.ts', 'and is answered with %s: the task is %s'],
  ],
  'holdpoint approvals answer <approval> applied --comment the order is there': [
    [DOUBTS, '`approvals answer a-2 ${answer}`'],
  ],
  'holdpoint approvals answer <approval> skip --comment not needed for this release': [
    [DESK, `['approvals', 'answer', 'a-1', answer, '--comment', 'as agreed']`],
  ],
  'holdpoint approvals respond <approval> --yes': [...RESPONDED, [SURFACES, `response ? '--yes' : '--no'`]],
  'holdpoint approvals respond <approval> --choice staging': [
    ...RESPONDED,
    [RESPONDING, `['--choice', 'prod']`],
  ],
  'holdpoint approvals respond <approval> --text Spring greetings --comment as agreed': [
    ...RESPONDED,
    [SURFACES, `['--text', response]`],
  ],
  'holdpoint approvals respond <approval> --field env=staging --field percent=10': [
    ...RESPONDED,
    [RESPONDING, `['--field', 'env=prod', '--field', 'percent=10'`],
  ],
  'holdpoint approvals respond <approval> --field verdict=deploy': [
    ...RESPONDED,
    ['tests/e2e/readme-effects-examples.ts', 'response: { verdict: words'],
  ],
  'holdpoint approvals respond <approval> --field verdict=send': [
    ...RESPONDED,
    ['tests/e2e/readme-effects-examples.ts', 'response: { verdict: words'],
  ],
  'holdpoint approvals respond <approval> --json {"env":"staging","percent":10}': [
    ...RESPONDED,
    [RESPONDING, `'--json', '{"env":"test","percent":5}'`],
  ],
  'npm run --silent holdpoint -- effects show <effect>': [[DOUBTS, 'effects show']],
  'npm run --silent holdpoint -- artifacts list <task>': [
    [ARTIFACTS, `holdpoint('artifacts', 'list', task)`],
  ],
  'npm run --silent holdpoint -- artifacts get <task>/<node>': [
    [ARTIFACTS, "holdpoint('artifacts', 'get', `${task}/${node}`)"],
  ],
  'holdpoint artifacts get <task>/<node>': [[ARTIFACTS, "holdpoint('artifacts', 'get', `${task}/${node}`)"]],
  'nats object get HP_ARTIFACTS <digest>': [
    [ARTIFACTS, 'may be an operator with a client of the bus, who can read it and not write it'],
  ],
  'holdpoint effects list <task> --json': [['packages/cli/src/program.test.ts', 'effects list t-1']],
  'holdpoint circuits list': [['packages/cli/src/circuit/commands.test.ts', `['circuits', 'list']`]],
  'holdpoint circuits open <target> --reason <text>': CIRCUITS,
  'holdpoint circuits close <target>': CIRCUITS,
  'holdpoint recovery stuck': [[RECOVERY, `['recovery', 'stuck']`]],
  'holdpoint recovery report <task>/<node>': REPORTED,
  'holdpoint recovery resolve <task>/<node> retry': RESOLVED,
  'holdpoint recovery history <task>': [[RECOVERY, `['recovery', 'history', ...words]`]],
  'holdpoint recovery history <task> --json': [[RECOVERY, `['recovery', 'history', ...words]`]],
  'holdpoint recovery classify build.log --exit-code 2': [
    [RECOVERY, `['recovery', 'classify', ...words]`],
    [RECOVERY, 'of a file says the class, by which rule, and on what evidence'],
  ],
  'holdpoint recovery classes': [[RECOVERY, `['recovery', 'classes', ...words]`]],
  'holdpoint recovery classes --last 24h --json': [[RECOVERY, `['recovery', 'classes', ...words]`]],
  'holdpoint recovery circuits': [[RECOVERY, `['recovery', ...words]`]],
  'holdpoint recovery reset <target>': [[RECOVERY, `['recovery', 'reset', 'workflow:release'`]],
  'holdpoint task get <task>': [
    ['packages/cli/src/program.test.ts', `['task get t-1', 'orchestrator.get', { id: 't-1' }]`],
    ['tests/e2e/command-line.e2e.test.ts', `holdpoint('task', 'get', task.id)`],
  ],
  'holdpoint undo <effect>': [
    [UNDO, 'undo e-1'],
    [FLAG, 'is carried out once it is approved, and taken back by an effect that is approved as well'],
  ],
  'holdpoint undo': [[UNDO, 'undo e-1']],
  'holdpoint capabilities list': [[UNDO, 'capabilities list']],
  'holdpoint capabilities show <label>': [[UNDO, 'capabilities show cap.custom.set_flag']],
  'cd /home/me/code/my-project': [['tests/conformance/support/repository.ts', 'cwd: root']],
  'holdpoint init': [[SCENARIO, `holdpoint('init')`]],
  'holdpoint run draft spec.md my-feature --follow': DRAFT,
  'holdpoint run draft spec.md my-feature': DRAFT,
  'holdpoint run approve my-feature --set stop_condition_script=npm test --follow': APPROVE,
  'holdpoint run approve my-feature --set stop_condition_script=npm test': APPROVE,
  'holdpoint run merge my-feature --follow': MERGE,
  'holdpoint run merge my-feature --set cicd_script=npm run ci --follow': MERGE,
  'holdpoint jobs list': [['tests/conformance/jobs-reading.e2e.test.ts', `'jobs', 'list'`]],
  'holdpoint approvals list': [['tests/conformance/support/approver.ts', `'approvals', 'list'`]],
  'holdpoint approvals show <approval>': [[DESK, `['approvals', 'show', 'a-1']`]],
  'holdpoint approvals approve <approval> --comment as agreed': DECIDED,
  'holdpoint approvals reject <approval> --comment not on a Friday': DECIDED,
  'holdpoint approvals approve <approval>': DECIDED,
  'holdpoint approvals request-changes <approval> --comment use the other account': DECIDED,
  'holdpoint approvals watch': [[DESK, `['approvals', 'watch', '--once']`]],
  'holdpoint whoami': [[TOKENS, `['whoami']`]],
  'holdpoint tokens create ci --for build-bot --scope approvals:read --expires 30d': [
    [TOKENS, `['tokens', 'create', 'laptop', option, value]`],
    [IDENTITY, 'tokens'],
  ],
  'holdpoint tokens list': [[TOKENS, `['tokens', 'list']`]],
  'holdpoint tokens revoke <token>': [[TOKENS, `['tokens', 'revoke', token.id]`]],
  'holdpoint rules add build chat --kind notify --target notify:* --expires 30d': [
    [RULES, `'--kind', 'notify', '--arg'`],
    [RULES, 'are added with all that was typed'],
  ],
  'holdpoint rules test --kind notify --target notify:*': [[RULES, `['rules', 'test', '--target'`]],
  'holdpoint rules list': [[RULES, `['rules', 'list']`]],
  'holdpoint rules revoke <rule>': [[RULES, `['rules', 'revoke', rule.id`]],
  'holdpoint audit list --about <approval>': [[AUDIT, `['audit', 'list']`]],
  'holdpoint audit export --out audit.jsonl': [[AUDIT, `['audit', 'export', '--out', 'audit.jsonl']`]],
  'holdpoint audit verify': [[AUDIT, `['audit', 'verify']`]],
  'holdpoint audit verify --file audit.jsonl': [[AUDIT, `['audit', 'verify', '--file', 'audit.jsonl'`]],
  'holdpoint gates list': [[GATES, 'gates list']],
  'holdpoint gates validate .holdpoint/gates/release.yaml': [[GATES, 'gates validate']],
  'holdpoint gates show approval_recovery_v2': [[GATES, 'gates show approval_recovery_v2']],
  'holdpoint validate draft approve merge develop': [[FLOWS, 'validate draft approve merge develop']],
  'holdpoint graph develop --format ascii': [[FLOWS, 'graph draft --format ']],
  'holdpoint jobs show': [['tests/conformance/jobs-reading.e2e.test.ts', `'jobs', 'show'`]],
  'holdpoint jobs retry <job>': [[JOBS, 'retry t-new/test']],
  'holdpoint task fork <id> --version N': [['packages/cli/src/program.test.ts', 'task fork']],
};
