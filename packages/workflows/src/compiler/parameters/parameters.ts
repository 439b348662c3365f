import { isText, TEXT } from '../../reading/parse.ts';
import { listed, shown, type Report } from '../../problems/report.ts';
import type { Scalar } from '../../reading/table.ts';
import type { Template } from '../../template/template.ts';

/** Parameter values from the caller: by `--set`, by the template's flags, and by position. */
export type ParameterInput = {
  readonly set: Readonly<Record<string, Scalar>>;
  readonly named: Readonly<Record<string, string>>;
  readonly positional: readonly string[];
};

type Assigned = { readonly value: string; readonly path: string };

export type Parameters = {
  /** Every parameter with the caller's value, or else the default. */
  readonly values: ReadonlyMap<string, string>;
  readonly assigned: ReadonlyMap<string, Assigned>;
};

const underscored = (name: string): string => name.replaceAll('-', '_');

/** The flags of a template by their normalised names. */
const aliasesOf = ({ cli: { named } }: Template): ReadonlyMap<string, string> =>
  new Map(Object.entries(named).map(([alias, target]) => [underscored(alias.trim()), target.trim()]));

type Assign = (name: string, value: string, path: string) => void;

/** A name that is no parameter may be a flag; both accept dashes. */
const targetOf = (
  name: string,
  params: ReadonlyMap<string, string>,
  aliases: ReadonlyMap<string, string>,
): string => {
  if (params.has(name)) return name;
  const plain = underscored(name);
  return aliases.get(plain) ?? plain;
};

const assignNamed = (
  template: Template,
  { set, named }: ParameterInput,
  assign: Assign,
  report: Report,
): void => {
  const aliases = aliasesOf(template);
  const entries = [
    ...Object.entries(set).map(([name, value]) => ['set', name, String(value)] as const),
    ...Object.entries(named).map(([name, value]) => ['named', name, value] as const),
  ];
  for (const [kind, name, value] of entries) {
    const path = `${kind}.${name}`;
    if (name.trim() !== '') {
      // With `--name`, the template's flag wins; with `--set`, the parameter wins.
      const flag = kind === 'named' ? aliases.get(underscored(name.trim())) : undefined;
      assign(flag ?? targetOf(name.trim(), template.params, aliases), value, path);
    } else {
      report.error({ code: 'WORKFLOW_PARAM_NAME', path, found: 'an empty name', expected: 'name=value' });
    }
  }
};

const assignPlaces = (
  { cli }: Template,
  { positional }: ParameterInput,
  assign: Assign,
  report: Report,
): void => {
  if (positional.length > cli.positional.length) {
    const slots = cli.positional.length === 0 ? 'none' : listed(cli.positional);
    report.error({
      code: 'WORKFLOW_POSITIONAL_MANY',
      path: `positional[${String(cli.positional.length)}]`,
      found: `${String(positional.length)} positional values`,
      expected: `at most ${String(cli.positional.length)} (${slots})`,
    });
  }
  cli.positional.forEach((name, index) => {
    const value = positional[index];
    if (value !== undefined && name.trim() !== '') assign(name.trim(), value, `positional[${String(index)}]`);
  });
};

/** The values of all parameters. Unknown names are reported later, once all texts have been read. */
export const parametersOf = (template: Template, given: ParameterInput, report: Report): Parameters => {
  const assigned = new Map<string, Assigned>();
  const assign: Assign = (name, value, path) => {
    const before = assigned.get(name);
    if (!isText(value)) {
      report.error({ code: 'WORKFLOW_VALUE_INVALID', path, found: shown(value), expected: TEXT });
    } else if (before === undefined) assigned.set(name, { value, path });
    else {
      const found = `${name}, given by ${before.path} and again`;
      report.error({ code: 'WORKFLOW_PARAM_TWICE', path, found, expected: 'each parameter once' });
    }
  };
  assignNamed(template, given, assign, report);
  assignPlaces(template, given, assign, report);
  const values = new Map(template.params);
  for (const [name, { value }] of assigned) values.set(name, value);
  return { values, assigned };
};

/** Reports values for names that neither a parameter has nor a text uses: they would be lost. */
export const reportUnknown = (
  template: Template,
  { assigned }: Parameters,
  used: ReadonlySet<string>,
  report: Report,
): void => {
  const known = new Set(
    [...template.params.keys(), ...used].filter((name) => !assigned.has(name) || template.params.has(name)),
  );
  for (const [name, { path }] of assigned) {
    if (template.params.has(name) || used.has(name)) continue;
    const expected = known.size === 0 ? 'no parameters' : `a parameter of the template (${listed(known)})`;
    const names = [...known, ...Object.keys(template.cli.named)];
    report.error({
      code: 'WORKFLOW_PARAM_UNKNOWN',
      path,
      found: shown(name),
      expected,
      meant: [name, names],
    });
  }
};

/** Checks that the template's own flags and positions name parameters. */
export const cliRules = (template: Template, used: ReadonlySet<string>, report: Report): void => {
  const { cli, params, file } = template;
  const refuse = (path: string, found: string, expected: string, word = ''): void => {
    const meant = word === '' ? {} : { meant: [word, params.keys()] as const };
    report.error({ code: 'WORKFLOW_CLI', path, found, expected, file, ...meant });
  };
  const target = (name: string, path: string): void => {
    if (name.trim() === '') refuse(path, 'an empty name', 'the name of a parameter');
    else if (!params.has(name.trim()) && !used.has(name.trim()))
      refuse(path, shown(name), `a parameter (${listed(params.keys())})`, name);
  };
  cli.positional.forEach((name, index) => {
    target(name, `cli.positional[${String(index)}]`);
  });
  const aliases = new Set<string>();
  for (const [alias, name] of Object.entries(cli.named)) {
    const path = `cli.named.${alias}`;
    const plain = underscored(alias.trim());
    if (plain === '') refuse(path, 'an empty name', 'the name of a flag');
    else if (aliases.has(plain)) refuse(path, shown(alias), 'flags that differ beyond - and _');
    aliases.add(plain);
    target(name, path);
  }
};
