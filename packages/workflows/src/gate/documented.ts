import { checkExpression } from '../expression/expression.ts';
import { shown, type Report } from '../problems/report.ts';

// A gate may also be written as calls of tools, as in gates for Lobster. Here it gets its own form.

type Table = Record<string, unknown>;
type Tell = Pick<Report, 'error' | 'warning'>;

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const refuse = (tell: Tell, path: string, found: unknown, expected: string): undefined => {
  tell.error({ code: 'WORKFLOW_VALUE_INVALID', path, found: shown(found), expected });
  return undefined;
};

/** Values that the orchestrator fills in: a call may only repeat them. */
const OWN = (...names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, `{{ ${name} }}`]));

const REQUEST = {
  ...OWN('task_id', 'attempt_id', 'requested_action', 'requested_by', 'side_effect_kind'),
  ...OWN('idempotency_key', 'rollback_hint'),
  status: 'pending',
};
const RESOLUTION = {
  ...OWN('task_id'),
  approval_id: '{{ lobster.approval.id }}',
  resolution: '{{ lobster.decision }}',
  resolved_by: '{{ lobster.actor }}',
  note: '{{ lobster.comment }}',
};
const ATTEMPT = OWN('task_id', 'attempt_id', 'idempotency_key');

const spaced = (value: unknown): unknown =>
  typeof value === 'string' ? value.replace(/^\{\{\s*([\w.]+)\s*\}\}$/, '{{ $1 }}') : value;

/** Whether each argument repeats the value that the orchestrator fills in. */
const repeats = (
  args: unknown,
  own: Readonly<Record<string, string>>,
  path: string,
  tell: Tell,
  others: readonly string[] = [],
): void => {
  if (args === undefined) return;
  if (!isTable(args)) return refuse(tell, path, args, 'a table');
  for (const [name, value] of Object.entries(args)) {
    if (others.includes(name)) continue;
    const expected = Object.hasOwn(own, name) ? own[name] : undefined;
    if (expected === undefined) {
      const known = [...Object.keys(own), ...others];
      const found = `the argument ${shown(name)}`;
      tell.error({
        code: 'WORKFLOW_KEY_UNKNOWN',
        path: `${path}.${name}`,
        found,
        expected: `one of: ${known.join(', ')}`,
        meant: [name, known],
      });
    } else if (spaced(value) !== expected)
      refuse(tell, `${path}.${name}`, value, `${expected}: the orchestrator fills it in`);
  }
};

const checkpointIn = (args: unknown, path: string, tell: Tell): Table | undefined => {
  if (!isTable(args)) return refuse(tell, path, args, 'a table with checkpoint_type');
  repeats(args, ATTEMPT, path, tell, ['checkpoint_type', 'note', 'payload']);
  const { checkpoint_type: checkpoint, note, payload } = args;
  return {
    checkpoint,
    ...(note !== undefined && { note }),
    ...(payload !== undefined && { payload }),
  };
};

/** A call such as `{ tool: task_get, args: { … } }`, checked against the one tool that fits its place. */
const callOf = (value: Table, tools: readonly string[], path: string, tell: Tell): string | undefined => {
  const { tool } = value;
  if (typeof tool === 'string' && tools.includes(tool)) return tool;
  return refuse(tell, `${path}.tool`, tool, `one of: ${tools.join(', ')}`);
};

const loaded = (value: unknown, path: string, tell: Tell): unknown => {
  if (!isTable(value)) return value;
  const { tool, args, save_as: name } = value;
  if (typeof tool !== 'string') return refuse(tell, `${path}.tool`, tool, 'a tool such as task_get');
  repeats(args, OWN('task_id'), `${path}.args`, tell);
  const own = tool.replace(/^task_get_|_get$/g, '');
  if (name !== undefined && name !== own) refuse(tell, `${path}.save_as`, name, own);
  return tool;
};

const opened = (value: unknown, path: string, tell: Tell): readonly unknown[] => {
  if (!isTable(value) || !('tool' in value)) return [value];
  const { args } = value;
  switch (callOf(value, ['task_request_approval', 'task_record_checkpoint'], path, tell)) {
    case 'task_request_approval':
      // Every gate opens its request.
      repeats(args, REQUEST, `${path}.args`, tell);
      return [];
    case 'task_record_checkpoint':
      return [{ task_record_checkpoint: checkpointIn(args, `${path}.args`, tell) }];
    default:
      return [];
  }
};

type Actions = { readonly suggestion: Table; readonly checkpoints: readonly Table[] };

const emitted = (emit: unknown, path: string, tell: Tell): Table => {
  if (!isTable(emit)) return { emit };
  const { action, payload } = emit;
  repeats(payload, ATTEMPT, `${path}.payload`, tell, ['suggested_phase', 'to']);
  const { suggested_phase: phase, to } = isTable(payload) ? payload : {};
  return { emit: action, ...(phase !== undefined && { phase }), ...(to !== undefined && { to }) };
};

