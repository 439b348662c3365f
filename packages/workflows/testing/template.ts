import {
  compileTemplate,
  loadTemplate,
  type CompileResult,
  type CompileOptions,
} from '../src/compiler/compile.ts';
import type { Problem } from '../src/problems/problem.ts';

export type Files = Readonly<Record<string, string>>;

export const reading =
  (files: Files) =>
  (path: string): string | undefined =>
    Object.hasOwn(files, path) ? files[path] : undefined;

export const GIVEN: CompileOptions = {
  set: {},
  named: {},
  positional: [],
  agentFor: () => ['agent', '--quiet'],
};

/** Loads and compiles a template, and returns all problems. */
export const compiled = (
  files: Files,
  options: Partial<CompileOptions> = {},
  entry = 'flow.toml',
): CompileResult => {
  const { template, problems } = loadTemplate(entry, reading(files));
  if (template === undefined) return { params: {}, problems };
  const made = compileTemplate(template, { ...GIVEN, ...options });
  return { ...made, problems: [...problems, ...made.problems] };
};

export const HEAD = 'id = "template.test"\nversion = "v1"\n';

/** A template file from a fixed start and these nodes. */
export const flow = (...parts: readonly string[]): Files => ({ 'flow.toml': [HEAD, ...parts].join('\n') });

export const errorsIn = ({ problems }: { readonly problems: readonly Problem[] }): readonly string[] =>
  problems.filter(({ severity }) => severity === 'error').map(({ code, path }) => `${code} ${path}`);

/** Measures CPU time of this thread: other load on the machine does not count. */
export const timed = <Value>(work: () => Value): { readonly value: Value; readonly ms: number } => {
  const started = process.threadCpuUsage();
  const value = work();
  const { user, system } = process.threadCpuUsage(started);
  return { value, ms: (user + system) / 1_000 };
};

export const nodeIn = ({ definition }: CompileResult, id: string) => {
  const node = definition?.nodes.find((one) => one.id === id);
  if (node === undefined) throw new Error(`no node ${id}`);
  return node;
};

/** A note: an agent writes, a script judges, and the loop between them has a budget. */
export const NOTE = `
id = "template.demo.note"
version = "v1"

[cli]
positional = ["topic"]

[params]
topic = ""
tries = "2"
check = "test -s notes.md"

[policy.dependencies]
missing_producer = "wait"

[[artifact_contracts]]
id = "prompt_text"
version = "v1"

[[nodes]]
id = "wt"
uses = "cap.env.builtin.worktree.prepare"
args = { slug = "note-\${topic}", purpose = "demo" }
on = { succeeded = ["ask"] }

[[nodes]]
id = "ask"
uses = "cap.env.builtin.prompt.resolve"
args = { prompt_text = "Write notes.md about \${topic}." }
produces = { succeeded = [{ custom = { type_id = "prompt_text", key = "demo:\${topic}" } }] }
on = { succeeded = ["write"] }

[[nodes]]
id = "write"
kind = "agent"
uses = "cap.agent.invoke"
needs = [{ custom = { type_id = "prompt_text", key = "demo:\${topic}" } }]
on = { succeeded = ["save"] }

[[nodes]]
id = "save"
uses = "cap.env.builtin.git.stage_commit"
args = { message = "docs: note on \${topic}" }
on = { succeeded = ["check"] }

[[nodes]]
id = "check"
kind = "gate"
uses = "control.gate.stop_condition"
gates = [{ kind = "script", script = "\${check}", policy = "retry" }]
retry = { mode = "until_gate", budget = "\${tries}" }
on = { succeeded = ["tidy"], failed = ["save"] }

[[nodes]]
id = "tidy"
uses = "cap.env.builtin.worktree.cleanup"
on = { succeeded = ["end"] }

[[nodes]]
id = "end"
kind = "gate"
uses = "control.terminal"
`;

