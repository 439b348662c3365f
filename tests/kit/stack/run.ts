import type { NatsProgram } from '@holdpoint/infra/local/nats/nats-program';
import type { AdminConnection } from '@holdpoint/infra/postgres/admin';
import { inject } from 'vitest';

/** PostgreSQL, as its superuser. */
export type Admin = AdminConnection & { readonly host: string; readonly port: number };

/** PostgreSQL and NATS run as containers (Testcontainers) or as local processes. */
export type Backend = 'docker' | 'local';

/** The resources that all test files of one run share. */
export type Run = {
  readonly backend: Backend;
  readonly folder: string;
  readonly credentialsDir: string;
  /** A test that breaks it needs a server of its own. */
  readonly admin: Admin;
  /** Only if `backend` is `local`. */
  readonly nats: NatsProgram | undefined;
};

declare module 'vitest' {
  interface ProvidedContext {
    readonly holdpoint: Run;
  }
}

export const currentRun = (): Run => inject('holdpoint');
