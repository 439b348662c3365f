/** The documentation of one template field: for the generated reference, and for messages about its shape. */
export type FieldDoc = {
  readonly meaning: string;
  /** Where the schema alone does not tell. */
  readonly type?: string;
  /** As one would write it; left out for a required field. */
  readonly otherwise?: string;
  /** One line of TOML. */
  readonly example?: string;
};

const NONE = 'none';

const ARTIFACT = '{ plan_doc = { slug = "${slug}", branch = "" } }';

const stepExample = (name: string): string =>
  `${name} = [{ uses = "cap.env.shell.command.run", args = { command = "./check.sh" } }]`;

const steps = (name: string, when: string): Readonly<Record<string, FieldDoc>> => ({
  [`nodes[].${name}`]: {
    meaning: `Steps that run ${when}; at most 32`,
    otherwise: NONE,
    example: stepExample(name),
  },
  [`nodes[].${name}[].uses`]: { meaning: 'Capability of the step; plain work only' },
  [`nodes[].${name}[].args`]: { meaning: 'Arguments of the capability', otherwise: NONE },
});

const artifacts = (list: string): Readonly<Record<string, FieldDoc>> => ({
  [`${list}[].plan_branch`]: {
    meaning: 'The branch of a plan',
    otherwise: NONE,
    example: 'plan_branch = { slug = "my-feature", branch = "" }',
  },
  [`${list}[].plan_doc`]: {
    meaning: 'The plan document on a branch',
    otherwise: NONE,
    example: 'plan_doc = { slug = "my-feature", branch = "" }',
  },
  [`${list}[].plan_commits`]: {
    meaning: 'The commits on a plan branch',
    otherwise: NONE,
    example: 'plan_commits = { slug = "my-feature", branch = "" }',
  },
  [`${list}[].target_branch`]: {
    meaning: 'The target branch of a merge',
    otherwise: NONE,
    example: 'target_branch = { name = "main" }',
  },
  [`${list}[].merge_sentinel`]: {
    meaning: 'The mark of a merge with conflicts',
    otherwise: NONE,
    example: 'merge_sentinel = { slug = "my-feature" }',
  },
  [`${list}[].command_patch`]: {
    meaning: 'Not supported yet',
    otherwise: NONE,
    example: 'command_patch = { job_id = "build" }',
  },
  [`${list}[].custom`]: {
    meaning: 'An artifact of your own type',
    otherwise: NONE,
    example: 'custom = { type_id = "report", key = "weekly" }',
  },
});

const OUTCOMES = ['succeeded', 'failed', 'blocked', 'cancelled'] as const;

const byOutcome = (field: string, meaning: (outcome: string) => string): Readonly<Record<string, FieldDoc>> =>
  Object.fromEntries(
    OUTCOMES.map((outcome) => [`${field}.${outcome}`, { meaning: meaning(outcome), otherwise: NONE }]),
  );

