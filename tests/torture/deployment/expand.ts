import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { AdminConnection } from '@holdpoint/infra/postgres/admin';
import { migrate } from '@holdpoint/infra/postgres/migrate';

export type ExpandOptions = {
  readonly admin: AdminConnection;
  readonly root: string;
  readonly folder: string;
  readonly service: ServiceName;
  readonly step: number;
};

/** A migration that the present release ignores. */
export const EXPANSION = (step: number): readonly string[] => [
  `ALTER TABLE heads ADD COLUMN IF NOT EXISTS torture_${String(step)} text`,
  `CREATE INDEX IF NOT EXISTS heads_torture_${String(step)} ON heads (torture_${String(step)}) WHERE torture_${String(step)} IS NOT NULL`,
];

const quoted = (text: string): string => JSON.stringify(text);

const migrationOf = (step: number): string => {
  const statements = EXPANSION(step).map((sql) => `  await sql.raw(${quoted(sql)}).execute(db);`);
  return `import { sql } from ${quoted(import.meta.resolve('kysely'))};\nexport const up = async (db) => {\n${statements.join('\n')}\n};\n`;
};

/** Runs one more migration with the real tool. */
export const expand = async ({ admin, root, folder, service, step }: ExpandOptions): Promise<void> => {
  const own = join(root, 'services', service, 'migrations');
  const target = join(folder, 'migrations', service);
  await mkdir(target, { recursive: true });
  for (const name of (await readdir(own)).filter((each) => each.endsWith('.ts'))) {
    const original = pathToFileURL(join(own, name)).href;
    await writeFile(join(target, name), `export * from ${quoted(original)};\n`);
  }
  await writeFile(join(target, `${String(9_000 + step)}_torture.ts`), migrationOf(step));
  await migrate(admin, service, target);
};
