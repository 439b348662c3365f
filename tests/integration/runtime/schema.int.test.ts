import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { root } from '@holdpoint/infra/local/folders';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type Database } from '../../kit/stack/databases.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { askOwner } from '../../kit/tasks/aged.ts';

let database: Database;
beforeAll(async () => {
  database = await cloneDatabase(currentRun().admin);
});
afterAll(() => database.drop());

const OWN = `n.nspname = $1 AND c.relname NOT LIKE 'kysely%'`;

/** Statements that define a schema, read from the catalog: each query returns texts in a fixed order. */
const PARTS: readonly string[] = [
  `SELECT format(E'CREATE TABLE %s (\n%s\n)%s;', c.relname,
          string_agg(format('  %s %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
            CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
            CASE a.attidentity WHEN 'a' THEN ' GENERATED ALWAYS AS IDENTITY' ELSE '' END,
            coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')), E',\n' ORDER BY a.attnum),
          coalesce(' WITH (' || array_to_string(c.reloptions, ', ') || ')', '')) AS text
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relkind = 'r' AND ${OWN} GROUP BY c.oid ORDER BY c.relname`,
  `SELECT format('ALTER TABLE %s ADD CONSTRAINT %s %s;', c.relname, k.conname, pg_get_constraintdef(k.oid)) AS text
     FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE k.contype <> 'n' AND ${OWN} ORDER BY c.relname, k.conname`,
  `SELECT pg_get_indexdef(i.indexrelid) || ';' AS text
     FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
     JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid) AND ${OWN} ORDER BY x.relname`,
  `SELECT format(E'CREATE VIEW %s AS\n%s', c.relname, pg_get_viewdef(c.oid)) AS text
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'v' AND ${OWN} ORDER BY c.relname`,
  `SELECT rtrim(pg_get_functiondef(p.oid), E'\n') || ';' AS text
     FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 ORDER BY p.proname`,
  `SELECT pg_get_triggerdef(t.oid) || ';' AS text
     FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT t.tgisinternal AND ${OWN} ORDER BY c.relname, t.tgname`,
];

const schemaOf = async (service: string): Promise<string> => {
  const parts: string[] = [];
  for (const part of PARTS)
    for (const { text } of await askOwner<{ text: string }>(database, part, [service])) parts.push(text);
  return `${parts.join('\n\n')}\n`;
};

// Run with `--update` to write the files again after a change of a migration.
test.each(SERVICES)('services/%s/schema.sql matches the migrations of the service', async (service) => {
  const file = join(root, 'services', service, 'schema.sql');
  await expect(await schemaOf(service)).toMatchFileSnapshot(file);
});

test('PUBLIC may execute no function of any service', async () => {
  const open = await askOwner<{ name: string }>(
    database,
    `SELECT p.oid::regprocedure::text AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
       CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
      WHERE n.nspname = ANY($1) AND a.grantee = 0 AND a.privilege_type = 'EXECUTE' ORDER BY 1`,
    [[...SERVICES]],
  );
  expect(open).toEqual([]);
});
