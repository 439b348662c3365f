import type { Artifact } from '@holdpoint/contracts/workflow/artifact';
import { argumentRules, missingArgs } from '../node/argument-rules.ts';
import { parseBool } from '../../reading/coerce.ts';
import type { NodeDraft } from '../node/node-draft.ts';
import {
  AGENT,
  APPROVAL_GATE,
  CICD,
  CICD_GATE,
  COMMIT,
  CONFLICT_GATE,
  INTEGRATE,
  PROMPT,
  SHELL_PROMPT,
  STAGE_COMMIT,
} from '../node/labels.ts';
import { firstText, textArg } from '../node/node-args.ts';
import { listed, shown } from '../../problems/report.ts';

type Rule = (draft: NodeDraft) => void;

const isPrompt = (artifact: Artifact | undefined): boolean =>
  artifact?.type === 'custom' && artifact.typeId === 'prompt_text';

const scriptArgs = ({ node: { args } }: NodeDraft): readonly string[] =>
  ['command', 'script'].filter((name) => textArg(args, name) !== '');

const agentRule: Rule = (draft) => {
  const { fields, source, node } = draft;
  for (const name of scriptArgs(draft)) {
    const expected = 'no such argument: config.toml configures the agent';
    fields.error('WORKFLOW_AGENT_SCRIPT', `args.${name}`, 'a script', expected);
  }
  const written = (source.needs ?? []).length;
  if (written === 1 && isPrompt(node.needs?.[0])) return;
  const expected = 'exactly one custom artifact of the type prompt_text';
  fields.error('WORKFLOW_AGENT_NEEDS', 'needs', `${String(written)} artifacts`, expected);
};

const promptOutput: Rule = ({ fields, node }) => {
  const given = Object.values(node.produces ?? {}).flat();
  if (given.length === 1 && isPrompt(given[0])) return;
  const expected = 'exactly one custom artifact of the type prompt_text, over all outcomes';
  fields.error('WORKFLOW_PROMPT_OUTPUT', 'produces', `${String(given.length)} artifacts`, expected);
};

const promptRule: Rule = (draft) => {
  for (const name of scriptArgs(draft)) {
    const expected = `no such argument: use ${SHELL_PROMPT} for prompts from scripts`;
    draft.fields.error('WORKFLOW_PROMPT_SCRIPT', `args.${name}`, 'a script', expected);
  }
  promptOutput(draft);
};

const shellPromptRule: Rule = (draft) => {
  const given = scriptArgs(draft);
  if (given.length !== 1) {
    const found = given.length === 0 ? 'none of them' : 'both';
    draft.fields.error('WORKFLOW_PROMPT_SCRIPT', 'args', found, 'command or script');
  }
  promptOutput(draft);
};

const READ_PAYLOAD = /^read_payload\((.*)\)$/s;

/** `read_payload(…)` takes the commit message from an artifact, which must be unambiguous. */
const messageRule: Rule = ({ fields, node: { args, needs = [] } }) => {
  const message = firstText(args, ['message', 'commit_message']).trim();
  const selector = READ_PAYLOAD.exec(message)?.[1]?.trim();
  if (selector === undefined) return;
  const names = needs.flatMap((one) =>
    one.type === 'custom' ? [[one.typeId, one.key, `${one.typeId}:${one.key}`]] : [],
  );
  const matches = names.filter((known) => known.includes(selector)).length;
  if (matches === 1) return;
  const field = textArg(args, 'message').trim() === '' ? 'args.commit_message' : 'args.message';
  const expected = `one custom artifact among its needs (${listed(names.map((known) => known[2] ?? ''))})`;
  const found = `${shown(message)}, which matches ${String(matches)} artifacts`;
  fields.error('WORKFLOW_COMMIT_PAYLOAD', field, found, expected, [selector, names.flat()]);
};

/** The boolean arguments of each capability. */
const FLAGS: ReadonlyMap<string, readonly string[]> = new Map([
  [INTEGRATE, ['squash', 'delete_branch']],
  [CONFLICT_GATE, ['auto_resolve']],
  [CICD_GATE, ['auto_resolve']],
  [APPROVAL_GATE, ['required']],
]);

const flagRule: Rule = ({ fields, node: { uses, args } }) => {
  for (const name of FLAGS.get(uses) ?? []) {
    const text = textArg(args, name);
    // An empty text is a parameter that was left empty, and means the default.
    if (text.trim() !== '' && parseBool(text) === undefined)
      fields.error(
        'WORKFLOW_VALUE_COERCION',
        `args.${name}`,
        shown(text),
        'true, 1, yes, on, false, 0, no or off',
      );
  }
};

const RULES: ReadonlyMap<string, Rule> = new Map([
  [AGENT, agentRule],
  [PROMPT, promptRule],
  [SHELL_PROMPT, shellPromptRule],
  [COMMIT, messageRule],
  [STAGE_COMMIT, messageRule],
]);

/** A CI run may take its script from its gate instead of its arguments. */
export const missingOf = ({ node: { uses, args }, gates }: NodeDraft): readonly string[] | undefined =>
  uses === CICD && gates.some(({ kind, script }) => kind === 'cicd' && script.trim() !== '')
    ? undefined
    : missingArgs(uses, args);

/** Checks a node against the rules of its capability, independent of its neighbours. */
export const capabilityRules = (draft: NodeDraft): void => {
  const { uses, args } = draft.node;
  argumentRules(uses, args, 'args', draft.fields);
  flagRule(draft);
  RULES.get(uses)?.(draft);
};
