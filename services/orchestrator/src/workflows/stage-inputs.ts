import type { WorkflowInput } from '@holdpoint/contracts/workflow/offered-workflow';
import type { Template } from '@holdpoint/workflows/compiler/compile';

/** The descriptions that a template's parameters lack. */
const HELP: Readonly<Record<string, string>> = {
  slug: 'short name; the default branch is draft/ plus this name',
  branch: 'default: draft/ plus the short name',
  spec_file: 'path in the repository, instead of a text',
  spec_text: 'default: the goal',
  target_branch: 'default: the branch that is checked out',
  stop_condition_script: 'exits with 0 when the work is done; default: accept the first result',
  cicd_script: 'exits with 0 when the merge may stay; default: keep the merge',
};
const LABELS: Readonly<Record<string, string>> = {
  slug: 'Short name',
  spec_file: 'File of the specification',
  spec_text: 'Specification',
  cicd_script: 'Check script',
  cicd_retries: 'Check retries',
  cicd_auto_resolve: 'Repair when the check fails',
  cicd_auto_resolve_script: 'Repair script',
};

const labelOf = (name: string): string => {
  const words = name.replaceAll('_', ' ');
  return LABELS[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
};

/** The type of a parameter follows from its default. */
const inputOf = ([name, value]: readonly [string, string]): WorkflowInput => {
  const help = HELP[name];
  const field = { name, label: labelOf(name), ...(help !== undefined && { help }), required: false } as const;
  if (value === 'true' || value === 'false') return { type: 'boolean', ...field, default: value === 'true' };
  if (/^\d{1,9}$/.test(value))
    return { type: 'number', ...field, integer: true, min: 0, default: Number(value) };
  const multiline = /_(script|text)$/.test(name);
  return { type: 'text', ...field, ...(multiline && { multiline }), ...(value !== '' && { default: value }) };
};

const AGENT = 'cap.agent.invoke';

/** The inputs of a stage: the agent command, and the parameters. Those without a default come first. */
export const stageInputs = ({ params, nodes }: Template): WorkflowInput[] => {
  const agent: WorkflowInput = {
    type: 'list',
    name: 'agent',
    label: 'Command of the agent',
    help: 'the command and its arguments, one per line',
    required: nodes.some(({ uses }) => uses === AGENT),
  };
  const inputs = [...params].map(inputOf);
  const isOpen = ({ default: otherwise }: WorkflowInput & { readonly default?: unknown }): boolean =>
    otherwise === undefined;
  return [agent, ...inputs.filter(isOpen), ...inputs.filter((input) => !isOpen(input))];
};

/** The title: the first line of the template file. */
export const stageTitle = (text: string): string | undefined =>
  /^# (?<title>[^\r\n]{1,500})/.exec(text)?.groups?.['title'];
