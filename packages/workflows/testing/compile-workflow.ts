import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agentFor } from '../src/config/config.ts';
import { type CompileResult, compileTemplate, loadTemplate } from '../src/compiler/compile.ts';
import { problemText } from '../src/problems/problem.ts';
import { gateReader } from '../src/files/gate-source.ts';
import { readConfigFile } from '../src/files/config-file.ts';
import { findWorkflow } from '../src/files/find-workflow.ts';
import { readInside } from '../src/files/read-inside.ts';

/** Copies the `.vizier` folder of a Vizier version into a repository. */
export const copyVizier = (root: string, version: string): void => {
  const from = fileURLToPath(new URL(`./vizier/${version}`, import.meta.url));
  cpSync(from, join(root, '.vizier'), { recursive: true });
};

export type CompiledWorkflow = CompileResult & { readonly file: string; readonly alias: string | undefined };

/** Compiles a workflow as `holdpoint run` does, from its name to its definition. */
export const compileWorkflow = (
  root: string,
  name: string,
  positional: readonly string[],
  set: Readonly<Record<string, string>> = {},
): CompiledWorkflow => {
  const { config, problems } = readConfigFile(root);
  if (config === undefined) throw new Error(problems.map(problemText).join('\n'));
  const { workflow: flow, problems: unfound } = findWorkflow(root, name, config);
  if (flow === undefined) throw new Error(unfound.map(problemText).join('\n'));
  const read = readInside(flow.root);
  const { template, problems: unread } = loadTemplate(flow.file, read);
  if (template === undefined) throw new Error(unread.map(problemText).join('\n'));
  const selector = `${template.id}@${template.version}`;
  const agent = agentFor(config, { alias: flow.alias, selector });
  const compiled = compileTemplate(template, {
    positional,
    set,
    named: {},
    specFile: readInside(root),
    readGate: gateReader(readInside(root)),
    agentFor: () => agent,
  });
  return {
    ...compiled,
    problems: [...problems, ...unread, ...compiled.problems],
    file: flow.file,
    alias: flow.alias,
  };
};
