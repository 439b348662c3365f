import type { DatabaseSync } from 'node:sqlite';
import { defineEffect } from '@holdpoint/sdk/http';
import { z } from 'zod';

const isApplied = (database: DatabaseSync, version: number): boolean =>
  database.prepare('SELECT 1 FROM schema_version WHERE version = ?').get(version) !== undefined;

/** Each migration commits together with its row in the version table, so that a look at the table tells: `probeable`. */
export const migrateIn = (database: DatabaseSync) =>
  defineEffect({
    name: 'migrate',
    title: 'Run migration ${version}',
    kind: 'destructive_edit',
    effectClass: 'probeable',
    target: 'database:shop',
    input: z.object({ version: z.int().positive(), sql: z.string() }),
    output: z.object({ version: z.int() }),
    key: ({ version }) => `migration:${String(version)}`,
    run: ({ version, sql }) => {
      database.exec('BEGIN IMMEDIATE');
      try {
        database.exec(sql);
        database.prepare('INSERT INTO schema_version (version) VALUES (?)').run(version);
        database.exec('COMMIT');
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
      return { version };
    },
    probe: ({ version }) =>
      isApplied(database, version) ? { found: 'applied', outputs: { version } } : 'not_applied',
  });