/** A merge: a conflict leads to its gate and back, and a script judges the result. */
export const MERGE = `
id = "template.stage.merge"
version = "v2"

[cli]
positional = ["slug", "branch", "target_branch"]
[cli.named]
name = "slug"
source = "branch"
target = "target_branch"

[params]
branch = ""
slug = ""
target_branch = ""
squash = "true"
conflict_auto_resolve = "true"
cicd_script = ""
cicd_auto_resolve = "false"
cicd_auto_resolve_script = ""

[policy.dependencies]
missing_producer = "wait"

[[artifact_contracts]]
id = "merge_sentinel"
version = "v1"
[[artifact_contracts]]
id = "stage_token"
version = "v1"

[[nodes]]
id = "merge_integrate"
kind = "builtin"
uses = "cap.env.builtin.git.integrate_plan_branch"
args = { slug = "\${slug}", branch = "\${branch}", target_branch = "\${target_branch}", squash = "\${squash}" }
needs = [{ custom = { type_id = "stage_token", key = "approve:\${slug}" } }]
produces = { blocked = [{ merge_sentinel = { slug = "\${slug}" } }] }
on = { succeeded = ["merge_gate_cicd"], blocked = ["merge_conflict_resolution"] }

[[nodes]]
id = "merge_conflict_resolution"
kind = "gate"
uses = "control.gate.conflict_resolution"
args = { slug = "\${slug}", auto_resolve = "\${conflict_auto_resolve}" }
gates = [{ kind = "custom", id = "conflict_resolution", policy = "block" }]
on = { succeeded = ["merge_integrate"] }

[[nodes]]
id = "merge_gate_cicd"
kind = "gate"
uses = "control.gate.cicd"
args = { auto_resolve_script = "\${cicd_auto_resolve_script}" }
gates = [{ kind = "cicd", script = "\${cicd_script}", auto_resolve = "\${cicd_auto_resolve}", policy = "block" }]
on = { succeeded = ["terminal"], failed = ["merge_gate_cicd"] }

[[nodes]]
id = "terminal"
kind = "gate"
uses = "control.terminal"
`;

/** A draft with an unconfigured stop gate. */
export const DRAFT = `
id = "template.stage.draft"
version = "v2"

[cli]
positional = ["spec_file", "slug", "branch"]
[cli.named]
file = "spec_file"
name = "slug"

[params]
branch = ""
slug = ""
spec_file = ""
spec_text = ""
spec_source = "inline"
commit_message = "chore: workflow stage commit"

[policy.dependencies]
missing_producer = "wait"

[[artifact_contracts]]
id = "prompt_text"
version = "v1"
[[artifact_contracts]]
id = "plan_text"
version = "v1"
[[artifact_contracts]]
id = "plan_branch"
version = "v1"
[[artifact_contracts]]
id = "plan_doc"
version = "v1"

[[nodes]]
id = "worktree_prepare"
kind = "builtin"
uses = "cap.env.builtin.worktree.prepare"
args = { branch = "\${branch}", slug = "\${slug}", purpose = "draft" }
on = { succeeded = ["resolve_prompt"] }

[[nodes]]
id = "resolve_prompt"
kind = "builtin"
uses = "cap.env.builtin.prompt.resolve"
args = { prompt_text = "Plan this: {{persist_plan.spec_text}}" }
produces = { succeeded = [{ custom = { type_id = "prompt_text", key = "draft_main" } }] }
on = { succeeded = ["invoke_agent"] }

[[nodes]]
id = "invoke_agent"
kind = "agent"
uses = "cap.agent.invoke"
needs = [{ custom = { type_id = "prompt_text", key = "draft_main" } }]
produces = { succeeded = [{ custom = { type_id = "plan_text", key = "draft_main" } }] }
on = { succeeded = ["persist_plan"] }

[[nodes]]
id = "persist_plan"
kind = "builtin"
uses = "cap.env.builtin.plan.persist"
args = { name_override = "\${slug}", spec_source = "\${spec_source}", spec_text = "\${spec_text}", spec_file = "\${spec_file}" }
needs = [{ custom = { type_id = "plan_text", key = "draft_main" } }]
produces = { succeeded = [
  { plan_branch = { slug = "\${slug}", branch = "\${branch}" } },
  { plan_doc = { slug = "\${slug}", branch = "\${branch}" } },
] }
on = { succeeded = ["stage_commit"] }

[[nodes]]
id = "stage_commit"
kind = "builtin"
uses = "cap.env.builtin.git.stage_commit"
args = { message = "\${commit_message}" }
on = { succeeded = ["stop_gate"] }

[[nodes]]
id = "stop_gate"
kind = "gate"
uses = "control.gate.stop_condition"
on = { succeeded = ["worktree_cleanup"] }

[[nodes]]
id = "worktree_cleanup"
kind = "builtin"
uses = "cap.env.builtin.worktree.cleanup"
on = { succeeded = ["terminal"] }

[[nodes]]
id = "terminal"
kind = "gate"
uses = "control.terminal"
`;
