/** Where a command is tried that works in a repository of one's own. */
type Cover = readonly (readonly [file: string, says: string])[];

const FLOWS = 'packages/cli/src/commands/flows.test.ts';
const SCENARIO = 'tests/e2e/stages-scenario.ts';
const STAGES = 'tests/conformance/flagship.e2e.test.ts';
const JOBS = 'packages/cli/src/jobs/jobs.test.ts';
const LINK = 'packages/cli/src/program-file.test.ts';

const DOUBTS = 'packages/cli/src/commands/doubts.test.ts';
const ARTIFACTS = 'tests/integration/artifacts.int.test.ts';

const CIRCUITS: Cover = [
  ['packages/cli/src/commands/circuits.test.ts', `['circuits', verb, TARGET, ...options]`],
];
const UNDO = 'packages/cli/src/commands/undo.test.ts';
const FLAG = 'tests/integration/own-capabilities.int.test.ts';

const DRAFT: Cover = [[SCENARIO, `'draft', 'spec.md', 'greet'`]];
const APPROVE: Cover = [[STAGES, `'approve', 'greet', '--set', \`stop_condition_script=`]];
const MERGE: Cover = [
  [SCENARIO, `'merge', 'greet', '--set', checks('greet')`],
  [SCENARIO, `holdpoint('approvals', 'approve', id)`],
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
  'holdpoint circuits list': [['packages/cli/src/commands/circuits.test.ts', `['circuits', 'list']`]],
  'holdpoint circuits open <target> --reason <text>': CIRCUITS,
  'holdpoint circuits close <target>': CIRCUITS,
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
  'holdpoint validate draft approve merge develop': [[FLOWS, 'validate draft approve merge develop']],
  'holdpoint graph develop --format ascii': [[FLOWS, 'graph draft --format ']],
  'holdpoint jobs show': [['tests/conformance/jobs-reading.e2e.test.ts', `'jobs', 'show'`]],
  'holdpoint jobs retry <job>': [[JOBS, 'retry t-new/test']],
  'holdpoint task fork <id> --version N': [['packages/cli/src/program.test.ts', 'task fork']],
};
