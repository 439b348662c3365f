/** Where a command is tried by which a system is looked after, or an agent is served. */
type Cover = readonly (readonly [file: string, says: string])[];

const CARE = 'tests/integration/runtime/admin.int.test.ts';
const BACKUP = 'tests/integration/runtime/backup.int.test.ts';
const DUMP = 'tests/kit/stack/dump.ts';
const LETTERS = 'tests/integration/bus/dead-letters.int.test.ts';
const MCP = 'tests/integration/approvals/mcp.int.test.ts';

/** A dump is put back by these programs where they fit the server that the tests have. */
const dumped = (...says: readonly string[]): Cover => [
  [BACKUP, 'dumpDatabase(database'],
  ...says.map((text) => [DUMP, text] as const),
];

const HP = '--host=127.0.0.1 --username=hp_admin';

export const coveredCare: Readonly<Record<string, Cover>> = {
  'holdpoint admin doctor': [[CARE, `commandLine(system)('admin', 'doctor')`]],
  'holdpoint admin doctor --json': [[CARE, `('admin', 'doctor', '--json')`]],
  // The same frames, again and again: what one holds is looked at.
  'holdpoint admin top': [[CARE, `('admin', 'top', '--once')`]],
  'holdpoint admin top --once': [[CARE, `('admin', 'top', '--once')`]],
  'holdpoint admin gc': [[CARE, `holdpoint('admin', 'gc')`]],
  'holdpoint admin gc --keep 30': [[CARE, `holdpoint('admin', 'gc', '--keep', '7')`]],
  'holdpoint admin gc --apply': [[CARE, `holdpoint('admin', 'gc', '--apply')`]],
  'holdpoint dlq retry <number>': [[LETTERS, `holdpoint('dlq', 'retry', number)`]],
  'holdpoint dlq drop <number>': [[LETTERS, `holdpoint('dlq', 'drop', number,`]],
  'holdpoint mcp': [[MCP, `'mcp', '--agent', 'claude'`]],
  'holdpoint mcp --http --port 7461': [[MCP, `'mcp', '--http', '--port', '0'`]],
  'holdpoint token create claude --agent claude --scope approvals:read --scope approvals:decide --expires 30d':
    [
      ['packages/cli/src/token/commands.test.ts', `'--agent', 'claude'`],
      [MCP, `scopes: ['approvals:read', 'approvals:decide']`],
    ],
  [`pg_dump --format=custom --file=holdpoint.dump ${HP} holdpoint`]: dumped(`'--format=custom'`),
  'pg_restore --list holdpoint.dump': dumped(`'pg_restore'`),
  [`dropdb --force ${HP} holdpoint`]: dumped('DROP DATABASE'),
  [`createdb --owner=hp_owner --encoding=UTF8 --template=template0 ${HP} holdpoint`]: dumped(
    `ENCODING 'UTF8' TEMPLATE template0`,
  ),
  [`pg_restore --exit-on-error ${HP} --dbname=holdpoint holdpoint.dump`]: dumped(`'--exit-on-error'`),
};
