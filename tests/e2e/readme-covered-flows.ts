/** Where a command is tried that works in a repository of one's own. */
type Cover = readonly (readonly [file: string, says: string])[];

const FLOWS = 'packages/cli/src/workflow/graph-validate.test.ts';
const SCENARIO = 'tests/e2e/stages-scenario.ts';
const STAGES = 'tests/conformance/flagship.e2e.test.ts';
const JOBS = 'packages/cli/src/job/jobs.test.ts';
const LINK = 'packages/cli/src/program-file.test.ts';

const DOUBTS = 'packages/cli/src/approval/in-doubt.test.ts';
const ARTIFACTS = 'tests/integration/executor/artifacts.int.test.ts';

const CIRCUITS: Cover = [
  ['packages/cli/src/circuit/commands.test.ts', `['circuit', verb, TARGET, ...options]`],
];
const UNDO = 'packages/cli/src/effect/undo.test.ts';
const FLAG = 'tests/integration/executor/own-capabilities.int.test.ts';

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
  [SCENARIO, `holdpoint('approval', 'approve', id)`],
];

const DESK = 'packages/cli/src/approval/commands.test.ts';
const TOKENS = 'packages/cli/src/token/commands.test.ts';
const IDENTITY = 'tests/integration/approvals/identity.int.test.ts';
const RULES = 'packages/cli/src/rule/commands.test.ts';
const AUDIT = 'packages/cli/src/audit/commands.test.ts';
const GATES = 'packages/cli/src/workflow/gates.test.ts';
const SURFACES = 'tests/kit/surfaces/surfaces.ts';
/** Each decision goes over the same suite, wherever it is made. */
const DECIDED: Cover = [
  [SURFACES, "'approvals',"],
  ['tests/integration/approvals/surfaces.int.test.ts', '%s is recorded with who, why and where'],
];

const RESPONDING = 'packages/cli/src/approval/answering.test.ts';
const RESPONDED: Cover = [
  [SURFACES, `['respond', id, ...typedResponse(response)]`],
  ['tests/integration/approvals/surfaces.int.test.ts', '%s: the response is recorded with who and where'],
];

