import type { NatsProgram } from '@holdpoint/infra/local/nats/nats-program';
import type { AdminConnection } from '@holdpoint/infra/postgres/admin';
import { inject } from 'vitest';

/** PostgreSQL, as its superuser. */
export type Admin = AdminConnection & { readonly host: string; readonly port: number };

/** What PostgreSQL and NATS run as: containers, by Testcontainers, or processes of this machine. */
export type Backend = 'docker' | 'local';

/** What all test files of one run share. */
export type Run = {
  readonly backend: Backend;
  readonly folder: string;
  readonly credentialsDir: string;
  /** Whoever needs to break one starts another. */
  readonly admin: Admin;
  /** Where `backend` is `local`. */
  readonly nats: NatsProgram | undefined;
};

declare module 'vitest' {
  interface ProvidedContext {
    readonly holdpoint: Run;
  }
}

export const currentRun = (): Run => inject('holdpoint');
