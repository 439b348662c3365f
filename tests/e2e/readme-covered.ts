import { z } from 'zod';
import { coveredCare } from './readme-covered-care.ts';
import { coveredCluster } from './readme-covered-cluster.ts';
import { coveredFlows } from './readme-covered-flows.ts';
import { readSource } from '../repo/source-tree.ts';

const Manifest = z.object({ scripts: z.record(z.string(), z.string()) });

/** The file that an npm script ends up in: `package.json` names a command, `bootstrap.mjs` the file of that command. */
export const fileOfScript = (script: string): string => {
  const { scripts } = Manifest.parse(JSON.parse(readSource('package.json')));
  const command = /^node infra\/bootstrap\.mjs (\w+)$/.exec(scripts[script] ?? '')?.[1] ?? '';
  const file = new RegExp(`^ +${command}: '([^']+)',$`, 'm').exec(readSource('infra/bootstrap.mjs'))?.[1];
  if (file === undefined) throw new Error(`npm run ${script} leads nowhere`);
  return file;
};

/** Where a command is tried that needs more than a running system, and what that file says of it. */
type Cover = readonly (readonly [file: string, says: string])[];

const START = 'infra/local/start.int.test.ts';

/** A torture is tried with a plan of its own: each command is one of these two with other numbers. */
const tortured = (file: string, target: string) => (): Cover => [
  ['infra/bootstrap.mjs', `torture: 'tests/torture/main.ts'`],
  [file, `'tests', 'torture', 'main.ts'`],
  [file, target],
];
const OWN = tortured('tests/e2e/torture.e2e.test.ts', `'--plan', PLAN`);
const TORTURE = 'npm run torture';

/** As long, and as much, as suits a test. */
const SOAKED = (): Cover => [
  [fileOfScript('soak'), 'await soak('],
  ['tests/e2e/soak.e2e.test.ts', `'tests', 'torture', 'soak', 'main.ts'`],
  ['tests/e2e/soak.e2e.test.ts', `'--duration', '50s', '--rate', '8'`],
  ['tests/e2e/soak.e2e.test.ts', `'--report', file`],
];

const covered: Readonly<Record<string, () => Cover>> = {
  'npm start': () => [[START, fileOfScript('start')]],
  'npm run demo': () => [[START, fileOfScript('demo')]],
  'npm test': () => [
    ['.ci/run', ' npm test '],
    [fileOfScript('test'), 'vitest'],
  ],
  'docker compose -f infra/compose/compose.yaml up --build': () => [
    ['tests/e2e/compose.e2e.test.ts', 'createComposeProject()'],
    ['tests/e2e/compose-project.ts', `join(root, 'infra', 'compose', 'compose.yaml')`],
    ['tests/e2e/compose-project.ts', `['up', '--detach', '--build'`],
  ],
  'npm run soak': SOAKED,
  'npm run soak -- --duration 10m --rate 20 --report soak.json': SOAKED,
  [TORTURE]: OWN,
  [`${TORTURE} --seed 7 --duration 10m --rate 50 --fault-every 5s`]: OWN,
  [`${TORTURE} --plan .holdpoint/data/torture/history.ndjson`]: OWN,
  [`${TORTURE} --target compose --project holdpoint --yes-break-it`]: tortured(
    'tests/e2e/compose.e2e.test.ts',
    `'--target', 'compose', '--project', system.name, '--yes-break-it'`,
  ),
};

const coveredElsewhere = { ...coveredCare, ...coveredFlows, ...coveredCluster };

export const coveredCommands = [...Object.keys(covered), ...Object.keys(coveredElsewhere)];

/** Who else tries this very command; undefined: nobody. */
export const coverOf = (words: readonly string[]): Cover | undefined =>
  covered[words.join(' ')]?.() ?? coveredElsewhere[words.join(' ')];

/** What the covering files do not say. Throws where there is no such file. */
export const gapsOf = (cover: Cover): readonly string[] =>
  cover.filter(([file, says]) => !readSource(file).includes(says)).map(([file, says]) => `${file}: ${says}`);