/** In the documents the flows have other names and other scripts; what is typed in the tests is the same otherwise. */
export const coveredFlows: Readonly<Record<string, Cover>> = {
  'HOLDPOINT_REPOSITORIES=/home/me/code npm start': [
    ['tests/e2e/stages-stack.ts', 'HOLDPOINT_REPOSITORIES'],
    ['infra/local/process/services.ts', 'HOLDPOINT_REPOSITORIES'],
  ],
  'ln -s <PWD>/packages/cli/bin/holdpoint /home/me/.local/bin/holdpoint': [
    [LINK, 'can stand on the PATH by a link'],
  ],
  'npm run --silent holdpoint -- approval answer <approval> applied': [
    [DOUBTS, '`approval answer a-2 ${answer}`'],
    ['tests/integration/executor/in-doubt.int.test.ts', 'and is answered with %s: the task is %s'],
  ],
  'holdpoint approval answer <approval> applied --comment the order is there': [
    [DOUBTS, '`approval answer a-2 ${answer}`'],
  ],
  'holdpoint approval answer <approval> skip --comment not needed for this release': [
    [DESK, `['approval', 'answer', 'a-1', answer, '--comment', 'as agreed']`],
  ],
  'holdpoint approval answer <approval> --yes': [...RESPONDED, [SURFACES, `response ? '--yes' : '--no'`]],
  'holdpoint approval answer <approval> --choice staging': [
    ...RESPONDED,
    [RESPONDING, `['--choice', 'prod']`],
  ],
  'holdpoint approval answer <approval> --text Spring greetings --comment as agreed': [
    ...RESPONDED,
    [SURFACES, `['--text', response]`],
  ],
  'holdpoint approval answer <approval> --field env=staging --field percent=10': [
    ...RESPONDED,
    [RESPONDING, `['--field', 'env=prod', '--field', 'percent=10'`],
  ],
  'holdpoint approval answer <approval> --field verdict=deploy': [
    ...RESPONDED,
    ['tests/e2e/readme-effects-examples.ts', 'response: { verdict: words'],
  ],
  'holdpoint approval answer <approval> --field verdict=send': [
    ...RESPONDED,
    ['tests/e2e/readme-effects-examples.ts', 'response: { verdict: words'],
  ],
  'holdpoint approval answer <approval> --json {"env":"staging","percent":10}': [
    ...RESPONDED,
    [RESPONDING, `'--json', '{"env":"test","percent":5}'`],
  ],
  'npm run --silent holdpoint -- effect show <effect>': [[DOUBTS, 'effect show']],
  'npm run --silent holdpoint -- artifact list <task>': [[ARTIFACTS, `holdpoint('artifact', 'list', task)`]],
  'npm run --silent holdpoint -- artifact get <task>/<node>': [
    [ARTIFACTS, "holdpoint('artifact', 'get', `${task}/${node}`)"],
  ],
  'holdpoint artifact get <task>/<node>': [[ARTIFACTS, "holdpoint('artifact', 'get', `${task}/${node}`)"]],
  'nats object get HP_ARTIFACTS <digest>': [
    [ARTIFACTS, 'may be an operator with a client of the bus, who can read it and not write it'],
  ],
  'holdpoint effect list <task> --json': [['packages/cli/src/program.test.ts', 'effect list t-1']],
  'holdpoint circuit list': [['packages/cli/src/circuit/commands.test.ts', `['circuit', 'list']`]],
  'holdpoint circuit open <target> --reason <text>': CIRCUITS,
  'holdpoint circuit close <target>': CIRCUITS,
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
  'holdpoint task show <task>': [
    ['packages/cli/src/program.test.ts', `['task show t-1', 'orchestrator.get', { id: 't-1' }]`],
    ['tests/e2e/command-line.e2e.test.ts', `holdpoint('task', 'show', task.id)`],
  ],
  'holdpoint effect undo <effect>': [
    [UNDO, 'effect undo e-1'],
    [FLAG, 'is carried out once it is approved, and taken back by an effect that is approved as well'],
  ],
  'holdpoint effect undo': [[UNDO, 'effect undo e-1']],
  'holdpoint capability list': [[UNDO, 'capability list']],
  'holdpoint capability show <label>': [[UNDO, 'capability show cap.custom.set_flag']],
  'cd /home/me/code/my-project': [['tests/conformance/support/repository.ts', 'cwd: root']],
  'holdpoint workflow init': [[SCENARIO, `holdpoint('workflow', 'init')`]],
  'holdpoint run draft spec.md my-feature --follow': DRAFT,
  'holdpoint run draft spec.md my-feature': DRAFT,
  'holdpoint run approve my-feature --set stop_condition_script=npm test --follow': APPROVE,
  'holdpoint run approve my-feature --set stop_condition_script=npm test': APPROVE,
  'holdpoint run merge my-feature --follow': MERGE,
  'holdpoint run merge my-feature --set cicd_script=npm run ci --follow': MERGE,
  'holdpoint task jobs': [['tests/conformance/jobs-reading.e2e.test.ts', `'jobs', 'list'`]],
  'holdpoint approval list': [['packages/cli/src/approval/commands.test.ts', `['approval', 'list'`]],
  'holdpoint approval show <approval>': [[DESK, `['approval', 'show', 'a-1']`]],
  'holdpoint approval approve <approval> --comment as agreed': DECIDED,
  'holdpoint approval reject <approval> --comment not on a Friday': DECIDED,
  'holdpoint approval approve <approval>': DECIDED,
  'holdpoint approval request-changes <approval> --comment use the other account': DECIDED,
  'holdpoint approval watch': [[DESK, `['approval', 'watch', '--once']`]],
  'holdpoint whoami': [[TOKENS, `['whoami']`]],
  'holdpoint token create ci --for build-bot --scope approvals:read --expires 30d': [
    [TOKENS, `['token', 'create', 'laptop', option, value]`],
    [IDENTITY, 'tokens'],
  ],
  'holdpoint token list': [[TOKENS, `['token', 'list']`]],
  'holdpoint token revoke <token>': [[TOKENS, `['token', 'revoke', token.id]`]],
  'holdpoint rule add build chat --kind notify --target notify:* --expires 30d': [
    [RULES, `'--kind', 'notify', '--arg'`],
    [RULES, 'are added with all that was typed'],
  ],
  'holdpoint rule test --kind notify --target notify:*': [[RULES, `['rule', 'test', '--target'`]],
  'holdpoint rule list': [[RULES, `['rule', 'list']`]],
  'holdpoint rule revoke <rule>': [[RULES, `['rule', 'revoke', rule.id`]],
  'holdpoint audit list --about <approval>': [[AUDIT, `['audit', 'list']`]],
  'holdpoint audit export --out audit.jsonl': [[AUDIT, `['audit', 'export', '--out', 'audit.jsonl']`]],
  'holdpoint audit verify': [[AUDIT, `['audit', 'verify']`]],
  'holdpoint audit verify --file audit.jsonl': [[AUDIT, `['audit', 'verify', '--file', 'audit.jsonl'`]],
  'holdpoint workflow gate list': [[GATES, 'workflow gate list']],
  'holdpoint workflow gate validate .holdpoint/gates/release.yaml': [[GATES, 'workflow gate validate']],
  'holdpoint workflow gate show approval_recovery_v2': [[GATES, 'workflow gate show approval_recovery_v2']],
  'holdpoint workflow validate draft approve merge develop': [
    [FLOWS, 'validate draft approve merge develop'],
  ],
  'holdpoint workflow graph develop --format ascii': [[FLOWS, 'graph draft --format ']],
  'holdpoint task show': [['tests/conformance/jobs-reading.e2e.test.ts', `'jobs', 'show'`]],
  'holdpoint task retry <job>': [[JOBS, 'retry t-new/test']],
  'holdpoint task fork <id> --version N': [['packages/cli/src/program.test.ts', 'task fork']],
};