/** Every field of a template file by its path; `[]` stands for an entry of a list. */
export const FIELD_DOCS: Readonly<Record<string, FieldDoc>> = {
  id: { meaning: 'Name of the workflow, 1 to 200 characters', example: 'id = "team.release"' },
  version: {
    meaning: 'Version of the workflow, 1 to 64 characters; `<id>@<version>` selects it',
    example: 'version = "v1"',
  },
  params: {
    meaning: 'Parameters with their defaults. Texts use them as `${name}`, expressions as `inputs.name`',
    otherwise: NONE,
    example: 'params = { target = "staging", dry_run = false }',
  },
  cli: {
    meaning: 'How `holdpoint run` accepts the parameters',
    otherwise: 'only `--set name=value`',
    example: 'cli = { positional = ["target"], named = { env = "target" } }',
  },
  'cli.positional': {
    meaning: 'Parameters by position',
    otherwise: NONE,
    example: 'positional = ["spec_file", "slug"]',
  },
  'cli.named': {
    meaning: 'Flags and the parameters that they set',
    otherwise: NONE,
    example: 'named = { file = "spec_file", name = "slug" }',
  },
  policy: {
    meaning: 'Rules for the whole run',
    otherwise: 'the defaults below',
    example: 'policy = { failure_mode = "continue_independent" }',
  },
  'policy.failure_mode': {
    meaning:
      '`block_downstream`: after a failure without a route, nothing else starts and running nodes are cancelled. `continue_independent`: nodes that do not depend on it continue',
    otherwise: '`block_downstream`',
  },
  'policy.resume': {
    meaning: 'Accepted for Vizier templates; a run always keeps the definition it started with',
    otherwise: NONE,
    example: 'resume = { reuse_mode = "strict" }',
  },
  'policy.resume.key': { meaning: 'Ignored', otherwise: NONE },
  'policy.resume.reuse_mode': { meaning: 'Only `strict` is supported', otherwise: '`strict`' },
  'policy.dependencies': {
    meaning: 'What to do about missing artifacts',
    otherwise: NONE,
    example: 'dependencies = { missing_producer = "wait" }',
  },
  'policy.dependencies.missing_producer': {
    meaning: 'For a needed artifact that no node produces: `block` the node, or `wait` for another run',
    otherwise: '`block`',
  },
  'policy.budget': {
    meaning: 'Limits of a run before an approver has to grant more',
    otherwise: 'no limit',
    example: 'budget = { tokens = 200000, cost_usd = 5, minutes = 90, audience = "group:leads" }',
  },
  'policy.budget.tokens': { meaning: 'Tokens of agents, a whole number', otherwise: 'no limit' },
  'policy.budget.cost_usd': { meaning: 'Cost of agents in US dollars', otherwise: 'no limit' },
  'policy.budget.minutes': { meaning: 'Working time in minutes', otherwise: 'no limit' },
  'policy.budget.audience': {
    meaning: 'Who may grant more: one name or a list, as groups or `user:`, `group:`, `role:` and a name',
    otherwise: '`operators`',
  },
  artifact_contracts: {
    meaning: 'The artifact types that `needs` and `produces` may use',
    otherwise: NONE,
    example: 'artifact_contracts = [{ id = "plan_doc", version = "v1" }]',
  },
  'artifact_contracts[].id': {
    meaning:
      'Artifact type: `plan_branch`, `plan_doc`, `plan_commits`, `target_branch`, `merge_sentinel`, or the `type_id` of a custom artifact',
  },
  'artifact_contracts[].version': { meaning: 'Version of the contract', otherwise: NONE },
  'artifact_contracts[].schema': {
    type: 'table or boolean',
    meaning:
      'JSON Schema for the fields of the artifact: `type`, `required`, `properties`, `additionalProperties`, `const`, `enum`, `pattern`',
    otherwise: '`true`',
    example: 'schema = { type = "object", required = ["slug"] }',
  },
  nodes: {
    meaning: 'The nodes of the graph; each is a table `[[nodes]]`',
    otherwise: NONE,
    example: 'nodes = [{ id = "build", uses = "cap.env.shell.command.run", args = { command = "make" } }]',
  },
  'nodes[].id': { meaning: 'Name of the node: 1 to 64 letters, digits, `-` or `_`', example: 'id = "build"' },
  'nodes[].name': { meaning: 'Title for readers', otherwise: 'the id' },
  'nodes[].kind': {
    meaning: 'Accepted for Vizier templates and checked against `uses`',
    otherwise: 'from `uses`',
  },
  'nodes[].uses': {
    meaning: 'Capability or control of the node ([list](../capabilities.md))',
    example: 'uses = "cap.env.shell.command.run"',
  },
  'nodes[].args': {
    meaning: 'Arguments of the capability',
    otherwise: NONE,
    example: 'args = { command = "make test" }',
  },
  'nodes[].after': {
    meaning: 'Nodes that must succeed first, all of them',
    otherwise: NONE,
    example: 'after = [{ node_id = "build", policy = "success" }]',
  },
  'nodes[].after[].node_id': { meaning: 'Id of the earlier node' },
  'nodes[].after[].policy': {
    meaning: 'Only `success` is supported; use `on` for other outcomes',
    otherwise: '`success`',
  },
  'nodes[].on': {
    meaning: 'Routes: the nodes that follow each outcome. A route back to an earlier node is a loop',
    otherwise: NONE,
    example: 'on = { succeeded = ["announce"], failed = ["clean_up"] }',
  },
  ...byOutcome('nodes[].on', (outcome) => `Ids of the nodes that follow the outcome \`${outcome}\``),
  'nodes[].needs': {
    meaning: 'Artifacts that must exist before the node starts',
    otherwise: NONE,
    example: `needs = [${ARTIFACT}]`,
  },
  ...artifacts('nodes[].needs'),
  'nodes[].produces': {
    meaning: 'Artifacts that the node produces, by outcome',
    otherwise: NONE,
    example: `produces = { succeeded = [${ARTIFACT}] }`,
  },
  ...byOutcome(
    'nodes[].produces',
    (outcome) => `Artifacts of the outcome \`${outcome}\`, in the same forms as in \`needs\``,
  ),
  'nodes[].locks': {
    meaning: 'Locks that the node holds while it runs, across all tasks of the repository',
    otherwise: 'inferred from the branches that the node names',
    example: 'locks = [{ key = "branch:main", mode = "exclusive" }]',
  },
  'nodes[].locks[].key': { meaning: 'Name of the lock' },
  'nodes[].locks[].mode': { meaning: '`shared` with other shared holders, or `exclusive`' },
  'nodes[].preconditions': {
    meaning: 'Conditions of the repository before the node starts',
    otherwise: NONE,
    example: 'preconditions = [{ kind = "branch_exists", branch = "main" }]',
  },
  'nodes[].preconditions[].kind': {
    meaning:
      '`clean_worktree`, `branch_exists`, or `custom` with one of these as its `id`; `pinned_head` is not supported',
  },
  'nodes[].preconditions[].branch': {
    meaning: 'Branch that must exist',
    otherwise: 'the branch of the node',
  },
  'nodes[].preconditions[].id': { meaning: 'Name of the custom precondition' },
  'nodes[].preconditions[].args': {
    meaning: 'Its arguments',
    otherwise: NONE,
    example: 'args = { branch = "main" }',
  },
  'nodes[].review': {
    meaning: 'The result of the node is a review: `spec` or `quality`; approvers see the latest of each kind',
    otherwise: NONE,
    example: 'review = "quality"',
  },
  'nodes[].gates': {
    meaning: 'Checks and approvals of the node',
    otherwise: NONE,
    example: 'gates = [{ kind = "script", script = "npm test", policy = "block" }]',
  },
  'nodes[].gates[].kind': { meaning: '`approval`, `script`, `cicd` or `custom`' },
  'nodes[].gates[].required': { meaning: 'Whether an approval is required', otherwise: '`false`' },
  'nodes[].gates[].script': { meaning: 'Shell script; it passes with exit code 0' },
  'nodes[].gates[].auto_resolve': {
    meaning: 'Whether the repair script runs after a failure',
    otherwise: '`false`',
  },
  'nodes[].gates[].id': { meaning: 'Only `conflict_resolution`' },
  'nodes[].gates[].args': {
    meaning: 'Arguments of a custom gate',
    otherwise: NONE,
    example: 'args = { auto_resolve = true }',
  },
  'nodes[].gates[].policy': {
    meaning:
      '`block`: a failing gate ends its node. `warn`: the node continues. `retry`: the gate runs again, unless a route leads back',
    otherwise: '`block`',
  },
  'nodes[].retry': {
    meaning: 'Repetition of the node',
    otherwise: 'never',
    example: 'retry = { mode = "on_failure", budget = 3 }',
  },
  'nodes[].retry.mode': {
    meaning: '`never`, `on_failure`, or `until_gate` for a stop gate that leads back until it passes',
    otherwise: '`never`',
  },
  'nodes[].retry.budget': { meaning: 'Number of retries, also of loops through this node', otherwise: '3' },
  'nodes[].guard': {
    meaning: 'Expression; when false, the node is skipped',
    otherwise: '`true`',
    example: 'guard = "inputs.target == \'live\'"',
  },
  ...steps('before', 'before the node'),
  ...steps('afterwards', 'after the node succeeded'),
  ...steps('finally', 'after the node with any outcome'),
  'nodes[].for_each': {
    meaning: 'Expression for a list; the node runs once per `item`',
    otherwise: NONE,
    example: 'for_each = "inputs.services"',
  },
  'nodes[].parallel': { meaning: 'Items at the same time, 1 to 100; only with `for_each`', otherwise: '1' },
  'nodes[].until': {
    meaning: 'Expression; the node repeats until it is true, within `retry.budget`',
    otherwise: NONE,
    example: 'until = "outputs.status == \'ready\'"',
  },
  'nodes[].timeout': {
    meaning: 'Time limit from `1s` to `30d`: a text such as `"10m"`, or milliseconds',
    otherwise: 'an hour for processes',
    example: 'timeout = "10m"',
  },
  'nodes[].pool': {
    meaning: 'Executor pool for the node and its steps',
    otherwise: '`default`',
    example: 'pool = "gpu"',
  },
  'nodes[].effect': {
    meaning: 'Makes the node an effect: it waits for approval and happens once',
    otherwise: 'plain work; a merge is always an effect',
    example: 'effect = { side_effect_kind = "deploy", idempotency_key = "deploy:v7", target = "staging" }',
  },
  'nodes[].effect.side_effect_kind': { meaning: 'Kind of the change, shown to approvers' },
  'nodes[].effect.class': {
    meaning: 'How safely the effect repeats; only for `cap.custom.` capabilities',
    otherwise: '`opaque`',
  },
  'nodes[].effect.idempotency_key': {
    meaning: 'Identity of the effect: the same key happens once',
    example: 'idempotency_key = "deploy:{{ nodes.build.outputs.digest }}"',
  },
  'nodes[].effect.target': { meaning: 'What the effect changes, for approvers and circuit breakers' },
  'nodes[].effect.rollback_hint': {
    meaning: 'Advice for a manual rollback, shown to approvers',
    otherwise: NONE,
  },
  'nodes[].effect.gate': {
    meaning: 'Gate in `.holdpoint/gates` ([gates](../workflows.md#gates))',
    otherwise: '`approval_recovery_v2`',
    example: 'gate = "release"',
  },
  'nodes[].effect.inputs': {
    meaning: 'Values for the inputs of the gate',
    otherwise: NONE,
    example: 'inputs = { why = "weekly release" }',
  },
  'nodes[].effect.previews': {
    meaning:
      'Previews the effect before its request; only for `cap.custom.` and `cap.remote.` capabilities with a preview',
    otherwise: '`false`',
  },
  'nodes[].effect.probe': {
    meaning: 'Script that tells after a crash whether the effect happened',
    otherwise: NONE,
  },
  'nodes[].effect.compensate': { meaning: 'Script that reverts the effect', otherwise: NONE },
  'nodes[].on_error': {
    meaning: 'Reaction to a failure',
    otherwise: '`fail`',
    example: 'on_error = { strategy = "retry", max_retries = 5, backoff = "exponential", delay_ms = 1000 }',
  },
  'nodes[].on_error.strategy': {
    meaning: '`fail`; `retry`; `pause`: an operator decides; `recover`: [recovery](../recovery.md) decides',
  },
  'nodes[].on_error.max_retries': { meaning: 'Retries, for `retry`', otherwise: '3' },
  'nodes[].on_error.backoff': {
    meaning: '`fixed` or `exponential` waits, for `retry`',
    otherwise: '`exponential`',
  },
  'nodes[].on_error.delay_ms': { meaning: 'First wait in milliseconds, for `retry`', otherwise: '1000' },
  imports: {
    meaning: 'Other template files as stages of this one',
    otherwise: NONE,
    example: 'imports = [{ name = "draft", path = "draft.toml" }]',
  },
  'imports[].name': { meaning: 'Name of the stage; its node ids become `<name>__<id>`' },
  'imports[].path': { meaning: 'File relative to this one, inside the repository' },
  links: {
    meaning: 'Order of the imported stages',
    otherwise: NONE,
    example: 'links = [{ from = "draft", to = "approve" }]',
  },
  'links[].from': { meaning: 'Stage that ends first' },
  'links[].to': { meaning: 'Stage that starts afterwards' },
};

/** The pattern of a path, such as `nodes[].after` for `['nodes', 0, 'after']`. */
export const pathPattern = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, '');

/** An example of the field at a path, or of the closest field around it; nothing as long as a whole node. */
export const exampleAt = (path: readonly PropertyKey[]): string | undefined => {
  for (let length = path.length; length > 0; length -= 1) {
    const pattern = pathPattern(path.slice(0, length));
    const example = FIELD_DOCS[pattern]?.example;
    if (example !== undefined && (length === path.length || pattern !== 'nodes')) return example;
  }
  return undefined;
};
