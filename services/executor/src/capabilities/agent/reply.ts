import { AttemptReport, TOKENS_MAX, Usage } from '@holdpoint/contracts/workflow/attempt';
import { z } from 'zod';
import { storable } from '../../adapters/process/output-buffer.ts';

const MARK = 'HOLDPOINT-REPORT';
/** A reply without a report: its beginning describes the approach best. */
const BEGINNING_MAX = 1_000;

const SECTION = `## The end of your reply

End your reply with one line of this form, and nothing after it:

${MARK} {"approach": "...", "done": "...", "next": "...", "stop": "done|context_exhausted|gave_up"}

Write valid JSON on that one line. \`approach\`: your approach in two or three sentences. \`done\`: the finished work. \`next\`: the remaining
work. \`stop\`: \`done\` when the work is finished, \`context_exhausted\` when the remaining work does not fit into your context and a new
session must continue, and \`gave_up\` when you do not know how to continue.
`;

/** Appends the request for a report. */
export const askingForReport = (prompt: string): string => `${prompt.trimEnd()}\n\n${SECTION}`;

const { approach, done, next, stop } = AttemptReport.shape;

const cut = (text: string, max: number): string => storable(text).slice(0, max).toWellFormed();

/** A real text: agents sometimes copy the example line unchanged. */
const saying = (field: typeof approach) => {
  const max = field.unwrap().maxLength ?? Infinity;
  return z
    .string()
    .transform((text) => cut(text.trim(), max))
    .refine((text) => text !== '' && text !== '...')
    .optional()
    .catch(undefined);
};

const Said = z.object({
  approach: saying(approach),
  done: saying(done),
  next: saying(next),
  stop: stop.catch(undefined),
});

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

// Agents wrap the line in lists, quotes and code.
const LINE = new RegExp(`^[\\s>*\`-]*${MARK}[\\s*\`:]*(\\{.*\\})[\\s*\`]*$`);

type Report = z.infer<typeof Said>;

/** Removes the last line with a report. An unreadable report stays in the text. */
const takeReport = (text: string): { readonly text: string; readonly report: Report } => {
  const lines = text.split('\n');
  const at = lines.findLastIndex((line) => LINE.test(line));
  const { success, data } = Said.safeParse(parseJson(LINE.exec(lines[at] ?? '')?.[1] ?? ''));
  return success ? { text: lines.toSpliced(at, 1).join('\n'), report: data } : { text, report: {} };
};

const Count = z.int().min(0).max(TOKENS_MAX).catch(0);
/** The output of known agents with `--output-format json`. */
const ResultReply = z.object({
  type: z.literal('result'),
  subtype: z.string().catch(''),
  is_error: z.boolean().catch(false),
  result: z.string().catch(''),
  total_cost_usd: Usage.shape.costUsd.catch(undefined),
  usage: z
    .object({
      input_tokens: Count,
      cache_creation_input_tokens: Count,
      cache_read_input_tokens: Count,
      output_tokens: Count,
    })
    .optional()
    .catch(undefined),
});

type Unpacked = { readonly text: string; readonly usage: Usage; readonly failed: boolean };

const unpack = (stdout: string): Unpacked => {
  const object = stdout.trimStart().startsWith('{') ? parseJson(stdout) : undefined;
  const { data } = ResultReply.safeParse(object);
  if (data === undefined) return { text: stdout, usage: {}, failed: false };
  const { result, usage, total_cost_usd: costUsd, is_error, subtype } = data;
  const tokens = usage && {
    inputTokens: usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens,
    outputTokens: usage.output_tokens,
  };
  return {
    text: storable(result).toWellFormed(),
    usage: { ...tokens, ...(costUsd !== undefined && { costUsd }) },
    // When it runs out of turns, only the subtype says so, and there is no result.
    failed: is_error || subtype.startsWith('error'),
  };
};

export type Reply = {
  /** The agent's text, without the report. */
  readonly text: string;
  readonly report: Pick<AttemptReport, 'approach' | 'done' | 'next' | 'stop'>;
  readonly usage: Usage;
  /** The failure that the agent reported, with any exit code. */
  readonly problem: string | undefined;
};

const withoutGaps = <Value extends object>(value: Value): Value =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Value;

/** Parses the output of an agent into its text and its report. */
export const readReply = (stdout: string): Reply => {
  const { text: said, usage, failed } = unpack(stdout);
  const { text, report } = takeReport(said);
  const beginning = cut(text.trim(), BEGINNING_MAX);
  const way = report.approach ?? (beginning === '' ? undefined : beginning);
  const exhausted = report.stop === 'context_exhausted' ? 'reports that its context is exhausted' : undefined;
  return {
    text,
    report: withoutGaps({ ...report, approach: way }),
    usage,
    problem: exhausted ?? (failed ? 'reports that it failed' : undefined),
  };
};
