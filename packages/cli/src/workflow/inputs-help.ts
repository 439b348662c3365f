import type { Template } from '@holdpoint/workflows/compiler/compile';
import { columns, shorten } from '../output/columns.ts';
import { identityOf, type LoadedWorkflow } from './prepare.ts';

const DEFAULT_SHOWN = 40;

const dashed = (name: string): string => name.replaceAll('_', '-');

const flagsOf = ({ cli }: Template, param: string): string =>
  [...Object.keys(cli.named).filter((alias) => cli.named[alias] === param), param]
    .filter((name, i, all) => all.indexOf(name) === i)
    .map((name) => `--${dashed(name)}`)
    .join(', ');

const defaultText = (value: string): string =>
  value === '' ? '' : `default: ${shorten(value, DEFAULT_SHOWN)}`;

/** The inputs of a workflow as help text, by its `[cli]` section. */
export const inputsHelp = ({ found, template }: LoadedWorkflow): readonly string[] => {
  const name = found.alias ?? found.selector;
  const positional = template.cli.positional;
  const params = [...template.params].map(([name, value]) => [
    `  ${flagsOf(template, name)} <value>`,
    [positional.includes(name) ? `position ${String(positional.indexOf(name) + 1)}` : '', defaultText(value)]
      .filter((part) => part !== '')
      .join('; '),
  ]);
  return [
    `Usage: holdpoint run ${name} [options]${positional.map((name) => ` [${name}]`).join('')}`,
    '',
    `${identityOf(template)}, ${found.file}, ${String(template.nodes.length)} nodes`,
    '',
    'Inputs:',
    ...(params.length === 0 ? ['  none'] : columns(params)),
    '',
    'Options of every workflow: holdpoint run --help',
    '',
    'Example:',
    `  holdpoint run ${name}${positional.map((name) => ` ${dashed(name).toUpperCase()}`).join('')} --follow`,
  ];
};