/** The checkpoints and the one suggestion of a list of actions. */
const actionsIn = (list: readonly unknown[], path: string, tell: Tell): Actions => {
  const suggestions: Table[] = [];
  const checkpoints: Table[] = [];
  list.forEach((value, index) => {
    const at = `${path}[${String(index)}]`;
    if (!isTable(value)) refuse(tell, at, value, 'a call of task_record_checkpoint, or emit');
    else if ('emit' in value) suggestions.push(emitted(value['emit'], `${at}.emit`, tell));
    else if (callOf(value, ['task_record_checkpoint'], at, tell) !== undefined) {
      const checkpoint = checkpointIn(value['args'], `${at}.args`, tell);
      if (checkpoint !== undefined) checkpoints.push(checkpoint);
    }
  });
  const [suggestion] = suggestions;
  if (suggestions.length !== 1)
    refuse(tell, path, `${String(suggestions.length)} emits`, 'one emit, such as resume_executor');
  return { suggestion: suggestion ?? {}, checkpoints };
};

const branchIn = (value: unknown, path: string, tell: Tell): unknown => {
  if (!isTable(value) || !Array.isArray(value['actions'])) return value;
  const { actions, ...rest } = value;
  const { suggestion, checkpoints } = actionsIn(actions as readonly unknown[], `${path}.actions`, tell);
  return { ...rest, ...suggestion, ...(checkpoints.length > 0 && { checkpoints }) };
};

/** Checkpoints that the orchestrator records by itself at these points. */
const RECORDED: Readonly<Record<string, string>> = {
  on_worker_crash: 'worker_crash_detected',
  on_duplicate_side_effect_attempt: 'duplicate_effect_prevented',
};

const recovered = (name: string, value: unknown, tell: Tell): unknown => {
  if (!Array.isArray(value)) return value;
  const path = `recovery.${name}`;
  const { suggestion, checkpoints } = actionsIn(value as readonly unknown[], path, tell);
  const own = RECORDED[name];
  for (const { checkpoint } of checkpoints)
    if (checkpoint !== own) refuse(tell, `${path}.checkpoint_type`, checkpoint, String(own));
  return suggestion;
};

/** A sentence is a note for readers. A text that is an expression would look like a check without being one. */
const isNote = (value: unknown, index: number, tell: Tell): boolean => {
  if (typeof value !== 'string') return false;
  const path = `constraints[${String(index)}]`;
  if (value.trim() === '' || checkExpression(value) === undefined)
    refuse(tell, path, value, 'a table with when and message');
  else
    tell.warning({
      code: 'WORKFLOW_GATE_NOTE',
      path,
      found: shown(value),
      expected: 'a table with when and message, to check anything',
    });
  return true;
};

const INPUT = /^(?:(?<type>[a-z]+)\??|enum\s*\[(?<values>[^\]]*)\]\??)$/;

const inputIn = (value: unknown): unknown => {
  if (typeof value !== 'string') return value;
  const { type, values } = INPUT.exec(value.trim())?.groups ?? {};
  if (values !== undefined) return { type: 'enum', values: values.split(',').map((each) => each.trim()) };
  return type === undefined ? value : { type };
};

const each = (holder: Table, key: string, change: (list: readonly unknown[]) => unknown): void => {
  if (Array.isArray(holder[key])) holder[key] = change(holder[key] as readonly unknown[]);
};

/** Brings a gate that is written as calls of tools into its own form. Changes `data`, and reports every other call. */
export const fromCalls = (data: unknown, tell: Tell): void => {
  if (!isTable(data)) return;
  if (data['id'] === undefined && data['template'] !== undefined) {
    data['id'] = data['template'];
    delete data['template'];
  }
  if (typeof data['version'] === 'number') data['version'] = String(data['version']);
  const { inputs, approval_request: request, recovery, resume_policy: policy } = data;
  if (isTable(inputs)) for (const [name, value] of Object.entries(inputs)) inputs[name] = inputIn(value);
  each(data, 'load_context', (list) =>
    list.flatMap((one, at) => loaded(one, `load_context[${String(at)}]`, tell) ?? []),
  );
  if (isTable(request))
    each(request, 'on_open', (list) =>
      list.flatMap((one, at) => opened(one, `approval_request.on_open[${String(at)}]`, tell)),
    );
  if (Array.isArray(data['on_decision'])) {
    // The approvals service records every decision.
    (data['on_decision'] as readonly unknown[]).forEach((one, at) => {
      const path = `on_decision[${String(at)}]`;
      if (!isTable(one)) refuse(tell, path, one, 'a call of task_resolve_approval');
      else if (callOf(one, ['task_resolve_approval'], path, tell) !== undefined)
        repeats(one['args'], RESOLUTION, `${path}.args`, tell);
    });
    delete data['on_decision'];
  }
  if (isTable(policy)) {
    const { strategy } = policy;
    if (strategy !== 'resume_from_store')
      refuse(
        tell,
        'resume_policy.strategy',
        strategy,
        'resume_from_store: a task always resumes from its store',
      );
    delete data['resume_policy'];
  }
  each(data, 'resume_branches', (list) =>
    list.map((one, at) => branchIn(one, `resume_branches[${String(at)}]`, tell)),
  );
  if (isTable(recovery))
    for (const [name, value] of Object.entries(recovery)) recovery[name] = recovered(name, value, tell);
  each(data, 'constraints', (list) => list.filter((one, at) => !isNote(one, at, tell)));
};
