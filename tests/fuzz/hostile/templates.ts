import { parseConfigText } from '@holdpoint/workflows/config/text';
import { shippedFiles } from '@holdpoint/workflows/files/shipped';
import fc from 'fast-check';
import type { Text } from '../text.ts';
import { nastyString } from './strings.ts';

/** The templates of a new repository. */
export const SHIPPED: readonly { readonly path: string; readonly text: string }[] = shippedFiles().filter(
  ({ path }) => path.includes('/workflows/'),
);

/** Lines of templates, valid and invalid. */
const SNIPPETS = [
  '[[nodes]]',
  '[nodes]',
  'id = "x"',
  'id = "__proto__"',
  'uses = "cap.agent.invoke"',
  'uses = "cap.http.request"',
  'uses = "vizier.merge"',
  'uses = "cap.custom.set_flag"',
  'uses = "cap.custom.set_flag.preview"',
  'uses = "cap.custom.set_flag.compensate"',
  'uses = "cap.custom.__proto__"',
  'effect = { side_effect_kind = "deploy", idempotency_key = "k", target = "t", class = "keyed" }',
  'effect = { side_effect_kind = "deploy", idempotency_key = "k", target = "t", class = "__proto__" }',
  'on = { succeeded = ["x"], failed = ["x"] }',
  'after = ["terminal"]',
  'needs = [{ custom = { type_id = "__proto__", key = "${slug}" } }]',
  'produces = { succeeded = [{ plan_doc = { slug = "${slug}" } }] }',
  'args = { "__proto__" = 1 }',
  'args = { command = "${${slug}}" }',
  'args.x.y.z = "${slug"',
  '[[imports]]',
  'name = "again"',
  'path = "flow.toml"',
  'path = "../../etc/passwd"',
  'path = "/etc/passwd"',
  'path = "other.toml"',
  '[[links]]',
  'from = "x"',
  'to = "y"',
  '[params]',
  'slug = "${slug}"',
  '[policy.dependencies]',
  'missing_producer = "wait"',
  'until = "{{ 1 / 0 }}"',
  'for_each = "inputs.list"',
  'retry = { mode = "until_gate", budget = "-1" }',
  'retry = { mode = "until_gate", budget = 1e400 }',
  'x = 1979-05-27T07:32:00Z',
  'x = nan',
  'x = 9223372036854775808',
  'x = """',
  'x = "\\uD800"',
  '= 1',
  '\0',
];

type Edit = {
  readonly at: number;
  readonly what: 'put' | 'drop' | 'double' | 'cut' | 'swap';
  readonly text: string;
};
const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat(400),
  what: fc.constantFrom('put', 'put', 'drop', 'double', 'cut', 'swap'),
  text: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...SNIPPETS) },
    { weight: 1, arbitrary: nastyString },
  ),
});

const edited = (text: string, { at, what, text: put }: Edit): string => {
  const lines = text.split('\n');
  const place = at % Math.max(1, lines.length);
  const line = lines[place] ?? '';
  const middle = Math.floor(line.length / 2);
  const instead: Readonly<Record<Edit['what'], readonly string[]>> = {
    put: [line, put],
    drop: [],
    double: [line, line],
    cut: [line.slice(0, middle)],
    swap: [line.replaceAll(/"[^"]*"/g, () => JSON.stringify(put))],
  };
  return lines.toSpliced(place, 1, ...instead[what]).join('\n');
};

const mutated = (text: string): fc.Arbitrary<Text> =>
  fc.array(edit, { maxLength: 4 }).map((edits) => edits.reduce(edited, text));

/** The same template as JSON. */
const asJson = (text: string): string => {
  const parsed = parseConfigText(text, 'flow.toml');
  if (!('value' in parsed)) throw new Error('a template that ships does not parse');
  return JSON.stringify(parsed.value, undefined, 1);
};

const shipped = fc.constantFrom(...SHIPPED).chain(({ text }) => mutated(text));
const shippedJson = fc.constantFrom(...SHIPPED).chain(({ text }) => mutated(asJson(text)));

const made = fc
  .array(fc.constantFrom(...SNIPPETS), { maxLength: 30 })
  .map((lines): Text => ['id = "template.fuzz"', 'version = "v1"', ...lines].join('\n'));

const enormous = fc.constantFrom<Text>(
  { repeat: 'x = 1\n', times: 1_700_000 },
  { repeat: '[', times: 100_000 },
  { repeat: '{"a":', times: 100_000 },
  { repeat: 'a.', times: 100_000 },
  { repeat: '[[nodes]]\n', times: 60_000 },
  { repeat: '"', times: 300_000 },
);

/** Template text: a shipped template with mistakes, template lines, or anything. */
export const templateText: fc.Arbitrary<Text> = fc.oneof(
  { weight: 12, arbitrary: shipped },
  { weight: 4, arbitrary: made },
  { weight: 2, arbitrary: nastyString },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  { weight: 1, arbitrary: enormous },
);
export const jsonTemplateText: fc.Arbitrary<Text> = fc.oneof(
  { weight: 8, arbitrary: shippedJson },
  { weight: 2, arbitrary: fc.json({ maxDepth: 4 }) },
  { weight: 1, arbitrary: nastyString },
  { weight: 1, arbitrary: enormous },
);
