import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { FaultProxy } from '../fault-proxy.ts';

/** One process or container of a service. */
export type Instance = { readonly name: string; readonly service: ServiceName };

export type Upstream = 'nats' | 'postgres';
export const UPSTREAMS: readonly Upstream[] = ['nats', 'postgres'];

/** How a database server is made to end. */
export type PostgresEnd = 'fast' | 'immediate' | 'kill';

/** A process that ended. */
export type Ended = {
  readonly name: string;
  readonly at: string;
  readonly how: string;
  /** Somebody here made it end; otherwise it did so by itself. */
  readonly caused: boolean;
};

/** What one instance takes of the machine. */
export type Usage = { readonly instance: string; readonly rssBytes: number; readonly openFiles: number };

/** A small filesystem that can be filled and given space again. */
export interface Disk {
  /** Leaves no room beside what is on it. */
  readonly fill: () => Promise<void>;
  readonly free: () => Promise<void>;
}

/** A text that may hold a secret by mistake, in parts that are not too large for the memory. */
export type Text = { readonly name: string; readonly parts: () => AsyncIterable<Buffer> };

export type Row = Readonly<Record<string, unknown>>;

/** What is tortured: somebody's Holdpoint, with the means to break and to look at it. */
export interface Deployment {
  readonly kind: 'local' | 'compose';
  readonly natsUrl: string;
  readonly credentialsDir: string;
  /** Names of the people who may decide, with their tokens. */
  readonly people: readonly { readonly name: string; readonly token: string }[];
  /** A file of the executors' workspace; empty when there is none. */
  readonly readWorkspace: (file: string) => Promise<string>;
  readonly instances: readonly Instance[];
  /** Processes that run programs; none where nobody starts them. They are killed, paused and resumed like instances. */
  readonly workers: readonly string[];
  /** Where pages of the console ask; none where that is not to be had. */
  readonly consoles: readonly string[];
  readonly isReady: (instance: string) => Promise<boolean>;
  readonly kill: (instance: string) => Promise<void>;
  readonly pause: (instance: string) => Promise<void>;
  readonly resume: (instance: string) => Promise<void>;
  /** Asks it to end, and returns when its next life is ready. */
  readonly restart: (instance: string) => Promise<void>;
  readonly nats: {
    readonly kill: () => Promise<void>;
    readonly stop: () => Promise<void>;
    readonly start: () => Promise<void>;
    readonly pause: () => Promise<void>;
    readonly resume: () => Promise<void>;
    /** Deletes everything that JetStream has stored; the server is down. */
    readonly wipe: () => Promise<void>;
    readonly whyNoPause: string | undefined;
  };
  readonly postgres: {
    readonly end: (how: PostgresEnd) => Promise<void>;
    readonly start: () => Promise<void>;
    /** Brings it back if it has ended by itself. */
    readonly revive: () => Promise<void>;
  };
  /** The connection between two; undefined where nothing can be put in between. */
  readonly link: (instance: string, upstream: Upstream) => FaultProxy | undefined;
  readonly disk: (upstream: Upstream) => Disk | { readonly whyNot: string };
  /** As the administrator of the database. */
  readonly query: (sql: string) => Promise<readonly Row[]>;
  /** Changes the schema of a service in a way that its present release does not notice. */
  readonly migrate: (service: ServiceName, step: number) => Promise<void>;
  readonly ended: () => readonly Ended[];
  readonly usage: () => Promise<readonly Usage[]>;
  readonly logs: () => Promise<readonly Text[]>;
  /** Mends everything, whatever was under way. */
  readonly heal: () => Promise<void>;
  readonly stop: () => Promise<void>;
}
